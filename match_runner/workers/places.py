"""Choice of where matches are played, by the options of a command."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from ggp.errors import ConfigError
from match_runner.workers.executor import Executor, LocalPool
from match_runner.workers.inline import InlineExecutor

MATCH_SECONDS = 3600
"""Default time limit of a match, in seconds."""

_F = TypeVar("_F", bound=Callable[..., Any])


@contextmanager
def open_executor(
    jobs: int | None, scheduler: str | None, match_seconds: float = MATCH_SECONDS
) -> Iterator[Executor]:
    """Open an executor that plays matches; closed at the end, unfinished matches are given up.

    Args:
        jobs: number of processes side by side on this machine; 0 to play in this process; None
            for one.
        scheduler: address of a Dask scheduler, or path of its scheduler file; None for this
            machine.
        match_seconds: time after which a match is broken off as if its process had died; 0 for
            never.

    Raises:
        ConfigError: the scheduler cannot be used, or both places are named.
    """
    limit_s = match_seconds or math.inf
    executor: Executor
    if scheduler is None:
        executor = InlineExecutor() if jobs == 0 else LocalPool(jobs or 1, limit_s)
    elif jobs is not None:
        raise ConfigError(
            "--jobs is for this machine, and --scheduler has as many places as its workers have "
            "threads; leave one of them out"
        )
    else:
        from match_runner.workers.cluster import ClusterExecutor  # Dask is slow to import

        executor = ClusterExecutor(scheduler, limit_s)
    try:
        yield executor
    finally:
        executor.close()


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
