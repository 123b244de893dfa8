"""Kernels that, in one call, answer questions about many states, advance them, or play them out.

The machine calls them through `KernelQuestions`. Kernels cannot allocate memory, so each one takes
the lane (the state) to start from. When an array is full, it returns the lane that it reached and a
code for the array; the caller enlarges that array (module `room`) and resumes from the lane. Work
on a lane has no effect until the lane is done. Kernels also return after a given number of steps
(`PAUSED`), so that the caller can check the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import offsets_of
from ggp.machine.base import IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.relational.evaluation import entry_for, solve
from ggp.machine.relational.records import (
    ANSWER_SIZE,
    DONE,
    FIRST_ANSWER,
    FULL_OUT,
    FULL_STATE,
    I32,
    I64,
    MAX_STEPS,
    NUM_ANSWERS,
    NUM_FOUND,
    OUT,
    PAUSED,
    PROCEDURE,
    STEPS,
    TOO_LARGE_ANSWER,
    Memory,
    add_move,
    collect_if_many,
    ensure_name,
    load,
    sort_by_key,
)
from ggp.machine.relational.room import GameMemory

# ------------------------------------------------------------------------
# Whole random playouts in one call, which returns now and then between two joint moves, and can be
# resumed.

# Entries of `Match.progress`.
LANE, TURN, FLUENTS, RANDOM_STATE, IS_ON = range(5)


@by_reference
class Match(NamedTuple):
    """The playouts of a batch, one for each lane.

    Attributes:
        seeds: `[L]` state of each lane's generator.
        steps: `[L]` number of joint moves.
        ended: `[L]` whether a terminal state was reached.
        progress: `[5]` where the current playout stands: see `LANE`.
        moves: `[R]` scratch: the move chosen for each role.
    """

    seeds: I64
    steps: I64
    ended: I64
    progress: I64
    moves: I32


@inlined
def _draw(state: np.uint64) -> np.uint64:
    """The next state of a generator (Marsaglia's xorshift with 64 bits)."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@inlined
def _choose(m: Memory, batch: Batch, match: Match) -> int:
    """Choose a legal move for each role in the loaded state; `PAUSED` is borrowed as the code
    for a role that has none."""
    entries, answers = m.calls.entries, m.calls.answers
    state = np.uint64(match.progress[RANDOM_STATE])
    for role in range(len(batch.roles)):
        entry = ask(m, m.code.roots[LEGAL_ROOT], batch.roles[role], 0)
        if entry < 0:
            return entry
        count = entries[entry, NUM_ANSWERS]
        if count == 0:
            return PAUSED
        state = _draw(state)
        cursor = entries[entry, FIRST_ANSWER]
        for _ in range(np.int64((state >> np.uint64(11)) % np.uint64(count))):
            cursor = answers[cursor]
        match.moves[role] = answers[cursor + 1]
    match.progress[RANDOM_STATE] = np.int64(state)
    return DONE


@inlined
def _write_goals(m: Memory, batch: Batch) -> int:
    """Write a length for each role, and as many numbers: pairs of a goal rule's rank (its place in
    the rulesheet) and value."""
    for role in range(len(batch.roles)):
        entry = ask(m, m.code.roots[GOAL_ROOT], batch.roles[role], 0)
        if entry < 0:
            return entry
        if m.counts[OUT] >= len(m.out):
            return FULL_OUT
        place = m.counts[OUT]
        m.counts[OUT] += 1
        status = write_answers(m, entry, False)
        if status != DONE:
            return status
        m.out[place] = m.counts[OUT] - place - 1
    return DONE


@inlined
def _turn(m: Memory, batch: Batch, match: Match, max_steps: int, budget: int) -> int:
    """Make one joint move in the current playout, or end the playout (clear `IS_ON`) if no move can
    be made."""
    progress = match.progress
    lane = progress[LANE]
    begin(m, budget)
    collect_if_many(m.terms, batch.work, progress[FLUENTS])
    status = load(m, batch.work, 0, progress[FLUENTS])
    if status != DONE:
        return status
    entry = ask(m, m.code.roots[TERMINAL_ROOT], 0, 0)
    if entry < 0:
        return entry
    if holds(m, entry):
        out_size = m.counts[OUT]
        status = _write_goals(m, batch)
        if status != DONE:
            m.counts[OUT] = out_size
            return status
        match.ended[lane] = 1
    if match.ended[lane] == 1 or progress[TURN] >= max_steps:
        progress[IS_ON] = 0
        return DONE
    before_draw = progress[RANDOM_STATE]
    status = _choose(m, batch, match)
    if status == PAUSED:
        progress[IS_ON] = 0
        return DONE
    if status == DONE:
        status = _apply_moves(m, batch, match)
    if status != DONE:
        progress[RANDOM_STATE] = before_draw
    return status


@inlined
def _apply_moves(m: Memory, batch: Batch, match: Match) -> int:
    """Replace the state in `batch.work` by its successor after the chosen moves."""
    for role in range(len(batch.roles)):
        status = add_move(m, batch.roles[role], match.moves[role])
        if status != DONE:
            return status
    entry = ask(m, m.code.roots[NEXT_ROOT], 0, 0)
    if entry < 0:
        return entry
    num = m.calls.entries[entry, NUM_ANSWERS]
    if num > len(batch.work):
        return FULL_STATE
    cursor, size = m.calls.entries[entry, FIRST_ANSWER], 0
    for i in range(num):
        batch.work[i] = m.calls.answers[cursor + 1]
        size += 2 * m.terms.sizes[batch.work[i]] - 1
        cursor = m.calls.answers[cursor]
    match.progress[FLUENTS] = num
    match.progress[TURN] += 1
    return DONE if size <= m.counts[ANSWER_SIZE] else TOO_LARGE_ANSWER


@kernel
def play_out(m: Memory, batch: Batch, match: Match, max_steps: int, budget: int, pause: int) -> int:
    """Continue random playouts of all lanes, for about `pause` steps.

    Writes the goals of each lane like `_write_goals`; `ends` gets the end of each lane's part.
    Returns `DONE`, `PAUSED`, or the code of what is full or too large.
    """
    progress = match.progress
    step_limit = m.counts[STEPS] + pause
    while progress[LANE] < len(batch.offsets) - 1:
        lane = progress[LANE]
        if progress[IS_ON] == 0:
            start, end = batch.offsets[lane], batch.offsets[lane + 1]
            for i in range(start, end):
                batch.work[i - start] = m.terms.by_name[batch.values[i]]
            progress[FLUENTS], progress[TURN] = end - start, 0
            progress[RANDOM_STATE] = match.seeds[lane]
            progress[IS_ON] = 1
        while progress[IS_ON] == 1:
            status = _turn(m, batch, match, max_steps, budget)
            if status != DONE:
                return status
            if m.counts[STEPS] > step_limit and progress[IS_ON] == 1:
                return PAUSED
        match.steps[lane] = progress[TURN]
        batch.ends[lane] = m.counts[OUT]
        progress[LANE] = lane + 1
    return DONE


TERMINAL_ROOT, LEGAL_ROOT, NEXT_ROOT, GOAL_ROOT, SEES_ROOT, IS_LEGAL_ROOT = range(6)
"""The root procedures, which kernels call, in the order of `Code.roots`."""


@by_reference
class Batch(NamedTuple):
    """States of L lanes: `values[offsets[i]:offsets[i + 1]]` are the fluents of lane i, as names.

    Attributes:
        roles: `[R]` terms.
        ends: the end of each lane's part of `Memory.out`, or of each list of a lane that has
            several.
        work: scratch for the terms of a state.
    """

    values: I32
    offsets: I64
    roles: I32
    ends: I64
    work: I32


@inlined
def begin(m: Memory, budget: int) -> None:
    """Allow `budget` steps for the next question about a state."""
    m.counts[MAX_STEPS] = m.counts[STEPS] + budget


@inlined
def ask(m: Memory, root: int, first: int, second: int) -> int:
    """Evaluate a root procedure; returns its entry in the table of calls, or a negative code for
    what ran out.

    In every game, operands 0 and 1 are registers 0 and 1, for the known arguments of a root.
    """
    m.stack.registers[0] = first
    m.stack.registers[1] = second
    entry = entry_for(m, root, 0, 0)
    if entry < 0:
        return entry
    status = solve(m, entry)
    return status if status != DONE else entry


@inlined
def holds(m: Memory, entry: int) -> bool:
    return bool(m.calls.entries[entry, FIRST_ANSWER] >= 0)


@inlined
def _read_state(m: Memory, batch: Batch, lane: int) -> int:
    """Load the state of a lane."""
    start, end = batch.offsets[lane], batch.offsets[lane + 1]
    collect_if_many(m.terms, batch.work, 0)
    for i in range(start, end):
        batch.work[i - start] = m.terms.by_name[batch.values[i]]
    return load(m, batch.work, 0, end - start)


@inlined
def write_answers(m: Memory, entry: int, sort: bool) -> int:
    """Append the names of the terms of all answers to `Memory.out`."""
    calls, terms, out = m.calls, m.terms, m.out
    num = m.code.procedures[calls.entries[entry, PROCEDURE], NUM_FOUND]
    start = m.counts[OUT]
    if start + num * calls.entries[entry, NUM_ANSWERS] > len(out):
        return FULL_OUT
    end, size = start, 0
    # Answers are a linked list: the place of the next one (-1 after the last), and the terms.
    cursor = calls.entries[entry, FIRST_ANSWER]
    while cursor >= 0 and num > 0:
        for i in range(num):
            out[end] = calls.answers[cursor + 1 + i]
            size += 2 * terms.sizes[out[end]] - 1
            end += 1
        cursor = calls.answers[cursor]
    if size > m.counts[ANSWER_SIZE]:
        return TOO_LARGE_ANSWER
    if sort:
        sort_by_key(terms, out, start, end)
    for i in range(start, end):
        out[i] = ensure_name(terms, out[i])
    m.counts[OUT] = end
    return DONE


@inlined
def _answer_lane(
    m: Memory, batch: Batch, lane: int, root: int, role: int, move: int, budget: int
) -> int:
    """Answer a question about one lane, see `answer`."""
    begin(m, budget)
    status = _read_state(m, batch, lane)
    if status != DONE:
        return status
    if root in (LEGAL_ROOT, IS_LEGAL_ROOT):
        terminal_entry = ask(m, m.code.roots[TERMINAL_ROOT], 0, 0)
        if terminal_entry < 0:
            return terminal_entry
        if holds(m, terminal_entry):
            return DONE
    first = batch.roles[role] if role >= 0 else 0
    second = m.terms.by_name[move] if move >= 0 else 0
    entry = ask(m, m.code.roots[root], first, second)
    if entry < 0:
        return entry
    if m.code.procedures[m.code.roots[root], NUM_FOUND] > 0:
        return write_answers(m, entry, root != GOAL_ROOT)
    if holds(m, entry):
        if m.counts[OUT] >= len(m.out):
            return FULL_OUT
        m.out[m.counts[OUT]] = 0
        m.counts[OUT] += 1
    return DONE


@kernel
def answer(
    m: Memory, batch: Batch, lane: int, root: int, role: int, move: int, budget: int, pause: int
) -> tuple[int, int]:
    """From `lane` on, write the answers of a root in each lane, in an order that depends only on
    the state.

    Terminal lanes have no legal moves. A root without arguments to find gives a single 0 if it
    holds, and nothing if not. Goals are pairs of rank and value, in no particular order. `role`
    and `move` are -1 if the root has none.

    Args:
        budget: steps for each lane.
        pause: steps after which no further lane is started.

    Returns:
        the lane where it stopped, and `DONE` or the code of the reason.
    """
    step_limit = m.counts[STEPS] + pause
    while lane < len(batch.offsets) - 1:
        if m.counts[STEPS] > step_limit:
            return lane, PAUSED
        out_size = m.counts[OUT]
        status = _answer_lane(m, batch, lane, root, role, move, budget)
        if status != DONE:
            m.counts[OUT] = out_size
            return lane, status
        batch.ends[lane] = m.counts[OUT]
        lane += 1
    return lane, DONE


@inlined
def _step_lane(m: Memory, batch: Batch, joint: I32, lane: int, sees: bool, budget: int) -> int:
    """Advance one lane, see `advance`."""
    begin(m, budget)
    status = _read_state(m, batch, lane)
    if status != DONE:
        return status
    num_roles = len(batch.roles)
    for role in range(num_roles):
        status = add_move(m, batch.roles[role], m.terms.by_name[joint[lane, role]])
        if status != DONE:
            return status
    parts = 1 + (num_roles if sees else 0)
    for part in range(parts):
        root = m.code.roots[NEXT_ROOT if part == 0 else SEES_ROOT]
        entry = ask(m, root, batch.roles[part - 1] if part else 0, 0)
        if entry < 0:
            return entry
        status = write_answers(m, entry, True)
        if status != DONE:
            return status
        batch.ends[lane * parts + part] = m.counts[OUT]
    return DONE


@kernel
def advance(
    m: Memory, batch: Batch, joint: I32, lane: int, sees: bool, budget: int, pause: int
) -> tuple[int, int]:
    """Write the successors after joint moves `joint[L, R]` (move names), and each role's percepts.

    `ends` has 1 + R entries for each lane, or 1 without percepts (`sees`). See `answer`.
    """
    step_limit = m.counts[STEPS] + pause
    while lane < len(batch.offsets) - 1:
        if m.counts[STEPS] > step_limit:
            return lane, PAUSED
        out_size = m.counts[OUT]
        status = _step_lane(m, batch, joint, lane, sees, budget)
        if status != DONE:
            m.counts[OUT] = out_size
            return lane, status
        lane += 1
    return lane, DONE


@kernel
def find_all(m: Memory, procedure: int, budget: int, fresh: bool) -> int:
    """Write all answers of a procedure without known arguments to `Memory.out`, as terms.

    Args:
        fresh: whether to forget the answers of all calls so far.
    """
    if fresh:
        status = load(m, m.out, 0, 0)
        if status != DONE:
            return status
    begin(m, budget)
    m.counts[OUT] = 0
    entry = ask(m, procedure, 0, 0)
    if entry < 0:
        return entry
    calls, num = m.calls, m.code.procedures[procedure, NUM_FOUND]
    if num * calls.entries[entry, NUM_ANSWERS] > len(m.out):
        return FULL_OUT
    cursor = calls.entries[entry, FIRST_ANSWER]
    if num == 0:
        m.counts[OUT] = 1 if cursor >= 0 else 0
    while cursor >= 0 and num > 0:
        for i in range(num):
            m.out[m.counts[OUT]] = calls.answers[cursor + 1 + i]
            m.counts[OUT] += 1
        cursor = calls.answers[cursor]
    return DONE


KERNELS = (answer, advance, find_all, play_out)
"""The kernels that take long to compile."""


# ------------------------------------------------------------------------
# Calls kernels with batches of states, and enlarges memory until they are done.

SLICE = 3_000_000
"""Steps after which a kernel returns, so that the caller can check the time or serve an interrupt:
a few hundredths of a second."""

State = NDArray[np.int32]
"""Names of fluents, in the order of `records.sort_by_key`: equal states are equal arrays."""


class KernelQuestions:
    """Asks kernels about batches of states.

    Args:
        room: the memory of the game.
        roles: `[R]` terms.

    Attributes:
        budget: steps for one question about one state.
        num_roles: R.
    """

    def __init__(self, room: GameMemory, roles: I32) -> None:
        self._room, self._roles = room, roles
        self.budget = room.budget
        self.num_roles = len(roles)

    def answers(
        self, states: Sequence[State], root: int, activity: str, role: int = -1, move: int = -1
    ) -> tuple[IntArray, I32]:
        """`[L + 1]` offsets, and the answers in each state; see `play_kernels.answer`.

        Args:
            activity: the question, in words for error messages.
        """

        def ask(batch: Batch, lane: int) -> tuple[int, int]:
            return answer(self._room.memory, batch, lane, root, role, move, self.budget, SLICE)

        return self._run(states, 1, ask, activity)

    def steps(self, states: Sequence[State], joint: I32, sees: bool) -> tuple[IntArray, I32]:
        """`[L * P + 1]` offsets, and P lists for each state; see `play_kernels.advance`."""

        def ask(batch: Batch, lane: int) -> tuple[int, int]:
            return advance(self._room.memory, batch, joint, lane, sees, self.budget, SLICE)

        return self._run(states, 1 + sees * len(self._roles), ask, "a step")

    def playouts(
        self,
        states: Sequence[State],
        seeds: IntArray,
        max_steps: int,
        should_stop: Callable[[], bool],
    ) -> tuple[Match, IntArray, I32]:
        """Random playouts.

        Args:
            seeds: `[L]` state of each lane's generator, not 0.
            should_stop: whether to stop; called now and then.

        Returns:
            the playouts, and offsets and numbers of goals, in the format of `play_out`; unfinished
            lanes have none.
        """
        num = len(states)
        match = Match(
            seeds=seeds,
            steps=np.zeros(num, dtype=np.int64),
            ended=np.zeros(num, dtype=np.int64),
            progress=np.zeros(5, dtype=np.int64),
            moves=np.zeros(len(self._roles), dtype=np.int32),
        )
        batch = self._batch(states, 1)
        room = self._room
        room.memory.counts[OUT] = 0
        while not should_stop():
            room.meanwhile()
            status = play_out(room.memory, batch, match, max_steps, self.budget, SLICE)
            if status == DONE:
                break
            if status == FULL_STATE:
                batch = batch._replace(work=np.concatenate([batch.work, batch.work]))
            elif status != PAUSED:
                room.grow(status, "playouts")
        num_done = int(match.progress[LANE])
        if num_done < num:
            match.steps[num_done] = match.progress[TURN]
        batch.ends[num_done:] = batch.ends[num_done - 1] if num_done else 0
        return match, *self._output(batch)

    def _batch(self, states: Sequence[State], parts: int) -> Batch:
        counts = np.array([len(state) for state in states], dtype=np.int64)
        return Batch(
            values=np.concatenate([np.zeros(0, dtype=np.int32), *states]),
            offsets=offsets_of(counts),
            roles=self._roles,
            ends=np.zeros(len(states) * parts, dtype=np.int64),
            work=np.zeros(max(64, 2 * int(counts.max(initial=0))), dtype=np.int32),
        )

    def _run(
        self,
        states: Sequence[State],
        parts: int,
        ask: Callable[[Batch, int], tuple[int, int]],
        activity: str,
    ) -> tuple[IntArray, I32]:
        batch, lane = self._batch(states, parts), 0
        self._room.memory.counts[OUT] = 0
        while lane < len(states):
            self._room.meanwhile()
            lane, status = ask(batch, lane)
            if status not in (DONE, PAUSED):
                self._room.grow(status, activity)
        return self._output(batch)

    def _output(self, batch: Batch) -> tuple[IntArray, I32]:
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), batch.ends])
        return offsets, self._room.memory.out[: offsets[-1]].copy()
