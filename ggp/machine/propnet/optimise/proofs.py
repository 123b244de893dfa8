"""Guesses invariants of a game from random matches, and proves them by induction with clingo.

In comes a circuit, out go guesses that hold in every reachable state (`prove`), for the pass
`use_invariants`. `sample` plays random matches; `equal_fluents` and `exclusive_fluents` guess from
them; `Solver` answers whether literals can hold together.

Theory of operation: all guesses are assumed in a state, and a solver looks for a legal step after
which one of them fails. Guesses that fail are dropped, and the others must do without them. When
none fails any more, the rest hold initially, and every step from a state in which all of them hold
keeps them: so they hold in every reachable state, by induction over the length of a match. Guesses
may need each other in the proof: so all are assumed at first, and failing ones are dropped.

An example: a cell is never both x and o (g1), a finished row stays finished (g2), and x never has
more marks than o (g3), which was guessed because random matches ended too early to refute it. The
solver finds a state with g1, g2 and g3, and a legal step after which g3 fails: it is dropped. With
g1 and g2 assumed, the solver finds no step that breaks them: both are proved.

If the work runs out, nothing is proved, because a guess that was not tested may be false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl import parse_term
from ggp.gdl.terms import Compound, Term
from ggp.machine.arrays import take_segments
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, Loop, gates_of, net_levels
from ggp.machine.propnet.optimise.work import Work, moves_of_roles, unbroken

if TYPE_CHECKING:
    from clingo import Model
    from clingo.backend import Backend


# ------------------------------------------------------------------------
# Plays random matches on a circuit, many at once.


class Evaluator:
    """Evaluates a circuit in numpy, level by level, with 64 lanes in each word."""

    def __init__(self, circuit: Circuit) -> None:
        self.num_nets = 1 + circuit.num_inputs + circuit.num_gates
        matter = moves_matter(circuit)
        self._of_states, self._of_moves = (
            _levels(circuit, [depends == late for depends in matter]) for late in (False, True)
        )

    def look(self, nets: Words) -> None:
        """Set the gates of `nets[P, W]` that do not depend on moves, from the fluents."""
        self._settle(self._of_states, nets)

    def act(self, nets: Words) -> None:
        """Set the gates that depend on moves, after `look`, from the inputs."""
        self._settle(self._of_moves, nets)

    def _settle(self, levels: Sequence[_Level | _Circle], nets: Words) -> None:
        for level in levels:
            level.settle(nets)


class _Level(NamedTuple):
    """Gates that do not depend on each other.

    Attributes:
        nets: `[G]` nets of the gates.
        offsets: `[G]` where the inputs of each gate begin.
        inputs: `[E]` nets of the inputs.
        inverted: `[E, 1]` all bits of a word for inputs that are inverted.
    """

    nets: NDArray[np.int64]
    offsets: NDArray[np.int64]
    inputs: NDArray[np.int32]
    inverted: Words

    def settle(self, nets: Words) -> None:
        values = nets[self.inputs]
        values ^= self.inverted
        nets[self.nets] = np.bitwise_and.reduceat(values, self.offsets, axis=0)


class _Circle(NamedTuple):
    """Gates of a loop, evaluated side by side until nothing changes.

    This reaches the same fixpoint as evaluation one after the other, because gates only ever move
    away from their initial values.
    """

    gates: _Level
    initial: Words

    def settle(self, nets: Words) -> None:
        nets[self.gates.nets] = self.initial
        while True:
            previous = nets[self.gates.nets]
            self.gates.settle(nets)
            if (nets[self.gates.nets] == previous).all():
                return


def read_words(nets: Words, literals: Literals) -> Words:
    """`[N, W]` the values of N literals."""
    words: Words = nets[literals >> 1]
    words ^= np.where(literals & 1, _ONES, np.uint64(0))[:, None]
    return words


def moves_matter(circuit: Circuit) -> list[bool]:
    """Whether each net depends on moves; the same for all gates of a loop."""
    first_net = 1 + circuit.num_inputs
    gates = gates_of(circuit)
    loops = {loop.start: loop for loop in circuit.loops}
    matter = [net > len(circuit.fluents) for net in range(first_net)]
    while len(matter) < first_net + len(gates):
        index = len(matter) - first_net
        loop = loops.get(index)
        end = index + 1 if loop is None else loop.end
        inner = gates[index:end]
        # A loop depends on moves if one of its inputs from outside does; only these are known yet.
        num_known = len(matter)
        late = any(matter[x >> 1] for gate in inner for x in gate if x >> 1 < num_known)
        matter += [late] * len(inner)
    return matter


def _levels(circuit: Circuit, selected: Sequence[bool]) -> list[_Level | _Circle]:
    """The levels and loops of the selected nets, in the order of evaluation."""
    first_net = 1 + circuit.num_inputs
    in_loop = {gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    members: dict[int, list[int]] = {}
    loops: dict[int, list[Loop]] = {}
    for place, level in enumerate(net_levels(circuit)[first_net:]):
        loop = in_loop.get(place)
        if not selected[first_net + place]:
            continue
        if loop is None:
            members.setdefault(level, []).append(place)
        elif place == loop.start:
            loops.setdefault(level, []).append(loop)
    ordered: list[_Level | _Circle] = []
    for level in sorted(members.keys() | loops.keys()):
        for loop in loops.get(level, ()):
            initial = np.where(loop.initial, _ONES, np.uint64(0))[:, None]
            ordered.append(_Circle(_level(circuit, range(loop.start, loop.end)), initial))
        if level in members:
            ordered.append(_level(circuit, members[level]))
    return ordered


def _level(circuit: Circuit, indices: Sequence[int]) -> _Level:
    """Some gates as a level."""
    gates = np.array(indices, dtype=np.int64)
    offsets, inputs = take_segments(circuit.offsets, gates)
    literals = circuit.literals[inputs]
    inverted = np.where(literals & 1, _ONES, np.uint64(0))[:, None]
    return _Level(1 + circuit.num_inputs + gates, offsets[:-1], literals >> 1, inverted)


def sample(circuit: Circuit, *, num_words: int, num_steps: int, seed: int) -> Words:
    """`[F, S, W]` the fluents in S steps of random matches; where one is over, another begins."""
    rng = np.random.default_rng(seed)
    evaluator = Evaluator(circuit)
    num_fluents = len(circuit.fluents)
    values = np.zeros((num_fluents, num_steps, num_words), dtype=np.uint64)
    initial = np.where(circuit.initial, _ONES, np.uint64(0))[:, None]
    terminal = np.array([circuit.terminal], dtype=np.int32)
    states = np.tile(initial, num_words)
    nets = np.zeros((evaluator.num_nets, num_words), dtype=np.uint64)
    for step in range(num_steps):
        values[:, step] = nets[1 : 1 + num_fluents] = states
        # Legal moves do not depend on moves, and are needed to choose some.
        evaluator.look(nets)
        going = ~read_words(nets, terminal)[0]
        first = 1 + num_fluents
        for outputs in circuit.legal:
            moves = _choose(read_words(nets, outputs.literals), rng)
            nets[first : first + len(moves)] = moves
            going &= np.bitwise_or.reduce(moves, axis=0) if len(moves) else np.uint64(0)
            first += len(moves)
        nets[1 + num_fluents : first] &= going
        evaluator.act(nets)
        # Lanes that are over or stuck start again, so that every step of every lane is a sample.
        states = read_words(nets, circuit.next) & going | initial & ~going
    return values


def _choose(legal: Words, rng: np.random.Generator) -> Words:
    """`[M, W]` one random legal move in every lane that has any."""
    num_moves = len(legal)
    if not num_moves:
        return legal
    bits = np.unpackbits(legal.view(np.uint8), axis=1, bitorder="little").reshape(num_moves, -1)
    # The legal moves, lane after lane; each lane picks one by a random index.
    places = np.flatnonzero(bits.T.copy().view(np.bool_))
    starts = np.searchsorted(places, np.arange(bits.shape[1] + 1) * num_moves)
    counts = np.diff(starts)
    lanes = np.flatnonzero(counts)
    picked = places[starts[lanes] + (rng.random(len(lanes)) * counts[lanes]).astype(np.int64)]
    moves: Words = np.zeros_like(legal)
    bit = np.uint64(1) << (lanes & 63).astype(np.uint64)
    np.bitwise_or.at(moves, (picked - lanes * num_moves, lanes >> 6), bit)
    return moves


# ------------------------------------------------------------------------

REFUTE_CONFLICTS = 1_000
TOGETHER_CONFLICTS = 300
ALONE_CONFLICTS = 1_000
"""Limits of conflicts of the search for failing guesses: at first, for many together, for one."""

MAX_MISSES = 3
"""After so many guesses of a chunk were too hard to prove, the rest of the chunk is dropped."""

STEPS_A_GUESS = 2
"""Steps of work to look up one guess in an example."""

CHUNK = 24
"""Number of guesses that are proved together, if that is too hard for all of them."""


def prove(circuit: Circuit, guesses: Sequence[Guess], work: Work, until: int) -> list[Guess]:
    """The guesses that are proved to hold in every reachable state; none if the work runs out.

    Args:
        circuit: the circuit of a game.
        guesses: the guesses to prove.
        work: counts the steps.
        until: the `work.spent` at which to stop.
    """
    remaining = [guess for guess in guesses if guess.may_be(circuit.initial)]
    # Retractable assumptions save rounds, because a refuted guess is no longer assumed, but they
    # make proofs long. So they only serve to drop easily refuted guesses.
    step = _Step(circuit, remaining, work, retractable=True)
    step.drop_refuted(until)
    while step.guesses() and work.spent < until:
        remaining = step.guesses()
        step = _Step(circuit, remaining, work, retractable=False)
        # In this round, proofs assumed every guess, also those dropped in it. So only a round that
        # drops none, and tests all, proves anything.
        if step.drop_unproved(until) and step.guesses() == remaining:
            return remaining
    return []


class _Step:
    """One legal step from a state in which the remaining guesses are assumed, in a solver."""

    def __init__(
        self,
        circuit: Circuit,
        guesses: Sequence[Guess],
        work: Work,
        *,
        retractable: bool,
    ) -> None:
        self._guesses = guesses
        self._retractable = retractable
        self._remaining = dict.fromkeys(range(len(guesses)))
        roots = [circuit.terminal, *(x for o in circuit.legal for x in o.literals.tolist())]
        for guess in guesses:
            roots += [int(circuit.next[(x >> 1) - 1]) for x in guess.literals]
        self._work = work
        self._solver = Solver(circuit, roots, work)
        self._switches: list[int] = []
        self._fails: list[int] = []
        with self._solver.add() as add:
            assume_legal_moves(circuit, self._solver, add)
            for guess in guesses:
                literals_before = [self._solver.literal(x) for x in guess.literals]
                literals_after = [
                    self._solver.literal(int(circuit.next[(x >> 1) - 1]) ^ (x & 1))
                    for x in guess.literals
                ]
                # If the switch of a guess is off, the search ignores its failure after the step
                # and, if guesses are retractable, does not assume it before the step.
                switch = add.free()
                add.forbid([wrong(guess, literals_before, add), *([switch] if retractable else [])])
                self._switches.append(switch)
                self._fails.append(add.all_of([switch, wrong(guess, literals_after, add)]))
            self._chunks = [
                range(start, min(start + CHUNK, len(guesses)))
                for start in range(0, len(guesses), CHUNK)
            ]
            self._chunk_fails = [
                add.any_of([self._fails[index] for index in chunk]) for chunk in self._chunks
            ]
            self._some_fail = add.any_of(self._chunk_fails)

    def guesses(self) -> list[Guess]:
        """The remaining guesses."""
        return [self._guesses[index] for index in self._remaining]

    def drop_refuted(self, until: int) -> None:
        """Drop guesses that are easily refuted."""
        self._drop(self._some_fail, SearchLimit(REFUTE_CONFLICTS, until))

    def drop_unproved(self, until: int) -> bool:
        """Drop guesses that fail or are too hard; returns whether the work sufficed for all."""
        together, single = (
            SearchLimit(TOGETHER_CONFLICTS, until),
            SearchLimit(ALONE_CONFLICTS, until),
        )
        if self._drop(self._some_fail, together):
            return True
        for chunk, fails in zip(self._chunks, self._chunk_fails, strict=True):
            if self._drop(fails, together):
                continue
            misses = 0
            for index in chunk:
                if self._work.spent >= until:
                    return False
                if index not in self._remaining:
                    continue
                if misses == MAX_MISSES or not self._drop(self._fails[index], single):
                    self._remaining.pop(index, None)
                    misses += 1
        return True

    def _drop(self, fails: int, limit: SearchLimit) -> bool:
        """Drop guesses while `fails` can hold; returns whether it is then proved impossible."""
        while self._remaining:
            failed = self._failing(fails, limit)
            if not failed:
                return failed is not None
        return True

    def _failing(self, fails: int, limit: SearchLimit) -> list[int] | None:
        """Drop and return guesses that fail in an example where `fails` holds.

        None if it is too hard to decide whether there is one.
        """
        failed: list[int] = []

        def collect(example: Example) -> None:
            self._work.spend(STEPS_A_GUESS * len(self._remaining))
            # One example often refutes many guesses; all are dropped.
            failed.extend(i for i in self._remaining if example(self._fails[i]))

        assumed = [
            switch if index in self._remaining else -switch
            for index, switch in enumerate(self._switches)
            if self._retractable or index not in self._remaining
        ]
        has_example = self._solver.find([*assumed, fails], collect, limit)
        for index in failed:
            del self._remaining[index]
        return None if has_example is None else failed


def wrong(guess: Guess, literals: Sequence[int], add: Additions) -> int:
    """The solver literal that holds if a guess is wrong; `literals`: those of the guess."""
    if guess.too_many == 0:
        return add.all_of([-literal for literal in literals])
    return add.all_of(literals) if guess.too_many == len(literals) else add.two_of(literals)


def assume_legal_moves(circuit: Circuit, solver: Solver, add: Additions) -> None:
    """Assume that every role makes exactly one legal move, and the game is not over."""
    add.forbid([solver.literal(circuit.terminal)])
    for outputs, nets in zip(circuit.legal, moves_of_roles(circuit), strict=True):
        moves = [solver.literal(2 * net) for net in nets]
        add.forbid([add.two_of(moves)])
        add.forbid([-move for move in moves])
        for move, legal in zip(moves, outputs.literals.tolist(), strict=True):
            add.forbid([move, -solver.literal(legal)])


# ------------------------------------------------------------------------
# Guesses, from random matches, which fluents are constant, equal, or exclude each other.
#
# A combination that never occurred in random matches may be impossible; `prove` finds out. For
# fluents that only differ in their last argument, such as the marks of a cell, four states may be
#
#     (cell 1 1 x)   0 0 1 1        at most one of them held: `Guess(2, (x, o, b))`, never two
#     (cell 1 1 o)   0 0 0 0        at least one of them held: `Guess(0, (x, o, b))`, never none
#     (cell 1 1 b)   1 1 0 0        o was constant, and b was not x: guesses as well
#
# Candidate groups follow from the terms: fluents that agree in all arguments except some.

MAX_VARIED = 3
"""Greatest number of arguments in which a group's fluents differ, except all, or all but one."""

MAX_ARGUMENTS = 8
"""Fluents with more constants than this are in no group."""

MAX_DEPTH = 3
"""Functions nested deeper than this count as constants."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)

Words = NDArray[np.uint64]


class Guess(NamedTuple):
    """A guess that `too_many` or more of some literals of fluents never hold together.

    With `too_many` 0, the guess is that at least one of them always holds.

    >>> both = Guess(2, (2, 4))  # the first two fluents exclude each other
    >>> both.may_be(np.array([True, False])), both.may_be(np.array([True, True]))
    (True, False)
    """

    too_many: int
    literals: tuple[int, ...]

    def may_be(self, fluents: NDArray[np.bool_]) -> bool:
        """Whether the guess holds in a state `[F]`."""
        num_holding = sum(bool(fluents[(x >> 1) - 1]) ^ (x & 1) for x in self.literals)
        return num_holding < self.too_many if self.too_many else num_holding > 0


def equal_fluents(circuit: Circuit, values: Words) -> dict[int, int]:
    """For each fluent (as a net) that always equalled an earlier one, the literal of that one.

    Args:
        circuit: the circuit of a game.
        values: `[F, S, W]` values of the fluents in random matches.
    """
    becomes = {}
    first = {np.zeros_like(values[0]).tobytes(): FALSE} if len(values) else {}
    for net, words in enumerate(values, 1):
        # The key is inverted if its first bit is 1. So fluents that were always opposite have equal
        # keys, too.
        inverted = int(words[0, 0] & np.uint64(1))
        key = (words ^ _ONES if inverted else words).tobytes()
        literal = first.setdefault(key, 2 * net + inverted)
        if literal >> 1 != net:
            becomes[net] = literal ^ inverted
    return becomes


def equality(net: int, literal: int) -> list[Guess]:
    """The guesses that together mean that a fluent equals a literal."""
    if literal in (FALSE, TRUE):
        return [Guess(1, (2 * net + literal,))]
    return [Guess(2, (2 * net, literal ^ 1)), Guess(2, (2 * net + 1, literal))]


def exclusive_fluents(circuit: Circuit, values: Words) -> list[Guess]:
    """Guesses about fluents that differ in few arguments: at most, or at least, one holds."""
    members: dict[tuple[object, ...], list[int]] = {}
    for net, fluent in enumerate(circuit.fluents, 1):
        shape, leaves = _shape(parse_term(fluent))
        for varied in _varied(len(leaves)):
            fixed = tuple(None if i in varied else leaf for i, leaf in enumerate(leaves))
            members.setdefault((shape, fixed), []).append(net)
    guesses: dict[Guess, None] = {}
    for nets in members.values():
        if len(nets) < 2:
            continue
        literals = tuple(2 * net for net in nets)
        at_most_one, at_least_one = _counts(values[np.array(nets) - 1])
        if at_most_one:
            guesses[Guess(2, literals)] = None
        if at_least_one:
            guesses[Guess(0, literals)] = None
    return list(guesses)


def strongest(guesses: Iterable[Guess]) -> list[Guess]:
    """The guesses about groups that do not follow from other guesses.

    "At most one of a group" implies the same of every part of it, and "at least one of a group" the
    same of every group that contains it.
    """
    strong: list[Guess] = []
    sets: dict[tuple[int, int], list[frozenset[int]]] = {}
    # Stronger guesses come first: large groups of "at most one", small groups of "at least one".
    for guess in sorted(guesses, key=lambda x: -len(x.literals) if x.too_many else len(x.literals)):
        members = frozenset(guess.literals)
        related = (group for x in guess.literals for group in sets.get((guess.too_many, x), ()))
        if any(members <= group if guess.too_many else group <= members for group in related):
            continue
        strong.append(guess)
        for literal in guess.literals if guess.too_many else guess.literals[:1]:
            sets.setdefault((guess.too_many, literal), []).append(members)
    return strong


def _counts(values: Words) -> tuple[bool, bool]:
    """Whether at most one, and whether at least one, of some fluents held everywhere."""
    once = np.zeros_like(values[0])
    twice = False
    for words in values:
        twice = twice or bool((once & words).any())
        once |= words
    return not twice, bool((once == _ONES).all())


def _shape(term: Term) -> tuple[str, list[str]]:
    """A term without its constants, and the constants from left to right."""
    leaves: list[str] = []

    def walk(inner: Term, depth: int) -> str:
        if isinstance(inner, Compound) and depth:
            return f"({inner.name} {' '.join(walk(arg, depth - 1) for arg in inner.args)})"
        leaves.append(str(inner))
        return "_"

    return walk(term, MAX_DEPTH), leaves


def _varied(num_leaves: int) -> list[tuple[int, ...]]:
    """The sets of arguments that may differ within a group."""
    if num_leaves > MAX_ARGUMENTS:
        return []
    sizes = [
        size for size in range(1, num_leaves + 1) if size <= MAX_VARIED or size >= num_leaves - 1
    ]
    return [subset for size in sizes for subset in combinations(range(num_leaves), size)]


# ------------------------------------------------------------------------
# Asks clingo's solver whether literals of a circuit can hold together, in one state and one step.

Example = Callable[[int], bool]
"""Whether a solver literal holds in an example."""

CONFLICTS_A_STEP = 40
STEPS_TO_ASK = 1
STEPS_TO_BUILD = 5
"""Work for each atom: the conflicts that count as a step, and the steps of a question and of a new
solver."""

QUICK = 300
"""The first conflicts of a question, which are not interrupted."""

LOOK_UP_S = 0.1
"""Seconds between two checks for an interrupt during a longer question."""


class SearchLimit(NamedTuple):
    """Bounds on a search: conflicts, and the `Work.spent` at which to stop."""

    conflicts: int
    until: int


class Solver:
    """The nets of a circuit for any one state and joint move, as atoms of a clingo program.

    A *solver literal* is an atom of clingo, negative for its negation. Gates of loops are free:
    that loops are least fixpoints is not encoded. So the solver may find states that are
    impossible, and fail to prove a guess, but never prove a false one.
    """

    def __init__(self, circuit: Circuit, roots: Iterable[int], work: Work) -> None:
        """Encode a circuit for the solver.

        Args:
            circuit: the circuit of a game.
            roots: literals that questions may use; the gates that they depend on are encoded.
            work: the count of work.
        """
        # Imported here, because a circuit from the cache needs no solver.
        from clingo import Control

        self._control = Control(["--warn=none"])
        self._atoms: list[int] = []
        self._work = work
        first_net = 1 + circuit.num_inputs
        gates = gates_of(circuit)
        free = set(range(1, first_net))
        for loop in circuit.loops:
            free.update(range(first_net + loop.start, first_net + loop.end))
        is_needed = [net in free or not net for net in range(first_net + len(gates))]
        for root in roots:
            is_needed[root >> 1] = True
        for net in range(len(is_needed) - 1, first_net - 1, -1):
            if is_needed[net] and net not in free:
                for literal in gates[net - first_net]:
                    is_needed[literal >> 1] = True
        with self._control.backend() as backend:
            # Net 0 has an atom that no rule makes true.
            self._atoms = [backend.add_atom() if encoded else 0 for encoded in is_needed]
            for net, atom in enumerate(self._atoms):
                if net in free:
                    backend.add_rule([atom], [], True)
                elif atom and net:
                    backend.add_rule([atom], [self.literal(x) for x in gates[net - first_net]])
        self._num_atoms = sum(map(bool, self._atoms))
        work.spend(STEPS_TO_BUILD * self._num_atoms)

    def literal(self, circuit_literal: int) -> int:
        """The solver literal of a circuit's literal."""
        atom = self._atoms[circuit_literal >> 1]
        return -atom if circuit_literal & 1 else atom

    def add(self) -> Additions:
        """A context manager for adding definitions and facts."""
        return Additions(self._control.backend())

    def find(
        self, assumptions: Sequence[int], on_example: Callable[[Example], None], limit: SearchLimit
    ) -> bool | None:
        """Whether solver literals can hold together; None if that is too hard to decide.

        Args:
            assumptions: the literals.
            on_example: called with an example if there is one.
            limit: the bounds on the search.
        """

        def tell(model: Model) -> None:
            on_example(model.is_true)

        affordable = CONFLICTS_A_STEP * (limit.until - self._work.spent) // self._num_atoms
        conflicts = min(limit.conflicts, affordable)
        if conflicts <= 0:
            return None
        # `configuration.solve` has no type: clingo creates it at run time.
        solve: Any = self._control.configuration.solve
        # Most questions are easy. Reading how many conflicts there were takes longer than those.
        solve.solve_limit = str(min(conflicts, QUICK))
        with unbroken():
            answer = self._control.solve(assumptions=assumptions, on_model=tell).satisfiable
        num_conflicts = 0 if answer is not None else min(conflicts, QUICK)
        if answer is None and conflicts > QUICK:
            solve.solve_limit = str(conflicts - QUICK)
            # In another thread, so that a signal can interrupt this one.
            with self._control.solve(assumptions=assumptions, on_model=tell, async_=True) as search:
                while not search.wait(LOOK_UP_S):
                    pass
                answer = search.get().satisfiable
            num_conflicts += int(self._control.statistics["solving"]["solvers"]["conflicts"])
        self._work.spend(self._num_atoms * (STEPS_TO_ASK + num_conflicts // CONFLICTS_A_STEP))
        return answer


class Additions:
    """Defines new solver literals and adds constraints; used as a context manager."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __enter__(self) -> Additions:
        self._backend.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        self._backend.__exit__(*error)  # type: ignore[no-untyped-call]

    def free(self) -> int:
        """A new literal that may hold or not."""
        atom = self._backend.add_atom()
        self._backend.add_rule([atom], [], True)
        return atom

    def all_of(self, literals: Iterable[int]) -> int:
        """A literal that holds if all of `literals` hold."""
        atom = self._backend.add_atom()
        self._backend.add_rule([atom], list(literals))
        return atom

    def any_of(self, literals: Iterable[int]) -> int:
        """A literal that holds if one of `literals` holds."""
        return -self.all_of([-literal for literal in literals])

    def two_of(self, literals: Iterable[int]) -> int:
        """A literal that holds if two or more of `literals` hold."""
        atom = self._backend.add_atom()
        self._backend.add_weight_rule([atom], 2, [(literal, 1) for literal in literals])
        return atom

    def forbid(self, literals: Iterable[int]) -> None:
        """Demand that `literals` never all hold."""
        self._backend.add_rule([], list(literals))
