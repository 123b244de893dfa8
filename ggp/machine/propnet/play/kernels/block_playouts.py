"""Plays random playouts of a queue of states, as many side by side as a block has lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.propnet.play.kernels.block_kernels import run_tape
from ggp.machine.propnet.play.kernels.blocks import (
    END,
    FRESH,
    LAST,
    MADE,
    NEXT,
    OLDEST,
    RUN,
    STEP,
    STRAY,
    TOGETHER,
    VISITED,
    Block,
    PlayoutPlan,
    Queue,
    begin_run,
    fill,
)
from ggp.machine.propnet.play.kernels.choice import (
    GROUP,
    POSSIBLE,
    clear_left,
    literal,
)
from ggp.machine.propnet.play.kernels.crediting import credit, note_moves
from ggp.machine.propnet.play.kernels.drawing import draw_chance, draw_moves
from ggp.machine.propnet.play.kernels.lane_ends import (
    end_lanes,
    find_old,
    judge,
    lose,
    stop,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Wires
from ggp.machine.propnet.play.kernels.vectors import (
    band,
    bor,
    but_not,
    bxor,
    count_ones,
    item,
    load,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)

REFILL = 896
"""New lanes are let in when no more than this number of 1,024 play on."""


@kernel
def play(
    plan: PlayoutPlan,
    queue: Queue,
    block: Block,
    max_steps: int,
    budget: int,
    width: tuple[int, ...],
) -> bool:
    """Play until all runs of the block are over, or `budget` steps; returns whether they are."""
    words = words_of(width)
    at = block.at
    for _ in range(budget):
        if at[STEP] == 0:
            begin_run(plan, queue, block, width)
        variant = _variant(plan, block, width)
        run_tape(plan.look, variant, block.rows, block.masks, width)
        some_ended = end_lanes(block.masks, block.rows, plan.terminal, variant, width)
        if some_ended and queue.spread.shape[1]:
            stop(
                block.masks,
                block.entry_of,
                block.started,
                at[STEP],
                queue.role < 0,
                queue.into,
                queue.weights,
                queue.spread,
                words,
            )
        # `OLDEST` may be too early, if it is of a lane that has ended since, but not too late: so
        # lanes are rarely gone through.
        if at[STEP] - at[OLDEST] >= max_steps:
            at[OLDEST] = find_old(block.masks, block.started, at[STEP], max_steps, words)
            lose(queue, block, words)
        alive = _count(block.masks, words)
        waiting = at[NEXT] < at[END]
        # Where roles take turns, those with one legal move cost least if all lanes agree whose
        # turn it is: new lanes wait for that.
        in_turn = (at[STEP] + 1 - at[TOGETHER]) % plan.turns == 0
        few = 1024 * alive <= REFILL * 64 * words
        tidy = alive == 0 or (waiting and in_turn and few)
        # Lanes that ended earlier still hold their last states, so one evaluation judges all.
        if tidy and not len(plan.phases):
            _judge(plan, queue, block, width)
        if alive:
            move_lanes(plan, queue, block, variant, width)
            at[VISITED] += _count(block.masks, words)
        at[STEP] += 1
        if tidy and len(plan.phases):
            _judge(plan, queue, block, width)
        if tidy:
            if alive == 0:
                if not waiting:
                    at[RUN] += 1
                    if at[RUN] == at[LAST]:
                        return True
                    at[STEP] = 0
                    continue
                at[STRAY] = 0
                at[TOGETHER] = at[STEP]
                at[OLDEST] = at[STEP]
            fill(plan, queue, block, width)
    return False


@inlined
def _judge(plan: PlayoutPlan, queue: Queue, block: Block, width: tuple[int, ...]) -> None:
    """Judge the lanes of the second mask."""
    out_of_line()
    run_tape(plan.judge, 0, block.rows, block.masks, width)
    if len(queue.credits):
        credit(plan, queue, block, words_of(width))
    judge(plan, queue, block, words_of(width))


@inlined
def _variant(plan: PlayoutPlan, block: Block, width: tuple[int, ...]) -> int:
    """The variant of the phase that all lanes which play on are in; 0 if they differ."""
    out_of_line()
    words = words_of(width)
    # Places of given moves are those of the first variant.
    if not block.at[FRESH] and not block.at[STRAY]:
        playing = load(block.masks, 0, width)
        for v in range(len(plan.phases)):
            other = splat(np.uint64(0), width)
            for k in range(len(plan.phase_rows)):
                held = load(block.rows, item(plan.phase_rows, k) * words, width)
                other = bor(other, bxor(held, splat(plan.phases[v, k], width)))
            other = band(other, splat(plan.asked[v], width))
            if not reduce_or(band(other, playing)):
                return v + 1
    return 0


@inlined
def _count(masks: U64, words: int) -> int:
    """Number of lanes that play on."""
    total = 0
    for w in range(words):
        total += count_ones(masks[w])
    return total


@inlined
def move_lanes(
    plan: PlayoutPlan, queue: Queue, block: Block, variant: int, width: tuple[int, ...]
) -> None:
    """Make a move in the lanes that play on; the others stay as they are."""
    words = words_of(width)
    rows, masks, at = block.rows, block.masks, block.at
    if at[MADE] != (variant > 0):
        _clear_moves(plan, block, width)
        at[MADE] = variant > 0
    for role in range(plan.role_moves.shape[1] - 1 - len(plan.apart)):
        if role == plan.chance:
            continue
        first = plan.role_moves[variant, role]
        end = plan.role_moves[variant, role + 1]
        given = at[FRESH] and role == queue.role
        lanes = load(masks, 0, width)
        if given:
            at[FRESH] = 0
            lanes = but_not(lanes, _legal_given(plan.legal, rows, block.given, first, end, width))
        store(masks, 2 * words, lanes)
        stuck = draw_moves(plan, queue.odds, block, first, end, width)
        if stuck:
            lose(queue, block, words)
        if len(queue.credits):
            note_moves(plan, block, first, end, load(masks, 0, width), width)
        if given:
            block.groups[first // GROUP : end // GROUP] = POSSIBLE
            _make_given(plan.move_rows, rows, block.given, first, end, width)
    if plan.chance >= 0 and draw_chance(plan, queue.odds, block, variant, width):
        lose(queue, block, words)
    run_tape(plan.act, variant, rows, masks, width)
    _update(plan, variant, rows, load(masks, 0, width), width)


@inlined
def _clear_moves(plan: PlayoutPlan, block: Block, width: tuple[int, ...]) -> None:
    """Clear the rows of all moves, as a phase has other groups than the variant for any state."""
    out_of_line()
    for group in range(len(block.groups)):
        clear_left(block.rows, plan.move_rows, group, block.groups, width)


@inlined
def _update(
    plan: PlayoutPlan, variant: int, rows: U64, playing: Any, width: tuple[int, ...]
) -> None:
    """Let some lanes take over what `act` says; the others keep theirs, for `judge`."""
    words = words_of(width)
    for k in range(plan.change_ends[variant], plan.change_ends[variant + 1]):
        at = item(plan.changed, k) * words
        old = load(rows, at, width)
        new = load(rows, item(plan.next.rows, k) * words, width)
        new = bxor(new, splat(item(plan.next.inverted, k), width))
        store(rows, at, bxor(old, band(playing, bxor(old, new))))


@inlined
def _legal_given(
    legal: Wires, rows: U64, given: U64, first: int, end: int, width: tuple[int, ...]
) -> Any:
    """Keep only the legal ones of the given moves; returns the lanes that have one."""
    words = words_of(width)
    lanes = splat(np.uint64(0), width)
    for m in range(first, end):
        place = np.int64(m - first) * words
        move = band(load(given, place, width), literal(rows, legal, m, width))
        store(given, place, move)
        lanes = bor(lanes, move)
    return lanes


@inlined
def _make_given(
    move_rows: I32, rows: U64, given: U64, first: int, end: int, width: tuple[int, ...]
) -> None:
    """Make the given moves, in place of those that these lanes drew; none is given afterwards."""
    words = words_of(width)
    none = splat(np.uint64(0), width)
    lanes = none
    for m in range(first, end):
        lanes = bor(lanes, load(given, np.int64(m - first) * words, width))
    for m in range(first, end):
        place, row = np.int64(m - first) * words, item(move_rows, m) * words
        drawn = but_not(load(rows, row, width), lanes)
        store(rows, row, bor(drawn, load(given, place, width)))
        store(given, place, none)
