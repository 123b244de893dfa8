"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from ggp.cli.arguments import FilePath, FiniteRange, FolderPath, clock_option, threads_for
from ggp.errors import ConfigError
from ggp.machine import Limits
from ggp.protocol.messages import MAX_CLOCK_S, Dialect
from ggp.run.whole_files import write_whole
from match_runner.charts import ENDINGS, check_ending
from match_runner.match.conditions import MAX_PAUSE_S, Conditions
from match_runner.remote.post import is_address
from match_runner.remote.remote_players import DEFAULT_START_CLOCK_S
from match_runner.remote.wire import DRESDEN, DRESDEN_PAUSE_S, SERVERS, Replacement
from match_runner.series.course import course_of, draw_course
from match_runner.series.holding import SeriesSnapshot, StoragePlace
from match_runner.series.stopping import DEFAULT_MOST, DEFAULT_WORTH, StoppingRule
from match_runner.series.verdicts import DECIDED, SPAN
from match_runner.workers.places import MATCH_SECONDS

_F = TypeVar("_F", bound=Callable[..., Any])


def place_options(
    jobs: str = "1", out: str | None = None, *, records: bool = True
) -> Callable[[_F], _F]:
    """Options for every field of `StoragePlace`, passed as keyword arguments of the same names.

    Args:
        jobs: default number of matches played side by side, for the help.
        out: where results are kept by default, for the help; without it `--out` must be given.
        records: whether there is a `--record`.
    """
    options = [jobs_option(jobs), scheduler_option, match_seconds_option, out_option(out)]
    if records:
        options.append(record_option)

    def decorate(command: _F) -> _F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def read_place(options: dict[str, Any], *, in_this_process: bool = False) -> StoragePlace:
    """The place that a command's options ask for; removes its options from `options`.

    Args:
        in_this_process: whether matches are played in this process by default.
    """
    fields = {name: options.pop(name) for name in tuple(options) if name in StoragePlace.__slots__}
    if in_this_process and fields["jobs"] is None and fields["scheduler"] is None:
        fields["jobs"] = 0
    return StoragePlace(**fields)


def with_threads(limits: Limits, threads: int | None, place: StoragePlace) -> Limits:
    """Limits with the number of threads asked for, else as many as each match of the place gets."""
    if threads is None and place.scheduler is not None:
        return limits  # other machines may have fewer processors
    return replace(limits, threads=threads_for(threads, place.jobs or 1))


def jobs_option(usual: str = "1") -> Callable[[_F], _F]:
    """Option `--jobs`: None if not given.

    Args:
        usual: the number that is then used, as text for the help.
    """
    return click.option(
        "--jobs",
        type=click.IntRange(min=1),
        show_default=usual,
        help="Matches to play at once; the numbers stay the same.",
    )


def scheduler_option(command: _F) -> _F:
    """Option `--scheduler`: None if not given."""
    return click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Play on the Dask cluster of this scheduler (or scheduler file), not on this machine.",
    )(command)


def match_seconds_option(command: _F) -> _F:
    """Option `--match-seconds`."""
    return click.option(
        "--match-seconds",
        type=click.IntRange(min=0),
        default=MATCH_SECONDS,
        show_default=True,
        help="Break off a match that takes longer, and try it again; 0 for never.",
    )(command)


def out_option(usual: str | None = None) -> Callable[[_F], _F]:
    """Option `--out`, passed as `folder`: where a command that can be continued keeps its results.

    Args:
        usual: the default, for the help; without it the option must be given.
    """
    return click.option(
        "--out",
        "folder",
        type=FolderPath(),
        required=usual is None,
        show_default=usual or False,
        metavar="DIR",
        help="Where results are kept. The same command continues from them.",
    )


def record_option(command: _F) -> _F:
    """Option `--record`, passed as `records`."""
    return click.option(
        "--record",
        "records",
        type=FolderPath(),
        metavar="DIR",
        help="Write a JSON file for every match to DIR.",
    )(command)


def conditions_options(command: _F) -> _F:
    """Options for every field of `ConditionOptions`, clocks first in the help."""
    for option in reversed(_CONDITIONS_OPTIONS):
        command = option(command)
    return command


def ignored(conditions: Conditions, players: Iterable[str]) -> Iterator[str]:
    """Yield what was asked for and has no effect, for commands with `conditions_options`.

    Args:
        players: specs and addresses of all players.
    """
    players = list(players)
    source = click.get_current_context().get_parameter_source("start_clock_s")
    has_remote = any(map(is_address, players))
    if source is ParameterSource.COMMANDLINE and conditions.play_clock_s is None and not has_remote:
        yield "--start-clock says nothing without --play-clock: counts decide"
    if conditions.preparing_s:
        return
    from ggp.players import parse_spec

    for text in dict.fromkeys(players):
        if not is_address(text) and "learn=" in text and parse_spec(text).options.learn:
            yield f"{text} learns nothing: it needs a start clock, and --play-clock"


in_process_option = click.option(
    "--in-process",
    is_flag=True,
    help="Have players of other modules play in the process of the match, also with a clock, as "
    "for a debugger. One that never answers is waited for.",
)

_CONDITIONS_OPTIONS = (
    click.option(
        "--play-clock",
        "play_clock_s",
        type=FiniteRange(min=0, min_open=True, max=MAX_CLOCK_S),
        metavar="SECONDS",
        help="Time for each decision. Without it the players' counts decide.",
    ),
    clock_option("local players (others are on the wall's)"),
    click.option(
        "--start-clock",
        "start_clock_s",
        type=click.IntRange(min=0, max=MAX_CLOCK_S),
        default=DEFAULT_START_CLOCK_S,
        show_default=True,
        metavar="SECONDS",
        help="Time before the first turn, for remote players, those of other modules, and with a "
        "play clock for those that prepare or ponder.",
    ),
    click.option(
        "--ponder",
        is_flag=True,
        help="With a play clock, let players of this process also think in the time of others.",
    ),
    click.option(
        "--dialect",
        type=click.Choice([dialect.value for dialect in Dialect]),
        show_default="gdl2 where moves are hidden, else gdl",
        help="What remote players are told: moves, percepts, or percepts with turn and move.",
    ),
    click.option(
        "--server",
        type=click.Choice(list(SERVERS)),
        default=DRESDEN.name,
        show_default=True,
        help="The server to imitate towards remote players.",
    ),
    click.option(
        "--scramble", is_flag=True, help="Send remote players meaningless words, drawn by the seed."
    ),
    click.option(
        "--replacement",
        type=click.Choice([each.value for each in Replacement]),
        show_default="the server's with remote players, else random",
        help="Which legal move replaces a late or illegal one.",
    ),
    click.option(
        "--pause",
        "pause_s",
        type=FiniteRange(min=0, max=MAX_PAUSE_S),
        default=0.0,
        show_default=True,
        metavar="SECONDS",
        help=f"Wait before each turn; the Dresden controller waits {DRESDEN_PAUSE_S:g}.",
    ),
    in_process_option,
)


# ------------------------------------------------------------------------
# Options of commands that write the course of a series into files.


class _PlotPath(FilePath):
    """The path of a chart, whose ending says in which format it is drawn."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = super().convert(value, param, ctx)
        try:
            return check_ending(path)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class CourseFiles(NamedTuple):
    """Where the course of a series is written.

    Attributes:
        csv: as a table; None for nowhere.
        plot: as a chart; None for nowhere.
    """

    csv: Path | None
    plot: Path | None

    def wrap(self, show: Callable[[SeriesSnapshot], None]) -> Callable[[SeriesSnapshot], None]:
        """What shows a series, and then writes the files."""

        def show_and_write(snapshot: SeriesSnapshot) -> None:
            show(snapshot)
            if self.csv is None and self.plot is None:
                return
            course = course_of(snapshot)
            if self.csv is not None:
                write_whole(self.csv, course.table.csv())
            if self.plot is not None:
                draw_course(course).save(self.plot)

        return show_and_write


def course_options(command: _F) -> _F:
    """Options `--csv` and `--plot`, see `read_course_files`."""
    csv = click.option(
        "--csv",
        type=FilePath(),
        metavar="FILE",
        help="Write scores by round, and goals, states and time by turn, as a table.",
    )
    plot = click.option(
        "--plot",
        type=_PlotPath(),
        metavar="FILE",
        help=f"Draw the same as a chart; FILE ends in {', '.join(ENDINGS)}.",
    )
    return csv(plot(command))


def read_course_files(options: dict[str, Any]) -> CourseFiles:
    """Where the course is to be written; removes these options from `options`."""
    return CourseFiles(options.pop("csv"), options.pop("plot"))


# ------------------------------------------------------------------------
# Options of commands whose series may end by themselves.

_UNTIL_OPTIONS = (
    click.option(
        "--until",
        type=click.Choice([DECIDED]),
        help="Instead of --matches: play rounds until one player is better for certain (99 %), or "
        "the difference is surely smaller than --worth.",
    ),
    click.option(
        "--worth",
        type=FiniteRange(min=0, min_open=True, max=SPAN),
        metavar="POINTS",
        show_default=f"{DEFAULT_WORTH:g}",
        help="With --until: a smaller difference in score does not matter.",
    ),
    click.option(
        "--most",
        type=click.IntRange(min=2),
        metavar="MATCHES",
        show_default=str(DEFAULT_MOST),
        help="With --until: play so many matches at most.",
    ),
)


def until_options(command: _F) -> _F:
    """Options `--until`, `--worth` and `--most`, see `read_until`."""
    for option in reversed(_UNTIL_OPTIONS):
        command = option(command)
    return command


def read_until(options: dict[str, Any], matches: int | None) -> StoppingRule | None:
    """When a series ends by itself, if it does; removes these options from `options`.

    Raises:
        ConfigError: options that do not go together.
    """
    until, worth, most = (options.pop(name) for name in ("until", "worth", "most"))
    if until is None:
        if worth is not None or most is not None:
            raise ConfigError("--worth and --most say when --until decided ends; add it")
        return None
    if matches is not None:
        raise ConfigError(
            f"--matches {matches} and --until decided exclude each other: leave out --matches, or "
            f"say --most {matches} for at most so many"
        )
    return StoppingRule(worth or DEFAULT_WORTH, most or DEFAULT_MOST)
