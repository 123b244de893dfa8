"""Player spec strings: `hyperplay2`, `hyperplay:n=16`, `my_module:MyPlayer:depth=3`.

A spec names a player, then its options. `parse_spec` reads it, and `make_player` makes the player
for one match. A name is one of this package's players (`PLAYERS`), of the supported players of
other projects (`PEERS`), or of the players of installed packages (entry point group `ggp.players`).
`module:Class` names any other class that Python can import, also from the current folder.
"""

from __future__ import annotations

import inspect
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from functools import wraps
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ggp import registry
from ggp.errors import ConfigError, GGPError, PlayerError
from ggp.gdl.nearest import unknown
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import (
    NoOptions,
    OptionInfo,
    describe_options,
    files_read,
    read_options,
)
from ggp.players.player import (
    SEE,
    Context,
    Decision,
    Player,
    PlayerClass,
    checked_decision,
    place_of,
    relative,
)
from ggp.registry import Registry

ENTRY_POINTS = "ggp.players"
"""Entry point group in which other packages offer players."""

PLAYERS: Registry[PlayerClass] = Registry(
    ENTRY_POINTS,
    "player",
    {
        "legal": "ggp.players.first_legal:FirstLegal",
        "random": "ggp.players.random_legal:RandomLegal",
        "hyperplay": "ggp.players.hyperplay:HyperPlay",
        "hyperplay2": "ggp.players.hyperplay2:HyperPlay2",
        "mcts": "ggp.players.mcts:MCTS",
        "ismcts": "ggp.players.ismcts:ISMCTS",
        "resolve": "ggp.players.resolve:Resolve",
        "pimc": "ggp.players.pimc:Pimc",
        "policy": "ggp.players.policy:Policy",
        "puzzle": "ggp.players.puzzle:Puzzle",
        "auto": "ggp.players.auto:Auto",
    },
    labs_only=True,
)
"""The players of this package and its labs, by name. Players of other packages are found
apart from these, for their faults must not look like ours."""

PEER = "peer"
"""First word of the names of peers."""

PEERS: Registry[PlayerClass] = Registry("ggp.peers", "peer", form=f"{PEER}:{{}}", labs_only=True)
"""Players of other projects, by name, for comparison."""


@dataclass(frozen=True)
class PlayerSpec:
    """A parsed spec: a player and its options.

    >>> from ggp.players import parse_spec
    >>> spec = parse_spec("hyperplay:n=16")
    >>> spec.name, spec.options.n, spec.is_ours
    ('hyperplay', 16, True)

    Attributes:
        text: the spec as written.
        player: its class.
        options: an instance of the class's `Options`.
    """

    text: str
    player: PlayerClass
    options: Any

    @property
    def name(self) -> str:
        """The player's name, or `module:Class`."""
        return _split(self.text)[0]

    @property
    def is_ours(self) -> bool:
        """Whether the player's code is from this package, by name or module."""
        return self.name in PLAYERS or self.name in PEERS or self.name.startswith("ggp.")


@dataclass(frozen=True, slots=True)
class PlayerInfo:
    """A description of one player.

    Attributes:
        name: as in specs.
        summary: one line.
        source: its paper; empty if there is none.
        options: its options.
    """

    name: str
    summary: str
    source: str
    options: tuple[OptionInfo, ...]


def parse_spec(text: str, *, trusted: bool = True) -> PlayerSpec:
    """Read a player spec.

    Args:
        trusted: whether the writer may run code and open files as this user: name a module, a
            player of another package, or an option's file. Others may only name `PLAYERS`.

        Raises:
            ConfigError: unknown player or option, or a bad value; the message lists alternatives.
    """
    name, options = _split(text)
    if not trusted and name not in PLAYERS:
        raise ConfigError(unknown("player", name, tuple(PLAYERS), f"players: {', '.join(PLAYERS)}"))
    player = PLAYERS.get(name) or PEERS.get(name) or _offered(name)
    if player is None and name.startswith(f"{PEER}:"):
        raise ConfigError(unknown("player", name, tuple(PEERS), f"peers: {', '.join(PEERS)}"))
    if player is None:
        module, _, attribute = name.partition(":")
        names = known_players()
        if not attribute:
            possible = f"players: {', '.join(names)}, or module:Class"
            raise ConfigError(unknown("player", module, names, possible))
        player = _imported(module, attribute, names)
    read = read_options(_options_of(player, name), name, options, files=trusted)
    return PlayerSpec(text.strip(), player, read)


def with_option(text: str, option: str) -> str:
    """A spec with one more option, `name=value`."""
    name, options = _split(text)
    return f"{name}:{options},{option}" if options else f"{name}:{option}"


def make_player(
    spec: PlayerSpec,
    machine: Machine,
    role: int,
    rng: np.random.Generator,
    clock: Callable[[], float] = time.monotonic,
    report: Callable[[Decision], None] | None = None,
    program: GameDefinition | None = None,
) -> Player:
    """A player for one match.

    Args:
        spec: the player and its options.
        machine: the player's own; sharing a machine with a referee or another player changes no
            decision, but `states_visited` then counts both.
        role: index of its role.
        rng: source of all its random choices.
        clock: measures `Decision.seconds`.
        report: receives the best decision so far during a search: first a candidate that is
            legal in most particles, by weight, then the best after each round.
        program: the rules of the game; peers need them.

    Raises:
        ConfigError: it is a peer, and does not know the game.
        PlayerError: the constructor of a player that is not ours raised.
    """
    return player_of(spec, Context(machine, role, rng, clock, report, program=program))


def player_of(spec: PlayerSpec, context: Context) -> Player:
    """A player for the match of a context; messages call it by its spec.

    Raises:
        ConfigError, PlayerError: see `make_player`.
    """
    context = replace(context, name=spec.text)
    if spec.is_ours:
        return spec.player(spec.options, context)
    try:
        player = spec.player(spec.options, context)
        _check_decisions(type(player))
        return player
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        place = _place(error, _file_of(spec.player)) or place_of(spec.player)
        raise PlayerError(
            f"the player {spec.text} raised {_one_line(error)} when it was made{place}"
        ) from error


@contextmanager
def blamed(spec: PlayerSpec) -> Iterator[None]:
    """A context in which exceptions of a player that is not ours become a `PlayerError`.

    The message says where in the player's code. Errors of this package stay as they are.
    """
    try:
        yield
    except (GGPError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if spec.is_ours:
            raise
        place = _place(error, _file_of(spec.player)) or "; `-v` shows where"
        raise PlayerError(f"the player {spec.text} raised {_one_line(error)}{place}") from error


def check_game(spec: PlayerSpec, program: GameDefinition) -> None:
    """Check that a player can play a game, if it can decide this from the rules, as peers can.

    Raises:
        ConfigError: it cannot; the message says why.
    """
    check = getattr(spec.player, "check_game", None)
    if spec.is_ours and check is not None:
        check(spec.text, program)


def digests_of_files(spec: PlayerSpec) -> dict[str, str]:
    """A digest of each file that determines a player's decisions, by its path in the spec.

    The file of a third-party player's class is one of them, by the name of its module.

    Raises:
        ConfigError: a file cannot be read.
    """
    digests = {}
    files = [(option, path, path) for option, path in files_read(spec.options).items()]
    code = None if spec.is_ours else _file_of(spec.player)
    if code is not None:
        files.append(("its code", spec.player.__module__, code))
    for option, name, path in files:
        try:
            digests[name] = blake2b(Path(path).read_bytes(), digest_size=8).hexdigest()
        except OSError as error:
            raise ConfigError(
                f"player {spec.text}: cannot read {path} ({option}): {error.strerror or error}"
            ) from error
    return digests


def takes_states(spec: PlayerSpec) -> bool:
    """Whether the player accepts a budget of states: the option `states`."""
    return any(option.name == "states" for option in describe_options(type(spec.options)))


def kinds_of(text: str) -> frozenset[str] | None:
    """The kinds of a spec's player, see `ggp.search.parts`; None if it does not declare them.

    Raises:
        ConfigError: there is no such player.
    """
    kinds: frozenset[str] | None = getattr(parse_spec(text).player, "KINDS", None)
    return kinds


def known_players() -> tuple[str, ...]:
    """The names of all players: ours, peers, and those of installed packages."""
    offered = sorted(registry.offered(ENTRY_POINTS))
    return (*PLAYERS, *PEERS, *(name for name in offered if name not in PLAYERS))


def describe_player(name: str) -> PlayerInfo:
    """The description of a player.

    Raises:
        ConfigError: there is no such player.
    """
    player = parse_spec(name).player
    summary = (player.__doc__ or "").strip().partition("\n")[0]
    return PlayerInfo(
        name, summary, getattr(player, "SOURCE", ""), describe_options(_options_of(player, name))
    )


def _split(text: str) -> tuple[str, str]:
    """The name of a player, which may be `module:Class`, and its options."""
    name, _, rest = text.strip().partition(":")
    if name == PEER:
        name, _, options = rest.partition(":")
        return f"{PEER}:{name}", options
    if name in PLAYERS or name in registry.offered(ENTRY_POINTS):
        return name, rest
    attribute, _, options = rest.partition(":")
    # Options of an unknown name are not taken for a class.
    return (f"{name}:{attribute}", options) if attribute.isidentifier() else (name, rest)


def _options_of(player: PlayerClass, name: str) -> type[Any]:
    options: type[Any] = getattr(player, "Options", NoOptions)
    if not isinstance(options, type) or not is_dataclass(options):
        raise ConfigError(
            f"the options of {name} must be a dataclass, see docs/use/adding-a-player.md"
        )
    return options


# ------------------------------------------------------------------------
# Plug-ins: player classes of other modules and packages, which may be faulty. No exception of such
# a class escapes unchanged, neither from its import and constructor nor within `blamed`: the error
# names the player, and the file and line of its own code.

_PACKAGE = str(Path(__file__).parents[1])
_OURS = f"{__name__.partition('.')[0]}."
_CHECKED = "_results_are_checked"


def _offered(name: str) -> PlayerClass | None:
    """The player of an installed package with this name; None if there is none.

    Raises:
        ConfigError: it cannot be imported, or is not a player.
    """
    entry = registry.offered(ENTRY_POINTS).get(name)
    return None if entry is None else _require_player(_import(name, entry.module, entry.attr), name)


def _imported(module: str, attribute: str, names: Sequence[str]) -> PlayerClass:
    """A player by module and class, as Python imports modules, also from the current folder.

    Args:
        names: all players that need no module, for messages.

    Raises:
        ConfigError: there is no such module or class, it cannot be imported, or is not a player.
    """
    if not all(part.isidentifier() for part in module.split(".")):
        possible = f"players: {', '.join(names)}, or module:Class"
        raise ConfigError(unknown("player", f"{module}:{attribute}", names, possible))
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # worker processes inherit this path
    name = f"{module}:{attribute}"
    try:
        return _require_player(_import(name, module, attribute), name)
    except ConfigError as error:
        cause = error.__cause__
        if not isinstance(cause, ModuleNotFoundError) or cause.name != module:
            raise
        raise ConfigError(
            f"unknown player {name!r}: there is no module {module!r}; players: {', '.join(names)}"
        ) from cause


def _check_decisions(player: type) -> None:
    """Wrap the `choose` of a player class to check its return values, for all instances."""
    choose = getattr(player, "choose", None)
    if (
        not inspect.isfunction(choose)
        or choose.__module__.startswith(_OURS)
        or _CHECKED in vars(choose)
    ):
        return

    @wraps(choose)
    def checked(self: Any, *args: Any, **options: Any) -> Decision:
        return checked_decision(self, choose(self, *args, **options))

    setattr(checked, _CHECKED, True)
    type.__setattr__(player, "choose", checked)


def _import(name: str, module: str, attribute: str) -> Any:
    try:
        target = import_module(module)
    except (ImportError, SyntaxError) as error:
        place = "" if isinstance(error, SyntaxError) else _place(error, None)
        raise PlayerError(f"the player {name} cannot be imported: {error}{place}") from error
    except (Exception, SystemExit) as error:
        place = _place(error, None)
        raise PlayerError(
            f"the module of the player {name} raised {_one_line(error)} when it was imported{place}"
        ) from error
    try:
        for part in attribute.split("."):
            target = getattr(target, part)
    except AttributeError as error:
        raise ConfigError(f"the module {module} has no {attribute!r}") from error
    return target


def _require_player(player: Any, name: str) -> PlayerClass:
    missing = [method for method in ("observe", "choose") if not hasattr(player, method)]
    if not callable(player) or missing:
        raise ConfigError(
            f"{name} is no player: it must be a class with the methods observe and choose, {SEE}"
        )
    try:
        signature = inspect.signature(player)
    except (TypeError, ValueError):  # its arguments are unknown
        signature = None
    try:
        if signature is not None:
            signature.bind(None, None)
    except TypeError as error:
        raise ConfigError(
            f"{name} is no player: it must take options and a context, and takes {signature}"
            f"{place_of(player)}, {SEE}"
        ) from error
    checked: PlayerClass = player
    return checked


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _place(error: BaseException, file: str | None) -> str:
    """Place of an error: in the given file, else in code that is neither ours nor Python's."""
    frames = list(traceback.walk_tb(error.__traceback__))
    codes = [(frame.f_code.co_filename, line) for frame, line in frames]
    places = [place for place in codes if place[0] == file] if file else []
    places = places or [place for place in codes if not _is_ours(place[0])]
    return f" ({relative(places[-1][0])}, line {places[-1][1]})" if places else ""


def _file_of(player: Any) -> str | None:
    """The path of the file that defines a player's class; None if there is none."""
    return getattr(sys.modules.get(getattr(player, "__module__", "")), "__file__", None)


def _is_ours(file: str) -> bool:
    return file.startswith((_PACKAGE, "<")) or file.startswith(os.path.dirname(os.__file__))
