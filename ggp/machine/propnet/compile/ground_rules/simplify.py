"""Simplifies ground rules by facts, impossible conditions and repeats, before gates are made.

In come `GroundRules` as gringo writes them, out go fewer, with atoms numbered without gaps. The
rule is that every remaining atom has the same value in every state: only atoms whose value is the
same in all states are replaced, and only rules that can never apply, or repeat another, are
dropped.

At the end of the module is `GroundProgram`, from which circuits are made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.machine.arrays import distinct, take_segments
from ggp.machine.base import IntArray
from ggp.machine.mixing import GOLDEN, finalised

Atoms = NDArray[np.int32]

NEVER = -1
"""In `Simplified.atoms`, marks an atom that never holds."""

_BITS = 33
"""Bits of a condition in a sort key: atoms have 31 bits, and a negated condition is negative."""

_MIX = (GOLDEN, np.uint64(0xC2B2AE3D27D4EB4F))


@dataclass(frozen=True)
class GroundRules:
    """N rules of atoms numbered from 1.

    Attributes:
        heads: `[N]` atom of each rule.
        sizes: `[N]` number of its conditions.
        conditions: atoms, negative where they must not hold, rule after rule.
    """

    heads: Atoms
    sizes: Atoms
    conditions: Atoms


@dataclass(frozen=True)
class Simplified(GroundRules):
    """Fewer rules of fewer atoms.

    Attributes:
        atoms: new number of each old atom, `ALWAYS` or `NEVER`; of 0 it is `ALWAYS`.
    """

    atoms: Atoms


def simplify(rules: GroundRules, inputs: Atoms) -> Simplified:
    """Equivalent rules, without decided or repeated ones.

    Args:
        rules: the rules as the grounder gives them.
        inputs: atoms that may hold or not.
    """
    num_atoms = 1 + max(
        (int(np.abs(part).max()) for part in (rules.heads, rules.conditions, inputs) if len(part)),
        default=0,
    )
    is_input = np.zeros(num_atoms, dtype=np.bool_)
    is_input[inputs] = True
    values = np.zeros(num_atoms, dtype=np.int8)
    values[ALWAYS] = 1
    while True:
        propagation = _Propagation(rules, is_input, values)
        propagation.spread()
        rules = propagation.remaining()
        useless = _useless(rules)
        if not useless.any():
            return _renumbered(_without_repeats(rules), values, is_input)
        # Again, because an atom may have lost its last rule.
        rules = _selected(rules, ~useless)


class _Propagation:
    """Unit propagation over ground rules: the value of each atom, 1 true, -1 false, 0 unknown.

    Args:
        rules: rules of atoms, none of which is known.
        is_input: whether each atom may hold or not.
        values: the known value of each atom; more are added.
    """

    def __init__(
        self, rules: GroundRules, is_input: NDArray[np.bool_], values: NDArray[np.int8]
    ) -> None:
        self._rules = rules
        self._is_input = is_input
        self.values = values
        self._offsets = np.zeros(len(rules.sizes) + 1, dtype=np.int64)
        np.cumsum(rules.sizes, out=self._offsets[1:])
        self._missing = rules.sizes.copy()
        """Number of conditions of each rule not known to hold; -1 for rules that cannot apply."""
        self._support = np.bincount(rules.heads, minlength=len(is_input))
        """Number of rules of each atom that may apply."""
        self._occurrences: tuple[IntArray, IntArray] | None = None

    def spread(self) -> None:
        """Draw all conclusions from facts and from atoms without rules, wave by wave."""
        rules = self._rules
        holds = rules.heads[(self._missing == 0) & (self.values[rules.heads] == 0)]
        fails = np.flatnonzero((self._support == 0) & ~self._is_input & (self.values == 0))
        self.values[holds] = 1
        self.values[fails] = -1
        read = np.zeros(len(self.values), dtype=np.bool_)
        read[np.abs(rules.conditions)] = True
        wave = np.concatenate([distinct(holds[read[holds]], len(read)), fails[read[fails]]])
        while len(wave):
            wave = self._follow(wave)

    def _follow(self, atoms: IntArray) -> IntArray:
        """Draw conclusions from atoms that became known; returns the atoms that become known."""
        heads = self._rules.heads
        owners, agrees = self._uses(atoms)
        # Rules with a condition that fails cannot apply, whatever else they need.
        failed = distinct(owners[~agrees], len(heads))
        failed = failed[self._missing[failed] >= 0]
        self._missing[failed] = -1
        np.subtract.at(self._support, heads[failed], 1)
        satisfied = owners[agrees]
        satisfied = satisfied[self._missing[satisfied] > 0]
        np.subtract.at(self._missing, satisfied, 1)
        holds = distinct(heads[satisfied[self._missing[satisfied] == 0]], len(self.values))
        fails = distinct(heads[failed], len(self.values))
        holds = holds[self.values[holds] == 0]
        fails = fails[(self._support[fails] == 0) & ~self._is_input[fails]]
        fails = fails[self.values[fails] == 0]
        self.values[holds] = 1
        self.values[fails] = -1
        return np.concatenate([holds, fails]).astype(np.int64)

    def _uses(self, atoms: IntArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """The rules that have these atoms as conditions, and whether each condition is true."""
        conditions = self._rules.conditions
        if self._occurrences is None:
            order = np.argsort(np.abs(conditions), kind="stable")
            counts = np.bincount(np.abs(conditions), minlength=len(self.values))
            self._occurrences = order, np.concatenate([[0], np.cumsum(counts)])
        order, offsets = self._occurrences
        indices = order[take_segments(offsets, atoms)[1]]
        owners = np.searchsorted(self._offsets, indices, side="right") - 1
        occurrences = conditions[indices]
        return owners, (occurrences > 0) == (self.values[np.abs(occurrences)] > 0)

    def remaining(self) -> GroundRules:
        """The rules that are undecided, with their undecided conditions."""
        rules = self._rules
        keep = (self.values[rules.heads] == 0) & (self._missing > 0)
        undecided = self.values[np.abs(rules.conditions)] == 0
        is_open = np.repeat(keep, rules.sizes) & undecided
        owner = np.repeat(np.arange(len(keep)), rules.sizes)[is_open]
        sizes = np.bincount(owner, minlength=len(keep))[keep]
        return GroundRules(rules.heads[keep], sizes.astype(np.int32), rules.conditions[is_open])


def _selected(rules: GroundRules, keep: NDArray[np.bool_]) -> GroundRules:
    conditions = rules.conditions[np.repeat(keep, rules.sizes)]
    return GroundRules(rules.heads[keep], rules.sizes[keep], conditions)


def _owners(rules: GroundRules) -> IntArray:
    """The rule of each condition."""
    return np.repeat(np.arange(len(rules.heads)), rules.sizes)


def _useless(rules: GroundRules) -> NDArray[np.bool_]:
    """Whether each rule has contradictory conditions, or its head as a condition."""
    owner = _owners(rules)
    useless = np.zeros(len(rules.heads), dtype=np.bool_)
    useless[owner[rules.conditions == rules.heads[owner]]] = True
    several = rules.sizes[owner] > 1
    owner, conditions = owner[several], rules.conditions[several]
    # An atom and its negation become neighbours: the last bit says which.
    signed = 2 * np.abs(conditions).astype(np.int64) + (conditions < 0)
    keys = _sorted_by_owner(owner, signed)
    useless[keys[1:][(keys[1:] == keys[:-1] + 1) & (keys[1:] & 1 == 1)] >> _BITS] = True
    return useless


def _without_repeats(rules: GroundRules) -> GroundRules:
    """The rules without repeated conditions and rules; conditions are sorted."""
    owner = _owners(rules)
    # In the largest games most rules have one condition.
    several = rules.sizes[owner] > 1
    shift = 1 << (_BITS - 1)
    keys = _sorted_by_owner(owner[several], rules.conditions[several].astype(np.int64) + shift)
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    conditions = rules.conditions.copy()
    conditions[several] = (keys & ((1 << _BITS) - 1)) - shift
    is_first = np.ones(len(conditions), dtype=np.bool_)
    is_first[several] = new
    sizes = np.bincount(owner[is_first], minlength=len(rules.heads)).astype(np.int32)
    rules = GroundRules(rules.heads, sizes, conditions[is_first])
    return _selected(rules, _first_of_equals(rules))


def _sorted_by_owner(owner: IntArray, values: IntArray) -> IntArray:
    """Numbers from 0 below 2 ** `_BITS`, sorted by owner and then by value."""
    keys = owner << _BITS | values
    keys.sort()
    return keys


def _first_of_equals(rules: GroundRules) -> NDArray[np.bool_]:
    """Whether each rule is the first of its equals; 128-bit digests distinguish rules."""
    heads, conditions = rules.heads, rules.conditions
    ends = np.cumsum(rules.sizes, dtype=np.int64)
    digests = []
    for seed in _MIX:
        total = np.zeros(len(conditions) + 1, dtype=np.uint64)
        np.cumsum(_mixed(conditions, seed), out=total[1:])
        digests.append(total[ends] - total[ends - rules.sizes])
    if not len(heads):
        return np.zeros(0, dtype=np.bool_)
    # Sorting by one number takes a third of the time of sorting by three; equal rules still become
    # neighbours.
    key = digests[0] + _mixed(heads, _MIX[1])
    order = np.argsort(key)
    columns = [heads[order], digests[1][order], key[order]]
    new = np.ones(len(heads), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    first = np.zeros(len(heads), dtype=np.bool_)
    first[np.minimum.reduceat(order, np.flatnonzero(new))] = True
    return first


def _mixed(numbers: Atoms, seed: np.uint64) -> NDArray[np.uint64]:
    """Pseudo-random 64-bit words."""
    words: NDArray[np.uint64] = finalised(numbers.astype(np.int64).astype(np.uint64) * seed)
    return words


def _renumbered(
    rules: GroundRules, values: NDArray[np.int8], is_input: NDArray[np.bool_]
) -> Simplified:
    has_number = is_input.copy()
    has_number[rules.heads] = True
    has_number &= values == 0
    atoms = np.full(len(values), NEVER, dtype=np.int32)
    atoms[has_number] = np.arange(1, 1 + int(has_number.sum()), dtype=np.int32)
    atoms[values > 0] = ALWAYS
    signs = np.sign(rules.conditions)
    return Simplified(
        heads=atoms[rules.heads],
        sizes=rules.sizes,
        conditions=signs * atoms[np.abs(rules.conditions)],
        atoms=atoms,
    )


# ------------------------------------------------------------------------
# The result of grounding, from which circuits are made.

ALWAYS = 0
"""Stands for the atom of a term that always holds."""

Named = tuple[tuple[str, int], ...]
"""(term as canonical KIF, atom), sorted by text; the atom is `ALWAYS` if the term always holds."""


@dataclass(frozen=True)
class GroundProgram:
    """The ground rules of a game. Atoms are numbers from 1; terms without an atom never hold.

    An atom holds if the conditions of one of its rules hold. Atoms of `true` and `does` have
    no rules: a state and a joint move give their values. Positive recursion may remain;
    negation is stratified.

    Attributes:
        roles: names in the order of the rulesheet.
        heads: `[N]` atom of each rule.
        offsets: `[N + 1]` where the conditions of each rule start.
        conditions: atoms, negative where they must not hold.
        initial: fluents of the initial state, sorted.
        fluents: `true` of every possible fluent.
        next: `next` of fluents.
        does: for each role, `does` of every possible move.
        legal: for each role, `legal` of moves.
        sees: for each role, `sees` of percepts.
        goals: for each role, `goal` of values in the order in which they count: in the order of the
            rules that give them, and the highest first of one rule.
        terminal: the atom of `terminal`, `ALWAYS`, or None if it never holds.
    """

    roles: tuple[str, ...]
    heads: NDArray[np.int32]
    offsets: NDArray[np.int64]
    conditions: NDArray[np.int32]
    initial: tuple[str, ...]
    fluents: Named
    next: Named
    does: tuple[Named, ...]
    legal: tuple[Named, ...]
    sees: tuple[Named, ...]
    goals: tuple[Named, ...]
    terminal: int | None
