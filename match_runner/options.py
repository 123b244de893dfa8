"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from ggp.cli.arguments import FiniteRange, FolderPath, clock_option, threads_for
from ggp.machine import Limits
from ggp.protocol.messages import MAX_CLOCK_S, Dialect
from ggp.run.clocks import Clock
from match_runner.match.conditions import Conditions
from match_runner.remote.post import is_address
from match_runner.remote.remote_players import DEFAULT_START_CLOCK_S, RemoteConditions
from match_runner.remote.servers import DRESDEN, DRESDEN_PAUSE_S, SERVERS, Replacement
from match_runner.workers.places import jobs_option, match_seconds_option, scheduler_option

MAX_PAUSE_S = 60
"""Longest pause before a turn, in seconds: players forget matches that stay silent."""

FORGET_S = 90.0
"""Seconds that we wait, beyond twice both clocks, for a busy player to forget a match: players
forget matches that are silent for twice their clocks and a minute."""

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class StoragePlace:
    """Where matches are played and kept.

    Attributes:
        jobs, scheduler, match_seconds: see `open_executor`.
        folder: where results are kept; None for memory only.
        records: where every match is written as a file; None for nowhere.
    """

    jobs: int | None = None
    scheduler: str | None = None
    match_seconds: float = 0
    folder: Path | None = None
    records: Path | None = None


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


def read_place(asked: dict[str, Any], *, in_this_process: bool = False) -> StoragePlace:
    """The place that a command's options ask for; removes its options from `asked`.

    Args:
        in_this_process: whether matches are played in this process by default.
    """
    own = {name: asked.pop(name) for name in tuple(asked) if name in StoragePlace.__slots__}
    if in_this_process and own["jobs"] is None and own["scheduler"] is None:
        own["jobs"] = 0
    return StoragePlace(**own)


def with_threads(limits: Limits, threads: int | None, place: StoragePlace) -> Limits:
    """Limits with the number of threads asked for, else as many as each match of the place gets."""
    if threads is None and place.scheduler is not None:
        return limits  # other machines may have fewer processors
    return replace(limits, threads=threads_for(threads, place.jobs or 1))


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
    """Options for every argument of `conditions_of`, clocks first in the help."""
    for option in reversed(_OPTIONS):
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


def conditions_of(
    *,
    has_remote: bool,
    patient: bool = False,
    play_clock_s: float | None,
    start_clock_s: int,
    dialect: str | None,
    server: str,
    scramble: bool,
    replacement: str | None,
    pause_s: float,
    in_process: bool = False,
    clock: Clock = Clock.WALL,
    ponder: bool = False,
) -> Conditions:
    """The conditions that the options of a command ask for.

    Args:
        has_remote: whether a remote player takes part: then bad moves are replaced as the
            imitated server replaces them, unless `replacement` says otherwise.
        patient: whether we wait for a remote player that is busy because it still believes in a
            match that was broken off, until it forgets that match.
    """
    acted = SERVERS[server]
    usual = acted.replacement if has_remote else Replacement.RANDOM
    patience_s = 2 * (start_clock_s + (play_clock_s or 0.0)) + FORGET_S
    return Conditions(
        play_clock_s=play_clock_s,
        replacement=Replacement(replacement) if replacement else usual,
        pause_s=pause_s,
        remote=RemoteConditions(
            server=acted,
            dialect=Dialect(dialect) if dialect else None,
            start_clock_s=start_clock_s,
            scramble=scramble,
            patience_s=patience_s if has_remote and patient else 0.0,
        ),
        in_process=in_process,
        clock=clock,
        ponder=ponder,
        prepares=True,
    )


in_process_option = click.option(
    "--in-process",
    is_flag=True,
    help="Have players of other modules play in the process of the match, also with a clock, as "
    "for a debugger. One that never answers is waited for.",
)

_OPTIONS = (
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
