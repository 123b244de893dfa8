"""The passes: functions from a circuit to a smaller one of the same game.

`optimise` runs them. Three use facts that hold in every reachable state: invariants, which are
guessed in matches and proved by induction (`use_invariants`); exactly one move of a role is made
(`complement`); and constants (`fold_constants`). The others restructure gates, whatever the state:
they merge them (`flatten`) or make new gates of parts that several gates share (`factor`,
`extract`).
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise

import numpy as np

from ggp.machine.circuit import FALSE, TRUE, Circuit
from ggp.machine.propnet.optimise.draft import GATE_COST, Draft, find_splittable, suits_kernels
from ggp.machine.propnet.optimise.proofs import equal_fluents, equality, prove, sample
from ggp.machine.propnet.optimise.work import Work, moves_of_roles

NUM_WORDS = 4
"""Words of random matches to guess from; a word holds 64 matches."""

MIN_QUESTIONS = 300
"""Least number of questions to the solver that the work must allow, or nothing is guessed. A
question costs as many steps as there are nets, and fewer questions prove hardly anything."""

MAX_STEPS = 250
MIN_STEPS = 40
SHARE = 0.5
MAX_WORK = 3_500_000
"""The share of the remaining work for proofs, and the greatest number of steps."""

SAMPLED_WORDS = 40_000_000
"""Greatest product of literals, words and turns of random matches."""

WORDS_A_STEP = 160
"""Number of evaluated words of random matches that count as a step of work."""


def use_invariants(circuit: Circuit, work: Work) -> Circuit:
    """Replace fluents that are constant or equal to others."""
    until = work.until(SHARE, MAX_WORK)
    if (until - work.spent) // (1 + circuit.num_inputs + circuit.num_gates) < MIN_QUESTIONS:
        return circuit
    affordable = SAMPLED_WORDS // (NUM_WORDS * (1 + circuit.num_literals))
    steps = max(MIN_STEPS, min(MAX_STEPS, affordable))
    work.spend(NUM_WORDS * steps * circuit.num_literals // WORDS_A_STEP)
    values = sample(circuit, num_words=NUM_WORDS, num_steps=steps, seed=0)
    becomes = equal_fluents(circuit, values)
    equalities = {net: equality(net, literal) for net, literal in becomes.items()}
    guesses = [guess for pair in equalities.values() for guess in pair]
    proved = frozenset(prove(circuit, guesses, work, until))
    if not proved:
        return circuit
    draft = Draft(circuit)
    for net, pair in equalities.items():
        if all(guess in proved for guess in pair):
            draft.becomes[net] = becomes[net]
    return draft.finish()


# ------------------------------------------------------------------------
# Rewrites gates by the moves of a role, of which exactly one is made.
#
# Of the moves m1 to m5 of a role exactly one is made, so `~m1 & ~m2 & ~m3 & ~m4` is `m5`. Frame
# rules, by which fluents stay unchanged, are full of such gates: none of the moves that would
# change this cell was made.


def complement(circuit: Circuit, _: Work) -> Circuit:
    """Rewrite "none of these" moves as "one of the others" where the others are fewer.

    If a role has only one move, that is always made.
    """
    draft = Draft(circuit)
    choices = _Choices(draft)
    for moves in moves_of_roles(circuit):
        if len(moves) == 1:
            draft.becomes[moves[0]] = TRUE
        choices.add(moves)
    for net in draft.free_gates():
        choices.shorten(net)
    return draft.finish()


class _Choices:
    """The moves of each role: sets of nets of which exactly one holds."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._choices: list[Sequence[int]] = []
        self._choices_of: dict[int, list[int]] = {}
        self._added: dict[tuple[int, ...], int] = {}

    def add(self, nets: Sequence[int]) -> None:
        for net in nets:
            self._choices_of.setdefault(net, []).append(len(self._choices))
        self._choices.append(nets)

    def shorten(self, net: int) -> None:
        """Rewrite a gate as long as that makes it cheaper, by the greatest gain first."""
        literals = list(self._draft.gates[net - self._draft.first_net])
        changed = False
        while True:
            left_out: dict[int, set[int]] = {}
            for literal in literals:
                if literal & 1:
                    for choice in self._choices_of.get(literal >> 1, ()):
                        left_out.setdefault(choice, set()).add(literal >> 1)
            gain, choice = max(
                ((self._gain(choice, nets), choice) for choice, nets in left_out.items()),
                default=(0.0, 0),
            )
            if gain <= 0:
                break
            nets = left_out[choice]
            literals = [x for x in literals if not (x & 1 and x >> 1 in nets)]
            literals.append(self._one_of_the_others(choice, nets))
            changed = True
        if changed:
            self._draft.change(net, literals)

    def _gain(self, choice: int, nets: set[int]) -> float:
        num_others = len(self._choices[choice]) - len(nets)
        return len(nets) - (num_others + 1 + GATE_COST if num_others > 1 else 1)

    def _one_of_the_others(self, choice: int, nets: set[int]) -> int:
        rest = tuple(2 * net + 1 for net in self._choices[choice] if net not in nets)
        if len(rest) < 2:
            return rest[0] ^ 1 if rest else FALSE
        if rest not in self._added:
            self._added[rest] = self._draft.add(rest) ^ 1
        return self._added[rest]


# ------------------------------------------------------------------------
# Finds fluents and moves that a circuit shows to be constant.
#
# A fluent keeps its initial value if its next value is that constant, or itself; a move that is
# never legal is never made. These constants make others, so the pass repeats until it finds none:
#
#     next a = false, a is false initially      so a is false
#     legal m = a and b                         so m is never legal, and never made
#     next c = m and d, c is false initially    so c is false
#
# Fluents that are constant only together, each because of the others, are left to `use_invariants`.


def fold_constants(circuit: Circuit, _: Work) -> Circuit:
    """Make fluents that never change constants, and remove moves that are never legal."""
    while True:
        draft = Draft(circuit)
        draft.becomes.update(_constant(circuit))
        if not draft.becomes:
            return circuit
        circuit = draft.finish()


def _constant(circuit: Circuit) -> Iterator[tuple[int, int]]:
    """The inputs that are constant, and their values."""
    values = zip(circuit.initial.tolist(), circuit.next.tolist(), strict=True)
    for net, (initial, following) in enumerate(values, 1):
        value = TRUE if initial else FALSE
        if following in (value, 2 * net):
            yield net, value
    for outputs, nets in zip(circuit.legal, moves_of_roles(circuit), strict=True):
        for net, legal in zip(nets, outputs.literals.tolist(), strict=True):
            if legal == FALSE:
                yield net, FALSE


# ------------------------------------------------------------------------
# Flattens ANDs of ANDs into one.


def flatten(circuit: Circuit, _: Work) -> Circuit:
    """Merge a gate into the gate that reads it, if that is its only use and not inverted."""
    draft = Draft(circuit)
    fan_out = draft.fan_out()
    # In topological order, so that merged gates have been flattened themselves.
    for net in draft.free_gates():
        literals: list[int] = []
        for literal in draft.gates[net - draft.first_net]:
            inner = None if literal & 1 or fan_out[literal >> 1] > 1 else draft.gate(literal >> 1)
            literals.extend((literal,) if inner is None else inner)
        draft.change(net, literals)
    return draft.finish()


# ------------------------------------------------------------------------
# Takes factors that several alternatives of an OR share out of it.
#
# The rests of the alternatives are often the same in several ORs, which then share one gate. A cell
# keeps its mark, x or o, if the game is over or nobody marks it:
#
#     next x = x & over or x & unmarked or ...      becomes      next x = x & kept or ...
#     next o = o & over or o & unmarked or ...                   next o = o & kept or ...
#                                                                kept = over or unmarked

MAX_ALIKE = 8
"""If more alternatives share a factor, their rests are not compared with those of other ORs."""


def factor(circuit: Circuit, _: Work) -> Circuit:
    """Rewrite `c & d or c & e or f` as `c & (d or e) or f` where that is cheaper.

    In terms of gates: a gate with inverted gates among its literals is an OR of ANDs (or,
    equivalently, an AND of ORs), and the inner gates share literals. Every OR is split by one
    level; repeat the pass for more.
    """
    draft = Draft(circuit)
    fan_out = draft.fan_out()
    nets = splittable(circuit) if suits_kernels(circuit) else draft.free_gates()
    counts = Counter(
        rest for ands in _all_alternatives(draft, fan_out, nets) for rest in ands.rests()
    )
    for ands in _all_alternatives(draft, fan_out, nets):
        ands.split(counts)
    return draft.finish()


def _all_alternatives(
    draft: Draft, fan_out: Sequence[int], nets: Iterable[int]
) -> Iterator[_Alternatives]:
    """The ORs of at least two ANDs among some gates."""
    for net in nets:
        inner = []
        for literal in draft.gates[net - draft.first_net]:
            gate = draft.gate(literal >> 1) if literal & 1 else None
            if gate is not None:
                inner.append((literal, gate))
        if len(inner) > 1:
            yield _Alternatives(draft, fan_out, net, inner)


def splittable(circuit: Circuit) -> list[int]:
    """The nets of gates that may be split, in a circuit without loops."""
    may_be_split = np.zeros(circuit.num_gates, dtype=np.bool_)
    first_net = 1 + circuit.num_inputs
    holder = np.full(2 * (first_net + circuit.num_gates), -1, dtype=np.int64)
    find_splittable(circuit.offsets, circuit.literals, first_net, may_be_split, holder)
    nets: list[int] = (first_net + np.flatnonzero(may_be_split)).tolist()
    return nets


class _Alternatives:
    """The ANDs below one OR."""

    def __init__(
        self,
        draft: Draft,
        fan_out: Sequence[int],
        net: int,
        inner: Sequence[tuple[int, tuple[int, ...]]],
    ) -> None:
        self._draft = draft
        self._fan_out = fan_out
        self._net = net
        self._remaining = dict(inner)
        self._holders: dict[int, list[int]] = {}
        for literal, gate in inner:
            for shared in gate:
                self._holders.setdefault(shared, []).append(literal)

    def rests(self) -> Iterator[int]:
        """The digest of the rests (`_rest_of`) for each factor that several alternatives share."""
        for holders in self._holders.values():
            if 1 < len(holders) <= MAX_ALIKE:
                gates = [self._remaining[literal] for literal in holders]
                yield _rest_of(gates, set(gates[0]).intersection(*gates[1:]))

    def split(self, counts: Mapping[int, int]) -> None:
        """Take out common factors, those of most alternatives first.

        Args:
            counts: for each digest of rests, the number of ORs that have it.
        """
        queue = [(-len(ands), shared) for shared, ands in self._holders.items() if len(ands) > 1]
        if not queue:
            return
        heapify(queue)
        new_literals: list[int] = []
        while queue:
            estimate, shared = heappop(queue)
            holders = [literal for literal in self._holders[shared] if literal in self._remaining]
            if len(holders) < 2:
                continue
            # Another factor took some of the alternatives: back into the queue with the new number.
            if len(holders) < -estimate:
                heappush(queue, (-len(holders), shared))
                continue
            gates = [self._remaining[literal] for literal in holders]
            common = set(gates[0]).intersection(*gates[1:])
            is_short = len(holders) <= MAX_ALIKE
            shared_by = counts.get(_rest_of(gates, common), 1) if is_short else 1
            if self._gain(holders, gates, common, shared_by) > 0:
                new_literals.append(self._take_out(holders, gates, common))
        if new_literals:
            inner = {literal for ands in self._holders.values() for literal in ands}
            unsplit = [
                x for x in self._draft.gates[self._net - self._draft.first_net] if x not in inner
            ]
            self._draft.change(self._net, [*unsplit, *self._remaining, *new_literals])

    def _gain(
        self,
        holders: Sequence[int],
        gates: Sequence[tuple[int, ...]],
        common: set[int],
        shared_by: int,
    ) -> float:
        """The cost that a factor saves; a gate with several readers is saved only in part.

        Args:
            shared_by: the number of ORs with the same rests, which share the cost of their gate.
        """
        size, spared = len(common), 1 - 1 / shared_by
        gain = spared * (len(holders) + GATE_COST) - 3.0 - size - 2 * GATE_COST
        if len(holders) == len(self._remaining):
            gain += 1.0 + GATE_COST
        for literal, gate in zip(holders, gates, strict=True):
            rest = len(gate) - size
            saved = size + spared * (rest + GATE_COST) if rest > 1 else len(gate) + GATE_COST
            gain += saved / self._fan_out[literal >> 1]
        return gain

    def _take_out(
        self, holders: Sequence[int], gates: Sequence[tuple[int, ...]], common: set[int]
    ) -> int:
        """Replace alternatives by `common & (rest or rest ...)`; returns its inverted literal."""
        draft = self._draft
        rests = []
        for literal, gate in zip(holders, gates, strict=True):
            del self._remaining[literal]
            rest = [x for x in gate if x not in common]
            rests.append(rest[0] ^ 1 if len(rest) == 1 else draft.add(rest) ^ 1)
        return draft.add([*sorted(common), draft.add(rests) ^ 1]) ^ 1


def _rest_of(gates: Sequence[tuple[int, ...]], common: set[int]) -> int:
    """A digest of the rests of alternatives, in any order; only an estimate depends on it."""
    return hash(frozenset(frozenset(gate).difference(common) for gate in gates))


# ------------------------------------------------------------------------
# Extracts literals that several gates share into a new gate.
#
# The four gates abc, abd, abe, abf have 12 literals. With g = ab they are gc, gd, ge, gf: 8
# literals, 2 of g, and 1.5 for evaluating another gate (`GATE_COST`). A part that is extracted
# takes literals from other candidates, so the most frequent go first.

MAX_WIDTH_ALL_PAIRS = 24
"""Width of gates above which only pairs of neighbouring literals are considered."""

MAX_HOLDERS = 40
"""Literals in more gates than this are not used to find similar gates."""

LEAST_SAVED = 0.01
"""Share of the literals that makes it worth looking for more parts to share."""

STEPS_TO_REPLACE = 4
"""Steps of work for putting a shared gate into another."""

Pair = tuple[int, int]
"""Two literals, the smaller one first."""


def extract(circuit: Circuit, work: Work) -> Circuit:
    """Share common parts of gates: whole gates inside others, large parts, then pairs.

    A pair costs a gate and saves one literal wherever it occurs, so the most frequent pair goes
    first; the literal of the new gate then forms pairs, too. Nothing is done if the last time saved
    less than `LEAST_SAVED`, and the circuit has not become smaller by more since.
    """
    if circuit.num_literals > (1 - LEAST_SAVED) * work.shared:
        return circuit
    shared = _Shared(Draft(circuit), work)
    shared.reuse_gates()
    shared.group_common()
    shared.pair()
    smaller = shared.finish()
    is_little = smaller.num_literals > (1 - LEAST_SAVED) * circuit.num_literals
    work.shared = smaller.num_literals if is_little else math.inf
    return smaller


def _frequent_pairs(sets: Iterable[Collection[int]], threshold: int) -> list[tuple[Pair, int]]:
    """The pairs that at least `threshold` sets contain, and in how many they are."""
    by_size: dict[int, list[Collection[int]]] = {}
    for members in sets:
        by_size.setdefault(len(members), []).append(members)
    keys = [np.zeros(0, dtype=np.int64)]
    for size, equal_sets in by_size.items():
        table = np.fromiter(chain.from_iterable(equal_sets), np.int64).reshape(-1, size)
        table.sort(axis=1)
        first, second = np.triu_indices(size, 1)
        keys.append((table[:, first] << 32 | table[:, second]).reshape(-1))
    pairs, counts = np.unique(np.concatenate(keys), return_counts=True)
    often = counts >= threshold
    frequent = zip(pairs[often].tolist(), counts[often].tolist(), strict=True)
    return [((pair >> 32, pair & 0xFFFFFFFF), count) for pair, count in frequent]


class _Shared:
    """Gates as sets of literals, and which gates hold each literal."""

    def __init__(self, draft: Draft, work: Work) -> None:
        self._draft = draft
        self._work = work
        self._gates: dict[int, set[int]] = {}
        self._holders: dict[int, set[int]] = {}
        # Wide gates are in order: literals that occur together are likely neighbours.
        self._wide: dict[int, list[tuple[int, int]]] = {}
        self._rank: dict[int, int] = {}
        for net in draft.free_gates():
            self._enter(net, draft.gates[net - draft.first_net])

    def reuse_gates(self) -> None:
        """If all literals of a gate occur in another gate, replace them there by its output."""
        for net in list(self._gates):
            gate = self._gates[net]
            rarest_first = sorted((self._holders[literal] for literal in gate), key=len)
            for holder in sorted(set.intersection(*rarest_first)):
                if len(self._gates[holder]) > len(gate):
                    self._replace(holder, gate, 2 * net)

    def group_common(self) -> None:
        """Join the literals that two gates have in common, if they are many or are often shared."""
        similar = []
        for holders in self._holders.values():
            wide = [net for net in holders if len(self._gates[net]) > 2]
            if 1 < len(wide) <= MAX_HOLDERS:
                self._work.spend(len(wide) ** 2 // 20)
                similar.append(wide)
        queue = [(-count, nets) for nets, count in _frequent_pairs(similar, 3)]
        heapify(queue)
        while queue and self._work.remaining:
            estimate, nets = heappop(queue)
            common = self._gates[nets[0]] & self._gates[nets[1]]
            if len(common) < 3:
                continue
            # Joins lower counts and never raise them. So a candidate whose count fell goes back
            # into the queue, and the first whose count did not is the best.
            if len(common) < -estimate:
                heappush(queue, (-len(common), nets))
                continue
            literals = sorted(common)
            self._work.spend(len(literals))
            gates = set.intersection(*(self._holders[literal] for literal in literals))
            if (len(gates) - 1) * len(common) > len(gates) + GATE_COST:
                self._join(gates, literals)

    def pair(self) -> None:
        """Join pairs, the most frequent first."""
        ordered = sorted((sorted(gates), literal) for literal, gates in self._holders.items())
        self._rank = {literal: rank for rank, (_, literal) in enumerate(ordered)}
        sets: list[Collection[int]] = []
        for net, gate in self._gates.items():
            if len(gate) > MAX_WIDTH_ALL_PAIRS:
                self._wide[net] = sorted((self._rank[literal], literal) for literal in gate)
                sets += pairwise(literal for _, literal in self._wide[net])
            else:
                sets.append(gate)
        net_of = {(min(gate), max(gate)): n for n, gate in self._gates.items() if len(gate) == 2}
        queue: list[tuple[int, Pair]] = []

        def put(pair: Pair, count: int) -> None:
            if count > 2 + GATE_COST or (count > 1 and pair in net_of):
                heappush(queue, (-count, pair))

        for pair, count in _frequent_pairs(sets, 2):
            put(pair, count)
        while queue and self._work.remaining:
            estimate, pair = heappop(queue)
            self._work.spend(2)
            gates = self._holders[pair[0]] & self._holders[pair[1]]
            # As above: counts only fall.
            if len(gates) < -estimate:
                put(pair, len(gates))
                continue
            if pair in net_of:
                new_literal = 2 * net_of[pair]
                gates.discard(net_of[pair])
                self._rank[new_literal] = self._rank[pair[0]]
                for net in sorted(gates):
                    self._replace(net, pair, new_literal)
            else:
                new_literal = self._join(gates, pair)
                net_of[pair] = new_literal >> 1
            new_pairs: dict[Pair, int] = {}
            for net in sorted(gates):
                for near in self._neighbours(net, new_literal):
                    joined = (near, new_literal) if near < new_literal else (new_literal, near)
                    new_pairs[joined] = new_pairs.get(joined, 0) + 1
            for joined, count in new_pairs.items():
                put(joined, count)

    def finish(self) -> Circuit:
        for net, gate in self._gates.items():
            self._draft.change(net, sorted(gate))
        return self._draft.finish()

    def _enter(self, net: int, literals: Iterable[int]) -> None:
        self._gates[net] = set(literals)
        for literal in literals:
            self._holders.setdefault(literal, set()).add(net)

    def _join(self, nets: Iterable[int], literals: Sequence[int]) -> int:
        new_literal = self._draft.add(literals)
        self._rank[new_literal] = self._rank.get(literals[0], 0)
        for net in sorted(nets):
            self._replace(net, literals, new_literal)
        self._enter(new_literal >> 1, literals)
        return new_literal

    def _replace(self, net: int, literals: Iterable[int], by: int) -> None:
        gate = self._gates[net]
        wide = self._wide.get(net)
        self._work.spend(STEPS_TO_REPLACE)
        for literal in list(literals):
            gate.discard(literal)
            self._holders[literal].discard(net)
            if wide is not None:
                del wide[bisect_left(wide, (self._rank[literal], literal))]
        if wide is not None and by not in gate:
            insort(wide, (self._rank[by], by))
        gate.add(by)
        self._holders.setdefault(by, set()).add(net)

    def _neighbours(self, net: int, literal: int) -> list[int]:
        """The literals of a gate that form candidate pairs with one of its literals."""
        wide = self._wide.get(net)
        if wide is None or len(wide) <= MAX_WIDTH_ALL_PAIRS:
            return [neighbour for neighbour in self._gates[net] if neighbour != literal]
        index = bisect_left(wide, (self._rank[literal], literal))
        neighbours = [*wide[max(0, index - 1) : index], *wide[index + 1 : index + 2]]
        return [neighbour for _, neighbour in neighbours]
