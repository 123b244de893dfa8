"""Credits moves with the goals of the playouts in which they were made.

A block remembers for each move the lanes that made it since they were let in (`fill` forgets what
those before them made, whether they were judged or lost). When lanes are
judged, a move is credited with the goal of its role, once for each lane that made it: bits are
counted, where lists of the moves of each lane would have to be gone through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ggp.machine.compiling.jit import inlined
from ggp.machine.propnet.play.kernels.blocks import Block, PlayoutPlan, Queue
from ggp.machine.propnet.play.kernels.choice import GROUP, POSSIBLE
from ggp.machine.propnet.play.kernels.vectors import (
    band,
    bor,
    count_ones,
    item,
    load,
    out_of_line,
    store,
    words_of,
)


@inlined
def note_moves(
    plan: PlayoutPlan, block: Block, first: int, end: int, playing: Any, width: tuple[int, ...]
) -> None:
    """Remember the moves `first .. end` that lanes have just made, in those that play on."""
    out_of_line()
    words = words_of(width)
    number, base = len(block.made) // words, 1 + len(plan.state_rows)
    for m in range(first, end):
        if block.groups[m // GROUP] != POSSIBLE:
            continue
        row = item(plan.move_rows, m)
        if row - base < number:  # not one that fills a group up
            place = np.int64(row - base) * words
            moved = band(playing, load(block.rows, np.int64(row) * words, width))
            store(block.made, place, bor(load(block.made, place, width), moved))


@inlined
def credit(plan: PlayoutPlan, queue: Queue, block: Block, words: int) -> None:
    """Credit the moves of the lanes of the second mask, which are about to be judged."""
    out_of_line()
    rows, masks, made, wires = block.rows, block.masks, block.made, plan.goals
    number, base = len(made) // words, 1 + len(plan.state_rows)
    for role in range(queue.judged[0], queue.judged[1]):
        for w in range(words):
            left = masks[words + w]
            for k in range(plan.role_goals[role], plan.role_goals[role + 1]):
                bits = (rows[np.int64(wires.rows[k]) * words + w] ^ wires.inverted[k]) & left
                # The first goal value in the order of the rules counts.
                left &= ~bits
                if not bits:
                    continue
                for m in range(plan.role_moves[0, role], plan.role_moves[0, role + 1]):
                    move = plan.move_rows[m] - base
                    if move >= number:
                        continue
                    count = count_ones(made[np.int64(move) * words + w] & bits)
                    queue.credits[move, 0] += count
                    queue.credits[move, 1] += count * plan.goal_values[k]
