"""Plays the random playouts of a queue, as many side by side as a block has lanes.

In come a `PlayoutPlan`, a `Queue` and a `Block` (see `blocks`); sums of goals and steps are added
to the queue. Each step of a block evaluates `look`, ends the lanes whose game is over, draws a move
of each role in the others, and evaluates `act`:

    begin_run ─▶ look ─▶ end lanes ─▶ draw moves ─▶ act ─┐
                  ▲          └▶ enough ended: judge, fill │
                  └──────────────────────────────────────┘

The rule: lanes in the first mask play on; nothing changes the state rows of any other lane until it
has been judged.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import (
    band,
    bor,
    but_not,
    bxor,
    count_ones,
    item,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.block_kernels import run_tape
from ggp.machine.propnet.play.kernels.blocks import (
    END,
    FRESH,
    IN_PHASE,
    LAST,
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
    add_weights,
    clear_left,
    count_legal,
    draw_below,
    literal,
    make_all,
    pick,
    pick_weighed,
)
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Wires

REFILL = 896
"""New lanes are let in when at most this number of 1,024 play on."""


@kernel
def play(
    plan: PlayoutPlan,
    queue: Queue,
    block: Block,
    max_steps: int,
    budget: int,
    width: tuple[int, ...],
) -> bool:
    """Play `budget` steps, or until all runs of the block are over; returns whether they are."""
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
        # `OLDEST` is at most the step at which the oldest lane began. It may be earlier, if that
        # lane has ended since; then the search finds nothing, and corrects it.
        if at[STEP] - at[OLDEST] >= max_steps:
            at[OLDEST] = find_old(block.masks, block.started, at[STEP], max_steps, words)
            lose(queue, block, words)
        alive = _count(block.masks, words)
        waiting = at[NEXT] < at[END]
        # Where roles take turns, a role with one legal move costs least if all lanes agree whose
        # turn it is. So new lanes wait until the turn comes round.
        in_turn = (at[STEP] + 1 - at[TOGETHER]) % plan.turns == 0
        has_room = 1024 * alive <= REFILL * 64 * words
        tidy = alive == 0 or (waiting and in_turn and has_room)
        # Lanes that ended earlier still hold their last states, so one evaluation judges all of
        # them. With phases, `judge` is laid out separately, and would overwrite rows that `act`
        # reads: so it runs after `act`.
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
    """Evaluate and record the goals of the lanes of the second mask."""
    out_of_line()
    run_tape(plan.judge, 0, block.rows, block.masks, width)
    if len(queue.credits):
        credit(plan, queue, block, words_of(width))
    judge(plan, queue, block, words_of(width))


@inlined
def _variant(plan: PlayoutPlan, block: Block, width: tuple[int, ...]) -> int:
    """The variant for the phase of the lanes that play on; 0 if they differ, or are in none."""
    out_of_line()
    words = words_of(width)
    # Given moves are indexed as in the first variant, and strays are in no phase.
    if not block.at[FRESH] and not block.at[STRAY]:
        playing = load(block.masks, 0, width)
        for v in range(len(plan.phases)):
            mismatch = splat(np.uint64(0), width)
            for k in range(len(plan.phase_rows)):
                value = load(block.rows, item(plan.phase_rows, k) * words, width)
                mismatch = bor(mismatch, bxor(value, splat(plan.phases[v, k], width)))
            mismatch = band(mismatch, splat(plan.tested[v], width))
            if not reduce_or(band(mismatch, playing)):
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
    """Make a joint move in the lanes that play on; the others keep their states."""
    words = words_of(width)
    rows, masks, at, first_moves = block.rows, block.masks, block.at, block.first_moves
    if at[IN_PHASE] != (variant > 0):
        _clear_moves(plan, block, width)
        at[IN_PHASE] = variant > 0
    for role in range(plan.role_moves.shape[1] - 1):
        first = plan.role_moves[variant, role]
        end = plan.role_moves[variant, role + 1]
        has_first_moves = at[FRESH] and role == queue.role
        lanes = load(masks, 0, width)
        if has_first_moves:
            at[FRESH] = 0
            lanes = but_not(lanes, _keep_legal(plan.legal, rows, first_moves, first, end, width))
        store(masks, 2 * words, lanes)
        stuck = _draw_moves(plan, queue.odds, block, first, end, width)
        if stuck:
            lose(queue, block, words)
        if len(queue.credits):
            note_moves(plan, block, first, end, load(masks, 0, width), width)
        if has_first_moves:
            block.groups[first // GROUP : end // GROUP] = POSSIBLE
            _make_first(plan.move_rows, rows, first_moves, first, end, width)
    run_tape(plan.act, variant, rows, masks, width)
    _update(plan, variant, rows, load(masks, 0, width), width)


@inlined
def _draw_moves(
    plan: PlayoutPlan, odds: I32, block: Block, first: int, end: int, width: tuple[int, ...]
) -> bool:
    """Make random moves of a role in the lanes of the third mask, and arbitrary ones in others.

    Args:
        odds: see `Queue`.

    Returns:
        whether some lanes had no legal move: these no longer play on, and form the third mask.
    """
    out_of_line()
    words = words_of(width)
    rows, masks, planes, groups = block.rows, block.masks, block.planes, block.groups
    legal, move_rows = plan.legal, plan.move_rows
    lanes = load(masks, 2 * words, width)
    always, weighed = plan.always, len(odds) > 0
    if weighed:
        num_bits = add_weights(rows, legal, first, end, lanes, odds, always, groups, planes, width)
    else:
        num_bits = count_legal(rows, legal, first, end, lanes, always, groups, planes, width)
    any_move = load(planes, 0, width)
    for j in range(1, num_bits):
        any_move = bor(any_move, load(planes, j * words, width))
    stuck = but_not(lanes, any_move)
    lanes = band(lanes, any_move)
    # Other lanes may hold unreachable states, for which circuits may give any values. The use of
    # random bits must not depend on them, or a lane's playout would depend on its neighbours.
    while num_bits > 1 and not reduce_or(band(load(planes, (num_bits - 1) * words, width), lanes)):
        num_bits -= 1
    # With at most one legal move in every lane, nothing is drawn.
    if num_bits == 1:
        make_all(rows, legal, first, end, move_rows, groups, width)
    else:
        draw_below(planes, num_bits, lanes, block.rng, width)
        if weighed:
            pick_weighed(rows, legal, first, end, move_rows, odds, groups, planes, num_bits, width)
        else:
            pick(rows, legal, first, end, move_rows, groups, planes, num_bits, width)
    if not reduce_or(stuck):
        return False
    store(masks, 2 * words, stuck)
    store(masks, 0, but_not(load(masks, 0, width), stuck))
    return True


@inlined
def _clear_moves(plan: PlayoutPlan, block: Block, width: tuple[int, ...]) -> None:
    """Clear the rows of all moves: a phase groups moves differently than the variant for any state.

    `groups` only says which of its own variant's rows hold bits.
    """
    out_of_line()
    for group in range(len(block.groups)):
        clear_left(block.rows, plan.move_rows, group, block.groups, width)


@inlined
def _update(
    plan: PlayoutPlan, variant: int, rows: U64, playing: Any, width: tuple[int, ...]
) -> None:
    """Let lanes that play on take over their next state; the others keep theirs, for `judge`."""
    words = words_of(width)
    for k in range(plan.change_ends[variant], plan.change_ends[variant + 1]):
        at = item(plan.changed, k) * words
        old = load(rows, at, width)
        new = load(rows, item(plan.next.rows, k) * words, width)
        new = bxor(new, splat(item(plan.next.inverted, k), width))
        store(rows, at, bxor(old, band(playing, bxor(old, new))))


@inlined
def _keep_legal(
    legal: Wires, rows: U64, first_moves: U64, first: int, end: int, width: tuple[int, ...]
) -> Any:
    """Drop given moves that are not legal; returns the lanes that have a legal one."""
    words = words_of(width)
    lanes = splat(np.uint64(0), width)
    for m in range(first, end):
        offset = np.int64(m - first) * words
        move = band(load(first_moves, offset, width), literal(rows, legal, m, width))
        store(first_moves, offset, move)
        lanes = bor(lanes, move)
    return lanes


@inlined
def _make_first(
    move_rows: I32, rows: U64, first_moves: U64, first: int, end: int, width: tuple[int, ...]
) -> None:
    """Make the given moves, in place of moves that these lanes drew, and clear `first_moves`."""
    words = words_of(width)
    nothing = splat(np.uint64(0), width)
    lanes = nothing
    for m in range(first, end):
        lanes = bor(lanes, load(first_moves, np.int64(m - first) * words, width))
    for m in range(first, end):
        offset, row = np.int64(m - first) * words, item(move_rows, m) * words
        random_moves = but_not(load(rows, row, width), lanes)
        store(rows, row, bor(random_moves, load(first_moves, offset, width)))
        store(first_moves, offset, nothing)


# ------------------------------------------------------------------------
# Credits moves with the goals of the playouts in which they were made.
#
# A block remembers, for each move, the lanes that made it since they were let in; `fill` clears the
# lanes that ended. When lanes are judged, a move is credited with the goal of its role, once for
# each lane that made it. That takes a count of bits for each move, where lists of each lane's moves
# would be walked one by one.


@inlined
def note_moves(
    plan: PlayoutPlan, block: Block, first: int, end: int, playing: Any, width: tuple[int, ...]
) -> None:
    """Remember which of the lanes that play on have just made the moves `first .. end`."""
    out_of_line()
    words = words_of(width)
    num_moves, base = len(block.history) // words, 1 + len(plan.state_rows)
    for m in range(first, end):
        if block.groups[m // GROUP] != POSSIBLE:
            continue
        row = item(plan.move_rows, m)
        if row - base < num_moves:  # not a filler
            offset = np.int64(row - base) * words
            moved = band(playing, load(block.rows, np.int64(row) * words, width))
            store(block.history, offset, bor(load(block.history, offset, width), moved))


@inlined
def credit(plan: PlayoutPlan, queue: Queue, block: Block, words: int) -> None:
    """Credit the moves of the lanes of the second mask, which are about to be judged."""
    out_of_line()
    rows, masks, history, wires = block.rows, block.masks, block.history, plan.goals
    num_moves, base = len(history) // words, 1 + len(plan.state_rows)
    for role in range(queue.judged[0], queue.judged[1]):
        for w in range(words):
            uncredited = masks[words + w]
            for k in range(plan.role_goals[role], plan.role_goals[role + 1]):
                bits = (rows[np.int64(wires.rows[k]) * words + w] ^ wires.inverted[k]) & uncredited
                # The first goal value in the order of the rules counts.
                uncredited &= ~bits
                if not bits:
                    continue
                for m in range(plan.role_moves[0, role], plan.role_moves[0, role + 1]):
                    move = plan.move_rows[m] - base
                    if move >= num_moves:
                        continue
                    count = count_ones(history[np.int64(move) * words + w] & bits)
                    queue.credits[move, 0] += count
                    queue.credits[move, 1] += count * plan.goal_values[k]


# ------------------------------------------------------------------------
# Ends lanes of a block: their game is over, or they are stopped after too many steps.
#
# The first mask of a block marks the lanes that play on, the second the lanes that are over and not
# judged yet. The third holds the lanes that are being ended. No lane is in both of the first two.


@inlined
def end_lanes(masks: U64, rows: U64, terminal: Wires, variant: int, width: tuple[int, ...]) -> bool:
    """Move lanes that are over from the first mask to the others; returns whether there are any."""
    words = words_of(width)
    playing = load(masks, 0, width)
    over = bxor(
        load(rows, item(terminal.rows, variant) * words, width),
        splat(item(terminal.inverted, variant), width),
    )
    over = band(over, playing)
    if not reduce_or(over):
        return False
    store(masks, 0, but_not(playing, over))
    store(masks, words, bor(load(masks, words, width), over))
    store(masks, 2 * words, over)
    return True


@inlined
def find_old(masks: U64, started: NDArray[np.int64], step: int, max_steps: int, words: int) -> int:
    """Move lanes that made `max_steps` to the third mask; returns when the oldest other began."""
    out_of_line()
    oldest = step
    for w in range(words):
        old = np.uint64(0)
        bits = masks[w]
        while bits:
            b = lowest_one(bits)
            bits &= bits - np.uint64(1)
            began = started[64 * w + b]
            if step - began >= max_steps:
                old |= np.uint64(1) << np.uint64(b)
            elif began < oldest:
                oldest = began
        masks[2 * words + w] = old
        masks[w] &= ~old
    return oldest


@inlined
def stop(
    masks: U64,
    entry_of: NDArray[np.int64],
    started: NDArray[np.int64],
    step: int,
    single: bool,
    into: NDArray[np.int64],
    weights: NDArray[np.float64],
    spread: NDArray[np.float64],
    words: int,
) -> None:
    """Record the steps of the lanes of the third mask; `started` then holds them."""
    out_of_line()
    for w in range(words):
        bits = masks[2 * words + w]
        if single and not ~bits:
            for lane in range(64 * w, 64 * w + 64):
                started[lane] = step - started[lane]
                spread[entry_of[lane], 0] = started[lane]
            continue
        while bits:
            lane = 64 * w + lowest_one(bits)
            bits &= bits - np.uint64(1)
            started[lane] = step - started[lane]
            if spread.shape[1]:
                entry = entry_of[lane]
                spread[into[entry], 0] += weights[entry] * started[lane]


@inlined
def _cut_off(
    masks: U64,
    entry_of: NDArray[np.int64],
    steps: NDArray[np.int64],
    into: NDArray[np.int64],
    weights: NDArray[np.float64],
    cut_value: float,
    goals: NDArray[np.float64],
    spread: NDArray[np.float64],
    unfinished: NDArray[np.int64],
    words: int,
) -> None:
    """Record the lanes of the third mask as unfinished, with the goal value `cut_value`."""
    out_of_line()
    for w in range(words):
        bits = masks[2 * words + w]
        while bits:
            lane = 64 * w + lowest_one(bits)
            bits &= bits - np.uint64(1)
            entry = into[entry_of[lane]]
            weight = weights[entry_of[lane]]
            unfinished[entry] += 1
            for j in range(goals.shape[1]):
                goals[entry, j] += weight * cut_value
            if spread.shape[1] > 1:
                spread[entry, 1] += weight * cut_value * cut_value
                spread[entry, 2] += weight * cut_value * steps[lane]


@inlined
def lose(queue: Queue, block: Block, words: int) -> None:
    """Record that the lanes of the third mask stopped before the end of their game."""
    stop(
        block.masks,
        block.entry_of,
        block.started,
        block.at[STEP],
        queue.role < 0,
        queue.into,
        queue.weights,
        queue.spread,
        words,
    )
    _cut_off(
        block.masks,
        block.entry_of,
        block.started,
        queue.into,
        queue.weights,
        queue.cut_value,
        queue.goals,
        queue.spread,
        queue.unfinished,
        words,
    )


@inlined
def judge(plan: PlayoutPlan, queue: Queue, block: Block, words: int) -> None:  # noqa: C901
    """Add up the goals of the lanes of the second mask, and clear it."""
    out_of_line()
    rows, masks, entry_of, steps = block.rows, block.masks, block.entry_of, block.started
    wires, values, role_goals = plan.goals, plan.goal_values, plan.role_goals
    judged, into, weights, occurred = queue.judged, queue.into, queue.weights, queue.occurred
    goals, spread, faults = queue.goals, queue.spread, queue.faults
    for role in range(judged[0], judged[1]):
        first, end = role_goals[role], role_goals[role + 1]
        for w in range(words):
            lanes = masks[words + w]
            if not lanes:
                continue
            settled = np.uint64(0)
            for k in range(first, end):
                bits = (rows[np.int64(wires.rows[k]) * words + w] ^ wires.inverted[k]) & lanes
                # The first goal value in the order of the rules counts.
                repeats = bits & settled
                # The search ends with the first lane that has two different goals: if there is one,
                # there are many.
                if repeats and not faults[role, 0]:
                    for j in range(first, k):
                        other_bits = rows[np.int64(wires.rows[j]) * words + w] ^ wires.inverted[j]
                        if other_bits & repeats and values[j] != values[k]:
                            faults[role, 0] = True
                bits &= ~settled
                if not bits:
                    continue
                settled |= bits
                # Threads share this array, and every write moves it from cache to cache.
                if not occurred[k]:
                    occurred[k] = True
                value = values[k]
                if not value:
                    continue
                if queue.role < 0:
                    _note_goal(bits, w, entry_of, goals, role - judged[0], value)
                    continue
                while bits:
                    lane = 64 * w + lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    entry = into[entry_of[lane]]
                    weighted = weights[entry_of[lane]] * value
                    goals[entry, role - judged[0]] += weighted
                    if spread.shape[1] > 1 and role == judged[0]:
                        spread[entry, 1] += weighted * value
                        spread[entry, 2] += weighted * steps[lane]
            if lanes & ~settled:
                faults[role, 1] = True
    for w in range(words, 2 * words):
        masks[w] = np.uint64(0)


@inlined
def _note_goal(
    bits: np.uint64,
    word: int,
    entry_of: NDArray[np.int64],
    goals: NDArray[np.float64],
    column: int,
    value: float,
) -> None:
    """Record the goal of some lanes of a word, if each lane has its own sum."""
    out_of_line()
    if not ~bits:
        for lane in range(64 * word, 64 * word + 64):
            goals[entry_of[lane], column] = value
        return
    while bits:
        lane = 64 * word + lowest_one(bits)
        bits &= bits - np.uint64(1)
        goals[entry_of[lane], column] = value
