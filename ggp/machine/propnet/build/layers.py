"""Puts ground rules in an order in which atoms can be defined, many at a time.

An atom belongs to the first layer if its rules need only given atoms, and to a later one if they
need atoms of earlier layers too. Millions of rules have few layers, so arrays can do the work.
Atoms that depend on each other, and those that need them, are in no layer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import distinct, offsets_of, take_segments
from ggp.machine.base import IntArray
from ggp.machine.propnet.build.ground_rules.ground_program import GroundProgram

Bodies = dict[int, list[list[int]]]
"""The conditions of each rule of each atom."""


class RulesByAtom:
    """The rules of atoms that are not given; rules that lead nowhere are left out.

    Args:
        program: ground rules.
        given: `[A]` whether each atom is given, so that its rules do not count.
    """

    def __init__(self, program: GroundProgram, given: NDArray[np.bool_]) -> None:
        keep = ~given[program.heads]
        owners = np.repeat(np.arange(len(program.heads)), np.diff(program.offsets))
        keep[owners[program.conditions == program.heads[owners]]] = False
        rules = np.flatnonzero(keep)
        rules = rules[np.argsort(program.heads[rules], kind="stable")]
        self._given = given
        self._heads = program.heads[rules]
        self._offsets, places = take_segments(program.offsets, rules)
        self._conditions = program.conditions[places]
        self._starts = offsets_of(np.bincount(self._heads, minlength=len(given)))

    def layers(self) -> Iterator[IntArray]:
        """Layer by layer, the atoms that need only those of earlier layers, ascending."""
        readers = np.repeat(self._heads, np.diff(self._offsets))
        atoms = np.abs(self._conditions)
        matter = ~self._given[atoms]
        readers, atoms = readers[matter], atoms[matter]
        missing = np.bincount(readers, minlength=len(self._given))
        readers = readers[np.argsort(atoms, kind="stable")]
        uses = offsets_of(np.bincount(atoms, minlength=len(self._given)))
        layer = np.flatnonzero((missing == 0) & ~self._given)
        while len(layer):
            yield layer
            found = readers[take_segments(uses, layer)[1]]
            np.subtract.at(missing, found, 1)
            layer = distinct(found[missing[found] == 0], len(missing))

    def of(self, atoms: IntArray) -> tuple[IntArray, IntArray, NDArray[np.int32]]:
        """The numbers of rules of K atoms and of conditions of each rule, and the conditions."""
        starts, rules = take_segments(self._starts, atoms)
        ends, places = take_segments(self._offsets, rules)
        return np.diff(starts), np.diff(ends), self._conditions[places]

    def bodies(self, atoms: IntArray) -> Bodies:
        """The conditions of each rule of some atoms."""
        offsets, conditions = self._offsets.tolist(), self._conditions
        return {
            atom: [
                conditions[offsets[rule] : offsets[rule + 1]].tolist()
                for rule in range(self._starts[atom], self._starts[atom + 1])
            ]
            for atom in atoms.tolist()
        }
