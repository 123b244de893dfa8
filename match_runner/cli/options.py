"""Options that several commands share: where to play, conditions, files, and stopping rules.

Each group has a decorator that adds options to a command, and a reader that takes their values out
of the command's keyword arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from ggp.cli.arguments import (
    FilePath,
    FiniteRange,
    all_of,
    clock_option,
    count_option,
    file_option,
    folder_option,
    is_given,
    threads_for,
)
from ggp.console import tell
from ggp.errors import ConfigError
from ggp.machine import Limits
from ggp.protocol.messages import MAX_CLOCK_S, Dialect
from ggp.run.whole_files import write_whole
from match_runner.charts import ENDINGS, check_ending
from match_runner.match.conditions import MAX_PAUSE_S, Conditions
from match_runner.remote.remote_players import DEFAULT_START_CLOCK_S, is_address
from match_runner.remote.wire import DRESDEN, DRESDEN_PAUSE_S, SERVERS, Replacement
from match_runner.series.course import course_of, draw_course
from match_runner.series.holding import MATCH_SECONDS, Snapshot, StoragePlace
from match_runner.series.verdicts import DECIDED, DEFAULT_MOST, DEFAULT_WORTH, SPAN, StoppingRule

_F = TypeVar("_F", bound=Callable[..., Any])


def place_options(*, out: str, jobs: str = "1", records: bool = True) -> Callable[[_F], _F]:
    """Options for every field of `StoragePlace`, passed as keyword arguments of the same names.

    Args:
        out: default folder of results, for the help.
        jobs: default number of parallel matches, for the help.
        records: whether there is a `--record`.
    """
    record = folder_option("--record", "records", help="Write each match to DIR as a JSON file.")
    return all_of(
        count_option(
            "--jobs",
            show_default=jobs,
            help="Number of matches to play in parallel; does not change the results.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="Play on the Dask cluster of this scheduler or scheduler file, not on this "
            "machine.",
        ),
        count_option(
            "--match-seconds",
            default=MATCH_SECONDS,
            minimum=0,
            help="Seconds after which a match is retried; 0 for no limit.",
        ),
        folder_option(
            "--out",
            "folder",
            show_default=out,
            help="Folder for results. The same command continues from them.",
        ),
        *((record,) if records else ()),
    )


def read_place(options: dict[str, Any], *, in_this_process: bool = False) -> StoragePlace:
    """Read the place from a command's options, and remove them from `options`.

    Args:
        in_this_process: whether matches are played in this process by default.
    """
    fields = {name: options.pop(name) for name in tuple(options) if name in StoragePlace.__slots__}
    if in_this_process and fields["jobs"] is None and fields["scheduler"] is None:
        fields["jobs"] = 0
    return StoragePlace(**fields)


def with_threads(limits: Limits, threads: int | None, place: StoragePlace) -> Limits:
    """Limits with the given number of threads; without one, each match gets its share."""
    if threads is None and place.scheduler is not None:
        return limits  # other machines may have fewer processors
    return replace(limits, threads=threads_for(threads, place.jobs or 1))


def note_ignored(conditions: Conditions, players: Sequence[str]) -> None:
    """Print a note for each option without effect, for commands with `conditions_options`.

    Args:
        players: specs and addresses of all players.
    """
    has_remote = any(map(is_address, players))
    if is_given("start_clock_s") and conditions.play_clock_s is None and not has_remote:
        tell("note: --start-clock has no effect without --play-clock")
    if conditions.preparing_s:
        return
    from ggp.players import parse_spec

    for text in dict.fromkeys(players):
        if not is_address(text) and "learn=" in text and parse_spec(text).options.learn:
            tell(f"note: {text} learns nothing: it needs a start clock and --play-clock")


in_process_option = click.option(
    "--in-process",
    is_flag=True,
    help="Run players of your own in the process of the match, even with a clock; useful "
    "with a debugger. The match then waits for a player that never answers.",
)

conditions_options = all_of(
    click.option(
        "--play-clock",
        "play_clock_s",
        type=FiniteRange(min=0, min_open=True, max=MAX_CLOCK_S),
        metavar="SECONDS",
        help="Time for each decision. Without it, the players' own limits apply.",
    ),
    clock_option("local players (others have the wall clock)"),
    click.option(
        "--start-clock",
        "start_clock_s",
        type=click.IntRange(min=0, max=MAX_CLOCK_S),
        default=DEFAULT_START_CLOCK_S,
        show_default=True,
        metavar="SECONDS",
        help="Time before the first turn, for remote players and players of your own; with a play "
        "clock also for players that prepare or ponder.",
    ),
    click.option(
        "--ponder",
        is_flag=True,
        help="With a play clock, let local players think on other players' time too.",
    ),
    click.option(
        "--dialect",
        type=click.Choice([dialect.value for dialect in Dialect]),
        show_default="gdl2 where moves are hidden, else gdl",
        help="Remote players get moves (gdl), percepts (gdl2-old), or turn, move, percepts (gdl2).",
    ),
    click.option(
        "--server",
        type=click.Choice(list(SERVERS)),
        default=DRESDEN.name,
        show_default=True,
        help="The game server to imitate for remote players.",
    ),
    click.option(
        "--scramble", is_flag=True, help="Send remote players random words instead of names."
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
        help=f"Pause before each turn; the Dresden controller pauses {DRESDEN_PAUSE_S:g} s.",
    ),
    in_process_option,
)
"""Options for every field of `ConditionOptions`, clocks first in the help."""


# ------------------------------------------------------------------------
# Options of commands that write the course of a series to files.


class _PlotPath(FilePath):
    """The path of a chart; its ending names the format."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        path = super().convert(value, param, ctx)
        try:
            return check_ending(path)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class CourseFiles(NamedTuple):
    """Files for the course of a series.

    Attributes:
        csv: path of the table; None for no table.
        plot: path of the chart; None for no chart.
    """

    csv: Path | None
    plot: Path | None

    def wrap(self, show: Callable[[Snapshot], None]) -> Callable[[Snapshot], None]:
        """Return a function that shows a series, and then writes the files."""

        def show_and_write(snapshot: Snapshot) -> None:
            show(snapshot)
            if self.csv is None and self.plot is None:
                return
            course = course_of(snapshot)
            if self.csv is not None:
                write_whole(self.csv, course.table.csv())
            if self.plot is not None:
                draw_course(course).save(self.plot)

        return show_and_write


course_options = all_of(
    file_option(
        "--csv", help="Write a table of scores by round, and of goals, states and time by turn."
    ),
    click.option(
        "--plot",
        type=_PlotPath(),
        metavar="FILE",
        help=f"Draw the same as a chart; FILE must end in {' or '.join(ENDINGS)}.",
    ),
)
"""Options `--csv` and `--plot`, see `read_course_files`."""


def read_course_files(options: dict[str, Any]) -> CourseFiles:
    """Read the files of the course, and remove these options from `options`."""
    return CourseFiles(options.pop("csv"), options.pop("plot"))


# ------------------------------------------------------------------------
# Options of commands with a stopping rule.

until_options = all_of(
    click.option(
        "--until",
        type=click.Choice([DECIDED]),
        help="Instead of a number: play until one player is certainly better (99 %), or the "
        "difference is certainly smaller than --worth.",
    ),
    click.option(
        "--worth",
        type=FiniteRange(min=0, min_open=True, max=SPAN),
        metavar="POINTS",
        show_default=f"{DEFAULT_WORTH:g}",
        help="With --until: least difference in score that matters.",
    ),
    count_option(
        "--most",
        metavar="MATCHES",
        show_default=str(DEFAULT_MOST),
        minimum=2,
        help="With --until: maximum matches.",
    ),
)
"""Options `--until`, `--worth` and `--most`, see `read_until`."""


def read_until(
    options: dict[str, Any], matches: int | None, rounds: int | None = None
) -> StoppingRule | None:
    """Read the stopping rule, if there is one, and remove these options from `options`.

    Raises:
        ConfigError: options that do not go together.
    """
    until, worth, most = (options.pop(name) for name in ("until", "worth", "most"))
    if until is None:
        if worth is not None or most is not None:
            raise ConfigError("--worth and --most need --until decided")
        return None
    if matches is not None:
        raise ConfigError(
            f"--matches {matches} and --until decided exclude each other: leave out --matches, or "
            f"give --most {matches} instead"
        )
    if rounds is not None:
        raise ConfigError("--rounds and --until decided exclude each other: leave out --rounds")
    return StoppingRule(worth or DEFAULT_WORTH, most or DEFAULT_MOST)
