"""The arrays of playouts: a plan, a queue of states, and the block of lanes that are played now.

`layout.queries` makes the plan, `playouts` the queue, and `block_playouts` plays; here are the
types, and the kernels that let lanes of the queue into the block. A row of a block holds one net of
1,024 lanes, a bit for each. Lanes end at different times, and a lane that has ended costs as much
as one that plays on. So when enough have ended, they are judged together, and states of the queue
take their lanes:

    lanes       a b c d e f g h        ended: b, d, e, h
    refilled    a i c i j f g j        `entry_of` remembers which entry of the queue each lane has

An entry of the queue is a state that is played a number of times, perhaps with a given first move:
a *trial* of that move. Its lanes are filled together: the bits of a row are or-ed with the mask of
these lanes, so that a state costs as much for many lanes as for one. Lanes that begin together stay
in step: where roles take turns, moves that nobody can make are then skipped for the whole block.

The rules of a block: no bit of a state is left in the rows of a lane when a new state is let in; a
lane that has ended keeps its last state until it is judged; and every lane's random bits depend
only on its run's key, not on other runs or threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.compiling.vectors import (
    aligned_words,
    band,
    count_ones,
    load,
    lowest_one,
    out_of_line,
    store,
    words_of,
)
from ggp.machine.propnet.play.kernels.choice import MAX_PLANES, Groups, seed_words
from ggp.machine.propnet.play.kernels.tapes import I32, U64, Tape, Wires


@by_reference
class PlayoutPlan(NamedTuple):
    """The tapes and wires of playouts; all tapes share their rows.

    There are V variants of `look` and `act`, and of the wires from `changed` to `always`. The first
    is for any state, and each of the others for a phase.

    Attributes:
        look: evaluates terminal and legal moves, from the state.
        act: evaluates the next state, from state and moves, after `look`. Some gates write straight
            into the rows of fluents; the other fluents take over their next values afterwards.
        judge: evaluates goals, after `look` and before `act`; in games with phases, between steps.
        num_rows: number of rows of all tapes.
        row_of: `[F]` row of each fluent, -1 if it does not matter to playouts.
        matter: `[ceil(F / 64)]` the bits of the fluents that matter.
        state_rows: `[K]` rows of the fluents that matter.
        excluded: `[T, 2, ceil(F / 64)]` in each of T steps, the fluents that cannot hold, and those
            that cannot be false, among those that matter. A state is in a phase only if one step
            excludes none of its values; with T = 0, any state may be in one.
        phase_rows: `[S]` rows of the fluents that identify the phase.
        phases: `[V - 1, S]` all ones or zeros: the values of these fluents in each phase.
        changed: `[C]` rows of the fluents that take over a value after `act`, of all variants.
        change_ends: `[V + 1]` where the changed fluents of each variant begin.
        next: `[C]` the literals of their next values.
        terminal: `[V]` literals.
        role_moves: `[V, R + 1]` where the moves of each role begin. Each role has a multiple of
            `choice.GROUP` of them, the last of which may be fillers, which are never legal. A phase
            has only moves that may be legal in it.
        legal: the literals of all roles' moves.
        move_rows: the row that each move drives; for fillers, a row that nothing reads.
        always: `[len(move_rows) / GROUP]` whether a group of moves is counted even if no lane has
            one of them: in phases, the groups with a row that another phase drives, too.
        role_goals: `[R + 1]` where the goal values of each role begin.
        goals: the literals of goal values.
        goal_values: the number that each goal value counts as.
        turns: number of steps after which it may be the same role's turn again.
    """

    look: Tape
    act: Tape
    judge: Tape
    num_rows: int
    row_of: I32
    matter: U64
    state_rows: I32
    excluded: U64
    phase_rows: I32
    phases: U64
    changed: I32
    change_ends: NDArray[np.int64]
    next: Wires
    terminal: Wires
    role_moves: NDArray[np.int64]
    legal: Wires
    move_rows: I32
    always: Groups
    role_goals: I32
    goals: Wires
    goal_values: NDArray[np.float64]
    turns: int


@by_reference
class Queue(NamedTuple):
    """E entries to play out, and their results: sums over the playouts of each entry.

    Attributes:
        packed: `[L, ceil(F / 64)]` states.
        lanes: `[E]` state of each entry.
        counts: `[E]` number of playouts of each.
        role: the role whose first moves are given; below 0 if every state is its own entry, and is
            played once.
        moves: `[E]` index of the first move among the moves of that role, -1 if it is not given;
            if it is not legal, a random legal one is made.
        judged: `[2]` first role whose goals are summed, and the end: J roles.
        cut_value: goal value of playouts that do not finish.
        goals: `[E, J]` sum of goal values.
        spread: `[E, 3]` sums of steps, of squared goals of the only role judged, of its goals times
            steps; `[E, 1]` or `[E, 0]` if only the first, or none, is summed.
        unfinished: `[E]` number of playouts that did not come to an end.
        occurred: whether each goal value, of all roles, counted at some end.
        faults: `[R, 2]` whether a role had several goal values, or none, at an end.
        odds: `[len(PlayoutPlan.move_rows)]` the weight by which each move is drawn, at least 1;
            `[0]` where moves are drawn uniformly.
        credits: `[M, 2]` for each move of the roles of the circuit, the number of finished playouts
            in which it was made, and the sum of its role's goal values in them; `[0, 2]` for none.
    """

    packed: U64
    lanes: NDArray[np.int64]
    counts: NDArray[np.int64]
    role: int
    moves: I32
    judged: I32
    cut_value: float
    goals: NDArray[np.float64]
    spread: NDArray[np.float64]
    unfinished: NDArray[np.int64]
    occurred: NDArray[np.bool_]
    faults: NDArray[np.bool_]
    odds: I32
    credits: NDArray[np.float64]


@by_reference
class Block(NamedTuple):
    """The lanes that are played now; each call of `play` continues where the last one stopped.

    Attributes:
        rows: `[num_rows * W]` the rows of `PlayoutPlan`.
        masks: `[3, W]` lanes that play on, that ended and are not judged yet, scratch.
        entry_of: `[64 W]` entry of the queue that each lane plays.
        ages: `[MAX_AGE_PLANES, W]` the number of steps that each lane made, a sliced number (see
            `choice`) of `at[AGE_PLANES]` planes.
        ends: a row for each goal value of a role that counts at the ends that are added up.
        values: the goal values of `ends`.
        listed: `[64 W]` lanes that are added up.
        steps: `[64 W]` their numbers of steps.
        digits: `[64 W]` scratch: a byte for each lane.
        rng: `[2, W]` state of the generators.
        planes: `[3 * MAX_PLANES, W]` scratch.
        first_moves: rows of given first moves: the lanes that are to make each move of the role.
        groups: state of each group of moves, see `choice.IDLE`.
        square: `[64]` scratch.
        history: rows of moves: the lanes that made them since they were let in. Empty until
            some queue wants `credits`.
        bounds: `[MAX_RUNS + 1]` entry of the queue at which each run begins, and the end.
        keys: `[MAX_RUNS]` keys of their random bits.
        at: counters, see `NEXT`.
    """

    rows: U64
    masks: U64
    entry_of: I32
    ages: U64
    ends: U64
    values: NDArray[np.float64]
    listed: I32
    steps: NDArray[np.int64]
    digits: Groups
    rng: U64
    planes: U64
    first_moves: U64
    groups: Groups
    square: U64
    history: U64
    bounds: NDArray[np.int64]
    keys: U64
    at: NDArray[np.int64]


NEXT, PLACED, END, STEP, OLDEST, TOGETHER, FRESH, VISITED, RUN, LAST, IN_PHASE, STRAY = range(12)
LIKELY, AGE_PLANES, LISTED, ALIKE = range(12, 16)
"""Indices of `Block.at`:

- `NEXT`, `PLACED`: the entry whose lanes are let in next, and how many of them have been let in.
- `END`: the end of the run's entries.
- `STEP`: the steps of the block in the run.
- `OLDEST`: the earliest step at which a lane began, perhaps one that has ended since.
- `TOGETHER`: the step at which all lanes began together.
- `FRESH`: whether some lanes are still to make given first moves.
- `VISITED`: lanes stepped in all runs.
- `RUN`, `LAST`: the run that is played, and the end of the runs.
- `IN_PHASE`: whether the last moves were made in a phase.
- `STRAY`: whether some lane is in no phase.
- `LIKELY`: the step to which the last state belonged, see `PlayoutPlan.excluded`.
- `AGE_PLANES`: the number of planes of `ages`.
- `LISTED`: the number of lanes that are listed.
- `ALIKE`: the entries up to here have the state of the next one."""

MAX_AGE_PLANES = 48
"""Bits of an age: no machine plays so many steps."""

MAX_RUNS = 64
"""Greatest number of runs for one call of `begin`."""


def new_block(plan: PlayoutPlan, width: tuple[int, ...]) -> Block:
    """A block of zeros; call `begin` before it is played."""
    words = words_of(width)
    moves = int(np.diff(plan.role_moves[0]).max())
    num_values = 3 + len(plan.goal_values) * 256 // 255
    return Block(
        aligned_words(plan.num_rows * words),
        aligned_words(3 * words),
        aligned_words(32 * words).view(np.int32),
        aligned_words(MAX_AGE_PLANES * words),
        aligned_words(num_values * words),
        aligned_words(num_values).view(np.float64),
        aligned_words(32 * words).view(np.int32),
        aligned_words(64 * words).view(np.int64),
        aligned_words(8 * words).view(np.uint8),
        aligned_words(2 * words),
        aligned_words(3 * MAX_PLANES * words),
        aligned_words(moves * words),
        aligned_words(-(-len(plan.always) // 8)).view(np.uint8),
        aligned_words(64),
        aligned_words(0),
        aligned_words(MAX_RUNS + 1).view(np.int64),
        aligned_words(MAX_RUNS),
        aligned_words(16).view(np.int64),
    )


def begin(block: Block, bounds: Sequence[int], keys: Sequence[int]) -> None:
    """Set the runs that a block plays next, up to `MAX_RUNS`.

    Args:
        bounds: entries of the queue at which the runs begin, and the end.
        keys: 64-bit keys of their random bits.
    """
    block.bounds[: len(bounds)] = bounds
    block.keys[: len(keys)] = keys
    # The rows of moves still hold their bits, so the block must remember whose they are.
    in_phase = block.at[IN_PHASE]
    block.at[:] = 0
    block.at[IN_PHASE] = in_phase
    block.at[NEXT] = block.at[END] = bounds[0]
    block.at[LAST] = len(keys)


@inlined
def begin_run(plan: PlayoutPlan, queue: Queue, block: Block, width: tuple[int, ...]) -> None:
    """Let in the first lanes of the next run."""
    out_of_line()
    at, masks, first_moves = block.at, block.masks, block.first_moves
    for k in range(len(masks)):
        masks[k] = np.uint64(0)
    for k in range(len(first_moves)):
        first_moves[k] = np.uint64(0)
    seed_words(block.keys[at[RUN]], block.rng)
    at[NEXT], at[END] = block.bounds[at[RUN]], block.bounds[at[RUN] + 1]
    at[PLACED] = at[OLDEST] = at[TOGETHER] = at[FRESH] = at[STRAY] = at[AGE_PLANES] = 0
    at[ALIKE] = 0
    fill(plan, queue, block, width)


@inlined
def fill(plan: PlayoutPlan, queue: Queue, block: Block, width: tuple[int, ...]) -> None:  # noqa: C901
    """Let entries of the queue into the lanes that do not play on.

    Entries come in order, and several entries of one state are let in together: its bits are then
    or-ed into the rows once. An entry may be split over several calls (see `PLACED`).
    """
    out_of_line()
    words = words_of(width)
    state_rows, row_of, matter = plan.state_rows, plan.row_of, plan.matter
    packed, lanes, counts, moves = queue.packed, queue.lanes, queue.counts, queue.moves
    rows, masks, entry_of, first_moves = block.rows, block.masks, block.entry_of, block.first_moves
    filled, at = block.square, block.at
    if at[NEXT] == at[END]:
        return
    if at[FRESH]:
        # The lanes that were let in last were terminal at once, and made no first move.
        for k in range(len(first_moves)):
            first_moves[k] = np.uint64(0)
        at[FRESH] = 0
    playing = load(masks, 0, width)
    # New states are or-ed in, so no bits may be left of lanes that ended.
    for k in range(len(state_rows)):
        _keep(block.rows, state_rows[k] * words, playing, width)
    for k in range(0, len(block.history) if len(queue.credits) else 0, words):
        _keep(block.history, k, playing, width)
    for k in range(at[AGE_PLANES]):
        _keep(block.ages, k * words, playing, width)
    entry, placed, end = at[NEXT], at[PLACED], at[END]
    stride = 1 if queue.role < 0 else 0
    word, free = 0, ~masks[0]
    while word < words and entry < end:
        # The lanes of one state, which several consecutive entries may have.
        state, first_word = lanes[entry], word
        filled[word] = np.uint64(0)
        while entry < end:
            if not free:
                word += 1
                if word == words:
                    break
                free = ~masks[word]
                filled[word] = np.uint64(0)
                continue
            # A word's lanes are filled at once: by one entry, or with a lane for each of several.
            room, unfilled = count_ones(free), free
            if stride:
                size = _count_alike(packed, state, entry, min(room, end - entry), at)
                if not size:
                    break
            else:
                if lanes[entry] != state and not _are_alike(packed, lanes[entry], 1, state):
                    break
                size = min(room, counts[entry] - placed)
            if size == 64:
                free = np.uint64(0)
                for k in range(np.uint64(64)):
                    entry_of[np.uint64(64 * word) + k] = entry + np.int64(k) * stride
            for k in range(0 if size == 64 else size):
                entry_of[np.uint64(64 * word + lowest_one(free))] = entry + k * stride
                free &= free - np.uint64(1)
            filled[word] |= unfilled ^ free
            if moves[entry] >= 0:
                first_moves[np.int64(moves[entry]) * words + word] |= unfilled ^ free
                at[FRESH] = 1
            placed += size
            if placed >= counts[entry]:
                entry += size if stride else 1
                placed = 0
        at[NEXT], at[PLACED] = entry, placed
        if not _is_within(plan, packed, state, at):
            at[STRAY] = 1
        last_word = word if word < words else words - 1
        for i in range(packed.shape[1]):
            bits = packed[state, i] & matter[i]
            while bits:
                row = np.int64(row_of[64 * i + lowest_one(bits)]) * words
                bits &= bits - np.uint64(1)
                for w in range(first_word, last_word + 1):
                    rows[row + w] |= filled[w]
        for w in range(first_word, last_word + 1):
            masks[w] |= filled[w]


@inlined
def _is_within(plan: PlayoutPlan, packed: U64, state: int, at: NDArray[np.int64]) -> bool:
    """Whether a state may be in a phase: some step excludes none of its values.

    States of a queue often belong to the same step, so the search begins with the last one's.
    """
    out_of_line()
    steps = len(plan.excluded)
    for _ in range(steps):
        differ = np.uint64(0)
        for i in range(packed.shape[1]):
            differ |= packed[state, i] & plan.excluded[at[LIKELY], 0, i]
            differ |= ~packed[state, i] & plan.excluded[at[LIKELY], 1, i]
            if differ:
                break
        if not differ:
            return True
        at[LIKELY] = (at[LIKELY] + 1) % steps
    return steps == 0


@inlined
def _count_alike(packed: U64, state: int, entry: int, room: int, at: NDArray[np.int64]) -> int:
    """Number of states from one on, up to `room`, that equal another; see `ALIKE`."""
    out_of_line()
    end = entry + room
    at[ALIKE] = max(at[ALIKE], entry)
    size = 1
    while at[ALIKE] < end and _are_alike(packed, at[ALIKE], size, state):
        at[ALIKE] += size
        # Where two are alike, more may be.
        size = 64 if at[ALIKE] >= entry + 2 and at[ALIKE] + 64 <= at[END] else 1
    while size > 1 and at[ALIKE] < end and _are_alike(packed, at[ALIKE], 1, state):
        at[ALIKE] += 1
    return int(min(at[ALIKE], end) - entry)


@inlined
def _are_alike(packed: U64, first: int, count: int, state: int) -> bool:
    """Whether some consecutive states all equal another one."""
    differ = np.uint64(0)
    for i in range(packed.shape[1]):
        for k in range(np.uint64(first), np.uint64(first + count)):
            differ |= packed[k, i] ^ packed[state, i]
    return not differ


@inlined
def _keep(rows: U64, at: int, lanes: Any, width: tuple[int, ...]) -> None:
    """Clear a row in all but some lanes."""
    store(rows, at, band(load(rows, at, width), lanes))
