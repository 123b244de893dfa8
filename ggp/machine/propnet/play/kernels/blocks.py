"""The data of playouts: a queue of states, and a block of those that are side by side now.

A row of a block holds one net of 1,024 lanes, a bit for each. Lanes end at different times, and a
lane that has ended costs as much as one that plays on. So when enough have ended they are judged
together, and others of the queue take their places:

    lanes       a b c d e f g h        ended: b, d, e, h
    refilled    a i c i j f g j        `entry_of` remembers which entry of the queue each lane has

An entry of the queue is a state that is played a number of times, perhaps with a given first move:
a *trial* of that move. Its lanes are filled together: bits of a row are or-ed with the mask
of all equal lanes, so that a state costs as much for many lanes as for one. Lanes that
begin together stay in step: where roles take turns, rows of moves that nobody can make are then
skipped for the whole block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import by_reference, inlined
from ggp.machine.compiling.vectors import (
    aligned_words,
    band,
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

    Attributes:
        look: terminal and legal, from the state.
        act: the next state, from state and moves, after `look`. Gates overwrite some fluents (see
            `straight`), and the others take over their next values afterwards.
        judge: goals, after `look` and before `act`; where there are phases, between two steps.
        num_rows: number of rows of all.
        row_of: `[F]` row of each fluent, -1 for those that do not matter.
        matter: `[ceil(F / 64)]` the bits of those that do.
        state_rows: `[K]` rows of the fluents that matter.
        within: `[T, 2, ceil(F / 64)]` of T steps which fluents must not hold, and which must, of
            those that matter. A state that is so in none of them is in no phase; T is 0 where any
            may be in one.
        phase_rows: `[S]` rows of the fluents that say the phase.
        asked: `[V - 1]` all ones or zeros: whether a phase is one of these fluents at all.
        phases: `[V - 1, S]` all ones or zeros: what they are in each phase. Of the V variants the
            first is for any state, and each of the others for a phase: parts of `look` and `act`,
            and what follows.
        changed: `[C]` rows of the fluents that take over a value after `act`, of all variants.
        change_ends: `[V + 1]` where those of each begin.
        next: `[C]` where their next values are.
        terminal: `[V]` literals.
        role_moves: `[V, R + 1]` where the moves of each role begin; each has a multiple of
            `choice.GROUP` of them, the last of which may be fillers, never legal. For phases only
            moves that may be legal then.
        legal: the literals of all roles' moves.
        move_rows: the row each move drives; one that nobody reads for fillers.
        always: `[len(move_rows) / GROUP]` whether a group of moves is counted even if no lane has
            one of them. In phases these are the groups that drive a row which other phases drive.
        role_goals: `[R + 1]` where the goal values of each role begin.
        goals: literals.
        goal_values: the number each counts as.
        turns: steps after which it may be the same role's turn again.
    """

    look: Tape
    act: Tape
    judge: Tape
    num_rows: int
    row_of: I32
    matter: U64
    state_rows: I32
    within: U64
    phase_rows: I32
    asked: U64
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
    """E entries to play out, and their results: U weighted sums over entries.

    Attributes:
        packed: `[L, ceil(F / 64)]` states.
        lanes: `[E]` state of each entry.
        counts: `[E]` number of playouts of each.
        role: the role whose first moves are given; below 0 if every state is an entry and a sum of
            its own, played once.
        moves: `[E]` place of the first move among the moves of that role, -1 if it is not given;
            if it is not legal, a random legal one is made.
        into: `[E]` the sum that an entry counts in.
        weights: `[E]` the weight of a playout.
        judged: `[2]` first role whose goals are wanted, and the end: J roles.
        cut_value: goal value of playouts that do not finish.
        goals: `[U, J]` sum of goal values.
        spread: `[U, 3]` sums of steps, of squared goals of the first role wanted, of its goals
            times steps; or `[U, 1]` or `[U, 0]`, as far as they are wanted.
        unfinished: `[U]` number of playouts that did not come to an end.
        met: goal values that counted at some end, for all roles.
        faults: `[R, 2]` whether a role had several goal values, or none, at an end.
        odds: `[len(PlayoutPlan.move_rows)]` the weight by which each move is drawn, at least 1;
            `[0]` where moves are drawn uniformly.
        credits: `[M, 2]` for each move of the roles of the circuit, the number of finished playouts
            in which it was made, and the sum of its role's goal values in them; `[0, 2]` if not
            wanted.
    """

    packed: U64
    lanes: NDArray[np.int64]
    counts: NDArray[np.int64]
    role: int
    moves: I32
    into: NDArray[np.int64]
    weights: NDArray[np.float64]
    judged: I32
    cut_value: float
    goals: NDArray[np.float64]
    spread: NDArray[np.float64]
    unfinished: NDArray[np.int64]
    met: NDArray[np.bool_]
    faults: NDArray[np.bool_]
    odds: I32
    credits: NDArray[np.float64]


@by_reference
class Block(NamedTuple):
    """The lanes that are side by side now; it goes on where it stopped.

    Attributes:
        rows: all rows.
        masks: `[3, W]` lanes that play on, that ended and are not judged yet, scratch.
        entry_of: `[64 W]` entry of the queue.
        started: `[64 W]` step of the block at which each lane began; for one that has ended, the
            number of steps it made.
        rng: `[2, W]` state of the generators.
        planes: `[3 * MAX_PLANES, W]` scratch.
        given: rows of the given first moves.
        groups: state of each group of moves, see `choice.IDLE`.
        square: `[64]` scratch.
        made: rows of moves: the lanes that made them since they were let in. Empty until some queue
            wants `credits`.
        bounds: `[MOST_RUNS + 1]` where the runs begin that are played one after the other, as
            entries of the queue.
        keys: `[MOST_RUNS]` keys of their random bits.
        at: see below.
    """

    rows: U64
    masks: U64
    entry_of: NDArray[np.int64]
    started: NDArray[np.int64]
    rng: U64
    planes: U64
    given: U64
    groups: Groups
    square: U64
    made: U64
    bounds: NDArray[np.int64]
    keys: U64
    at: NDArray[np.int64]


NEXT, PLACED, END, STEP, OLDEST, TOGETHER, FRESH, VISITED, RUN, LAST, MADE, STRAY, LIKELY = range(
    13
)
"""Places in `Block.at`: entry that is being filled in, number of its lanes placed; end of the
entries of the run; steps of the block in it; earliest step at which a lane began, perhaps one that
has ended; step at which all lanes began together; whether lanes are to make their first moves;
lanes stepped in all runs; the run that is played, and the end of the runs; whether the last moves
were made in a phase; whether some lane is in no phase, and the step that the last state was found
to belong to, see `PlayoutPlan.within`."""

MOST_RUNS = 64
"""Greatest number of runs that a block is given at once."""


def new_block(plan: PlayoutPlan, width: tuple[int, ...]) -> Block:
    """A block to play with, after `begin`."""
    words = words_of(width)
    moves = int(np.diff(plan.role_moves[0]).max())
    return Block(
        aligned_words(plan.num_rows * words),
        aligned_words(3 * words),
        aligned_words(64 * words).view(np.int64),
        aligned_words(64 * words).view(np.int64),
        aligned_words(2 * words),
        aligned_words(3 * MAX_PLANES * words),
        aligned_words(moves * words),
        aligned_words(-(-len(plan.always) // 8)).view(np.uint8),
        aligned_words(64),
        aligned_words(0),
        aligned_words(MOST_RUNS + 1).view(np.int64),
        aligned_words(MOST_RUNS),
        aligned_words(13).view(np.int64),
    )


def begin(block: Block, bounds: Sequence[int], keys: Sequence[int]) -> None:
    """Let a block play runs next, up to `MOST_RUNS`.

    Args:
        bounds: entries of the queue at which they begin, and the end.
        keys: 64-bit keys that seed them.
    """
    block.bounds[: len(bounds)] = bounds
    block.keys[: len(keys)] = keys
    # Bits left in the rows of moves stay there.
    made = block.at[MADE]
    block.at[:] = 0
    block.at[MADE] = made
    block.at[NEXT] = block.at[END] = bounds[0]
    block.at[LAST] = len(keys)


@inlined
def begin_run(plan: PlayoutPlan, queue: Queue, block: Block, width: tuple[int, ...]) -> None:
    """Let in the first lanes of the next run."""
    out_of_line()
    at, masks, given = block.at, block.masks, block.given
    for k in range(len(masks)):
        masks[k] = np.uint64(0)
    for k in range(len(given)):
        given[k] = np.uint64(0)
    seed_words(block.keys[at[RUN]], block.rng)
    at[NEXT], at[END] = block.bounds[at[RUN]], block.bounds[at[RUN] + 1]
    at[PLACED] = at[OLDEST] = at[TOGETHER] = at[FRESH] = at[STRAY] = 0
    fill(plan, queue, block, width)


@inlined
def fill(plan: PlayoutPlan, queue: Queue, block: Block, width: tuple[int, ...]) -> None:  # noqa: C901
    """Let lanes of the queue in where no lane plays on: see `PlayoutPlan`, `Queue`, `Block`."""
    out_of_line()
    words = words_of(width)
    state_rows, row_of, matter = plan.state_rows, plan.row_of, plan.matter
    packed, lanes, counts, moves = queue.packed, queue.lanes, queue.counts, queue.moves
    rows, masks, entry_of, started = block.rows, block.masks, block.entry_of, block.started
    given, filled, at = block.given, block.square, block.at
    if at[NEXT] == at[END]:
        return
    if at[FRESH]:
        # All lanes that were let in last had ended when they came.
        for k in range(len(given)):
            given[k] = np.uint64(0)
        at[FRESH] = 0
    playing = load(masks, 0, width)
    for k in range(len(state_rows)):
        # New lanes are or-ed in, so no bits may be left of those that ended.
        row = np.int64(state_rows[k]) * words
        store(rows, row, band(load(rows, row, width), playing))
    if len(queue.credits):
        for k in range(len(block.made) // words):
            place = np.int64(k) * words
            store(block.made, place, band(load(block.made, place, width), playing))
    num_words = packed.shape[1]
    word = 0
    free = ~masks[0]
    while word < words and at[NEXT] < at[END]:
        # The lanes of one state, of which entries may follow each other.
        state = lanes[at[NEXT]]
        first_word = word
        filled[word] = np.uint64(0)
        while at[NEXT] < at[END]:
            entry = at[NEXT]
            if queue.role < 0 and not ~free and _alike(packed, state, entry, at[END]):
                # Every entry is a state, once: a whole word of lanes takes little longer than one.
                for b in range(64):
                    entry_of[64 * word + b] = entry + b
                    started[64 * word + b] = at[STEP]
                filled[word] = ~np.uint64(0)
                at[NEXT] += 64
                word += 1
                if word == words:
                    break
                free = ~masks[word]
                filled[word] = np.uint64(0)
                continue
            same = True
            if lanes[entry] != state:
                for i in range(num_words):
                    if packed[lanes[entry], i] != packed[state, i]:
                        same = False
            if not same:
                break
            left = counts[entry] - at[PLACED]
            move = np.int64(moves[entry])
            while left > 0:
                if not free:
                    word += 1
                    if word == words:
                        break
                    free = ~masks[word]
                    filled[word] = np.uint64(0)
                    continue
                taken = np.uint64(0)
                while free and left > 0:
                    lane = 64 * word + lowest_one(free)
                    rest = free & (free - np.uint64(1))
                    taken |= free ^ rest
                    free = rest
                    entry_of[lane] = entry
                    started[lane] = at[STEP]
                    left -= 1
                filled[word] |= taken
                if move >= 0:
                    given[move * words + word] |= taken
                    at[FRESH] = 1
            at[PLACED] = counts[entry] - left
            if left > 0:
                break
            at[NEXT] += 1
            at[PLACED] = 0
        if not _is_within(plan, packed, state, at):
            at[STRAY] = 1
        last_word = word if word < words else words - 1
        for i in range(num_words):
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
    """Whether a state may be in a phase."""
    out_of_line()
    steps = len(plan.within)
    for _ in range(steps):
        differ = np.uint64(0)
        for i in range(packed.shape[1]):
            differ |= packed[state, i] & plan.within[at[LIKELY], 0, i]
            differ |= ~packed[state, i] & plan.within[at[LIKELY], 1, i]
            if differ:
                break
        if not differ:
            return True
        at[LIKELY] = (at[LIKELY] + 1) % steps
    return steps == 0


@inlined
def _alike(packed: U64, state: int, first: int, end: int) -> bool:
    """Whether the next 64 states all equal another one."""
    out_of_line()
    if end - first < 64:
        return False
    differ = np.uint64(0)
    for i in range(packed.shape[1]):
        for k in range(first, first + 64):
            differ |= packed[k, i] ^ packed[state, i]
    return not differ
