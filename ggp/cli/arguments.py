"""Options that several commands share, and the games and values that they stand for.

`game_command` makes a command about one game: it adds the common options and passes them to the
command's function as `GameOptions`, which open the game and print its report.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from ggp.console import example, show_report, spinner, verbose_option
from ggp.errors import ConfigError, GDLError, GGPError
from ggp.launch import preload
from ggp.report import Report
from ggp.run.clocks import Clock
from ggp.run.whole_files import read_json
from ggp.seeds import MAX_SEED

if TYPE_CHECKING:
    from ggp.gdl.source import Diagnostic
    from ggp.library import Game
    from ggp.machine import Limits, Machine
    from ggp.machine.definition import GameDefinition

    _ParamType = click.ParamType[str]
    _PathType = click.Path[Path]
else:  # generic only since click 8.3
    _ParamType = click.ParamType
    _PathType = click.Path

_F = TypeVar("_F", bound=Callable[..., Any])

_PROPNET = ("ggp.machine.propnet.compile.circuits", "ggp.machine.propnet.play.propnet_machine")
_SLOW = {
    "auto": _PROPNET,
    "propnet": _PROPNET,
    "relational": ("ggp.machine.relational.relational_machine",),
    "prolog": ("ggp.machine.prolog.prolog_machine",),
}
"""Modules of each backend that are slow to import."""

DEFAULT_GROUNDING_S = 60.0
"""The default of `Limits`, copied since that is slow to import."""

_log = logging.getLogger(__name__)


class Opened(NamedTuple):
    """A game that is ready to be played.

    Attributes:
        program: its definition.
        machine: the machine that plays it.
        build_s: seconds that it took to build the machine.
    """

    program: GameDefinition
    machine: Machine
    build_s: float


def open_game(
    game: str,
    backend: str,
    limits: Limits | None = None,
    *,
    ready: bool = False,
    plays: bool = True,
    hints: bool = True,
    stuck: bool = False,
) -> Opened:
    """Read a game and build its machine; reports repaired rules on standard error.

    Args:
        game: its name, or the path of its rulesheet.
        backend, limits, ready: see `build_machine`.
        plays: whether the machine will play, not only state facts about the game.
        hints: whether to report that rules were repaired.
        stuck: whether a role may lack a legal move in the initial state.

    Raises:
        GDLError, MachineError: the rules are wrong.
    """
    from ggp.machine.games import build_machine, check_first_turn, load_program

    program = load_program(game)
    if hints:
        hint_at_warnings(game, program.diagnostics)
    preload(*_SLOW.get(backend, ()))
    if plays and backend != "prolog":
        preload("numba")
    started = time.perf_counter()
    with spinner(f"building {game}"):
        machine = build_machine(program, backend, limits, ready=ready)
    build_s = time.perf_counter() - started
    if not stuck:
        check_first_turn(machine)
    _log.info("%s runs on %s, built in %.2f s", game, machine.backend, build_s)
    return Opened(program, machine, build_s)


def hint_at_warnings(game: str, diagnostics: Sequence[Diagnostic]) -> None:
    """Report the number of warnings of a rulesheet, if any, and how to see them."""
    if diagnostics:
        _log.warning("%s has %s; `ggp validate %s` shows them", game, counted(diagnostics), game)


def counted(diagnostics: Sequence[Diagnostic]) -> str:
    """`1 error, 2 warnings`, or `ok`."""
    texts = []
    for severity in ("error", "warning"):
        num = sum(d.severity == severity for d in diagnostics)
        if num:
            texts.append(f"{num} {severity}" + ("s" if num > 1 else ""))
    return ", ".join(texts) or "ok"


def read_json_list(path: Path, of_what: str) -> list[object]:
    """The list in a JSON file.

    Raises:
        ConfigError: the file cannot be read, or has other contents.
    """
    value = read_json(path, of_what)
    if not isinstance(value, list):
        raise ConfigError(f"{path} must be {of_what}, not {_kind(value)}")
    return value


def read_term(text: object) -> str:
    """A term from the user as canonical KIF.

    Raises:
        ConfigError: it is not a single KIF term.
    """
    from ggp.gdl import parse_term, to_kif

    if not isinstance(text, str):
        raise ConfigError(f"{json.dumps(text)[:60]} is not a KIF term in a string")
    try:
        return to_kif(parse_term(text))
    except GDLError:
        raise ConfigError(f"{json.dumps(text)[:60]} is not a KIF term") from None


def _kind(value: object) -> str:
    return {dict: "an object", str: "a string", type(None): "null"}.get(type(value), "a value")


class FiniteRange(click.FloatRange):
    """A number within bounds; `nan`, which passes all of them, is rejected."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class _NonEmptyPath(_PathType):
    """A path that is not empty: an empty one, as from an unset shell variable, would mean the
    current folder."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        if not os.fspath(value):
            self.fail(f"the path is empty; give the path of a {self.name}", param, ctx)
        return super().convert(value, param, ctx)


class FilePath(_NonEmptyPath):
    """The path of a file, existing or not, as a `pathlib.Path`; not empty, and not a folder."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)


class FolderPath(_NonEmptyPath):
    """The path of a folder, existing or not, as a `pathlib.Path`; not empty, and not a file."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)
        self.name = "folder"


def all_of(*options: Callable[[_F], _F]) -> Callable[[_F], _F]:
    """A decorator that adds several options to a command, in the order of its help."""

    def decorate(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def file_option(*names: str, **how: Any) -> Callable[[_F], _F]:
    """An option with the path of a file; for `how` see `click.option`."""
    return click.option(*names, type=FilePath(), metavar="FILE", **how)


def folder_option(*names: str, **how: Any) -> Callable[[_F], _F]:
    """An option with the path of a folder."""
    return click.option(*names, type=FolderPath(), metavar="DIR", **how)


def count_option(*names: str, minimum: int = 1, **how: Any) -> Callable[[_F], _F]:
    """An option with a whole number; the help shows its default, if it has one."""
    number = click.IntRange(min=minimum)
    return click.option(*names, type=number, **{"show_default": "default" in how, **how})


def amount_option(*names: str, **how: Any) -> Callable[[_F], _F]:
    """An option with a finite number above 0; the help shows its default, if it has one."""
    number = FiniteRange(min=0, min_open=True)
    return click.option(*names, type=number, **{"show_default": "default" in how, **how})


class Renamed(click.Option):
    """An option of two names; the first is an earlier one, which works and is not in the help."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        return record and (record[0].removeprefix(f"{self.opts[0]}, "), record[1])


class _Backend(_ParamType):
    """The name of a backend; the registry of backends is slow to import."""

    name = "backend"

    def convert(self, value: str, param: object, ctx: object) -> str:
        if value == "auto":
            return value
        from ggp.machine.games import backends

        if value not in backends():
            raise ConfigError(f"unknown backend {value!r}; backends: {', '.join(backends())}")
        return value

    def get_metavar(self, *_: object, **__: object) -> str:
        from ggp.machine.games import backends

        return f"[{'|'.join(backends())}]"


def game_argument(*, required: bool = True) -> Callable[[_F], _F]:
    """`GAME`, with shell completion of the games that come with ggp, and of files."""
    return click.argument("game", required=required, shell_complete=_complete_game)


def _complete_game(ctx: object, param: object, incomplete: str) -> list[CompletionItem]:
    from ggp.gdl.games import list_games

    names = [CompletionItem(name) for name in list_games() if name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


def complete_role(ctx: click.Context, param: object, incomplete: str) -> list[CompletionItem]:
    """Shell completion of the roles of the game that stands before."""
    from ggp.machine.games import load_program

    # An option without its value ends click's reading before it gives arguments their names.
    game = ctx.params.get("game") or "".join(ctx.args[:1])
    logging.disable()  # the shell would show warnings in the middle of the line
    try:
        roles = load_program(game).roles
    except GGPError:
        return []  # the command itself will say what is wrong
    finally:
        logging.disable(logging.NOTSET)
    return [CompletionItem(role) for role in roles if role.startswith(incomplete)]


class PlayerText(_ParamType):
    """A player's spec, alone or as `ROLE=SPEC`, with shell completion; it is parsed elsewhere.

    Args:
        extra: other values that the command takes for a player of a role, with their meanings.
    """

    name = "spec"

    def __init__(self, **extra: str) -> None:
        self._extra = extra

    def shell_complete(
        self, ctx: click.Context, param: object, incomplete: str
    ) -> list[CompletionItem]:
        from ggp.players import describe_player, known_players

        role, equals, spec = incomplete.partition("=")
        if not equals or ":" in role:
            role, equals, spec = "", "", incomplete
        name, colon, options = spec.partition(":")
        if not colon:
            roles = complete_role(ctx, param, incomplete) if self._extra and not equals else []
            meanings = {player: describe_player(player).summary for player in known_players()}
            return [CompletionItem(f"{each.value}=") for each in roles] + [
                CompletionItem(f"{role}{equals}{player}", help=meaning)
                for player, meaning in {**meanings, **self._extra}.items()
                if player.startswith(name)
            ]
        if name not in known_players():
            return []
        earlier, comma, last = options.rpartition(",")
        return [
            CompletionItem(
                f"{role}{equals}{name}:{earlier}{comma}{option.name}=", help=option.meaning
            )
            for option in describe_player(name).options
            if option.name.startswith(last)
        ]


def length_options(usual_rounds: int | None = None) -> Callable[[_F], _F]:
    """`--matches` and `--rounds`, one of which says how long players are compared: see `rounds_of`.

    Args:
        usual_rounds: the number of rounds if neither is given, for the help.
    """
    return all_of(
        count_option("--matches", help="Number of matches."),
        count_option(
            "--rounds",
            show_default=usual_rounds and str(usual_rounds),
            help="Number of rounds; in each, every player plays every role once.",
        ),
    )


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
printing_options = all_of(json_option, verbose_option)


def _import(ctx: click.Context, param: object, modules: tuple[str, ...]) -> None:
    """Have modules imported wherever games of OpenSpiel are, in this process and its children."""
    if modules:
        from ggp.machine.definition import IMPORTS

        os.environ[IMPORTS] = ",".join(modules)


import_option = click.option(
    "--import",
    "modules",
    metavar="MODULE",
    multiple=True,
    expose_value=False,
    is_eager=True,
    callback=_import,
    help="Import a module that registers OpenSpiel games in Python; the current folder is searched "
    "too. May be repeated.",
)


backend_option = all_of(
    click.option(
        "--backend",
        type=_Backend(),
        default="auto",
        show_default=True,
        help="Machine that runs the rules: propnet is fast, relational suits games too large for "
        "propnet, prolog is the reference, auto chooses.",
    ),
    import_option,
)
"""`--backend`, and `--import`, which helps wherever a game is opened."""


def _limits(ctx: click.Context, param: object, seconds: float) -> Limits:
    from ggp.machine import Limits

    return Limits(grounding_seconds=seconds)


limits_option = amount_option(
    "--grounding-seconds",
    "limits",
    default=DEFAULT_GROUNDING_S,
    metavar="SECONDS",
    callback=_limits,
    help="Maximum CPU time for the fast backend to compile a new game.",
)
"""`--grounding-seconds`, passed to the command as `limits` for `build_machine`."""


def threads_option(usual: str = "1") -> Callable[[_F], _F]:
    """`--threads`; None if not given.

    Args:
        usual: the default, for the help.
    """
    return count_option(
        "--threads",
        show_default=usual,
        help="Processors for a batch of playouts and for a decision of hyperplay2; without a "
        "clock, results do not depend on their number.",
    )


SHARED_THREADS = "all processors, shared by simultaneous matches"
"""The default of `--threads` where matches are played."""


def threads_for(threads: int | None, matches: int) -> int:
    """Processors for each of several simultaneous matches: `threads` if given, else their share."""
    return threads or max(1, len(os.sched_getaffinity(0)) // matches)


def clock_option(of: str = "players", usual: str | None = None) -> Callable[[_F], _F]:
    """`--clock`, as a `Clock`.

    Args:
        of: the owners of the clock, for the help.
        usual: the default, for the help; then a missing option is None. Without it, the default is
            wall time.
    """
    return click.option(
        "--clock",
        type=click.Choice([kind.value for kind in Clock]),
        callback=lambda ctx, param, value: None if value is None else Clock(value),
        default=Clock.WALL.value if usual is None else None,
        show_default=usual or True,
        help=f"Clock of {of}: wall time, or CPU time, which a busy machine does not shorten.",
    )


def is_given(name: str) -> bool:
    """Whether a parameter of the present command was typed, and is no default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def seed_option(of: str = "all random choices") -> Callable[[_F], _F]:
    """`--seed`.

    Args:
        of: the random choices that the seed determines, for the help.
    """
    return click.option(
        "--seed",
        type=click.IntRange(min=0, max=MAX_SEED),
        default=0,
        show_default=True,
        help=f"Seed of {of}.",
    )


# ------------------------------------------------------------------------
# Commands about a game.


@dataclass(frozen=True)
class GameOptions:
    """The options of every command about a game.

    Attributes:
        game: its name, or the path of its rulesheet; empty for commands about several games.
        backend, limits: see `build_machine`.
        seed: of all random choices.
        as_json: whether to print JSON.
    """

    game: str
    backend: str
    limits: Limits
    seed: int
    as_json: bool

    def open(self, **how: bool) -> Opened:
        """The game, ready to be played; see `open_game`."""
        return open_game(self.game, self.backend, self.limits, **how)

    def load(self) -> Game:
        """The game for the library."""
        from ggp.library import Game

        opened = self.open()
        return Game(self.game, opened.program, opened.machine)

    def show(self, report: Report, backend: str = "") -> None:
        """Print a report; with a backend, also the seed and the backend."""
        report = report.seeded(self.seed, backend) if backend else report
        show_report(report, as_json=self.as_json)


def game_command(
    typed: str,
    *,
    seed: str | None = "all random choices",
    of_one: bool = True,
    cls: type[click.Command] = click.Command,
) -> Callable[[Callable[..., Any]], click.Command]:
    """Turn a function into a command about a game; it gets `GameOptions` and its other options.

    Args:
        typed: an example, as one would type it.
        seed: the random choices that the seed determines, for the help; None if there are none.
        of_one: whether its argument is a game.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def command(
            backend: str, limits: Limits, as_json: bool, game: str = "", seed: int = 0, **extra: Any
        ) -> Any:
            return function(GameOptions(game, backend, limits, seed, as_json), **extra)

        params = vars(command).pop("__click_params__", [])
        for option in (verbose_option, json_option, limits_option, backend_option):
            option(command)
        if seed is not None:
            seed_option(seed)(command)
        vars(command)["__click_params__"] += params  # in the order of help, from its end
        named = game_argument()(command) if of_one else command
        return click.command(cls=cls, epilog=example(typed))(named)

    return decorate
