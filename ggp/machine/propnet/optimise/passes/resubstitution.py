"""Resubstitution: remakes gates from existing nets.

The function of a gate may be expressed by nets that were made for something else. They are looked
for in the lanes of random matches: candidates are literals that hold wherever the gate does, and
enough of them are taken to rule out all other lanes.

    lanes           1 2 3 4 5
    gate 9          1 1 0 0 0
    net 4           1 1 1 0 0     holds wherever 9 does, and rules out lanes 4 and 5
    not net 7       1 1 0 1 0     so does this, and rules out lane 3
    4 and not 7     1 1 0 0 0     is 9 in all lanes: now the solver must prove it (`Evidence`)

This pays if gates that only 9 needed are no longer needed, or if fewer literals are. A single
literal is enough if two nets agree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.propnet.circuit import Circuit
from ggp.machine.propnet.optimise.draft import GATE_COST, Draft
from ggp.machine.propnet.optimise.knowledge import Knowledge
from ggp.machine.propnet.optimise.proofs.evidence import MOST_LITERALS, Evidence
from ggp.machine.propnet.optimise.proofs.sampling import Words, net_levels
from ggp.machine.propnet.optimise.work import Work

MAX_LITERALS = 4
"""Greatest number of literals of a remade gate."""

NUM_FIRST = 6
"""Number of literals to begin with."""

FIRST_WORDS = 16
"""Number of words that tell most literals apart."""

SHARE = 0.4
MAX_STEPS = 2_000_000
"""Share of the remaining work that may be done here, and the greatest number of steps."""

PATIENCE = 700_000
"""Number of steps without any gain after which the search ends."""

MAX_ATTEMPTS = 3
"""Number of guesses for one gate; a wrong one makes the next one better."""

MAX_CANDIDATES = 300

NETS_A_STEP = 20
"""Number of nets searched for candidates that count as a step of work."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.uint64(0)
_BITS = np.array([value.bit_count() for value in range(1 << 16)], dtype=np.uint8)
_bit_count = getattr(np, "bitwise_count", None)  # new in numpy 2

Ints = NDArray[np.int64]


def resubstitute(circuit: Circuit, knowledge: Knowledge) -> Circuit:
    """Make gates of other nets if that removes more than it costs.

    Candidates come from the values of nets in random matches, and are proved right in every
    reachable state.
    """
    if circuit.num_literals > MOST_LITERALS:
        return circuit
    draft = Draft(circuit)
    work = knowledge.work
    until = work.until(SHARE, MAX_STEPS)
    search = _Search(draft, Evidence(draft, knowledge, until), work)
    gained_at = work.spent
    for net in sorted(draft.free_gates(), key=lambda net: -search.ranks[net]):
        if work.spent > min(until, gained_at + PATIENCE):
            break
        if search.make_anew(net):
            gained_at = work.spent
    return draft.finish()


class _Search:
    """Searches for literals that hold where a net does, and never together elsewhere."""

    def __init__(self, draft: Draft, evidence: Evidence, work: Work) -> None:
        self._draft = draft
        self._work = work
        self._evidence = evidence
        self._gates = {net: draft.gates[net - draft.first_net] for net in draft.free_gates()}
        self._uses = np.array(draft.fan_out())
        self._moves_matter = np.array(evidence.moves_matter)
        # Gates are made of nets of lower rank, so that no circle can arise.
        levels = np.array(net_levels(draft.circuit))
        self.ranks = np.empty(len(levels), dtype=np.int64)
        self.ranks[np.argsort(levels, kind="stable")] = np.arange(len(levels))

    def make_anew(self, net: int) -> bool:
        """Replace a gate if that is worth it; returns whether it was."""
        if not self._uses[net]:
            return False
        freed = self._release(net)
        price = sum(len(self._gates[each]) + GATE_COST for each in freed)
        made = self._find(net, price)
        if made is not None:
            literals, inverted = made
            self._gates[net] = literals
            if inverted or len(literals) == 1:
                self._draft.becomes[net] = self._draft.add(literals) ^ inverted
            else:
                self._draft.change(net, literals)
        self._acquire(net)
        return made is not None

    def _release(self, net: int) -> list[int]:
        """Undo a gate's uses of others; returns the gate, and those that nothing else uses."""
        freed = [net]
        for each in freed:
            for literal in self._gates[each]:
                self._uses[literal >> 1] -= 1
                if not self._uses[literal >> 1] and literal >> 1 in self._gates:
                    freed.append(literal >> 1)
        return freed

    def _acquire(self, net: int) -> None:
        """Count a gate's uses of others."""
        pending = [net]
        while pending:
            for literal in self._gates[pending.pop()]:
                if not self._uses[literal >> 1] and literal >> 1 in self._gates:
                    pending.append(literal >> 1)
                self._uses[literal >> 1] += 1

    def _find(self, net: int, price: float) -> tuple[tuple[int, ...], int] | None:
        """Literals whose AND is a net, or (1) its negation, for less than a price."""
        allowed = self.ranks < self.ranks[net]
        # Gates that go with this one save nothing if the new one is made of them.
        allowed &= (self._uses > 0) | (np.arange(len(allowed)) < self._draft.first_net)
        if not self._evidence.moves_matter[net]:
            allowed &= ~self._moves_matter
        allowed[0] = False
        others = np.flatnonzero(allowed)
        # As many literals as are still cheaper than what is removed.
        most = min(MAX_LITERALS, int(np.ceil(price - GATE_COST)) - 1)
        for inverted in (0, 1):
            for _ in range(MAX_ATTEMPTS):
                literals = self._guess(2 * net + inverted, others, most)
                if literals is None:
                    break
                if self._is_all_of(net, 2 * net + inverted, literals):
                    return literals, inverted
        return None

    def _is_all_of(self, net: int, target: int, literals: tuple[int, ...]) -> bool:
        never = self._evidence.never
        return never(net, [*literals, target ^ 1]) and all(
            never(net, [target, literal ^ 1]) for literal in literals
        )

    def _guess(self, target: int, others: Ints, most: int) -> tuple[int, ...] | None:
        """A few literals of other nets whose AND equals a target in all lanes so far."""
        self._work.spend(len(others) // NETS_A_STEP)
        evidence = self._evidence
        matters = evidence.where_it_matters(target >> 1)
        wanted = evidence.words(target) & matters
        unwanted = ~evidence.words(target) & matters
        if not wanted.any():
            return None
        candidates = self._implied(wanted, others)
        if not len(candidates):
            return None
        words = evidence.values[candidates >> 1]
        words ^= np.where(candidates & 1, _ONES, _NONE)[:, None]
        words &= unwanted
        # Number of lanes that each candidate leaves wrong: the fewer, the fewer others are needed.
        left = _count_bits(words)
        best = np.argsort(left, kind="stable")[:MAX_CANDIDATES]
        candidates, words = candidates[best], words[best]
        for first in range(min(NUM_FIRST, len(candidates))):
            chosen = [first]
            remaining = words[first]
            while remaining.any() and len(chosen) < most:
                counts = _count_bits(words & remaining)
                chosen.append(int(counts.argmin()))
                if counts[chosen[-1]] == 0 or chosen[-1] not in chosen[:-1]:
                    remaining = remaining & words[chosen[-1]]
                else:
                    break
            if not remaining.any():
                return tuple(sorted(int(candidates[place]) for place in chosen))
        return None

    def _implied(self, wanted: Words, others: Ints) -> Ints:
        """The literals of nets that hold wherever they should."""
        values = self._evidence.values
        found = []
        for inverted in (0, 1):
            nets = others
            # A few words first: most nets fail there, and all words of all nets take long.
            for words in (slice(FIRST_WORDS), slice(None)):
                missing = values[nets, words] if inverted else ~values[nets, words]
                nets = nets[~(missing & wanted[words]).any(axis=1)]
            found.append(2 * nets + inverted)
        return np.concatenate(found)


def _count_bits(words: Words) -> Ints:
    """`[N]` number of bits of `words[N, W]` that are set."""
    bits = _bit_count(words) if _bit_count is not None else _BITS[words.view(np.uint16)]
    counts: Ints = bits.sum(axis=1, dtype=np.int64)
    return counts
