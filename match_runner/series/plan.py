"""The plan of a series: its list of matches, a pure function of its settings.

Commands and tournament files make a `Series`; `holding` plays the matches that `plan_all` lists.
Matches of a game come in rounds. All matches of a round have the same seed, so that chance and the
random choices of a role are the same whoever plays it: this pairs the players' scores. Where
players rotate, every player plays every free role once in each round:

    round 0, seed a    match 0: A plays white, B plays black    match 1: B and A
    round 1, seed b    match 2: A plays white, B plays black    match 3: B and A

The first rounds do not depend on the number of rounds, so that more can be added later.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ggp.console import installed_version
from ggp.errors import ConfigError
from ggp.gdl.games import title_of
from ggp.gdl.program import RANDOM
from ggp.machine import Limits
from ggp.machine.definition import GameDefinition
from ggp.machine.games import goal_bounds
from ggp.players import (
    PLAYERS,
    check_game,
    digests_of_files,
    parse_spec,
    takes_states,
    with_option,
)
from ggp.seeds import check_seed
from match_runner.match.conditions import Conditions, seed_of_match
from match_runner.remote.remote_players import check_clocks, is_address, parse_address
from match_runner.remote.wire import Wire

MEASURED_ROUNDS = 10
"""Most matches that measure the budgets of equal states."""

PLAY, MEASURE = "play", "measure"
"""Kinds of matches: a match that counts, and an earlier one that only measures visited states."""

_PLAY_STREAM, _MEASURE_STREAM, _RESAMPLING_STREAM = 0, 1, 2
_SEED_BITS = 48


@dataclass(frozen=True)
class SeriesGame:
    """One game of a series.

    Attributes:
        name: name or path of the game; unique in a series.
        program: its rules.
        rounds: number of rounds to play.
        conditions: conditions of its matches.
        fixed: spec or address of each player that keeps its role in all matches, by role.
    """

    name: str
    program: GameDefinition
    rounds: int
    conditions: Conditions = field(default_factory=Conditions)
    fixed: Mapping[str, str] = field(default_factory=dict)

    @property
    def roles(self) -> tuple[str, ...]:
        """All roles, in the order of the rulesheet."""
        return self.program.roles

    @cached_property
    def goal_bounds(self) -> tuple[float, float] | None:
        """Least and greatest score of a match by the rules; None if that is unknown."""
        return goal_bounds(self.program)

    @property
    def seats(self) -> tuple[str, ...]:
        """The roles that the players of the series play."""
        return tuple(role for role in self.roles if role != RANDOM and role not in self.fixed)


@dataclass(frozen=True)
class Series:
    """Settings of a series of matches.

        >>> from ggp.machine.games import load_program
        >>> game = SeriesGame("kuhn_poker", load_program("kuhn_poker"), rounds=2)
        >>> series = Series({"a": "hyperplay", "b": "random"}, (game,), seed=1)
        >>> [(match.round, dict(match.seating)) for match in plan_all(series)][:2]
        [(0, {'player1': 0, 'player2': 1}), (0, {'player1': 1, 'player2': 0})]

    Attributes:
        players: spec or address of each player by its name, in order; seatings hold indices.
        games: in order.
        rotate: whether players change roles from match to match; otherwise the first plays the
            first free role, and so on.
        equal_states: whether all players get as many states per decision as the first visits.
        seed: the seed of the series; the seeds of all matches derive from it.
        counted_seeds: whether match i has the seed `seed + i`, as `play` promises; otherwise each
            round has a seed derived from `seed`.
        backend: backend of the machines, perhaps `auto`; the choice of `auto` for a game stays
            when the series is continued.
        limits: limits on building machines; they may change when a series is continued.
        version: version of the package.
    """

    players: Mapping[str, str]
    games: tuple[SeriesGame, ...]
    rotate: bool = True
    equal_states: bool = False
    seed: int = 0
    counted_seeds: bool = False
    backend: str = "auto"
    limits: Limits = field(default_factory=Limits)
    version: str = field(default_factory=installed_version)

    @property
    def names(self) -> tuple[str, ...]:
        """The players' names."""
        return tuple(self.players)

    @property
    def goal_bounds(self) -> tuple[float, float] | None:
        """Least and greatest score of a match of any game; None if that is unknown."""
        bounds = [pair for game in self.games if (pair := game.goal_bounds) is not None]
        if len(bounds) < len(self.games):
            return None
        lows, highs = zip(*bounds, strict=True)
        return min(lows), max(highs)

    @property
    def span(self) -> float | None:
        """The greatest difference between the scores of two players; None if that is unknown."""
        bounds = self.goal_bounds
        return None if bounds is None else bounds[1] - bounds[0]

    @property
    def matches_a_round(self) -> int:
        """Number of matches in a round of one game."""
        return len(self.players) if self.rotate else 1

    def everybody(self, game: SeriesGame) -> tuple[str, ...]:
        """Spec or address of everybody who plays a game, fixed players included."""
        return (*self.players.values(), *game.fixed.values())

    def game(self, name: str) -> SeriesGame:
        """The game with this name."""
        return next(game for game in self.games if game.name == name)

    def title(self, game: str) -> str:
        """The name of a game in titles: see `title_of`; in full if two games share the title."""
        titles = [title_of(each.name) for each in self.games]
        return game if titles.count(title_of(game)) > 1 else title_of(game)

    def settings(self) -> dict[str, Any]:
        """Settings that must stay the same when a series is continued, as JSON values.

        Addresses and paths may change as long as the names stay, and rounds may be added. The
        contents of files that players read must stay the same.

        Raises:
            ConfigError: a file that a player reads cannot be read.
        """
        files: dict[str, str] = {}
        for text in {text for game in self.games for text in self.everybody(game)}:
            if not is_address(text):
                files |= digests_of_files(parse_spec(text))
        return {
            "players": list(self.names),
            "plays": {n: _plays(text) for n, text in self.players.items() if n != text},
            "games": {game.name: _game_settings(game) for game in self.games},
            "roles": "rotate" if self.rotate else "fixed",
            "equal_states": self.equal_states,
            "seed": self.seed,
            "backend": self.backend,
            "version": self.version,
            **({"files": files} if files else {}),
        }


@dataclass(frozen=True, slots=True)
class PlannedMatch:
    """One match to play.

    Attributes:
        game: its name in the series.
        kind: `PLAY` or `MEASURE`.
        number: its number among the matches of its game and kind, from 0.
        round: its round; matches of one round share their seed.
        seed: seed of the match, see `match_runner.match.conditions`.
        seating: which player, as an index into `Series.names`, plays each free role.
    """

    game: str
    kind: str
    number: int
    round: int
    seed: int
    seating: Mapping[str, int]

    @property
    def key(self) -> tuple[str, str, int]:
        """Key of the match, unique in a series."""
        return self.game, self.kind, self.number


def series_of_roles(
    game: str,
    program: GameDefinition,
    players: Mapping[str, str],
    matches: int,
    *,
    conditions: Conditions | None = None,
    seed: int = 0,
    backend: str = "auto",
) -> Series:
    """A series without rotation: every role has its own player.

    Match i is the match with seed `seed + i`, whether played in a series or alone.

    Args:
        players: spec or address for every role but `random`.
    """
    games = (SeriesGame(game, program, matches, conditions or Conditions()),)
    return Series(players, games, rotate=False, seed=seed, counted_seeds=True, backend=backend)


def check_series(series: Series) -> None:
    """Check that a series can be played.

    Raises:
        ConfigError: a bad spec or address, a game without a role for the players, more players
            than roles without rotation, clocks or messages that remote players cannot get, a
            player without a budget of states where states must be equal, a player that does not
            know a game, or a match whose number cannot be a seed.
    """
    check_seed(series.seed)
    if series.counted_seeds:
        last = max(game.rounds * series.matches_a_round for game in series.games) - 1
        check_seed(seed_of_match(series.seed, last), "the seed of the last match")
    for name, text in series.players.items():
        check_player(text, "" if name == text else f"players.{name}: ")
    for name, count in Counter(game.name for game in series.games).items():
        if count > 1:
            raise ConfigError(f"the game {name} is given twice")
    for game in series.games:
        _check_game(series, game)
    if series.equal_states:
        _check_equal_states(list(series.players.values()))


def check_player(text: str, prefix: str = "") -> None:
    """Check that a text is a player's spec or address.

    Raises:
        ConfigError: it is neither; the message begins with `prefix`.
    """
    try:
        if is_address(text):
            parse_address(text)
        else:
            parse_spec(text)
    except ConfigError as error:
        raise ConfigError(f"{prefix}{error}") from error


def plan_matches(series: Series, game: SeriesGame) -> tuple[PlannedMatch, ...]:
    """Matches of a game that count, in order.

    With rotation, the k-th match of a round seats the players in a circle, shifted by k places: in
    each round every player plays every role once. With more than two players the order of the
    circle changes from round to round, so that all neighbours occur.
    """
    size = series.matches_a_round
    planned = []
    for number in range(game.rounds * size):
        round_, shift = divmod(number, size)
        circle = _circle(len(series.players), round_ if series.rotate else 0)
        seating = {
            role: circle[(index + shift) % len(circle)] for index, role in enumerate(game.seats)
        }
        if series.counted_seeds:
            seed = seed_of_match(series.seed, number)
        else:
            seed = _derived_seed(series.seed, _PLAY_STREAM, round_)
        planned.append(PlannedMatch(game.name, PLAY, number, round_, seed, seating))
    return tuple(planned)


def plan_all(series: Series) -> tuple[PlannedMatch, ...]:
    """Matches of all games that count, round by round through the games."""
    matches = [match for game in series.games for match in plan_matches(series, game)]
    return tuple(sorted(matches, key=lambda match: match.round))  # stable: games keep their order


def measured_rounds(game: SeriesGame) -> int:
    """Number of matches that measure the budgets of equal states when a series begins.

    The budgets stay when rounds are added later.
    """
    return min(MEASURED_ROUNDS, game.rounds)


def plan_measurements(series: Series, game: SeriesGame, count: int) -> tuple[PlannedMatch, ...]:
    """Matches that measure budgets: the first player plays all free roles, so that each role meets
    the opponent that the other players will meet."""
    if not series.equal_states:
        return ()
    seating = dict.fromkeys(game.seats, 0)
    return tuple(
        PlannedMatch(
            game.name,
            MEASURE,
            number,
            number,
            _derived_seed(series.seed, _MEASURE_STREAM, number),
            seating,
        )
        for number in range(count)
    )


def with_states(spec: str, states: Sequence[int]) -> str:
    """A player's spec with a budget of states for each turn; the last holds for all later turns."""
    shortest = list(states)
    while len(shortest) > 1 and shortest[-1] == shortest[-2]:
        shortest.pop()
    return with_option(spec, "states=" + "/".join(map(str, shortest)))


def resampling_seed(series: Series) -> int:
    """Seed of the resampling of intervals."""
    return _derived_seed(series.seed, _RESAMPLING_STREAM, 0)


def _check_game(series: Series, game: SeriesGame) -> None:
    for role, text in game.fixed.items():
        if role not in game.roles or role == RANDOM:
            possible = ", ".join(r for r in game.roles if r != RANDOM) or "none"
            raise ConfigError(f"{game.name} has no role {role!r} for a player; roles: {possible}")
        check_player(text, f"{role} of {game.name}: ")
    for text in (*series.players.values(), *game.fixed.values()):
        if not is_address(text):
            check_game(parse_spec(text), game.program)
    if series.players and not game.seats:
        raise ConfigError(f"{game.name} has no role for a player")
    if not series.rotate and len(series.players) > len(game.seats):
        raise ConfigError(
            f"with fixed roles every player needs a role, but there are {len(series.players)} "
            f"players and {game.name} has the roles {', '.join(game.seats)}; let roles rotate"
        )
    if any(map(is_address, series.everybody(game))):
        check_clocks(game.conditions.play_clock_s)
        try:
            Wire(game.program, game.conditions.remote.server, game.conditions.remote.dialect)
        except ConfigError as error:
            raise ConfigError(f"{error} (game {game.name})") from error


def _check_equal_states(players: Sequence[str]) -> None:
    for text in players:
        if is_address(text) or not takes_states(parse_spec(text)):
            able = ", ".join(name for name in PLAYERS if takes_states(parse_spec(name)))
            raise ConfigError(
                f"{text} takes no budget of states, which equal states need; players that take "
                f"one: {able}"
            )
    for text in players[1:]:
        if parse_spec(text).options.states:
            raise ConfigError(
                f"{text} already has a budget of states; leave out its states, or equal states"
            )
        parse_spec(with_states(text, (1,)))


def _game_settings(game: SeriesGame) -> dict[str, Any]:
    conditions, remote = game.conditions, game.conditions.remote
    return {
        "rules": game.program.digest,
        "play_clock": conditions.play_clock_s,
        "clock": str(conditions.clock),
        "start_clock": remote.start_clock_s,
        "ponder": conditions.ponder,
        "dialect": None if remote.dialect is None else str(remote.dialect),
        "server": remote.server.name,
        "scramble": remote.scramble,
        "replacement": str(conditions.replacement),
        "pause": conditions.pause_s,
        "fixed": {role: _plays(text) for role, text in game.fixed.items()},
    }


def _plays(text: str) -> str:
    return "remote" if is_address(text) else text


def _circle(num_players: int, round_: int) -> tuple[int, ...]:
    """Order of the players in a round: round by round, all orders of a circle."""
    # Player 0 stays in front: a round shifts the circle through all rotations, so orders that
    # differ by a rotation are equivalent. The digits of `index` in the factorial number system pick
    # one of the (n - 1)! others: each digit says which of the remaining players is next.
    rest = list(range(1, num_players))
    order = [0]
    index = round_ % math.factorial(len(rest))
    while rest:
        digit, index = divmod(index, math.factorial(len(rest) - 1))
        order.append(rest.pop(digit))
    return tuple(order)


def _derived_seed(seed: int, stream: int, number: int) -> int:
    """Seed of a round; 48 bits, which every JSON reader keeps exactly."""
    sequence = np.random.SeedSequence(seed, spawn_key=(stream, number))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(64 - _SEED_BITS))
