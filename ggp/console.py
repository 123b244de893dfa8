"""Shared parts of both command lines: one-line errors, exit codes, JSON, tables, logging.

Every command of `ggp` and `match-runner` prints through this module. Results go to standard output;
warnings, errors and progress go to standard error. `EXIT_CODES` lists how commands end.
"""

from __future__ import annotations

import errno
import functools
import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import (
    TYPE_CHECKING,
    Any,
    NamedTuple,
    NoReturn,
    ParamSpec,
    Protocol,
    TextIO,
    TypeVar,
)

import click

from ggp.errors import (
    NOTE,
    ConfigError,
    GDLError,
    GGPError,
    GoalError,
    MatchError,
    NoLegalMoveError,
    PlayerError,
    ReasonerLimitError,
)
from ggp.gdl.nearest import unknown
from ggp.gdl.source import MAX_SHOWN, Diagnostic, errors, printable
from ggp.launch import EXIT_INTERRUPTED as EXIT_INTERRUPTED
from ggp.launch import Loading
from ggp.registry import Registry
from ggp.report import Report

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

EXIT_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_NO_READER = 141
"""Exit status that shells report for a program that ended because nobody reads its output."""

EXIT_CODES = {
    0: "everything went well",
    EXIT_FAILED: "something failed: a match failed, a player committed faults in every match, a "
    "record does not fit its rules, validate found errors, results could not be written, "
    "serve crashed repeatedly",
    EXIT_BAD_INPUT: "the input was wrong: options, files, rulesheets",
    EXIT_INTERRUPTED: "interrupted; but serve and table end with 0 after Ctrl-C or SIGTERM",
    EXIT_NO_READER: "the program reading the output ended early, as head does",
}
"""Exit codes of all commands, shown by `--help` of both command lines."""

_PIPE_WIDTH = 200
"""Width of a table in a file or pipe, in columns: wide enough to keep moves on one line."""

_P = ParamSpec("_P")
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

_log = logging.getLogger(__name__)


class LaterCommand(NamedTuple):
    """A command that is imported when it runs.

    Attributes:
        module: the module that defines it.
        summary: the first line of its help.
        name: its name in that module; empty if it is the name of the command.
    """

    module: str
    summary: str
    name: str = ""


class CommandGroup(click.Group):
    """A group of commands that reports every foreseeable error in one line, with an exit code.

    Args:
        later: commands that are imported when they run, by name.
        offered: entry point group in which installed packages offer more commands.
    """

    def __init__(
        self,
        *args: Any,
        later: Mapping[str, LaterCommand] | None = None,
        offered: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._later = dict(later or {})
        self._offered: Registry[click.Command | LaterCommand] = Registry(offered, "command")

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._later, *self._offered})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = self._find(cmd_name)
        if not isinstance(command, LaterCommand):
            return command
        with Loading():
            module = import_module(command.module)
        loaded: click.Command = getattr(module, command.name or cmd_name)
        return loaded

    def _find(self, name: str) -> click.Command | LaterCommand | None:
        """The command with a name; ours take precedence over plug-ins."""
        return self.commands.get(name) or self._later.get(name) or self._offered.get(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands(ctx)
        room = formatter.width - 6 - max(len(name) for name in names)
        rows = [(name, self._stand_in(ctx, name).get_short_help_str(room)) for name in names]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _stand_in(self, ctx: click.Context, name: str) -> click.Command:
        """A command with the right summary; the real one is imported only if that is needed."""
        command = self._find(name)
        if isinstance(command, LaterCommand):
            return click.Command(name, help=command.summary)
        return self.get_command(ctx, name) or click.Command(name)

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run the command line; never returns."""
        kwargs["standalone_mode"] = False
        code = super().main(*args, **kwargs)
        sys.exit(code if isinstance(code, int) else 0)

    # These two are guarded, not `main`: there, click handles interrupts and closed pipes itself.

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        return guarded(super().make_context)(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        return guarded(super().invoke)(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), text) for code, text in EXIT_CODES.items()])
        super().format_epilog(ctx, formatter)  # the example is last, as in all help

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            names = self.list_commands(ctx)
            ctx.fail(unknown("command", args[0], names, f"commands: {', '.join(names)}"))
        return super().resolve_command(ctx, args)


def example(command: str) -> str:
    """An example for the end of a command's help, as one would type it."""
    return f"\b\nExample:\n  {command}"


def guarded(command: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wrap a command: print its errors in one line on standard error, and set the exit code.

    Bad input (`ConfigError`, an unusable rulesheet, bad options) exits with 2, any other `GGPError`
    with 1, an interrupt with 130, and a closed output (`| head`) with 141. All other exceptions are
    bugs and pass through.
    """

    @functools.wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return command(*args, **kwargs)
        except GGPError as error:
            if isinstance(error, PlayerError):
                _log.info("traceback of the player's error", exc_info=error.__cause__)
            show_failure(error)
            sys.exit(EXIT_BAD_INPUT if is_of_input(error) else EXIT_FAILED)
        except click.ClickException as error:
            show_error(_usage_text(error))
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            show_error("interrupted")
            sys.exit(EXIT_INTERRUPTED)
        except OSError as error:
            _discard_output()
            if error.errno == errno.EPIPE:
                sys.exit(EXIT_NO_READER)
            show_error(f"{error.filename or 'output'}: {error.strerror or error}")
            sys.exit(EXIT_FAILED)

    return run


def is_of_input(error: GGPError) -> bool:
    """Whether the input is to blame for an error: options, files or rules."""
    if isinstance(error, ReasonerLimitError):
        return bool(error.cause)  # the rules are known to be the cause
    if isinstance(error, MatchError) and isinstance(error.__cause__, GGPError):  # of a worker
        return is_of_input(error.__cause__)
    return isinstance(error, GDLError | ConfigError | NoLegalMoveError | GoalError)


def tell(text: str) -> None:
    """Print a note on standard error, above a spinner or bar that stands there.

    Whoever draws these replaces `sys.stderr`; `click.echo` would write past them.
    """
    sys.stderr.write(f"{text}\n")


def show_error(text: str) -> None:
    """Print one line on standard error."""
    tell(f"error: {_one_line(text)}")


def show_diagnostics(diagnostics: Iterable[Diagnostic], *, err: bool = True) -> None:
    """Print each problem of a rulesheet with its line of text and a caret, as wide as the terminal.

    Args:
        err: print to standard error instead of standard output.
    """
    stream, show = (sys.stderr, tell) if err else (sys.stdout, click.echo)
    width = shutil.get_terminal_size().columns if stream.isatty() else None
    for diagnostic in diagnostics:
        show(diagnostic.laid_out(width))


def announce(text: str) -> None:
    """Print a message on standard output; ignore a failure to write it."""
    try:
        click.echo(text)
    except OSError:
        _discard_output()


def print_json(value: object) -> None:
    """Print a value as JSON on standard output."""
    click.echo(json.dumps(value, indent=2))


def print_rich(*parts: RenderableType) -> None:
    """Print tables and text on standard output, without interpreting any markup."""
    console = console_on(sys.stdout)
    for part in parts:
        console.print(part, crop=False)


def show_report(report: Report, *, as_json: bool) -> None:
    """Print a result on standard output, for programs or for people."""
    if as_json:
        print_json(report.values)
        return
    for part in report.parts:
        if isinstance(part, str):
            click.echo(printable(part))
        elif isinstance(part, Diagnostic):
            show_diagnostics([part], err=False)
        else:
            print_rich(part)


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner if standard error is a terminal.

    Yields a function that adds a message to the spinner's text.
    """
    if not sys.stderr.isatty():
        yield lambda now: None
        return
    with console_on(sys.stderr).status(text) as status:
        yield lambda now: status.update(f"{text}: {now}")


class Advance(Protocol):
    """A callback that takes the number of parts just done, and the progress within the next."""

    def __call__(self, parts: int = 1, /, *, now: str = "") -> None: ...


@contextmanager
def bar_of(total: int | None, text: str) -> Iterator[Advance]:
    """Show a progress bar if standard error is a terminal; yields the callback that advances it.

    Args:
        total: the number of parts; None if unknown.
        text: a description of the work.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    screen = console_on(sys.stderr)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(text, total=total)

        def advance(parts: int = 1, /, *, now: str = "") -> None:
            bar.update(task, advance=parts, description=f"{text}, {now}" if now else text)

        yield advance


def setup_logging(verbose: int) -> None:
    """Send log messages to standard error.

    Args:
        verbose: 0 for warnings and notes, 1 for progress too, 2 for everything.
    """
    logging.addLevelName(NOTE, "note")
    level = {0: NOTE, 1: logging.INFO}.get(verbose, logging.DEBUG)
    for name in ("ggp", "match_runner"):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers = [_HANDLER]
    _HANDLER.setFormatter(_Line("%(levelname)s: %(name)s: %(message)s" if verbose else None))


def _raise_verbosity(ctx: click.Context, param: object, value: int) -> None:
    root = ctx.find_root()
    root.meta["verbose"] = root.meta.get("verbose", 0) + value
    setup_logging(root.meta["verbose"])


def is_verbose() -> bool:
    """Whether the running command got `--verbose`."""
    return bool(click.get_current_context().find_root().meta.get("verbose"))


def verbose_option(command: _F) -> _F:
    """`-v`, before or after the command's name."""
    return click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_raise_verbosity,
        help="Print more on standard error; repeat for everything.",
    )(command)


def installed_version() -> str:
    """The version of the installed package."""
    try:
        return version("ggp-hyperplay")
    except PackageNotFoundError:
        return "unknown (the package is not installed)"


class _StderrHandler(logging.Handler):
    """Writes to the current `sys.stderr`, which a spinner may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            tell(self.format(record))
        except Exception:
            self.handleError(record)


class _Line(logging.Formatter):
    """Formats each record as one line, with its level in lower case."""

    def __init__(self, layout: str | None) -> None:
        super().__init__(layout or "%(levelname)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        level, _, rest = super().format(record).partition(":")
        return f"{level.lower()}:{printable(rest) if not record.exc_info else rest}"


_HANDLER = _StderrHandler()


def console_on(file: TextIO) -> Console:
    """A console that interprets no markup and raises `BrokenPipeError` on a broken pipe."""
    from rich.console import Console

    class _Console(Console):
        def on_broken_pipe(self) -> None:  # rich would end the process
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    console = _Console(file=file, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPE_WIDTH)
    return console


def _discard_output() -> None:
    """Redirect standard output to nowhere, so that flushing it at exit cannot fail again."""
    with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def show_failure(error: GGPError) -> None:
    """Print an error on standard error; for a rulesheet, every problem with a caret."""
    problems = errors(error.diagnostics) if isinstance(error, GDLError) else []
    if not problems:
        show_error(str(error))
        return
    show_diagnostics(problems[:MAX_SHOWN])
    if len(problems) > MAX_SHOWN:
        num_hidden = len(problems) - MAX_SHOWN
        show_error(f"{num_hidden} more errors; `ggp validate -v {problems[0].name}` shows all")


def _usage_text(error: click.ClickException) -> str:
    """The message for a bad command line, with the valid choices."""
    text = error.format_message()
    context = getattr(error, "ctx", None)
    if context is None:
        return text
    if isinstance(error, click.NoSuchOption):
        names = [p.opts[-1] for p in context.command.get_params(context) if p.opts[0][0] == "-"]
        return f"unknown option {error.option_name}; options: {', '.join(names)}"
    if "; " in text:
        return text
    return f"{text.rstrip('.')}; see `{context.command_path} --help`"


def _one_line(text: str) -> str:
    return printable(" ".join(line.strip() for line in text.splitlines()))


def listed(names: Sequence[str]) -> str:
    """`A, B and C`."""
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
