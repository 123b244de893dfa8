"""Playouts inside kernels against matches played step by step: the same distributions.

    python -m tests.machine.playout_statistics [FOLDER_OR_FILE]... [--matches 2000] [--seed 0]
    python -m tests.machine.playout_statistics --others

Random playouts run inside kernels, on circuits from which what cannot matter is left out, in
blocks whose lanes come and go. What they do with a seed cannot be repeated by steps, so both are
compared by what they come to. Matches start in the initial state, which has special circuits, and
in states of different turns, which are shuffled in one batch. Of each start, the means of goals,
lengths and finished matches give z-scores, and the joint distribution of goals and lengths gives
the p-value of a chi-square test. `tests.support.comparing.two_samples` says how they are judged
together.

Z-scores of one start are of the same matches, so they depend on each other: standard errors take
them as one group, and a goal that is a linear function of another is compared once. What is the
same in all matches gives no z-score: then both sides agree exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from zlib import crc32

import click
import numpy as np

from ggp.console import bar_of, print_json
from ggp.errors import GGPError
from ggp.machine import Limits, Machine, States, build_machine
from ggp.machine.base import FloatArray, IntArray, Playouts, player_roles
from ggp.machine.games import load_program
from tests.support.comparing.batches import live, mixed_states
from tests.support.comparing.by_steps import play_by_steps, take_lanes
from tests.support.comparing.two_samples import Summary, summarize, table_p, z_score
from tests.support.games import GAMES, SHARED, rulesheets_in

CHANCE = 1e-4
"""Differences less probable than this stand out."""

_MATCHES_BEFORE = 16
"""Random matches from which states are taken to start in."""

_LENGTHS = 10
"""Bins of lengths in a table."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean by kernels, the same by steps, and how far apart they are in standard errors."""

    what: str
    kernels: float
    steps: float
    z: float


@dataclass(frozen=True, slots=True)
class Start:
    """What comes of a state; `p` is None where all matches come to the same."""

    name: str
    differences: tuple[Difference, ...]
    p: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is played.

    Attributes:
        matches: from each start, on each side.
        starts: states of random matches to start in, besides the initial one.
        max_steps: joint moves after which a match is cut off.
        seed: the same seed gives the same starts, and with as many matches the same numbers.
    """

    matches: int = 2000
    starts: int = 12
    max_steps: int = 300
    seed: int = 0


_USUAL = Plan()


def compare_playouts(machine: Machine, name: str, plan: Plan) -> list[Start]:
    """All starts of a game; the first is the initial state, alone in its batch."""
    number = crc32(name.encode())
    # Drawn apart, so that more matches begin in the same states.
    mixed, names = _starts(machine, plan, np.random.default_rng([plan.seed, number, 1]))
    rng = np.random.default_rng([plan.seed, number, plan.matches])
    single_batch = _of_batch(machine, machine.initial(), ["alone"], plan, rng)
    return [*single_batch, *_of_batch(machine, mixed, names, plan, rng)]


def _starts(machine: Machine, plan: Plan, rng: np.random.Generator) -> tuple[States, list[str]]:
    """The initial state, states evenly along random matches, and one where a match is over."""
    seed = int(rng.integers(1 << 32))
    visited = mixed_states(machine, seed, lanes=_MATCHES_BEFORE, depth=plan.max_steps)
    over = np.flatnonzero(machine.terminal(visited))[-1:]
    running = live(machine, visited)
    later = np.arange(_MATCHES_BEFORE, len(running))
    middle = running.take(later[:: max(1, -(-len(later) // plan.starts))])
    names = ["initial", *(f"state {k + 1}" for k in range(len(middle))), *("over" for _ in over)]
    return machine.concatenate([machine.initial(), middle, visited.take(over)]), names


def _of_batch(
    machine: Machine, states: States, names: list[str], plan: Plan, rng: np.random.Generator
) -> Iterator[Start]:
    """Matches from some states, shuffled in one batch."""
    owner = np.repeat(np.arange(len(states)), plan.matches)
    rng.shuffle(owner)
    batch = states.take(owner)
    by_kernels = machine.playout(batch, rng, plan.max_steps)
    by_steps = play_by_steps(machine, batch, rng, plan.max_steps)
    roles = player_roles(machine)
    for start, name in enumerate(names):
        lanes = np.flatnonzero(owner == start)
        first, second = (take_lanes(playouts, lanes) for playouts in (by_kernels, by_steps))
        labels = _labels(first, second, roles)
        p = table_p(labels[: len(lanes)], labels[len(lanes) :], rng)
        yield Start(name, tuple(_differences(machine, first, second, roles)), p)


def _differences(
    machine: Machine, first: Playouts, second: Playouts, roles: list[int]
) -> Iterator[Difference]:
    """Of each mean that is not given by one before."""
    pairs = [
        ("length", first.steps, second.steps),
        *((f"goal of {machine.roles[r]}", first.goals[:, r], second.goals[:, r]) for r in roles),
        ("finished", first.finished, second.finished),
    ]
    seen: list[FloatArray] = []
    for label, by_kernels, by_plain_steps in pairs:
        z = z_score(by_kernels.astype(np.float64), by_plain_steps.astype(np.float64))
        if z is None:
            continue
        values = np.concatenate([by_kernels, by_plain_steps]).astype(np.float64)
        values = (values - values.mean()) / values.std()
        if all(abs(float(np.mean(values * indicator))) < 1 - 1e-9 for indicator in seen):
            seen.append(values)
            yield Difference(label, float(by_kernels.mean()), float(by_plain_steps.mean()), z)


def _labels(first: Playouts, second: Playouts, roles: list[int]) -> IntArray:
    """`[2 L]` numbers of cells: goals of all roles, the bin of the length, whether it ended."""
    steps = np.concatenate([first.steps, second.steps])
    ends = np.unique(np.quantile(steps, np.arange(1, _LENGTHS) / _LENGTHS, method="higher"))
    columns = np.column_stack(
        [
            np.concatenate([first.goals, second.goals])[:, roles],
            np.searchsorted(ends, steps),
            np.concatenate([first.finished, second.finished]),
        ]
    )
    _, labels = np.unique(columns, axis=0, return_inverse=True)
    return np.asarray(labels.reshape(-1), dtype=np.int64)


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--others",
    "with_others",
    is_flag=True,
    help="Also rulesheets by others, if their folder is there.",
)
@click.option("--matches", type=click.IntRange(min=20), default=_USUAL.matches, show_default=True)
@click.option("--starts", type=click.IntRange(min=1), default=_USUAL.starts, show_default=True)
@click.option(
    "--max-steps", type=click.IntRange(min=1), default=_USUAL.max_steps, show_default=True
)
@click.option("--seed", type=click.IntRange(min=0), default=_USUAL.seed, show_default=True)
@click.option("--only", multiple=True, help="Rulesheets with this in their names or paths.")
@click.option(
    "--backend", type=click.Choice(["propnet", "relational"]), default="propnet", show_default=True
)
@click.option("--seconds", default=Limits().grounding_seconds, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
def main(
    paths: tuple[Path, ...],
    with_others: bool,
    matches: int,
    starts: int,
    max_steps: int,
    seed: int,
    only: tuple[str, ...],
    backend: str,
    seconds: float,
    as_json: bool,
) -> None:
    """Compare playouts inside kernels with matches played step by step.

    Of all rulesheets in folders, or of our own games. --seconds is the processor time for grounding
    a rulesheet. The exit code is 1 if something stands out.
    """
    plan = Plan(matches, starts, max_steps, seed)
    games = [
        game for game in _games(paths, with_others) if not only or any(o in game for o in only)
    ]
    starts_of: dict[str, list[Start]] = {}
    failed: dict[str, str] = {}
    with bar_of(len(games), "rulesheets") as advance:
        for game in games:
            try:
                starts_of[game] = _compared(game, backend, plan, seconds)
            except GGPError as error:
                failed[game] = str(error)
            if not as_json:
                click.echo(_line(game, starts_of.get(game), failed.get(game)))
            advance()
    summary = _summary(starts_of.values())
    out = summary.stands_out(CHANCE) if summary else []
    if as_json:
        print_json(_as_json(plan, starts_of, failed, summary, out))
    elif summary is not None:
        click.echo(_verdict(summary, out))
    raise SystemExit(1 if out else 0)


def _games(paths: tuple[Path, ...], with_others: bool) -> list[str]:
    """Rulesheets in folders, or our own games, and those by others."""
    folders = [*paths, *([SHARED] if with_others else [])]
    sheets = [str(path) for folder in folders for path in rulesheets_in(folder) if path.exists()]
    return sheets if paths else [*GAMES, *sheets]


def _name(game: str) -> str:
    return Path(game).stem


def _compared(game: str, backend: str, plan: Plan, seconds: float) -> list[Start]:
    limits = Limits(grounding_seconds=seconds, grounding_wait_seconds=86_400)
    machine = build_machine(load_program(game), backend, limits)
    return compare_playouts(machine, _name(game), plan)


def _summary(starts_of: Iterable[list[Start]]) -> Summary | None:
    starts = [start for starts in starts_of for start in starts]
    scores = [[difference.z for difference in start.differences] for start in starts]
    tables = [start.p for start in starts if start.p is not None]
    return summarize(scores, tables) if any(scores) else None


def _line(game: str, starts: list[Start] | None, error: str | None) -> str:
    if starts is None:
        return f"{_name(game)}: {error}"
    scores = [f"{start.name} {_scores(start)}" for start in starts if start.differences]
    return f"{_name(game)}: {'; '.join(scores) or 'all matches are alike, on both sides'}"


def _scores(start: Start) -> str:
    """Z-scores, and the p-value of the table in brackets."""
    scores = " ".join(f"{difference.z:+.2f}" for difference in start.differences)
    return scores if start.p is None else f"{scores} ({start.p:.3g})"


def _verdict(summary: Summary, out: list[str]) -> str:
    s = summary
    return (
        f"{s.num_scores:,} z-scores: mean {s.mean:+.3f} ± {s.mean_error:.3f}, deviation "
        f"{s.deviation:.3f} ± {s.deviation_error:.3f}, largest {s.largest:+.2f} "
        f"(p = {s.largest_p:.2g} among so many)\n"
        f"{s.num_tables:,} chi-squares: uniform with p = {s.uniformity_p:.2g}, smallest p "
        f"{s.smallest:.2g} (p = {s.smallest_p:.2g} among so many)\n"
        + (f"stands out: {', '.join(out)}" if out else "nothing stands out")
    )


def _as_json(
    plan: Plan,
    starts_of: dict[str, list[Start]],
    failed: dict[str, str],
    summary: Summary | None,
    out: list[str],
) -> dict[str, object]:
    return {
        **asdict(plan),
        "rulesheets": {
            _name(game): [asdict(s) for s in starts] for game, starts in starts_of.items()
        },
        "failed": {_name(game): error for game, error in failed.items()},
        "summary": None if summary is None else summary._asdict(),
        "stands_out": out,
    }


if __name__ == "__main__":
    main()
