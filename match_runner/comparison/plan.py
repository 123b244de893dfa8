"""Which matches a comparison is made of: a pure function of its options.

The matches come in rounds. All matches of a round have the same seed, so that chance and the
random choices of a role are the same whoever sits there: players are compared in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl.program import RANDOM
from ggp.players import parse_spec

MEASURED_ROUNDS = 10
"""Matches in which `--equal-states` measures what the first player visits, at most."""

SEEKERS = ("hyperplay", "hyperplay2")
"""Players that can be given a budget of states."""

_PLAY_STREAM, _MEASURE_STREAM, _RESAMPLING_STREAM = 0, 1, 2
_SEED_BITS = 48


@dataclass(frozen=True, slots=True)
class Options:
    """What a comparison was asked for; a run can only be continued with the same.

    Attributes:
        game: name or path of the rulesheet, as it was given.
        digest: of its program.
        roles: all of the game, in its order.
        players: specs, P of them.
        matches: to play in all, those for measuring apart.
        rotate: whether players change roles from match to match.
        equal_states: whether the others get what the first player visits.
        seed: of the whole comparison.
        backend: as asked for.
        version: of the package.
    """

    game: str
    digest: str
    roles: tuple[str, ...]
    players: tuple[str, ...]
    matches: int
    rotate: bool = True
    equal_states: bool = False
    seed: int = 0
    backend: str = "auto"
    version: str = ""

    @property
    def seats(self) -> tuple[str, ...]:
        """The roles that players play."""
        return tuple(role for role in self.roles if role != RANDOM)

    @property
    def matches_a_round(self) -> int:
        return len(self.players) if self.rotate else 1

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PlannedMatch:
    """One match to play.

    Attributes:
        kind: `play`, or `measure` for those that come before and only count states.
        number: among those of its kind, from 0.
        round: matches of one round share their seed.
        seed: plays the match, see `match_runner.referee`.
        seating: which player, as an index into `Options.players`, plays each role.
    """

    kind: str
    number: int
    round: int
    seed: int
    seating: Mapping[str, int]

    @property
    def key(self) -> tuple[str, int]:
        """Tells it from all others of a comparison."""
        return self.kind, self.number


def check_options(options: Options) -> None:
    """See that a comparison can be made.

    Raises:
        ConfigError: fewer than two players, one twice, a bad spec, more players than roles
            where they do not rotate, a number of matches that leaves a round unfinished, or
            a player that cannot be given a budget of states but should be.
    """
    players = options.players
    if len(players) < 2:
        raise ConfigError("give at least two players: --players SPEC SPEC")
    specs = [parse_spec(player) for player in players]
    for player in players:
        if players.count(player) > 1:
            raise ConfigError(f"the player {player} is given twice")
    if not options.seats:
        raise ConfigError(f"{options.game} has no role for a player")
    if not options.rotate and len(players) > len(options.seats):
        raise ConfigError(
            f"--roles fixed gives every player a role of its own, but there are {len(players)} "
            f"players and the roles {', '.join(options.seats)}; use --roles rotate"
        )
    size = options.matches_a_round
    if options.matches % size:
        below = options.matches - options.matches % size
        possible = " or ".join(str(n) for n in (below, below + size) if n)
        raise ConfigError(
            f"--matches {options.matches} leaves a round unfinished: with {size} players that "
            f"change roles it must be a multiple of {size}, such as {possible}"
        )
    if options.equal_states:
        for spec in specs:
            if spec.name not in SEEKERS:
                raise ConfigError(
                    f"--equal-states cannot give {spec.text} a budget of states; players that "
                    f"can have one: {', '.join(SEEKERS)}"
                )
        for spec in specs[1:]:
            if spec.states:
                raise ConfigError(
                    f"{spec.text} has a budget of states already; leave out its states, or "
                    "--equal-states"
                )
            parse_spec(with_states(spec.text, (1,)))


def with_states(spec: str, states: Sequence[int]) -> str:
    """A player's spec with a budget of states for each turn, the last one for all later ones."""
    shortest = list(states)
    while len(shortest) > 1 and shortest[-1] == shortest[-2]:
        shortest.pop()
    option = "states=" + "/".join(map(str, shortest))
    return f"{spec},{option}" if ":" in spec else f"{spec}:{option}"


def plan_matches(options: Options) -> tuple[PlannedMatch, ...]:
    """The matches that are compared, in order.

    With rotation, the k-th match of a round seats the players in a circle, moved on by k: in
    each round every player plays every role once. Where there are more than two players the
    order of the circle changes from round to round, so that all neighbours occur.
    """
    size = options.matches_a_round
    planned = []
    for number in range(options.matches):
        round_, shift = divmod(number, size)
        circle = _circle(len(options.players), round_ if options.rotate else 0)
        seating = {
            role: circle[(index + shift) % len(circle)] for index, role in enumerate(options.seats)
        }
        seed = _derived_seed(options.seed, _PLAY_STREAM, round_)
        planned.append(PlannedMatch("play", number, round_, seed, seating))
    return tuple(planned)


def plan_measurements(options: Options) -> tuple[PlannedMatch, ...]:
    """The matches in which the first player plays all roles, so as to see what it visits."""
    if not options.equal_states:
        return ()
    count = min(MEASURED_ROUNDS, options.matches // options.matches_a_round)
    seating = dict.fromkeys(options.seats, 0)
    return tuple(
        PlannedMatch(
            "measure", number, number, _derived_seed(options.seed, _MEASURE_STREAM, number), seating
        )
        for number in range(count)
    )


def resampling_seed(options: Options) -> int:
    """The seed of what is random in the intervals."""
    return _derived_seed(options.seed, _RESAMPLING_STREAM, 0)


def _circle(num_players: int, round_: int) -> tuple[int, ...]:
    """The players' order in a round: all orders of a circle, one after the other."""
    rest = list(range(1, num_players))
    order = [0]
    index = round_ % math.factorial(len(rest))
    while rest:
        at, index = divmod(index, math.factorial(len(rest) - 1))
        order.append(rest.pop(at))
    return tuple(order)


def _derived_seed(seed: int, stream: int, number: int) -> int:
    """A seed of its own for each round; 48 bits, so that every JSON reader keeps them."""
    sequence = np.random.SeedSequence(seed, spawn_key=(stream, number))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(64 - _SEED_BITS))
