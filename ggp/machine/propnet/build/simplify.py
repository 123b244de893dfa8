"""Ground rules without what is decided before play: facts, impossible conditions, repeats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.build.ground_program import ALWAYS

Atoms = NDArray[np.int32]

NEVER = -1
"""In `Simplified.atoms`: an atom that never holds."""

_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)


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
    """The same rules without those that are decided or said before.

    Args:
        rules: as the grounder gives them.
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
        known = _Known(rules, is_input, values)
        known.spread()
        rules = known.remaining()
        useless = _useless(rules)
        if not useless.any():
            return _renumbered(_without_repeats(rules), values, is_input)
        # An atom may have lost its last rule.
        rules = _kept(rules, ~useless)


class _Known:
    """What is known of each atom: 1 it holds, -1 it does not, 0 unknown.

    Args:
        rules: of atoms of which nothing is known.
        is_input: whether each atom may hold or not.
        values: what is known of each atom; more is added.
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
        """Conditions of each rule not known to hold; -1 for rules that cannot apply."""
        self._support = np.bincount(rules.heads, minlength=len(is_input))
        """Rules of each atom that may apply."""
        self._occurrences: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def spread(self) -> None:
        """Draw all conclusions from facts and from atoms without rules."""
        rules = self._rules
        holds = rules.heads[(self._missing == 0) & (self.values[rules.heads] == 0)]
        fails = np.flatnonzero((self._support == 0) & ~self._is_input & (self.values == 0))
        self.values[holds] = 1
        self.values[fails] = -1
        used = np.zeros(len(self.values), dtype=np.bool_)
        used[np.abs(rules.conditions)] = True
        pending = [*np.unique(holds[used[holds]]).tolist(), *fails[used[fails]].tolist()]
        while pending:
            atom = pending.pop()
            for rule, positive in self._uses(atom):
                if self._missing[rule] < 0:
                    continue
                if positive == (self.values[atom] > 0):
                    self._missing[rule] -= 1
                    value = 1 if self._missing[rule] == 0 else 0
                else:
                    self._missing[rule] = -1
                    head = rules.heads[rule]
                    self._support[head] -= 1
                    value = -1 if self._support[head] == 0 and not self._is_input[head] else 0
                head = rules.heads[rule]
                if value and not self.values[head]:
                    self.values[head] = value
                    pending.append(int(head))

    def _uses(self, atom: int) -> Iterable[tuple[int, bool]]:
        """The rules with an atom in their conditions, and whether it must hold there."""
        conditions = self._rules.conditions
        if self._occurrences is None:
            order = np.argsort(np.abs(conditions), kind="stable")
            counts = np.bincount(np.abs(conditions), minlength=len(self.values))
            self._occurrences = order, np.concatenate([[0], np.cumsum(counts)])
        order, offsets = self._occurrences
        places = order[offsets[atom] : offsets[atom + 1]]
        owners = np.searchsorted(self._offsets, places, side="right") - 1
        return zip(owners.tolist(), (conditions[places] > 0).tolist(), strict=True)

    def remaining(self) -> GroundRules:
        """The rules that may or may not apply, with the conditions that are not known."""
        rules = self._rules
        keep = (self.values[rules.heads] == 0) & (self._missing > 0)
        undecided = self.values[np.abs(rules.conditions)] == 0
        chosen = np.repeat(keep, rules.sizes) & undecided
        owner = np.repeat(np.arange(len(keep)), rules.sizes)[chosen]
        sizes = np.bincount(owner, minlength=len(keep))[keep]
        return GroundRules(rules.heads[keep], sizes.astype(np.int32), rules.conditions[chosen])


def _kept(rules: GroundRules, keep: NDArray[np.bool_]) -> GroundRules:
    conditions = rules.conditions[np.repeat(keep, rules.sizes)]
    return GroundRules(rules.heads[keep], rules.sizes[keep], conditions)


def _owners(rules: GroundRules) -> NDArray[np.int64]:
    """The rule of each condition."""
    return np.repeat(np.arange(len(rules.heads)), rules.sizes)


def _useless(rules: GroundRules) -> NDArray[np.bool_]:
    """Rules that contradict themselves, or need what they are to show."""
    owner = _owners(rules)
    atoms = np.abs(rules.conditions)
    order = np.lexsort((atoms, owner))
    found, signs = atoms[order], np.sign(rules.conditions[order])
    same = (owner[1:] == owner[:-1]) & (found[1:] == found[:-1]) & (signs[1:] != signs[:-1])
    useless = np.zeros(len(rules.heads), dtype=np.bool_)
    useless[owner[1:][same]] = True
    useless[owner[rules.conditions == rules.heads[owner]]] = True
    return useless


def _without_repeats(rules: GroundRules) -> GroundRules:
    """Without repeated conditions and rules."""
    owner = _owners(rules)
    order = np.lexsort((rules.conditions, owner))
    conditions = rules.conditions[order]
    new = np.ones(len(owner), dtype=np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (conditions[1:] != conditions[:-1])
    sizes = np.bincount(owner[new], minlength=len(rules.heads)).astype(np.int32)
    rules = GroundRules(rules.heads, sizes, conditions[new])
    return _kept(rules, _first_of_equals(rules))


def _first_of_equals(rules: GroundRules) -> NDArray[np.bool_]:
    """Of rules that are equal, the first: told apart by 128 bits of digest."""
    heads, conditions = rules.heads, rules.conditions
    ends = np.cumsum(rules.sizes, dtype=np.int64)
    digests = []
    for seed in _MIX:
        total = np.zeros(len(conditions) + 1, dtype=np.uint64)
        np.cumsum(_mixed(conditions, seed), out=total[1:])
        digests.append(total[ends] - total[ends - rules.sizes])
    order = np.lexsort((np.arange(len(heads)), *digests, heads))
    columns = [heads[order], *(digest[order] for digest in digests)]
    new = np.ones(len(heads), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    first = np.zeros(len(heads), dtype=np.bool_)
    first[order[new]] = True
    return first


def _mixed(numbers: Atoms, seed: int) -> NDArray[np.uint64]:
    """Pseudo-random 64-bit words (the finalizer of splitmix64)."""
    x = numbers.astype(np.int64).astype(np.uint64) * np.uint64(seed)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _renumbered(
    rules: GroundRules, values: NDArray[np.int8], is_input: NDArray[np.bool_]
) -> Simplified:
    used = is_input.copy()
    used[rules.heads] = True
    used &= values == 0
    atoms = np.full(len(values), NEVER, dtype=np.int32)
    atoms[used] = np.arange(1, 1 + int(used.sum()), dtype=np.int32)
    atoms[values > 0] = ALWAYS
    signs = np.sign(rules.conditions)
    return Simplified(
        heads=atoms[rules.heads],
        sizes=rules.sizes,
        conditions=signs * atoms[np.abs(rules.conditions)],
        atoms=atoms,
    )
