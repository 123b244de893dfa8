"""Finds nets that never change in a game."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import offsets_of, take_segments
from ggp.machine.base import IntArray
from ggp.machine.propnet.circuit import FALSE, TRUE, Circuit
from ggp.machine.propnet.optimise.assembling import suits_kernels
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.kernels import UNKNOWN, Values, settle, spread
from ggp.machine.propnet.optimise.knowledge import Knowledge


def fold_constants(circuit: Circuit, _: Knowledge) -> Circuit:
    """Replace nets that have one value in all reachable states by that value.

    Fluents among them are dropped, and so are moves that are never legal.
    """
    by_kernels = suits_kernels(circuit)
    values = reached_at_once(circuit) if by_kernels else _Values(circuit).reached()
    known = np.flatnonzero(values != UNKNOWN)
    if len(known) == 1:  # net 0
        return circuit
    draft = Draft(circuit)
    for net in known[1:].tolist():
        draft.becomes[net] = TRUE if values[net] else FALSE
    return draft.finish()


class _Values:
    """The value of each net, `UNKNOWN` if there may be several.

    Initially these are the values in the initial state without moves. A fluent becomes unknown when
    its next value is unknown or differs, a move when it may be legal, and a gate when none of its
    literals is known to be false any more; a loop as a whole when any literal that enters it is
    unknown. So every net changes at most once, and moves never become known to be made.

    Nets are processed in waves: each wave settles, or makes unknown, all nets that the last one
    allows.
    """

    def __init__(self, circuit: Circuit) -> None:
        self._circuit = circuit
        self._first = 1 + circuit.num_inputs
        sizes = np.diff(circuit.offsets)
        owners = np.repeat(np.arange(circuit.num_gates), sizes)
        # A loop counts as its first gate, and does not wait for itself.
        self._unit = np.arange(circuit.num_gates)
        self._loops = {loop.start: loop for loop in circuit.loops}
        for loop in circuit.loops:
            self._unit[loop.start : loop.end] = loop.start
        inputs = circuit.literals >> 1
        units = self._unit[owners]
        outside = inputs < self._first
        outside |= self._unit[np.maximum(inputs - self._first, 0)] != units
        order = np.argsort(inputs[outside], kind="stable")
        self._users = units[outside][order]
        self._inverted = (circuit.literals & 1)[outside][order]
        num_nets = self._first + circuit.num_gates
        self._counts = np.bincount(inputs[outside], minlength=num_nets)
        self._uses = offsets_of(self._counts)
        self._missing = np.bincount(units[outside], minlength=circuit.num_gates)
        self._num_false = np.zeros(circuit.num_gates, dtype=np.int64)
        self._values: Values = np.zeros(num_nets, dtype=np.int8)

    def reached(self) -> Values:
        """The value of each net in all reachable states."""
        circuit, values = self._circuit, self._values
        num_fluents = len(circuit.fluents)
        values[1 : 1 + num_fluents] = circuit.initial
        wave = np.arange(self._first)
        # Loops that nothing enters wait for nothing.
        alone = [start for start in self._loops if not self._missing[start]]
        wave = np.concatenate([wave, *(self._settled(np.array([start])) for start in alone)])
        while len(wave):
            users, inverted = self._used_by(wave)
            was_false = np.repeat(values[wave], self._counts[wave]) == inverted
            np.add.at(self._num_false, users[was_false], 1)
            np.subtract.at(self._missing, users, 1)
            found = np.unique(users)
            wave = self._settled(found[self._missing[found] == 0])
        # A fluent depends on its next value, a move on being legal.
        literals = [circuit.next, *(outputs.literals for outputs in circuit.legal)]
        sources = np.concatenate([np.zeros(0, dtype=np.int32), *literals])
        inputs = np.arange(1, self._first)
        differs = (values[sources >> 1] ^ (sources & 1)) != values[inputs]
        by_source = inputs[np.argsort(sources >> 1, kind="stable")]
        starts = offsets_of(np.bincount(sources >> 1, minlength=len(values)))
        wave = inputs[differs]
        while len(wave):
            before = values[wave]
            values[wave] = UNKNOWN
            users, inverted = self._used_by(wave)
            was_false = np.repeat(before, self._counts[wave]) == inverted
            np.subtract.at(self._num_false, users[was_false], 1)
            found = np.unique(users)
            open_ = found[self._is_open(found)]
            nets = np.concatenate([self._nets_of(open_), by_source[take_segments(starts, wave)[1]]])
            nets = np.unique(nets)
            wave = nets[values[nets] != UNKNOWN]
        return values

    def _used_by(self, nets: IntArray) -> tuple[IntArray, NDArray[np.int32]]:
        """The gates that use some nets, by their units, and whether they do so inverted."""
        places = take_segments(self._uses, nets)[1]
        return self._users[places], self._inverted[places]

    def _settled(self, units: IntArray) -> IntArray:
        """The nets of units all of whose inputs are known; sets their values."""
        self._values[self._first + units] = self._num_false[units] == 0
        for start in self._loops if self._loops else ():
            if start in units:
                self._iterate(start)
        return self._nets_of(units)

    def _is_open(self, units: IntArray) -> NDArray[np.bool_]:
        """Whether each unit, given unknown inputs, is unknown itself."""
        open_: NDArray[np.bool_] = self._num_false[units] == 0
        if self._loops:
            open_ |= np.isin(units, list(self._loops))
        return open_

    def _nets_of(self, units: IntArray) -> IntArray:
        if not self._loops:
            return self._first + units
        return self._first + np.flatnonzero(np.isin(self._unit, units))

    def _iterate(self, start: int) -> None:
        """Set the values of a loop: from its initial values until nothing changes."""
        circuit, loop, first = self._circuit, self._loops[start], self._first
        values = self._values[first + loop.start : first + loop.end]
        values[:] = loop.initial
        changed = True
        while changed:
            changed = False
            for place, gate in enumerate(range(loop.start, loop.end)):
                inputs = circuit.literals[circuit.offsets[gate] : circuit.offsets[gate + 1]]
                value = bool((self._values[inputs >> 1] != (inputs & 1)).all())
                changed |= value != values[place]
                values[place] = value


def reached_at_once(circuit: Circuit) -> Values:
    """The same as `_Values` finds, for a large circuit without loops."""
    first = 1 + circuit.num_inputs
    values = np.zeros(first + circuit.num_gates, dtype=np.int8)
    values[1 : 1 + len(circuit.fluents)] = circuit.initial
    num_false = np.zeros(circuit.num_gates, dtype=np.int32)
    settle(circuit.offsets, circuit.literals, first, values, num_false)
    literals = [circuit.next, *(outputs.literals for outputs in circuit.legal)]
    sources = np.concatenate([np.zeros(0, dtype=np.int32), *literals])
    inputs = np.arange(1, first)
    inputs_of = inputs[np.argsort(sources >> 1, kind="stable")]
    of_sources = offsets_of(np.bincount(sources >> 1, minlength=len(values)))
    stack = np.empty(len(values), dtype=np.int64)
    open_ = inputs[(values[sources >> 1] ^ (sources & 1)) != values[inputs]]
    stack[: len(open_)] = open_
    uses = offsets_of(np.bincount(circuit.literals >> 1, minlength=len(values)))
    users = np.empty(len(circuit.literals), dtype=np.int32)
    spread(
        circuit.offsets,
        circuit.literals,
        first,
        uses,
        users,
        of_sources,
        inputs_of,
        values,
        num_false,
        stack,
        len(open_),
    )
    return values
