"""Who plays: the referee's machine, and for every role but `random` a seat with a player, or
the address of one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl.program import RANDOM, Program
from ggp.machine import Machine, build_machine
from ggp.players import Player, make_player, parse_spec
from match_runner.post import is_address, parse_address
from match_runner.remote import Remotes

DEFAULT_PLAYER = "random"
"""Plays the roles nobody was named for."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Seat:
    """One role's place.

    Attributes:
        spec: the player as it was asked for.
        make: a new player for a match, given the generator of its random choices.
    """

    spec: str
    make: Callable[[np.random.Generator], Player]


@dataclass(frozen=True, slots=True)
class Arena:
    """What matches of one game between the same players share.

    Attributes:
        game: name or path of the rulesheet, as it was given.
        digest: of the program.
        machine: the referee's own: nobody else may see the states on it.
        seats: by role index; no seat for `random`, nor for remote players.
        clock: tells the time for play clocks of those who have a seat.
        remotes: the remote players, None without any.
    """

    game: str
    digest: str
    machine: Machine
    seats: Mapping[int, Seat]
    clock: Clock = time.monotonic
    remotes: Remotes | None = None

    @property
    def players(self) -> dict[str, str]:
        """The spec or address of every role's player, in role order."""
        specs = {role: seat.spec for role, seat in self.seats.items()}
        if self.remotes is not None:
            specs |= {role: str(address) for role, address in self.remotes.addresses.items()}
        return {self.machine.roles[role]: specs[role] for role in sorted(specs)}


def read_players(texts: tuple[str, ...], roles: tuple[str, ...]) -> dict[str, str]:
    """The player of every role, from texts `ROLE=SPEC` or `ROLE=http://host:port`.

    Roles that are not named are played by `DEFAULT_PLAYER`.

    Raises:
        ConfigError: a text is malformed, or names a role twice, an unknown one, or `random`.
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
            raise ConfigError(
                f"unknown role {role!r}; roles of this game: {', '.join(possible) or 'none'}"
            )
        if role in named:
            raise ConfigError(f"the role {role} is given two players")
        named[role] = spec.strip()
    return {role: named.get(role, DEFAULT_PLAYER) for role in possible}


def set_up(
    game: str,
    program: Program,
    players: Mapping[str, str],
    backend: str = "auto",
    clock: Clock = time.monotonic,
) -> Arena:
    """An arena with a machine for the referee and one for every player.

    No two share a machine, so that states are counted for each of them and nothing the
    referee does can reach a player.

    Args:
        game: what to call the game.
        program: its rules.
        players: spec or address for every role but `random`, see `read_players`.
        backend: of the machines.
        clock: tells the time.

    Raises:
        ConfigError: unknown player, option or backend, or a malformed address.
        MachineError: a machine cannot be built.
    """
    remote = {role: parse_address(text) for role, text in players.items() if is_address(text)}
    specs = {role: parse_spec(text) for role, text in players.items() if role not in remote}
    machine = build_machine(program, backend)
    seats = {}
    for role, name in enumerate(machine.roles):
        if role == machine.random_role or name in remote:
            continue
        own = build_machine(program, backend)

        def make(
            rng: np.random.Generator, name: str = name, role: int = role, own: Machine = own
        ) -> Player:
            return make_player(specs[name], own, role, rng, clock)

        seats[role] = Seat(players[name], make)
    addresses = {machine.roles.index(name): address for name, address in remote.items()}
    remotes = Remotes(program, addresses) if addresses else None
    return Arena(game, program.digest, machine, seats, clock, remotes)
