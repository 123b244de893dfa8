"""Bounds on the number of turns of a match, where the rules prove one.

There are three ways, the most precise first: visit all states, if they are few (`survey`); count
turns, if a game does so itself; and show that every turn makes some progress (`progress`). A proof
does not depend on the clock, but there may be no time for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ggp.belief.turns.completions import LANES_AT_ONCE, never
from ggp.errors import GGPError
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    FloatArray,
    IntArray,
    Machine,
    States,
    player_roles,
)
from ggp.machine.circuit import FALSE, TRUE, Circuit, following, gates_of
from ggp.machine.layers import JointMoves, StateMerger
from ggp.machine.on_circuit import on_circuit
from ggp.machine.propnet.optimise.knowledge import Work
from ggp.machine.propnet.optimise.proofs import (
    Guess,
    SearchLimit,
    Solver,
    Words,
    assume_legal_moves,
    exclusive_fluents,
    prove,
    sample,
    strongest,
    wrong,
)

FEW_STATES = 20_000
"""States that are visited to know exactly: tenths of a second."""


class Longest(NamedTuple):
    """Bounds that no match exceeds.

    Attributes:
        turns: None if nothing was proved.
        percepts: of a player in one turn; None if nothing was proved.
    """

    turns: int | None
    percepts: int | None


def longest(machine: Machine, stop: Callable[[], bool] = never) -> Longest:
    """The bounds of a game; without a circuit nothing is proved, nor when `stop`, which is asked
    every few thousand states, is true before all states are visited."""
    if _circuit_of(machine) is None:
        return Longest(None, None)
    try:
        found = survey(machine, FEW_STATES, stop)
    except GGPError:  # a role without a move, or an invalid goal, in some state
        found = None
    if found is not None:
        return Longest(found.most_turns, found.most_percepts)
    return Longest(None if stop() else proved_turns(machine), None)


def proved_turns(machine: Machine) -> int | None:
    """A bound on the turns of a match without visiting all states; None if none is proved."""
    if (circuit := _circuit_of(machine)) is None:
        return None
    bounds = [_by_counting(circuit), most_turns(circuit)]
    return min((each for each in bounds if each is not None), default=None)


def _circuit_of(machine: Machine) -> Circuit | None:
    """The circuit that proofs are about; None if there is none."""
    return machine.circuit if on_circuit(machine) else None


def _by_counting(circuit: Circuit) -> int | None:
    """The bound by three-valued evaluation from the initial state: a fluent holds, does not, or
    may.

    When `terminal` certainly holds, the match is over.
    """
    if circuit.loops:
        return None
    held = np.stack([~circuit.initial, circuit.initial]).astype(np.bool_)
    seen = set()
    for turn in range(DEFAULT_MAX_STEPS):
        key = held.tobytes()
        if key in seen:
            return None
        seen.add(key)
        after = following(circuit, held)
        if after is None:
            return turn
        held = after
    return None


# ------------------------------------------------------------------------
# Proofs that matches end: every turn makes progress of which only a limited amount exists.
#
# Some fluents only ever appear, or only ever vanish. If each turn changes one of these, a match has
# at most as many turns as there are of them. In phantom connect four discs stay, and a refused drop
# leaves its mark: each turn does one or the other.
#
# In other games a turn may change none. Then fluents are sought that change in one direction *while
# none of the first kind changes*, and so on: measures that decrease in lexicographic order. With
# n1, n2, ... fluents of each rank, a match has at most (n1 + 1) (n2 + 1) ... - 1 turns.
#
# The solver in clingo decides which fluents change in one direction, and that nothing stands still,
# for all states in which some invariants hold; these are proved by induction first (`induction`).
# The number of fluents of a rank that can change is bounded by a linear program: fluents that
# exclude each other change only once together.

MOST_GATES = 2_000
"""Most gates of circuits for which proofs are tried."""

WORK = 40_000_000
"""Most steps of a proof, see `Work`."""

CONFLICTS = 20_000
"""Solver conflicts for one question."""

MOST_RANKS = 4

_MOST_PAIRED, _MOST_PAIRS = 6, 2_000
"""Greatest number of fluents in a gate whose pairs are guessed to exclude each other, and of such
guesses."""

_WORDS, _STEPS = 8, 60
"""Random matches from which invariants are guessed: 64 lanes per word, and their length."""


def most_turns(circuit: Circuit) -> int | None:
    """A bound on the turns of a match; None if none was found.

    It depends on no clock.
    """
    if circuit.num_gates > MOST_GATES or circuit.loops:
        return None
    return _Proof(circuit, Work(WORK)).bound()


class _Proof:
    """A circuit, its invariants, and the solver that is asked."""

    def __init__(self, circuit: Circuit, work: Work) -> None:
        self._circuit, self._work = circuit, work
        self._known = _invariants(circuit, work)
        num = len(circuit.fluents)
        legal = [literal for outputs in circuit.legal for literal in outputs.literals.tolist()]
        roots = [circuit.terminal, *legal, *circuit.next.tolist()]
        solver = self._solver = Solver(circuit, roots, work)
        with solver.add() as add:
            assume_legal_moves(circuit, solver, add)
            for guess in self._known:
                add.forbid([wrong(guess, [solver.literal(x) for x in guess.literals], add)])
            self._now = [solver.literal(2 * (1 + f)) for f in range(num)]
            self._next = [solver.literal(int(literal)) for literal in circuit.next]
            pairs = list(zip(self._now, self._next, strict=True))
            self._appears = [add.all_of([-now, later]) for now, later in pairs]
            self._vanishes = [add.all_of([now, -later]) for now, later in pairs]

    def bound(self) -> int | None:
        """The largest number of turns of a match."""
        still: list[int] = []  # assumed: none of the fluents of the ranks so far changes
        left = list(range(len(self._now)))
        product = 1
        for rank in range(MOST_RANKS):
            one_way = self._one_way(left, still)
            if not one_way:
                return None
            signs = [sign for fluent, _ in one_way for sign in self._unchanged(fluent)]
            ends = self._never([*still, *signs])
            if ends:
                one_way = self._needed(one_way, still)
            product *= 1 + self._changes(one_way, from_start=rank == 0)
            if ends:
                return product - 1
            still += signs
            gone = {fluent for fluent, _ in one_way}
            left = [fluent for fluent in left if fluent not in gone]
        return None

    def _unchanged(self, fluent: int) -> list[int]:
        return [-self._appears[fluent], -self._vanishes[fluent]]

    def _one_way(self, fluents: Sequence[int], still: Sequence[int]) -> list[tuple[int, bool]]:
        """Fluents that change in one direction only, and whether they appear."""
        found = []
        for fluent in fluents:
            appears = not self._never([*still, self._appears[fluent]])
            vanishes = not self._never([*still, self._vanishes[fluent]])
            if appears != vanishes:
                found.append((fluent, appears))
        return found

    def _needed(
        self, one_way: list[tuple[int, bool]], still: Sequence[int]
    ) -> list[tuple[int, bool]]:
        """The fluents without which some turn would change nothing; others change along with
        them."""
        kept = list(one_way)
        for each in reversed(one_way):
            fewer = [other for other in kept if other != each]
            signs = [sign for fluent, _ in fewer for sign in self._unchanged(fluent)]
            if fewer and self._never([*still, *signs]):
                kept = fewer
        return kept

    def _never(self, signs: Sequence[int]) -> bool:
        """Whether signs provably never hold together."""
        limit = SearchLimit(CONFLICTS, self._work.most)
        return self._solver.find(signs, lambda example: None, limit) is False

    def _changes(self, one_way: Sequence[tuple[int, bool]], *, from_start: bool) -> int:
        """Most fluents of `one_way` that can have changed in the end, or without a change of
        earlier ones."""
        from scipy.optimize import linprog

        num = len(self._now)
        weights = np.zeros(num)
        unchanged = 0.0
        for fluent, appears in one_way:
            weights[fluent] = 1 if appears else -1
            held = bool(self._circuit.initial[fluent]) if from_start else not appears
            unchanged += weights[fluent] * held
        rows, most = [], []
        for guess in self._known:
            row, bound = np.zeros(num), 1.0
            for literal in guess.literals:
                row[(literal >> 1) - 1] += -1 if literal & 1 else 1
                bound -= literal & 1
            # Two of them never hold together; or, if `least` is 0 or 1, one always or never holds.
            if guess.too_many == 0:
                row, bound = -row, bound - 2
            elif guess.too_many == 1:
                bound -= 1
            rows.append(row)
            most.append(bound)
        found = linprog(
            -weights,
            A_ub=np.array(rows).reshape(len(rows), num),
            b_ub=np.array(most),
            bounds=(0, 1),
        )
        if not found.success:
            return len(one_way)
        return min(len(one_way), int(np.floor(-found.fun - unchanged + 1e-6)))


def _invariants(circuit: Circuit, work: Work) -> list[Guess]:
    """Sets of signs that provably never hold together in any reachable state."""
    values = sample(circuit, num_words=_WORDS, num_steps=_STEPS, seed=1)
    guesses = exclusive_fluents(circuit, values) + _never_together(circuit, values)
    guesses = [guess for guess in strongest(guesses) if len(guess.literals) > 1]
    usable = [g for g in guesses if not {x >> 1 for x in g.literals} & {FALSE >> 1, TRUE >> 1}]
    return prove(circuit, usable, work, work.until(0.5))


def _never_together(circuit: Circuit, values: Words) -> list[Guess]:
    """Pairs of literals of fluents in one gate that never held together in random matches."""
    num_fluents = len(circuit.fluents)
    pairs: dict[tuple[int, int], None] = {}
    for gate in gates_of(circuit):
        inputs = [literal for literal in gate if literal >> 1 <= num_fluents]
        if 1 < len(inputs) <= _MOST_PAIRED:
            pairs.update(dict.fromkeys(combinations(inputs, 2)))
    guesses: dict[Guess, None] = {}
    for one, other in pairs:
        for literals in ((one, other), (one, other ^ 1), (one ^ 1, other)):
            held, also = (_held(values, literal) for literal in literals)
            # Literals that are constant by themselves are guessed elsewhere.
            if not (held & also).any() and held.any() and also.any():
                guesses[Guess(2, literals)] = None
    return list(guesses)[:_MOST_PAIRS]


def _held(values: Words, literal: int) -> Words:
    """Words of the lanes in which a literal of a fluent held."""
    row: Words = values[(literal >> 1) - 1]
    return ~row if literal & 1 else row


# ------------------------------------------------------------------------
# Facts that hold in all matches of a game, found by visiting all its states.
#
# Arrays of fixed shapes, and OpenSpiel, need facts about a game that a rulesheet does not state:
# how long a match may be, whether the players' goals have a constant sum, whether two roles ever
# choose in the same turn. If the game has few enough states, all of them are visited, layer by
# layer; equal states of a layer are merged. So the results are certain. Nothing is claimed about
# larger games.

MOST_STATES = 100_000
"""Most states that are visited by default: a second or two."""

JOINT_MOVES_PER_STATE = 64
"""A turn may have this many times more joint moves to follow than states may be visited."""

SAME = 1e-9
"""Goal values, or sums of them, that are this close are equal."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts that hold in every match of a game of P players.

    Attributes:
        goals: `[K, P]` the distinct goal values of the players at ends of the game.
        simultaneous: whether two players ever have a choice in the same turn.
        most_decisions: choices of all players together in the longest match, not counting forced
            moves.
        most_chances: the same for `random`.
        most_turns: joint moves of the longest match.
        most_percepts: most percepts of a player in one turn.
    """

    goals: FloatArray
    simultaneous: bool
    most_decisions: int
    most_chances: int
    most_turns: int
    most_percepts: int

    @property
    def sum_of_goals(self) -> float | None:
        """The sum of all players' goal values if it is the same wherever the game ends."""
        sums = self.goals.sum(axis=1)
        return float(sums[0]) if len(sums) and np.ptp(sums) <= SAME * max(1.0, sums[0]) else None

    @property
    def is_common(self) -> bool:
        """Whether all players always have the same goal value."""
        return bool((np.ptp(self.goals, axis=1) <= SAME).all())


def survey(
    machine: Machine, most_states: int = MOST_STATES, stop: Callable[[], bool] = never
) -> Survey | None:
    """Visit all states of a game; None if there are more than `most_states`, or it may not end.

    When `stop` is true, which is asked before each batch of lanes, the result is None, too.

    Equal states of different turns are counted for each of them.

    Raises:
        NoLegalMoveError, ReasonerLimitError, GoalError: as the machine does.
    """
    players, random = player_roles(machine), machine.random_role
    ends = _Ends(machine)
    most_joint = JOINT_MOVES_PER_STATE * most_states
    percepts: set[int] = set()
    simultaneous, visited = False, 0
    states, decisions, chances = machine.initial(1), *np.zeros((2, 1), dtype=np.int64)
    for turn in range(DEFAULT_MAX_STEPS):
        visited += len(states)
        if visited > most_states:
            return None
        over = machine.terminal(states)
        ended, going = np.flatnonzero(over), np.flatnonzero(~over)
        if len(ended):
            ends.note(states.take(ended), decisions[ended], chances[ended])
        states, decisions, chances = states.take(going), decisions[going], chances[going]
        if not len(states):
            most = max((len(machine.percept_texts(each)) for each in percepts), default=0)
            return ends.survey(simultaneous, turn, most)
        moves = JointMoves.of(machine, states, allow_stuck=False)
        if random is not None:
            moves = moves.only(random, moves.probabilities > 0)
        if moves.number > most_joint:
            return None
        chosen = (moves.counts[:, players] > 1).sum(axis=1)
        simultaneous |= bool((chosen > 1).any())
        decisions = decisions + chosen
        if random is not None:
            chances = chances + (moves.counts[:, random] > 1)
        successors = StateMerger(machine, states, (np.maximum, np.maximum))
        for start, end in moves.batches(LANES_AT_ONCE):
            if stop() or successors.size > most_joint:
                return None
            lanes, joint = moves.some(start, end)
            stepped = machine.step(states.take(lanes), joint)
            percepts.update(np.unique(stepped.percepts[:, players]).tolist())
            successors.add(stepped.states, decisions[lanes], chances[lanes])
        if stop() or successors.size > most_states:
            return None
        states, (decisions, chances), *_ = successors.merged()
    return None


class _Ends:
    """The ends of a game that were found so far."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._players = machine, player_roles(machine)
        self._goals: list[FloatArray] = []
        self._decisions = self._chances = 0

    def note(self, states: States, decisions: IntArray, chances: IntArray) -> None:
        """Take note of distinct ends, with the most choices on a way to each."""
        goals = self._machine.goals(states)[:, self._players]
        self._goals.append(np.unique(goals, axis=0))
        self._decisions = max(self._decisions, int(decisions.max()))
        self._chances = max(self._chances, int(chances.max()))

    def survey(self, simultaneous: bool, most_turns: int, most_percepts: int) -> Survey:
        goals = np.unique(np.concatenate(self._goals), axis=0)
        return Survey(
            goals, simultaneous, self._decisions, self._chances, most_turns, most_percepts
        )
