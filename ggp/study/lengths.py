"""Proves bounds on the number of turns of a match from a game's machine.

Environments for learners take the bounds (`longest`); games for OpenSpiel take these and other
facts about all matches (`survey`). There are three methods, the most precise first: visit all
states, if they are few; use the game's own count of turns; and prove that every turn makes
progress. A proof does not depend on the clock, but may take more time than there is.
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
from ggp.machine.propnet.optimise.work import Work

FEW_STATES = 20_000
"""Greatest number of states for the exact method: tenths of a second."""


class Longest(NamedTuple):
    """Bounds that no match exceeds.

    Attributes:
        turns: greatest number of turns; None if nothing was proved.
        percepts: greatest number of percepts of a player in one turn; None if nothing was proved.
    """

    turns: int | None
    percepts: int | None


def longest(machine: Machine, stop: Callable[[], bool] = never) -> Longest:
    """The bounds of a game; unknown without a circuit, or if `stop` returns true.

    >>> from ggp.machine.games import build_machine, load_program
    >>> longest(build_machine(load_program("tic_tac_toe"), "propnet"))
    Longest(turns=9, percepts=2)

    Args:
        stop: called every few thousand states.
    """
    if _circuit_of(machine) is None:
        return Longest(None, None)
    try:
        facts = survey(machine, FEW_STATES, stop)
    except GGPError:  # a role without a move, or an invalid goal, in some state
        facts = None
    if facts is not None:
        return Longest(facts.most_turns, facts.most_percepts)
    return Longest(None if stop() else proved_turns(machine), None)


def proved_turns(machine: Machine) -> int | None:
    """A bound on the turns of a match without visiting all states; None without a proof."""
    if (circuit := _circuit_of(machine)) is None:
        return None
    bounds = [_by_counting(circuit), most_turns(circuit)]
    return min((bound for bound in bounds if bound is not None), default=None)


def _circuit_of(machine: Machine) -> Circuit | None:
    """The circuit of a machine, for proofs; None if it has none."""
    return machine.circuit if on_circuit(machine) else None


def _by_counting(circuit: Circuit) -> int | None:
    """The bound by three-valued simulation from the initial state, or None.

    Each turn a fluent is true, false or unknown, whatever moves are made (abstract interpretation).
    The match is over at the latest when `terminal` is true. A repeated assignment ends the search.
    """
    if circuit.loops:
        return None
    truth = np.stack([~circuit.initial, circuit.initial]).astype(np.bool_)
    seen = set()
    for turn in range(DEFAULT_MAX_STEPS):
        key = truth.tobytes()
        if key in seen:
            return None
        seen.add(key)
        next_truth = following(circuit, truth)
        if next_truth is None:
            return turn
        truth = next_truth
    return None


# ------------------------------------------------------------------------
# Proofs that matches end: every turn makes progress of which only a limited amount exists.
#
# Some fluents can only appear, or only vanish. If every turn changes one of these, a match has at
# most as many turns as there are such fluents. In phantom connect four discs stay, and a refused
# drop leaves a mark: each turn does one or the other.
#
# In other games a turn may change none of them. Then we look for fluents that change in one
# direction *while no fluent of the first kind changes*, and so on: a lexicographic ranking
# function, as in proofs of termination. With n1, n2, ... fluents of each rank, a match has at most
# (n1 + 1) (n2 + 1) ... - 1 turns.
#
# A SAT solver (clingo's) decides which fluents change in one direction only, and that some fluent
# changes each turn, in all states that satisfy some invariants. These are proved by induction
# first. A linear program bounds the number of changes of a rank: fluents that exclude each other
# change only once together.

MAX_GATES = 2_000
"""Greatest number of gates of a circuit for proofs."""

WORK = 40_000_000
"""Greatest number of steps of a proof, see `Work`."""

CONFLICTS = 20_000
"""Greatest number of solver conflicts for one question."""

MAX_RANKS = 4

_MAX_PAIRED, _MAX_PAIRS = 6, 2_000
"""Greatest number of fluents in a gate for guesses that pairs exclude each other; of guesses."""

_WORDS, _STEPS = 8, 60
"""Random matches for guessing invariants: words of 64 lanes, and turns."""


def most_turns(circuit: Circuit) -> int | None:
    """A bound on the turns of a match by a proof of progress, or None. No clock matters."""
    if circuit.num_gates > MAX_GATES or circuit.loops:
        return None
    return _Proof(circuit, Work(WORK)).bound()


class _Proof:
    """A circuit, its invariants, and a solver for questions about one turn."""

    def __init__(self, circuit: Circuit, work: Work) -> None:
        self._circuit, self._work = circuit, work
        self._invariants = _invariants(circuit, work)
        num = len(circuit.fluents)
        legal = [literal for outputs in circuit.legal for literal in outputs.literals.tolist()]
        roots = [circuit.terminal, *legal, *circuit.next.tolist()]
        solver = self._solver = Solver(circuit, roots, work)
        with solver.add() as add:
            assume_legal_moves(circuit, solver, add)
            for guess in self._invariants:
                add.forbid([wrong(guess, [solver.literal(x) for x in guess.literals], add)])
            self._now = [solver.literal(2 * (1 + f)) for f in range(num)]
            self._next = [solver.literal(int(literal)) for literal in circuit.next]
            pairs = list(zip(self._now, self._next, strict=True))
            self._appears = [add.all_of([-current, later]) for current, later in pairs]
            self._vanishes = [add.all_of([current, -later]) for current, later in pairs]

    def bound(self) -> int | None:
        """An upper bound of the turns of a match; None without a proof."""
        still: list[int] = []  # assumed: none of the fluents of the ranks so far changes
        fluents = list(range(len(self._now)))
        product = 1
        for rank in range(MAX_RANKS):
            one_way = self._one_way(fluents, still)
            if not one_way:
                return None
            literals = [sign for fluent, _ in one_way for sign in self._unchanged(fluent)]
            ends = self._never([*still, *literals])
            if ends:
                one_way = self._reduce(one_way, still)
            product *= 1 + self._changes(one_way, from_start=rank == 0)
            if ends:
                return product - 1
            still += literals
            ranked = {fluent for fluent, _ in one_way}
            fluents = [fluent for fluent in fluents if fluent not in ranked]
        return None

    def _unchanged(self, fluent: int) -> list[int]:
        return [-self._appears[fluent], -self._vanishes[fluent]]

    def _one_way(self, fluents: Sequence[int], still: Sequence[int]) -> list[tuple[int, bool]]:
        """Fluents that only appear (True) or only vanish (False), under assumptions."""
        one_way = []
        for fluent in fluents:
            appears = not self._never([*still, self._appears[fluent]])
            vanishes = not self._never([*still, self._vanishes[fluent]])
            if appears != vanishes:
                one_way.append((fluent, appears))
        return one_way

    def _reduce(
        self, one_way: list[tuple[int, bool]], still: Sequence[int]
    ) -> list[tuple[int, bool]]:
        """A smaller set of the fluents, if possible, of which every turn still changes one."""
        reduced = list(one_way)
        for candidate in reversed(one_way):
            fewer = [change for change in reduced if change != candidate]
            literals = [sign for fluent, _ in fewer for sign in self._unchanged(fluent)]
            if fewer and self._never([*still, *literals]):
                reduced = fewer
        return reduced

    def _never(self, literals: Sequence[int]) -> bool:
        """Whether literals provably never hold together."""
        limit = SearchLimit(CONFLICTS, self._work.most)
        return self._solver.find(literals, lambda example: None, limit) is False

    def _changes(self, one_way: Sequence[tuple[int, bool]], *, from_start: bool) -> int:
        """Greatest number of fluents of `one_way` that can change, by a linear program.

        From the start of a match for the first rank, else between two changes of earlier ranks.
        """
        from scipy.optimize import linprog

        num = len(self._now)
        weights = np.zeros(num)
        unchanged = 0.0
        for fluent, appears in one_way:
            weights[fluent] = 1 if appears else -1
            holds = bool(self._circuit.initial[fluent]) if from_start else not appears
            unchanged += weights[fluent] * holds
        rows, upper_bounds = [], []
        for guess in self._invariants:
            row, bound = np.zeros(num), 1.0
            for literal in guess.literals:
                row[(literal >> 1) - 1] += -1 if literal & 1 else 1
                bound -= literal & 1
            # At most one literal holds; or, if `least` is 0 or 1, one always or never holds.
            if guess.too_many == 0:
                row, bound = -row, bound - 2
            elif guess.too_many == 1:
                bound -= 1
            rows.append(row)
            upper_bounds.append(bound)
        optimum = linprog(
            -weights,
            A_ub=np.array(rows).reshape(len(rows), num),
            b_ub=np.array(upper_bounds),
            bounds=(0, 1),
        )
        if not optimum.success:
            return len(one_way)
        return min(len(one_way), int(np.floor(-optimum.fun - unchanged + 1e-6)))


def _invariants(circuit: Circuit, work: Work) -> list[Guess]:
    """Sets of literals that provably never hold together in any reachable state."""
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
        if 1 < len(inputs) <= _MAX_PAIRED:
            pairs.update(dict.fromkeys(combinations(inputs, 2)))
    guesses: dict[Guess, None] = {}
    for first, second in pairs:
        for literals in ((first, second), (first, second ^ 1), (first ^ 1, second)):
            holds, other_holds = (_where_true(values, literal) for literal in literals)
            # Other guesses cover constant literals.
            if not (holds & other_holds).any() and holds.any() and other_holds.any():
                guesses[Guess(2, literals)] = None
    return list(guesses)[:_MAX_PAIRS]


def _where_true(values: Words, literal: int) -> Words:
    """Words of the lanes in which a literal of a fluent held."""
    row: Words = values[(literal >> 1) - 1]
    return ~row if literal & 1 else row


# ------------------------------------------------------------------------
# Facts that hold in all matches of a game, from visiting all its states.
#
# Arrays of fixed shapes, and OpenSpiel, need facts that a rulesheet does not state: the greatest
# length of a match, whether the players' goals have a constant sum, whether two roles ever choose
# in the same turn. If there are few enough states, `survey` visits all, layer by layer, and merges
# equal states of a layer. So its results are certain. It claims nothing about larger games.

MAX_STATES = 100_000
"""Default limit of visited states: a second or two."""

JOINT_MOVES_PER_STATE = 64
"""Greatest number of joint moves of a turn, in multiples of the greatest number of states."""

SAME = 1e-9
"""Tolerance for equal goal values and sums."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts that hold in every match of a game of P players.

    Attributes:
        goals: `[K, P]` the distinct goal values of the players at the ends of the game.
        simultaneous: whether two players ever have a choice in the same turn.
        most_decisions: greatest number of choices of all players in a match, without forced moves.
        most_chances: the same for `random`.
        most_turns: joint moves of the longest match.
        most_percepts: greatest number of percepts of a player in one turn.
    """

    goals: FloatArray
    simultaneous: bool
    most_decisions: int
    most_chances: int
    most_turns: int
    most_percepts: int

    @property
    def sum_of_goals(self) -> float | None:
        """The sum of all players' goal values if it is the same at all ends of the game."""
        sums = self.goals.sum(axis=1)
        return float(sums[0]) if len(sums) and np.ptp(sums) <= SAME * max(1.0, sums[0]) else None

    @property
    def is_common(self) -> bool:
        """Whether all players always have the same goal value."""
        return bool((np.ptp(self.goals, axis=1) <= SAME).all())


def survey(
    machine: Machine, most_states: int = MAX_STATES, stop: Callable[[], bool] = never
) -> Survey | None:
    """Visit all states of a game; None if there are more than `most_states`, or it may not end.

    >>> from ggp.machine.games import build_machine, load_program
    >>> facts = survey(build_machine(load_program("kuhn_poker"), "prolog"))
    >>> facts.most_turns, facts.simultaneous, facts.sum_of_goals
    (4, False, 100.0)

    Args:
        most_states: limit, where a state counts once for each turn in which it occurs.
        stop: called before each batch of lanes; if it returns true, the result is None.

    Raises:
        NoLegalMoveError, ReasonerLimitError, GoalError: raised by the machine.
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
            most = max((len(machine.percept_texts(percept)) for percept in percepts), default=0)
            return ends.survey(simultaneous, turn, most)
        moves = JointMoves.of(machine, states, allow_stuck=False)
        if random is not None:
            moves = moves.only(random, moves.probabilities > 0)
        if moves.number > most_joint:
            return None
        num_choosing = (moves.counts[:, players] > 1).sum(axis=1)
        simultaneous |= bool((num_choosing > 1).any())
        decisions = decisions + num_choosing
        if random is not None:
            chances = chances + (moves.counts[:, random] > 1)
        successors = StateMerger(machine, states, (np.maximum, np.maximum))
        for start, end in moves.batches(LANES_AT_ONCE):
            if stop() or successors.size > most_joint:
                return None
            lanes, joint = moves.between(start, end)
            stepped = machine.step(states.take(lanes), joint)
            percepts.update(np.unique(stepped.percepts[:, players]).tolist())
            successors.add(stepped.states, decisions[lanes], chances[lanes])
        if stop() or successors.size > most_states:
            return None
        states, (decisions, chances), *_ = successors.merged()
    return None


class _Ends:
    """The ends of a game so far."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._players = machine, player_roles(machine)
        self._goals: list[FloatArray] = []
        self._decisions = self._chances = 0

    def note(self, states: States, decisions: IntArray, chances: IntArray) -> None:
        """Record distinct ends, with the greatest numbers of choices on a path to each."""
        goals = self._machine.goals(states)[:, self._players]
        self._goals.append(np.unique(goals, axis=0))
        self._decisions = max(self._decisions, int(decisions.max()))
        self._chances = max(self._chances, int(chances.max()))

    def survey(self, simultaneous: bool, most_turns: int, most_percepts: int) -> Survey:
        goals = np.unique(np.concatenate(self._goals), axis=0)
        return Survey(
            goals, simultaneous, self._decisions, self._chances, most_turns, most_percepts
        )
