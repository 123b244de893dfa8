"""Infers from percepts the moves that may have caused them, in any state.

Chance deals three of 52 cards, and the role sees which: one of 22,100 moves can have caused that.
The circuit shows this without any trial. With one move of a role set and all its others not, and
nothing known of the state and of the other roles, a net may be 1, or 0, or either. For a gate,
these two sets of moves, those with which it may be 1 and those with which it may be 0, follow from
the sets of its inputs:

    may be 1    AND: of all inputs        inverted: may be 0
    may be 0    AND: of some input        inverted: may be 1

So a move may have caused a set of percepts if every percept in it may be 1 with the move, and every
other percept may be 0. The moves that are left need not be possible; the others are impossible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import Packed, pack
from ggp.machine.base import BoolArray, IntArray
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, cone, touched_by

MOST_GATES, MOST_BITS = 20_000, 1 << 29
"""Gates, and gates times moves, above which nothing is inferred: these take a second and 128 MB."""

MOST_CLUES = 64
"""Number of different percepts of one batch that are used for inference."""

MOST_KNOWN = 1024
"""Number of answers that are remembered."""


class _Rails(NamedTuple):
    """Moves by gate, between the moves of one role and the percepts of another, packed in bytes.

    Attributes:
        slots: `[gates]` row of each gate, -1 if moves do not matter to it.
        ones, zeros: `[K, bytes]` moves with which a gate may be 1, or 0.
    """

    slots: IntArray
    ones: NDArray[np.uint8]
    zeros: NDArray[np.uint8]


class Clues:
    """Finds moves that may have caused percepts.

    Args:
        circuit: the circuit of the game.
    """

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        sizes = [len(outputs.names) for outputs in circuit.legal]
        self._first_move = 1 + len(circuit.fluents) + np.cumsum([0, *sizes])
        self._first_gate = 1 + circuit.num_inputs
        self._rails: dict[tuple[int, int], _Rails | None] = {}
        self._known: dict[tuple[tuple[str, ...], int, int], Packed | None] = {}

    def moves_behind(self, percepts: tuple[str, ...], role: int, mover: int) -> Packed | None:
        """Moves of a role that may have caused the percepts of another.

        Args:
            percepts: canonical KIF.
            role: the role that sees them.
            mover: the role that moves.

        Returns:
            One bit for each of the mover's moves, in the order of the circuit; None if it is not
            inferred: the circuit has loops, or is too large. If it is too large for all percepts,
                only those that
            were seen count, and not those that would be seen too.
        """
        key = percepts, role, mover
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            names = self._circuit.sees[role].names
            seen = set(percepts)
            held = np.array([name in seen for name in names], dtype=np.bool_)
            found = self._behind(held, role, mover) if held.sum() == len(seen) else None
            self._known[key] = None if found is None else pack(found)
        return self._known[key]

    def _behind(self, seen: BoolArray, role: int, mover: int) -> BoolArray | None:
        key = role, mover
        literals = self._circuit.sees[role].literals
        if key not in self._rails:
            self._rails[key] = self._found(literals, mover)
        rails = self._rails[key]
        if rails is None and seen.any():
            # Percepts that were seen tell most and are few; there may be tens of thousands more.
            literals, seen = literals[seen], seen[seen]
            rails = self._found(literals, mover)
        if rails is None:
            return None
        first, end = self._first_move[mover], self._first_move[mover + 1]
        nets, holds = literals >> 1, seen ^ (literals & 1).astype(np.bool_)
        allowed = _but_for(end - first, *_split(nets, holds, first, end))
        gates = nets - self._first_gate
        touched = np.flatnonzero(gates >= 0)
        slots = rails.slots[gates[touched]]
        packed = np.packbits(allowed)
        for place, slot in zip(touched[slots >= 0], slots[slots >= 0], strict=True):
            packed &= (rails.ones if holds[place] else rails.zeros)[slot]
        return np.unpackbits(packed, count=int(end - first)).astype(np.bool_)

    def _found(self, literals: Literals, mover: int) -> _Rails | None:
        """The gates between the moves of a role and some literals; None if they are too many."""
        circuit = self._circuit
        first, end = self._first_move[mover], self._first_move[mover + 1]
        if circuit.loops:
            return None
        reached = cone(circuit, literals)
        moves = np.zeros(len(reached), dtype=np.bool_)
        moves[first:end] = True
        gates = np.flatnonzero((reached & touched_by(circuit, moves))[self._first_gate :])
        if len(gates) > MOST_GATES or len(gates) * (end - first) > MOST_BITS:
            return None
        slots = np.full(circuit.num_gates, -1, dtype=np.int64)
        slots[gates] = np.arange(len(gates))
        ones = np.empty((len(gates), (int(end - first) + 7) // 8), dtype=np.uint8)
        zeros = np.empty_like(ones)
        rails = _Rails(slots, ones, zeros)
        for slot, gate in enumerate(gates.tolist()):
            start, stop = circuit.offsets[gate : gate + 2]
            self._follow(circuit.literals[start:stop].astype(np.int64), rails, slot, first, end)
        return rails

    def _follow(self, literals: IntArray, rails: _Rails, slot: int, first: int, end: int) -> None:
        """Find the moves with which one gate may be 1 and 0, from those of its inputs."""
        nets, plain = literals >> 1, (literals & 1) == 0
        gates = np.where(nets >= self._first_gate, nets - self._first_gate, -1)
        inner = np.where(gates >= 0, rails.slots[gates], -1)
        is_move = (nets >= first) & (nets < end)
        is_free = (inner < 0) & ~is_move & (literals != FALSE) & (literals != TRUE)
        one = np.packbits(_but_for(end - first, *_split(nets, plain, first, end)))
        # An AND is 0 if its inputs that are moves are not all 1.
        zero = np.full_like(one, 255) if is_free.any() or (literals == FALSE).any() else ~one
        if (literals == FALSE).any():
            one[:] = 0
        for k in np.flatnonzero(inner >= 0):
            may, may_not = rails.ones[inner[k]], rails.zeros[inner[k]]
            one &= may if plain[k] else may_not
            zero |= may_not if plain[k] else may
        rails.ones[slot], rails.zeros[slot] = one, zero


def _split(nets: IntArray, holds: BoolArray, first: int, end: int) -> tuple[IntArray, IntArray]:
    """The moves among literals that must, or must not, hold: those made, and those not made."""
    is_move = (nets >= first) & (nets < end)
    return nets[is_move & holds] - first, nets[is_move & ~holds] - first


def _but_for(size: int, made: IntArray, not_made: IntArray) -> BoolArray:
    """Whether each of some moves may be the one that is made."""
    allowed = np.ones(size, dtype=np.bool_)
    if len(made):
        allowed[:] = False
        allowed[made] = (made == made[0]).all()
    allowed[not_made] = False
    return allowed
