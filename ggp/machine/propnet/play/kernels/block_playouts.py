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

from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.compiling.vectors import (
    add_where,
    band,
    bor,
    but_not,
    bxor,
    count_all,
    count_ones,
    item,
    load,
    lowest_one,
    out_of_line,
    reduce_or,
    splat,
    store,
    where_equal,
    words_of,
)
from ggp.machine.propnet.play.kernels.block_kernels import run_tape
from ggp.machine.propnet.play.kernels.blocks import (
    AGE_PLANES,
    END,
    FRESH,
    IN_PHASE,
    LAST,
    LISTED,
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
    Groups,
    add_weights,
    clear_left,
    count_legal,
    draw_below,
    make_all,
    pick,
    pick_weighed,
)
from ggp.machine.propnet.play.kernels.lanes.packing import literal
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Wires

REFILL = 896
"""New lanes are let in when at most this number of 1,024 play on."""

MANY = 64
"""The lanes of an entry with at least this number of playouts are counted together."""

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


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
        _end_lanes(block.masks, block.rows, plan.terminal, variant, width)
        # `OLDEST` is at most the step at which the oldest lane began. It may be earlier, if that
        # lane has ended since; then the search finds nothing, and corrects it.
        if at[STEP] - at[OLDEST] >= max_steps:
            _find_old(block, max_steps, width)
            _lose(queue, block, width)
        alive = count_all(load(block.masks, 0, width))
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
            _age(block, width)
            at[VISITED] += count_all(load(block.masks, 0, width))
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
                at[STRAY] = at[AGE_PLANES] = 0
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
    _sum_goals(plan, queue, block, width)


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
            if not reduce_or(band(mismatch, playing)):
                return v + 1
    return 0


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
            _lose(queue, block, width)
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
def _end_lanes(
    masks: U64, rows: U64, terminal: Wires, variant: int, width: tuple[int, ...]
) -> None:
    """Move lanes that are over from the first mask to the second."""
    words = words_of(width)
    playing = load(masks, 0, width)
    over = band(literal(rows, terminal, variant, width), playing)
    store(masks, 0, but_not(playing, over))
    store(masks, words, bor(load(masks, words, width), over))


@inlined
def _age(block: Block, width: tuple[int, ...]) -> None:
    """Add a step to the lanes that play on."""
    at, ages, words = block.at, block.ages, words_of(width)
    carry = load(block.masks, 0, width)
    for j in range(at[AGE_PLANES]):
        old = load(ages, j * words, width)
        store(ages, j * words, bxor(old, carry))
        carry = band(old, carry)
    if reduce_or(carry):
        store(ages, at[AGE_PLANES] * words, carry)
        at[AGE_PLANES] += 1


@inlined
def _find_old(block: Block, max_steps: int, width: tuple[int, ...]) -> None:
    """Move lanes that made `max_steps` to the third mask, and find when the oldest other began."""
    out_of_line()
    masks, at, words = block.masks, block.at, words_of(width)
    num_planes = at[AGE_PLANES]
    # Compared from the lowest plane up; equal numbers are old, too.
    old = splat(_ALL, width)
    for j in range(num_planes):
        age = load(block.ages, j * words, width)
        old = band(age, old) if (max_steps >> j) & 1 else bor(age, old)
    if max_steps >> num_planes:
        old = splat(np.uint64(0), width)
    playing = load(masks, 0, width)
    store(masks, 2 * words, band(playing, old))
    playing = but_not(playing, old)
    store(masks, 0, playing)
    at[OLDEST] = at[STEP]
    for j in range(num_planes - 1, -1, -1):
        older = band(playing, load(block.ages, j * words, width))
        if reduce_or(older):
            playing = older
            at[OLDEST] -= 1 << j


@inlined
def _lose(queue: Queue, block: Block, width: tuple[int, ...]) -> None:
    """Record that the lanes of the third mask stopped before the end of their game."""
    out_of_line()
    words = words_of(width)
    for i in range(_list_lanes(block, 2, words)):
        queue.unfinished[block.entry_of[block.listed[i]]] += 1
    store(block.ends, words, load(block.masks, 2 * words, width))
    block.values[1] = queue.cut_value
    for column in range(queue.goals.shape[1]):
        _add_up(queue, block, 2, column, 2, width)


@inlined
def _sum_goals(plan: PlayoutPlan, queue: Queue, block: Block, width: tuple[int, ...]) -> None:
    """Add up the goals of the lanes of the second mask, and clear it."""
    out_of_line()
    words, faults, values = words_of(width), queue.faults, plan.goal_values
    ended = load(block.masks, words, width)
    for role in range(queue.judged[0], queue.judged[1]):
        num_ends = 1
        settled = splat(np.uint64(0), width)
        for k in range(plan.role_goals[role], plan.role_goals[role + 1]):
            lanes = band(literal(block.rows, plan.goals, k, width), ended)
            if not reduce_or(lanes):
                continue
            repeats = band(lanes, settled)
            # The search ends with the first lane that has two different goals: if there is one,
            # there are many.
            if not faults[role, 0] and reduce_or(repeats):
                for j in range(plan.role_goals[role], k):
                    both = band(repeats, literal(block.rows, plan.goals, j, width))
                    if values[j] != values[k] and reduce_or(both):
                        faults[role, 0] = True
            # The first goal value in the order of the rules counts.
            lanes = but_not(lanes, settled)
            settled = bor(settled, lanes)
            if not reduce_or(lanes):
                continue
            # Threads share this array, and every write moves it from cache to cache.
            if not queue.occurred[k]:
                queue.occurred[k] = True
            if values[k]:
                store(block.ends, num_ends * words, lanes)
                block.values[num_ends] = values[k]
                num_ends += 1 if (num_ends + 1) % 256 else 2
        if reduce_or(but_not(ended, settled)):
            faults[role, 1] = True
        _add_up(queue, block, 1, role - queue.judged[0], num_ends, width)
    store(block.masks, words, splat(np.uint64(0), width))


# The goal values that lanes ended with are in `Block.ends`, from 1 on and without multiples of 256,
# so that the last byte of an index tells that a lane has one of 255 of them.


@inlined
def _add_up(
    queue: Queue, block: Block, mask: int, column: int, num_ends: int, width: tuple[int, ...]
) -> None:
    """Add the goals of the lanes of the second or third mask to a column of sums, and their steps
    with the first."""
    out_of_line()
    words, at = words_of(width), block.at
    if column == 0:
        _add_entries(queue, block, mask, num_ends, width)
        at[LISTED] = _list_lanes(block, mask, words)
    goals, spread = queue.goals, queue.spread
    entry_of, listed, steps, digits = block.entry_of, block.listed, block.steps, block.digits
    num_planes = max(1, at[AGE_PLANES])
    for plane in range(0, num_planes if column == 0 and spread.shape[1] else 0, 8):
        _clear_digits(digits)
        for j in range(plane, min(plane + 8, at[AGE_PLANES])):
            _add_digits(digits, block.ages, j, 1 << (j - plane), words)
        for i in range(np.uint64(at[LISTED])):
            lane = item(listed, i)
            digit = np.int64(item(digits, lane)) << plane
            spread[np.uint64(item(entry_of, lane)), 0] += digit
            steps[i] = steps[i] + digit if plane else digit
    for first in range(0, num_ends if num_ends > 1 else 0, 256):
        _clear_digits(digits)
        for k in range(first + 1, min(first + 256, num_ends)):
            _add_digits(digits, block.ends, k, k - first, words)
        for i in range(np.uint64(at[LISTED])):
            lane = item(listed, i)
            entry = np.uint64(item(entry_of, lane))
            value = item(block.values, first + np.int64(item(digits, lane)))
            goals[entry, column] += value
            if spread.shape[1] > 1:
                spread[entry, 1] += value * value
                spread[entry, 2] += value * steps[i]


@inlined
def _list_lanes(block: Block, mask: int, words: int) -> int:
    """Write the lanes of a mask to `listed`; returns how many there are."""
    out_of_line()
    masks, listed = block.masks, block.listed
    num = np.uint64(0)
    for w in range(words):
        lanes = masks[mask * words + w]
        while lanes:
            listed[num] = 64 * w + lowest_one(lanes)
            lanes &= lanes - np.uint64(1)
            num += np.uint64(1)
    return int(num)


@inlined
def _clear_digits(digits: Groups) -> None:
    out_of_line()
    for k in range(len(digits)):
        digits[k] = 0


@inlined
def _add_digits(digits: Groups, rows: U64, row: int, number: int, words: int) -> None:
    """Add a number in the lanes of a row."""
    out_of_line()
    for w in range(words):
        add_where(digits, 64 * w, item(rows, row * words + w), number)


@inlined
def _add_entries(
    queue: Queue, block: Block, mask: int, num_ends: int, width: tuple[int, ...]
) -> None:
    """Add up the lanes of entries with many playouts, each in one, and drop them from the mask."""
    words, masks, entry_of = words_of(width), block.masks, block.entry_of
    for w in range(words):
        while masks[mask * words + w]:
            lane = 64 * w + lowest_one(masks[mask * words + w])
            entry = np.int64(entry_of[lane])
            if queue.counts[entry] < MANY:
                break
            for v in range(words):
                block.square[v] = where_equal(entry_of, 64 * v, entry)
            lanes = load(masks, mask * words, width)
            store(masks, mask * words, but_not(lanes, load(block.square, 0, width)))
            lanes = band(lanes, load(block.square, 0, width))
            if queue.spread.shape[1]:
                queue.spread[entry, 0] += _count_steps(block, lanes, width)
            for k in range(1, num_ends):
                if k % 256 == 0:
                    continue
                value, winners = block.values[k], band(lanes, load(block.ends, k * words, width))
                total = count_all(winners) * value
                queue.goals[entry, 0] += total
                if queue.spread.shape[1] > 1:
                    queue.spread[entry, 1] += total * value
                    queue.spread[entry, 2] += _count_steps(block, winners, width) * value


@inlined
def _count_steps(block: Block, lanes: Any, width: tuple[int, ...]) -> int:
    """Number of steps that some lanes made together."""
    steps = 0
    for j in range(block.at[AGE_PLANES]):
        steps += count_all(band(lanes, load(block.ages, j * words_of(width), width))) << j
    return steps
