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
from ggp.belief.turns.unseen import estimated_sizes
from ggp.machine.arrays import first_seen, first_seen_columns
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
) -> tuple[States, IntArray, float]:
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
        K states, `[K]` from how many of the boards each was reached, and the sum of these numbers
        that all completions together would give, estimated.
    """

    def together() -> int:
        return min(at_once(), max(2 * most, FEWEST_AT_ONCE))

    lanes = np.flatnonzero(options.counts > 0)
    counts = options.counts[lanes].astype(np.int64)
    found = boards.take(np.zeros(0, dtype=np.int64))
    reached: list[tuple[IntArray, IntArray]] = []
    tried = 0
    for at, numbers in completion_pairs(counts, together, rng):
        if tried and stop():
            break
        rows = lanes[at]
        joint_moves, _ = options.joint(rows, numbers)
        matches, after = step_matching(machine, role, boards, rows, joint_moves, wanted)
        found, numbers = _with_new(machine, found, after)
        reached.append((rows[matches[numbers >= 0]], numbers[numbers >= 0]))
        tried += len(rows)
        if len(found) > most:
            break
    if not reached:
        return found, np.zeros(0, dtype=np.int64), 0.0
    origin, end = (np.concatenate(each) for each in zip(*reached, strict=True))
    first, pair = first_seen_columns([origin, end])
    total = len(end) * float(counts.sum()) / tried
    pairs = estimated_sizes(np.bincount(pair), np.zeros_like(first), np.full(1, total))
    return found, np.bincount(end[first], minlength=len(found)), float(pairs[0])


def _with_new(machine: Machine, found: States, after: States) -> tuple[States, IntArray]:
    """Different states with those of others that are new and not the end, and the number of each
    other one among them; -1 for the end."""
    if not len(after):
        return found, np.zeros(0, dtype=np.int64)
    both = machine.concatenate([found, after])
    first, group = first_seen(machine.groups(both))
    new = both.take(first[len(found) :])
    goes_on = ~machine.terminal(new)
    numbers = np.where(goes_on, len(found) - 1 + np.cumsum(goes_on), -1)
    numbers = np.concatenate([np.arange(len(found)), numbers])[group[len(found) :]]
    return machine.concatenate([found, new.take(np.flatnonzero(goes_on))]), numbers
