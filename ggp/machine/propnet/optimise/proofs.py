"""Proves guesses by induction: they hold initially, and no legal step breaks any of them.

All guesses are assumed of a state, and some are found to fail after a step. These are dropped, and
the others have to do without them; when none fails any more, all that are left are proved.

An example: a cell is never both x and o (g1), a finished row stays finished (g2), and it was
guessed that x never has more marks than o (g3), because it was so in random matches that all ended
at once. The solver is asked for a state in which g1, g2 and g3 hold, and a legal step after which
one of them does not. It finds one for g3, which is dropped. Asked again with g1 and g2 assumed, it
finds none: they hold initially, and every step from a state where they hold keeps them. That is a
proof by induction over the length of a match. Guesses may need each other: so all are assumed at
first, and one is dropped at a time, never the other way round.

Running out of work proves nothing: all guesses not looked at are dropped (`prove`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.gdl import parse_term
from ggp.gdl.terms import Compound, Term
from ggp.machine.arrays import take_segments
from ggp.machine.circuit import FALSE, TRUE, Circuit, Literals, Loop, gates_of, net_levels
from ggp.machine.propnet.optimise.knowledge import Work, moves_of_roles, unbroken

if TYPE_CHECKING:
    from clingo import Model
    from clingo.backend import Backend


# ------------------------------------------------------------------------
# Plays random matches on a circuit, many at once.


class Evaluator:
    """Evaluates circuits in numpy, 64 lanes a word, gates of one level at a time."""

    def __init__(self, circuit: Circuit) -> None:
        self.num_nets = 1 + circuit.num_inputs + circuit.num_gates
        matter = moves_matter(circuit)
        self._of_states, self._of_moves = (
            _levels(circuit, [each == late for each in matter]) for late in (False, True)
        )

    def look(self, nets: Words) -> None:
        """Set the gates of `nets[P, W]` that do not depend on moves, from its fluents."""
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
    """Gates of a loop. Evaluating all of them again and again, side by side, reaches the same
    fixpoint as one after the other: they only ever move away from their initial values."""

    gates: _Level
    initial: Words

    def settle(self, nets: Words) -> None:
        nets[self.gates.nets] = self.initial
        while True:
            before = nets[self.gates.nets]
            self.gates.settle(nets)
            if (nets[self.gates.nets] == before).all():
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
        place = len(matter) - first_net
        loop = loops.get(place)
        end = place + 1 if loop is None else loop.end
        inner = gates[place:end]
        # Within a loop, later gates are not known yet, but the inputs from outside are.
        known = len(matter)
        late = any(matter[x >> 1] for each in inner for x in each if x >> 1 < known)
        matter += [late] * len(inner)
    return matter


def _levels(circuit: Circuit, wanted: Sequence[bool]) -> list[_Level | _Circle]:
    """Levels and loops of some nets in an order in which they can be evaluated."""
    first_net = 1 + circuit.num_inputs
    in_loop = {gate: loop for loop in circuit.loops for gate in range(loop.start, loop.end)}
    members: dict[int, list[int]] = {}
    loops: dict[int, list[Loop]] = {}
    for place, level in enumerate(net_levels(circuit)[first_net:]):
        loop = in_loop.get(place)
        if not wanted[first_net + place]:
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


def _level(circuit: Circuit, places: Sequence[int]) -> _Level:
    """Some gates as a level."""
    gates = np.array(places, dtype=np.int64)
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
        # What is legal has to be known to choose moves, and does not depend on them.
        evaluator.look(nets)
        going = ~read_words(nets, terminal)[0]
        first = 1 + num_fluents
        for outputs in circuit.legal:
            chosen = _choose(read_words(nets, outputs.literals), rng)
            nets[first : first + len(chosen)] = chosen
            going &= np.bitwise_or.reduce(chosen, axis=0) if len(chosen) else np.uint64(0)
            first += len(chosen)
        nets[1 + num_fluents : first] &= going
        evaluator.act(nets)
        # Lanes that are over or stuck begin anew, so that all lanes go on telling something.
        states = read_words(nets, circuit.next) & going | initial & ~going
    return values


def _choose(legal: Words, rng: np.random.Generator) -> Words:
    """One of the legal moves `[M, W]` in every lane that has any."""
    num_moves = len(legal)
    if not num_moves:
        return legal
    bits = np.unpackbits(legal.view(np.uint8), axis=1, bitorder="little").reshape(num_moves, -1)
    counts = bits.sum(axis=0, dtype=np.int64)
    # The legal moves of one lane after the other, of which each lane takes one by its number.
    moves = np.flatnonzero(bits.T.copy()) % num_moves
    lanes = np.flatnonzero(counts)
    picked = (rng.random(len(lanes)) * counts[lanes]).astype(np.int64)
    chosen = np.zeros_like(bits)
    chosen[moves[(np.cumsum(counts) - counts)[lanes] + picked], lanes] = 1
    packed: Words = np.packbits(chosen, axis=1, bitorder="little").view(np.uint64)
    return packed


# ------------------------------------------------------------------------

REFUTE_CONFLICTS = 1_000
TOGETHER_CONFLICTS = 300
ALONE_CONFLICTS = 1_000
"""Conflicts allowed to the search for failing guesses: at first, for many at once, and for one."""

MAX_MISSES = 3
"""Number of guesses of a chunk that are too hard to prove before the rest of it is dropped."""

STEPS_A_GUESS = 2
"""Steps of work to look up one guess in an example."""

CHUNK = 24
"""Number of guesses that are proved together where that is too hard for all at once."""


def prove(circuit: Circuit, guesses: Sequence[Guess], work: Work, until: int) -> list[Guess]:
    """The guesses that hold together in every reachable state; none if the work runs out.

    Args:
        circuit: of a game.
        guesses: what to prove.
        work: what is counted.
        until: the `work.spent` at which to stop.
    """
    left = [guess for guess in guesses if guess.may_be(circuit.initial)]
    # Assumptions that can be taken back save rounds, but make proofs long.
    step = _Step(circuit, left, work, retractable=True)
    step.drop_refuted(until)
    while step.guesses() and work.spent < until:
        left = step.guesses()
        step = _Step(circuit, left, work, retractable=False)
        # Work that runs out leaves guesses that nobody has looked at.
        # A guess dropped in this round was still assumed by proofs of others in it: only a round
        # that drops none proves anything.
        if step.drop_unproved(until) and step.guesses() == left:
            return left
    return []


class _Step:
    """One step from a state in which guesses are assumed."""

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
        self._left = dict.fromkeys(range(len(guesses)))
        roots = [circuit.terminal, *(x for each in circuit.legal for x in each.literals.tolist())]
        for guess in guesses:
            roots += [int(circuit.next[(x >> 1) - 1]) for x in guess.literals]
        self._work = work
        self._solver = Solver(circuit, roots, work)
        self._asked: list[int] = []
        self._fails: list[int] = []
        with self._solver.add() as add:
            assume_legal_moves(circuit, self._solver, add)
            for guess in guesses:
                sign = [self._solver.sign(x) for x in guess.literals]
                after = [
                    self._solver.sign(int(circuit.next[(x >> 1) - 1]) ^ (x & 1))
                    for x in guess.literals
                ]
                # A switch: a guess whose switch is off is neither looked for after the step nor, if
                # it is retractable, assumed before it.
                asked = add.free()
                add.forbid([wrong(guess, sign, add), *([asked] if retractable else [])])
                self._asked.append(asked)
                self._fails.append(add.all_of([asked, wrong(guess, after, add)]))
            self._chunks = [
                range(start, min(start + CHUNK, len(guesses)))
                for start in range(0, len(guesses), CHUNK)
            ]
            self._chunk_fails = [
                add.any_of([self._fails[place] for place in chunk]) for chunk in self._chunks
            ]
            self._some_fail = add.any_of(self._chunk_fails)

    def guesses(self) -> list[Guess]:
        """The guesses that are left."""
        return [self._guesses[place] for place in self._left]

    def drop_refuted(self, until: int) -> None:
        """Drop guesses that are easily refuted."""
        self._drop(self._some_fail, SearchLimit(REFUTE_CONFLICTS, until))

    def drop_unproved(self, until: int) -> bool:
        """Drop guesses that fail, or may fail; returns whether there was work for all of them."""
        together, alone = (
            SearchLimit(TOGETHER_CONFLICTS, until),
            SearchLimit(ALONE_CONFLICTS, until),
        )
        if self._drop(self._some_fail, together):
            return True
        for chunk, fails in zip(self._chunks, self._chunk_fails, strict=True):
            if self._drop(fails, together):
                continue
            misses = 0
            for place in chunk:
                if self._work.spent >= until:
                    return False
                if place not in self._left:
                    continue
                if misses == MAX_MISSES or not self._drop(self._fails[place], alone):
                    self._left.pop(place, None)
                    misses += 1
        return True

    def _drop(self, fails: int, limit: SearchLimit) -> bool:
        """Drop guesses while `fails` can hold; returns whether it certainly cannot in the end."""
        while self._left:
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
            self._work.spend(STEPS_A_GUESS * len(self._left))
            # One example often refutes many guesses: none of them need be asked about again.
            failed.extend(i for i in self._left if example(self._fails[i]))

        assumed = [
            sign if place in self._left else -sign
            for place, sign in enumerate(self._asked)
            if self._retractable or place not in self._left
        ]
        found = self._solver.find([*assumed, fails], collect, limit)
        for place in failed:
            del self._left[place]
        return None if found is None else failed


def wrong(guess: Guess, signs: Sequence[int], add: Additions) -> int:
    """The sign that holds if a guess is wrong."""
    if guess.least == 0:
        return add.all_of([-sign for sign in signs])
    return add.all_of(signs) if guess.least == len(signs) else add.two_of(signs)


def assume_legal_moves(circuit: Circuit, solver: Solver, add: Additions) -> None:
    """Assume that every role makes exactly one legal move, and the game is not over."""
    add.forbid([solver.sign(circuit.terminal)])
    for outputs, nets in zip(circuit.legal, moves_of_roles(circuit), strict=True):
        moves = [solver.sign(2 * net) for net in nets]
        add.forbid([add.two_of(moves)])
        add.forbid([-move for move in moves])
        for move, legal in zip(moves, outputs.literals.tolist(), strict=True):
            add.forbid([move, -solver.sign(legal)])


# ------------------------------------------------------------------------
# Guesses, from random matches, which fluents are constant, equal, or exclude each other.
#
# What never happened in random matches may never happen at all; `induction` finds out. For fluents
# that only differ in their last argument, such as the marks of a cell, states may have been
#
# (cell 1 1 x)   0 0 1 1        at most one of them held: `Guess(2, (x, o, b))`, never two
#     (cell 1 1 o)   0 0 0 0        at least one of them held: `Guess(0, (x, o, b))`, never none
#     (cell 1 1 b)   1 1 0 0        o was constant, and b was not x: guesses as well
#
# The groups to look at follow from the terms: fluents that agree in all arguments except some.

MAX_VARIED = 3
"""Most arguments in which fluents of a group differ, unless they differ in all, or all but one."""

MAX_ARGUMENTS = 8
"""Number of constants above which a fluent is in no group."""

MAX_DEPTH = 3
"""Depth below which functions count as constants."""

_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)

Words = NDArray[np.uint64]


class Guess(NamedTuple):
    """A guess that `least` or more of some literals of fluents never hold together.

    With `least` 0, the guess is that it never happens that none of them holds.
    """

    least: int
    literals: tuple[int, ...]

    def may_be(self, fluents: NDArray[np.bool_]) -> bool:
        """Whether the guess is right in a state `[F]`."""
        held = sum(bool(fluents[(x >> 1) - 1]) ^ (x & 1) for x in self.literals)
        return held < self.least if self.least else held > 0


def equal_fluents(circuit: Circuit, values: Words) -> dict[int, int]:
    """For each fluent (as a net) that always equalled an earlier one, the literal of that one.

    Args:
        circuit: the circuit of a game.
        values: `[F, S, W]` values of the fluents in random matches.
    """
    becomes = {}
    first = {np.zeros_like(values[0]).tobytes(): FALSE} if len(values) else {}
    for net, words in enumerate(values, 1):
        # Inverted where needed so that the first bit is 0, so that fluents which were always
        # opposite are found, too.
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
    """Guesses about fluents that differ in some arguments only: at most, or at least, one held."""
    members: dict[tuple[object, ...], list[int]] = {}
    for net, fluent in enumerate(circuit.fluents, 1):
        shape, leaves = _shape(parse_term(fluent))
        for varied in _varied(len(leaves)):
            kept = tuple(None if i in varied else leaf for i, leaf in enumerate(leaves))
            members.setdefault((shape, kept), []).append(net)
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
    """The guesses about groups that do not follow from others of them.

    At most one of a group implies at most one of a part of it, and at least one of it implies at
    least one of any group that it is part of.
    """
    kept: list[Guess] = []
    sets: dict[tuple[int, int], list[frozenset[int]]] = {}
    # Guesses that others may follow from come first: large groups of "at most one", small ones of
    # "at least one".
    for guess in sorted(guesses, key=lambda x: -len(x.literals) if x.least else len(x.literals)):
        members = frozenset(guess.literals)
        known = (each for x in guess.literals for each in sets.get((guess.least, x), ()))
        if any(members <= each if guess.least else each <= members for each in known):
            continue
        kept.append(guess)
        for literal in guess.literals if guess.least else guess.literals[:1]:
            sets.setdefault((guess.least, literal), []).append(members)
    return kept


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
    return [each for size in sizes for each in combinations(range(num_leaves), size)]


# ------------------------------------------------------------------------
# Puts questions about a circuit to the solver in clingo: can this ever hold?

Example = Callable[[int], bool]
"""Tells whether a sign holds in an example."""

CONFLICTS_A_STEP = 40
STEPS_TO_ASK = 1
STEPS_TO_BUILD = 5
"""Work for each atom: conflicts that are a step, and steps for a question and for a solver."""

QUICK = 300
"""Questions with a limit of no more conflicts than this are answered before being interrupted."""

LOOK_UP_S = 0.1
"""Seconds between two checks whether a longer question is to be interrupted."""


class SearchLimit(NamedTuple):
    """Bounds on a search: conflicts, and the `Work.spent` at which to stop."""

    conflicts: int
    until: int


class Solver:
    """The nets of a circuit for one state and one joint move, with any possible values.

    A *sign* is the solver's name for a literal; minus a sign is its negation. It is not encoded
    that loops are least fixpoints.
    """

    def __init__(self, circuit: Circuit, roots: Iterable[int], work: Work) -> None:
        """Encode a circuit for the solver.

        Args:
            circuit: the circuit of a game.
            roots: literals whose nets, and those they depend on, can be asked about.
            work: the count of work.
        """
        # Not needed for circuits that have been optimised before.
        from clingo import Control

        self._control = Control(["--warn=none"])
        self._atoms: list[int] = []
        self._work = work
        first_net = 1 + circuit.num_inputs
        gates = gates_of(circuit)
        free = set(range(1, first_net))
        for loop in circuit.loops:
            free.update(range(first_net + loop.start, first_net + loop.end))
        needed = [net in free or not net for net in range(first_net + len(gates))]
        for root in roots:
            needed[root >> 1] = True
        for net in range(len(needed) - 1, first_net - 1, -1):
            if needed[net] and net not in free:
                for literal in gates[net - first_net]:
                    needed[literal >> 1] = True
        with self._control.backend() as backend:
            # Net 0 has an atom that no rule makes true.
            self._atoms = [backend.add_atom() if each else 0 for each in needed]
            for net, atom in enumerate(self._atoms):
                if net in free:
                    backend.add_rule([atom], [], True)
                elif atom and net:
                    backend.add_rule([atom], [self.sign(x) for x in gates[net - first_net]])
        self._num_atoms = sum(map(bool, self._atoms))
        work.spend(STEPS_TO_BUILD * self._num_atoms)

    def sign(self, literal: int) -> int:
        """The sign of a literal."""
        atom = self._atoms[literal >> 1]
        return -atom if literal & 1 else atom

    def add(self) -> Additions:
        """A context manager for adding definitions and facts."""
        return Additions(self._control.backend())

    def find(
        self, assumed: Sequence[int], on_example: Callable[[Example], None], limit: SearchLimit
    ) -> bool | None:
        """Whether signs can hold together; None if that is too hard to decide.

        Args:
            assumed: the signs.
            on_example: called with an example if there is one.
            limit: the bounds on the search.
        """

        def tell(model: Model) -> None:
            on_example(model.is_true)

        affordable = CONFLICTS_A_STEP * (limit.until - self._work.spent) // self._num_atoms
        conflicts = min(limit.conflicts, affordable)
        if conflicts <= 0:
            return None
        # `configuration.solve` is made up at run time.
        self._control.configuration.solve.solve_limit = str(conflicts)  # type: ignore[union-attr]
        if conflicts <= QUICK:
            with unbroken():
                found = self._control.solve(assumptions=assumed, on_model=tell).satisfiable
            used = conflicts if found is None else 0
        else:
            # In a thread of its own, so that this one can be interrupted.
            with self._control.solve(assumptions=assumed, on_model=tell, async_=True) as search:
                while not search.wait(LOOK_UP_S):
                    pass
                found = search.get().satisfiable
            used = int(self._control.statistics["solving"]["solvers"]["conflicts"])
        self._work.spend(self._num_atoms * (STEPS_TO_ASK + used // CONFLICTS_A_STEP))
        return found


class Additions:
    """Makes signs; used as a context manager."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def __enter__(self) -> Additions:
        self._backend.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: object) -> None:
        self._backend.__exit__(*error)  # type: ignore[no-untyped-call]

    def free(self) -> int:
        """A new sign that may hold or not."""
        atom = self._backend.add_atom()
        self._backend.add_rule([atom], [], True)
        return atom

    def all_of(self, signs: Iterable[int]) -> int:
        """A sign that holds where all of `signs` hold."""
        atom = self._backend.add_atom()
        self._backend.add_rule([atom], list(signs))
        return atom

    def any_of(self, signs: Iterable[int]) -> int:
        """A sign that holds where one of `signs` holds."""
        return -self.all_of([-sign for sign in signs])

    def two_of(self, signs: Iterable[int]) -> int:
        """A sign that holds where two or more of `signs` hold."""
        atom = self._backend.add_atom()
        self._backend.add_weight_rule([atom], 2, [(sign, 1) for sign in signs])
        return atom

    def forbid(self, signs: Iterable[int]) -> None:
        """Demand that `signs` never all hold."""
        self._backend.add_rule([], list(signs))
