"""Seats: a player, or its address, for every role but `random`.

Specs such as `hyperplay:n=8` and addresses come in; an arena goes out, with which the referee plays
matches: its own machine, and a seat for every role.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ggp.errors import ConfigError, PlayerError
from ggp.gdl.nearest import unknown
from ggp.gdl.program import RANDOM
from ggp.machine import Limits, Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.players import Decision, Player, PlayerSpec, make_player, parse_spec
from ggp.run.clocks import TellsTime, clock_of
from ggp.search.anytime import Deadline
from match_runner.match.apart import MachineOrder, PlayerApart
from match_runner.remote.remote_players import Address, is_address, parse_address

DEFAULT_PLAYER = "auto"
"""Spec of the player for roles without a named player."""

HUMAN = "human"
"""The word that stands for a person in place of a player's spec."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Seat:
    """Seat of one role.

    Attributes:
        spec: the player, as the command or the file names it.
        make: makes a new player for a match, given the generator of its random choices.
        process_name: name under which its own process is kept between matches; None if it plays in
            ours.
    """

    spec: str
    make: Callable[[np.random.Generator], Player]
    process_name: str | None = None


@dataclass(frozen=True, slots=True)
class Arena:
    """Everything that matches of one game between the same players share.

    Attributes:
        game: name or path of the rulesheet, as the command or caller gave it.
        program: its rules.
        machine: the referee's machine: nobody else may see the states on it.
        seats: by role index; no seat for `random`, nor for remote players.
        clock: time source of the play clocks of players in this process; players in other
            processes have one of the same kind there.
        remotes: addresses of the remote players, by role index.
    """

    game: str
    program: GameDefinition
    machine: Machine
    seats: Mapping[int, Seat]
    clock: TellsTime = time.monotonic
    remotes: Mapping[int, Address] = field(default_factory=dict)

    @property
    def players(self) -> dict[str, str]:
        """The spec or address of every role's player, in role order."""
        specs = {role: seat.spec for role, seat in self.seats.items()}
        specs |= {role: str(address) for role, address in self.remotes.items()}
        return {self.machine.roles[role]: specs[role] for role in sorted(specs)}


def read_players(texts: tuple[str, ...], roles: tuple[str, ...]) -> dict[str, str]:
    """Player of every role; roles that no text names get `DEFAULT_PLAYER`.

    Raises:
        ConfigError: see `read_roles`.
    """
    named = read_roles(texts, roles)
    return {role: named.get(role, DEFAULT_PLAYER) for role in roles if role != RANDOM}


def read_roles(texts: tuple[str, ...], roles: tuple[str, ...]) -> dict[str, str]:
    """Players of roles, from texts `ROLE=SPEC` or `ROLE=http://host:port`.

    Raises:
        ConfigError: a text is malformed, or names a role twice, an unknown role, or `random`.
    """
    possible = [role for role in roles if role != RANDOM]
    named: dict[str, str] = {}
    for text in texts:
        role, equals, spec = text.partition("=")
        role = role.strip().lower()
        if not equals:
            raise ConfigError(
                f"player {text!r} must be ROLE=SPEC, for example {possible[0]}=hyperplay:n=8"
                if possible
                else f"player {text!r} must be ROLE=SPEC"
            )
        if role == RANDOM:
            raise ConfigError(
                f"the role random is played by chance; roles: {', '.join(possible) or 'none'}"
            )
        if role not in roles:
            text = f"roles of this game: {', '.join(possible) or 'none'}"
            raise ConfigError(unknown("role", role, possible, text))
        if role in named:
            raise ConfigError(f"the role {role} is given two players")
        named[role] = spec.strip()
    return named


def build_machines(
    program: GameDefinition,
    backend: str = "auto",
    limits: Limits | None = None,
    *,
    ready: bool = False,
) -> tuple[Machine, ...]:
    """The referee's machine and one for each role, in the form that `set_up` takes.

    Args:
        program: normalised rules.
        backend, limits, ready: see `build_machine`.

    Raises:
        ConfigError: unknown backend.
        MachineError: a machine cannot be built.
    """
    return tuple(
        build_machine(program, backend, limits, ready=ready) for _ in range(1 + len(program.roles))
    )


def set_up(
    game: str,
    program: GameDefinition,
    players: Mapping[str, str | Seat],
    machines: Sequence[Machine] | None = None,
    clock: TellsTime = time.monotonic,
    *,
    report: Callable[[str, Decision], None] | None = None,
    order: MachineOrder | None = None,
) -> Arena:
    """Make the arena: the referee's machine, and a seat for every player.

    No two of them share a machine: each counts its own states, and nothing that the referee does
    can reach a player.

    Args:
        game: name of the game in records.
        program: its rules.
        players: spec or address for every role but `random`, see `read_players`; or a seat that
            makes its player elsewhere, such as a guest's.
        machines: machines of these rules, see `build_machines`; only one match at a time may use
            them. None to build new ones.
        clock: time source, see `Arena`.
        report: called with the role of a player and its best decision so far, while it decides.
        order: order for the machine of players that are not ours, in processes of their own; None
            to have them play in this process, where nobody can stop them.

    Raises:
        ConfigError: unknown player or option, or a malformed address.
        MachineError: a machine cannot be built.
    """
    machine, *seat_machines = machines or build_machines(program)
    kind = clock_of(clock)
    seats: dict[int, Seat] = {}
    addresses: dict[int, Address] = {}
    for name, player in players.items():
        role = machine.roles.index(name)
        if isinstance(player, Seat):
            seats[role] = player
        elif is_address(player):
            addresses[role] = parse_address(player)
        else:
            send = None if report is None else partial(report, name)
            spec = parse_spec(player)
            if order is None or spec.is_ours:
                seats[role] = Seat(
                    player, partial(_make, spec, seat_machines[role], role, clock, send, program)
                )
            else:
                make = partial(PlayerApart, spec, order, role, clock=kind, report=send)
                seats[role] = Seat(player, make, spec.name)
    return Arena(game, program, machine, seats, clock, addresses)


def _make(
    spec: PlayerSpec,
    machine: Machine,
    role: int,
    clock: TellsTime,
    report: Callable[[Decision], None] | None,
    program: GameDefinition,
    rng: np.random.Generator,
) -> Player:
    try:
        return make_player(spec, machine, role, rng, clock, report, program)
    except PlayerError as error:
        _log.info("the player of %s", machine.roles[role], exc_info=error)
        return Unmade(error)


class Unmade:
    """Stands in for a player that could not be made: raises the reason when it should move."""

    states_visited = 0

    def __init__(self, error: PlayerError) -> None:
        self._error = error

    def observe(self, move: str | None, percepts: Sequence[str] | None, **_: Any) -> None:
        """Do nothing: there is no player."""

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        raise self._error
