"""The measured player in the lanes of an environment, where the responder learns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ggp.env.environment import Environment
from ggp.env.kernels import U64
from ggp.env.names import Names
from ggp.env.turn import Turn
from ggp.machine.arrays import take_segments
from ggp.machine.base import IntArray, Machine, Ragged
from ggp.machine.propnet.play.kernels.packed import unpack
from ggp.respond.movers import Mover
from ggp.respond.responders import Rival


class Numbers:
    """Moves and percepts of a machine, by their indices in an environment."""

    def __init__(self, machine: Machine, names: Names) -> None:
        self._machine, self._names = machine, names
        found = [machine.move_id(text) for text in names.moves]
        self.moves = np.array([-1 if each is None else each for each in found], dtype=np.int64)
        self._percepts: dict[bytes, int] = {}

    def percepts(self, bits: U64) -> IntArray:
        """`[L]` percept ids of `[L, words]` bits."""
        texts, found = self._names.percepts, np.empty(len(bits), dtype=np.int64)
        for lane, row in enumerate(bits):
            key = row.tobytes()
            if key not in self._percepts:
                some = np.flatnonzero(unpack(row[None], len(texts))[0]).tolist()
                said = self._machine.percept_id([texts[each] for each in some])
                assert said is not None
                self._percepts[key] = said
            found[lane] = self._percepts[key]
        return found

    def actions(self, moves: IntArray) -> IntArray:
        """`[K]` indices of moves."""
        order = np.argsort(self.moves)
        return np.asarray(order[np.searchsorted(self.moves, moves, sorter=order)])


class Sides:
    """The others in the lanes of an environment: `ggp.learn.learner.Others`.

    Attributes:
        matches: that have begun.
    """

    def __init__(self, rival: Rival, env: Environment, others: Mapping[int, Mover]) -> None:
        self.matches = 0
        self._rival, self._env = rival, env
        self._numbers = Numbers(rival.machine, env.names)
        roles = rival.machine.roles
        self._others = {env.roles.index(roles[role]): each for role, each in others.items()}
        self._index = {env.roles.index(roles[role]): role for role in others}
        self._paths = np.zeros((env.num_lanes, len(env.roles)), dtype=np.int64)

    def __call__(self, turn: Turn) -> IntArray:
        actions = np.full(turn.moves.shape, -1, dtype=np.int64)
        new, old = np.flatnonzero(turn.turns == 0), np.flatnonzero(turn.turns > 0)
        self.matches += len(new)
        every, legal = np.arange(len(actions)), turn.legal
        for number, mover in self._others.items():
            if mover.is_loose(every).all():
                continue
            if len(new):
                mover.begin(new)
                self._paths[new, number] = self._index[number]
            self._tell(turn, number, mover, old)
            offsets, at = take_segments(legal.offsets, every * len(self._env.roles) + number)
            options = Ragged(offsets, self._numbers.moves[legal.values[at]])
            moves = mover.moves(every, self._paths[:, number], options)
            actions[:, number] = self._numbers.actions(moves)
        return actions

    def _tell(self, turn: Turn, number: int, mover: Mover, lanes: IntArray) -> None:
        if not len(lanes):
            return
        moves = self._numbers.moves[turn.moves[lanes, number]]
        percepts = self._numbers.percepts(turn.percept_bits[lanes, number])
        if mover.needs_paths:
            before = self._paths[lanes, number]
            self._paths[lanes, number] = self._rival.paths.extend(before, moves, percepts)
        mover.observe(lanes, moves, percepts)
