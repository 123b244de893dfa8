"""Player spec strings: `hyperplay2`, `hyperplay:n=16`, `my_module:MyPlayer:depth=3`.

A spec names a player, then its options. A name is one of this package's players (`PLAYERS`) or
one that an installed package offers (entry point group `ggp.players`). `module:Class` names a
class that is in neither, found as Python finds modules, in the current folder too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl.nearest import unknown
from ggp.machine.base import Machine
from ggp.players.option_fields import NoOptions, OptionInfo, describe_options, read_options
from ggp.players.player import Context, Decision, Player, PlayerClass


class _Players(Mapping[str, PlayerClass]):
    """Players by name, each imported when it is first asked for: most commands need one or two.

    Args:
        places: module below `ggp.players`, and class.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> PlayerClass:
        module, _, attribute = self._places[name].partition(":")
        found: PlayerClass = getattr(import_module(f"ggp.players.{module}"), attribute)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


PLAYERS: Mapping[str, PlayerClass] = _Players(
    {
        "legal": "first_legal:FirstLegal",
        "random": "random_legal:RandomLegal",
        "hyperplay": "hyperplay:HyperPlay",
        "hyperplay2": "hyperplay2:HyperPlay2",
        "mcts": "mcts:MCTS",
        "ismcts": "ismcts:ISMCTS",
        "oos": "oos:OOS",
        "pimc": "pimc:Pimc",
        "over": "over:Over",
        "para": "para:Para",
        "los": "choose_move:Los",
        "aos": "choose_move:Aos",
        "aosp": "choose_move:Aosp",
        "hs": "choose_move:Hs",
        "policy": "policy:Policy",
        "auto": "auto:Auto",
    }
)
"""The players of this package, by name."""

ENTRY_POINTS = "ggp.players"
"""Group in which other packages offer players."""


@dataclass(frozen=True)
class PlayerSpec:
    """A player that was asked for.

    Attributes:
        text: as it was asked for.
        player: its class.
        options: an instance of the class's `Options`.
    """

    text: str
    player: PlayerClass
    options: Any


@dataclass(frozen=True, slots=True)
class PlayerInfo:
    """One player, in words.

    Attributes:
        name: as specs have it.
        summary: one line.
        source: the paper it comes from; empty if there is none.
        options: of it.
    """

    name: str
    summary: str
    source: str
    options: tuple[OptionInfo, ...]


def parse_spec(text: str, *, trusted: bool = True) -> PlayerSpec:
    """Read a player spec.

    Args:
        trusted: whether whoever wrote it may run code and open files of this user: name a module,
            a player of another package, or an option's file. Others may name `PLAYERS` only.

    Raises:
        ConfigError: unknown player or option, or a bad value; says what is possible.
    """
    name, _, rest = text.strip().partition(":")
    if not trusted and name not in PLAYERS:
        raise ConfigError(unknown("player", name, tuple(PLAYERS), f"players: {', '.join(PLAYERS)}"))
    player = PLAYERS.get(name) or _offered(name)
    if player is None:
        attribute, _, options = rest.partition(":")
        if not attribute.isidentifier():
            known = known_players()
            possible = f"players: {', '.join(known)}, or module:Class"
            raise ConfigError(unknown("player", name, known, possible))
        name, rest = f"{name}:{attribute}", options
        player = _imported(name)
    options_of = _options_of(player)
    return PlayerSpec(text.strip(), player, read_options(options_of, name, rest, files=trusted))


def make_player(
    spec: PlayerSpec,
    machine: Machine,
    role: int,
    rng: np.random.Generator,
    clock: Callable[[], float] = time.monotonic,
    report: Callable[[Decision], None] | None = None,
) -> Player:
    """A player for one match.

    Args:
        spec: which player, with which options.
        machine: its own; a machine shared with somebody who knows more than the player does
            changes none of its decisions, but makes `states_visited` count both.
        role: index of its role.
        rng: all its random choices.
        clock: measures `Decision.seconds`.
        report: told the best decision so far while one is being made: at once a candidate
            that is legal in most particles, by weight, then what each round of search says.
    """
    return spec.player(spec.options, Context(machine, role, rng, clock, report, spec.text))


def takes_states(spec: PlayerSpec) -> bool:
    """Whether the player can be given a budget of states: the option `states`."""
    return any(info.name == "states" for info in describe_options(type(spec.options)))


def known_players() -> tuple[str, ...]:
    """The names of all players that need no module: ours, then those of installed packages."""
    offered = sorted(each.name for each in entry_points(group=ENTRY_POINTS))
    return (*PLAYERS, *(name for name in offered if name not in PLAYERS))


def describe_player(name: str) -> PlayerInfo:
    """A player in words.

    Raises:
        ConfigError: there is no such player.
    """
    player = parse_spec(name).player
    summary = (player.__doc__ or "").strip().partition("\n")[0]
    return PlayerInfo(
        name, summary, getattr(player, "SOURCE", ""), describe_options(_options_of(player))
    )


def _options_of(player: PlayerClass) -> type[Any]:
    options: type[Any] = getattr(player, "Options", NoOptions)
    return options


def _offered(name: str) -> PlayerClass | None:
    """A player of an installed package."""
    for each in entry_points(group=ENTRY_POINTS, name=name):
        try:
            return _checked(each.load(), name)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"the player {name} cannot be imported: {error}") from error
    return None


def _imported(name: str) -> PlayerClass:
    """A player by module and class."""
    module, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # worker processes get the same path
    try:
        return _checked(getattr(import_module(module), attribute), name)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise ConfigError(f"the player {name} cannot be imported: {error}") from error
        raise ConfigError(
            f"unknown player {name!r}: there is no module {module!r}; players: "
            f"{', '.join(known_players())}"
        ) from error
    except (ImportError, SyntaxError) as error:
        raise ConfigError(f"the player {name} cannot be imported: {error}") from error
    except AttributeError as error:
        raise ConfigError(f"the module {module} has no {attribute!r}") from error


def _checked(player: Any, name: str) -> PlayerClass:
    missing = [method for method in ("observe", "choose") if not hasattr(player, method)]
    if not callable(player) or missing:
        raise ConfigError(
            f"{name} is no player: it must be a class with the methods observe and choose, see "
            "docs/adding-a-player.md"
        )
    found: PlayerClass = player
    return found
