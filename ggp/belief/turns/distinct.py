"""One turn of a pool: the different boards that follow, if nothing but their number matters.

Of a pool that grows too large only some boards are kept. So its successors are made in random
order, and no more of them once they are too many:

    pool of 10,000 boards    450,000 completions     32,768 of them    29,000 that agree
                             in random order         are made          and differ: enough

Which boards are found depends on the order alone, and one that is reached in several ways is found
the sooner. As long as there are not too many, all of them are found.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ggp.belief.turns.completions import completion_pairs, step_matching
from ggp.belief.turns.open_moves import OpenMoves
from ggp.machine.arrays import first_seen
from ggp.machine.base import IntArray, Machine, States

FEWEST_AT_ONCE = 2048
"""Completions that are made together at least: fewer take about as long."""


def distinct_successors(
    machine: Machine,
    role: int,
    boards: States,
    options: OpenMoves,
    wanted: IntArray,
    *,
    most: int,
    rng: np.random.Generator,
    stop: Callable[[], bool],
    at_once: Callable[[], int],
) -> tuple[States, float]:
    """Different states that follow in one turn, agree with what a role sees, and are not the end.

    Args:
        boards: L different states before the turn.
        options: their open moves.
        wanted: `[L]` percept id of the role, or `UNKNOWN`.
        most: as soon as there are more states than this, no more are looked for.
        rng: draws the order, if they are not all made together.
        stop: when true, no more are looked for.
        at_once: gives the number of completions to make between two looks at `stop`.

    Returns:
        the states, and an estimate of the number of completions that agree.
    """

    def together() -> int:
        return min(at_once(), max(2 * most, FEWEST_AT_ONCE))

    lanes = np.flatnonzero(options.counts > 0)
    counts = options.counts[lanes].astype(np.int64)
    found = boards.take(np.zeros(0, dtype=np.int64))
    tried = matched = 0
    for at, numbers in completion_pairs(counts, together, rng):
        if tried and stop():
            break
        rows = lanes[at]
        joint_moves, _ = options.joint(rows, numbers)
        matches, after = step_matching(machine, role, boards, rows, joint_moves, wanted)
        found = _with_new(machine, found, after)
        tried += len(rows)
        matched += len(matches)
        if len(found) > most:
            break
    return found, matched * float(counts.sum()) / max(tried, 1)


def _with_new(machine: Machine, found: States, after: States) -> States:
    """Different states, and those of others that are new and not the end."""
    if not len(after):
        return found
    both = machine.concatenate([found, after])
    first, _ = first_seen(machine.groups(both))
    new = both.take(first[len(found) :])
    return machine.concatenate([found, new.take(np.flatnonzero(~machine.terminal(new)))])
