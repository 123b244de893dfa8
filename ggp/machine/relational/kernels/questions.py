"""Asks kernels about states, and makes room until they are done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import offsets_of
from ggp.machine.base import IntArray
from ggp.machine.relational.kernels.play_kernels import (
    LANE,
    Batch,
    Match,
    advance,
    answer,
    play_out,
)
from ggp.machine.relational.kernels.records import DONE, FULL_STATE, I32, OUT, PAUSED
from ggp.machine.relational.kernels.room import GameMemory

SLICE = 3_000_000
"""Steps after which a kernel returns, so that a clock can be looked at or an interrupt served: some
hundredths of a second."""

State = NDArray[np.int32]
"""Names of fluents, in the order of `term_kernels.sort_by_key`: equal states are equal arrays."""


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
        self, states: Sequence[State], root: int, doing: str, role: int = -1, move: int = -1
    ) -> tuple[IntArray, I32]:
        """`[L + 1]` offsets, and the answers in each state; see `play_kernels.answer`."""

        def ask(batch: Batch, lane: int) -> tuple[int, int]:
            return answer(self._room.memory, batch, lane, root, role, move, self.budget, SLICE)

        return self._all(states, 1, ask, doing)

    def steps(self, states: Sequence[State], joint: I32, sees: bool) -> tuple[IntArray, I32]:
        """`[L * P + 1]` offsets, and P lists for each state; see `play_kernels.advance`."""

        def ask(batch: Batch, lane: int) -> tuple[int, int]:
            return advance(self._room.memory, batch, joint, lane, sees, self.budget, SLICE)

        return self._all(states, 1 + sees * len(self._roles), ask, "a step")

    def playouts(
        self,
        states: Sequence[State],
        seeds: IntArray,
        max_steps: int,
        is_over: Callable[[], bool],
    ) -> tuple[Match, IntArray, I32]:
        """Random playouts.

        Args:
            seeds: `[L]` state of each lane's generator, none of them 0.
            is_over: whether to stop; called now and then.

        Returns:
            the playouts, and goals as `playout_kernels.play_out` writes them; lanes that were not
            played, or not to the end, have none.
        """
        num = len(states)
        match = Match(
            seeds=seeds,
            steps=np.zeros(num, dtype=np.int64),
            ended=np.zeros(num, dtype=np.int64),
            progress=np.zeros(5, dtype=np.int64),
            chosen=np.zeros(len(self._roles), dtype=np.int32),
        )
        batch = self._batch(states, 1)
        room = self._room
        room.memory.counts[OUT] = 0
        while not is_over():
            room.meanwhile()
            ended = play_out(room.memory, batch, match, max_steps, self.budget, SLICE)
            if ended == DONE:
                break
            if ended == FULL_STATE:
                batch = batch._replace(work=np.concatenate([batch.work, batch.work]))
            elif ended != PAUSED:
                room.grow(ended, "playouts")
        done = int(match.progress[LANE])
        batch.ends[done:] = batch.ends[done - 1] if done else 0
        return match, *self._told(batch)

    def _batch(self, states: Sequence[State], parts: int) -> Batch:
        counts = np.array([len(state) for state in states], dtype=np.int64)
        return Batch(
            values=np.concatenate([np.zeros(0, dtype=np.int32), *states]),
            offsets=offsets_of(counts),
            roles=self._roles,
            ends=np.zeros(len(states) * parts, dtype=np.int64),
            work=np.zeros(max(64, 2 * int(counts.max(initial=0))), dtype=np.int32),
        )

    def _all(
        self,
        states: Sequence[State],
        parts: int,
        ask: Callable[[Batch, int], tuple[int, int]],
        doing: str,
    ) -> tuple[IntArray, I32]:
        batch, lane = self._batch(states, parts), 0
        self._room.memory.counts[OUT] = 0
        while lane < len(states):
            self._room.meanwhile()
            lane, ended = ask(batch, lane)
            if ended not in (DONE, PAUSED):
                self._room.grow(ended, doing)
        return self._told(batch)

    def _told(self, batch: Batch) -> tuple[IntArray, I32]:
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), batch.ends])
        return offsets, self._room.memory.out[: offsets[-1]].copy()
