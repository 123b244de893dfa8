"""The machine of the relational backend, for rules that cannot be ground into a circuit.

A state is an array of the fluents that hold. Kernels (`play_kernels`) evaluate the rules to answer
a question about all states of a batch, or play them out, in one call. `RelationalGame` compiles the
rules; machines of the same game can share it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from threading import RLock

import numpy as np

from ggp.errors import GDLError, MachineError, NoLegalMoveError, ReasonerLimitError
from ggp.gdl import parse_term
from ggp.gdl.analysis.growth import growth_message, terms_grow
from ggp.gdl.analysis.told_moves import PLAIN, move_percept
from ggp.gdl.program import INIT, LEGAL, NEXT, RANDOM, SEES, TERMINAL, Program, value_order
from ggp.gdl.terms import Symbol, Term, variables
from ggp.machine.arrays import first_seen
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    BoolArray,
    Chance,
    FloatArray,
    IntArray,
    Limits,
    Playouts,
    Ragged,
    ShownStates,
    States,
    Stepped,
    even_chance,
)
from ggp.machine.compiling.jit import load_at_once
from ggp.machine.goal_values import GoalValues
from ggp.machine.percepts import JointPercepts, PerceptTable, PossibleMoves, RevealedMoves
from ggp.machine.relational.compile import CallPattern
from ggp.machine.relational.play_kernels import (
    GOAL_ROOT,
    IS_LEGAL_ROOT,
    LEGAL_ROOT,
    TERMINAL_ROOT,
    KernelQuestions,
    State,
)
from ggp.machine.relational.records import ENOUGH, FULL_TERMS, I32, NAMES, name_term
from ggp.machine.relational.room import UNBOUNDED, GameMemory
from ggp.machine.relational.rules import RANKED, RelationRules, TermTable
from ggp.machine.relational.tuning import Tuner, evaluate
from ggp.machine.threads import made_once
from ggp.run.clocks import TellsTime


class RelationalStates(ShownStates):
    """A batch of states, each an array of fluents."""

    __slots__ = ("game", "lanes")

    def __init__(self, game: RelationalGame, lanes: Sequence[State]) -> None:
        self.game, self.lanes = game, lanes

    def __len__(self) -> int:
        return len(self.lanes)

    def first_fluents(self) -> list[str]:
        return sorted(str(self.game.terms.term(name)) for name in self.lanes[0].tolist())

    def take(self, lanes: IntArray) -> RelationalStates:
        """The lanes with these indices, in this order, repeats allowed."""
        return RelationalStates(self.game, [self.lanes[i] for i in lanes.tolist()])


class RelationalMachine:
    """A `Machine` that interprets rules; several threads may use it, one at a time.

    Args:
        program: normalised rules.
        limits: bounds on each question about a state, and on memory.
        game: the compiled rules, if there are any; its machines share their states.
        meanwhile: called repeatedly while the rules are compiled; an exception ends that.

    Attributes:
        growing: held while kernels run.
        threads: see `Forkable`.

    Raises:
        ReasonerLimitError: the rules have no initial state within the limits.
        UnsupportedRulesError: the rules cannot be compiled.
    """

    backend = "relational"
    goal_range = (0.0, 100.0)

    def __init__(
        self,
        program: Program,
        limits: Limits | None = None,
        game: RelationalGame | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self.roles = program.roles
        self.random_role = program.roles.index(RANDOM) if RANDOM in program.roles else None
        self.states_visited = 0
        self._program = program
        limits = limits or Limits()
        self.threads = limits.threads
        try:
            game = game or RelationalGame(program, limits, meanwhile)
        except ReasonerLimitError as error:
            raise error.because(self._growth) from None
        self._game: RelationalGame | None = game
        self.growing = game.lock
        self._texts: dict[int, str] = {}
        self._ids: dict[str, int | None] = {}
        self._percepts = PerceptTable(lambda text: self.move_id(text) is not None, self.growing)
        self._percepts_of: dict[bytes, int] = {}
        self._joint_percepts = JointPercepts(program)
        self._revealed = RevealedMoves(move_percept(program), self.growing)
        self._possible = PossibleMoves(program, self.growing)
        self._goal_values = GoalValues(self.roles, self.random_role)

    @property
    def game(self) -> RelationalGame:
        """The compiled game.

        Raises:
            MachineError: the machine is closed.
        """
        if self._game is None:
            raise MachineError("this machine is closed")
        return self._game

    # ---------------------------------------------------------------- batches

    def initial(self, num_lanes: int = 1) -> RelationalStates:
        game = self.game
        return RelationalStates(game, [game.initial] * num_lanes)

    def concatenate(self, batches: Sequence[States]) -> RelationalStates:
        lanes = [state for batch in batches for state in self._lanes(batch)]
        return RelationalStates(self.game, lanes)

    def groups(self, states: States) -> IntArray:
        numbers: dict[bytes, int] = {}
        group = [numbers.setdefault(x.tobytes(), len(numbers)) for x in self._lanes(states)]
        return np.array(group, dtype=np.int64)

    # ---------------------------------------------------------------- semantics

    def terminal(self, states: States) -> BoolArray:
        offsets, _ = self._answers(states, TERMINAL_ROOT, "terminal")
        return np.diff(offsets) > 0

    def goals(self, states: States) -> FloatArray:
        return self._goal_values.settled(self.goal_texts(states))

    def goal_texts(self, states: States) -> list[tuple[tuple[str, ...], ...]]:
        """See `GoalTexts`."""
        columns = []
        for role in range(len(self.roles)):
            offsets, answers = self._answers(states, GOAL_ROOT, "goal", role)
            columns.append([self._goal_order(x) for x in _lists_of(offsets, answers)])
        return list(zip(*columns, strict=True))

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        doing = f"legal moves of {self.roles[role]}"
        offsets, moves = self._answers(states, LEGAL_ROOT, doing, role)
        if not allow_stuck:
            self._check_not_stuck(states, np.diff(offsets), role)
        return Ragged(offsets, moves.astype(np.int64))

    def some_legal(self, states: States, role: int, most: int) -> IntArray:
        doing = f"some legal moves of {self.roles[role]}"
        with self.growing:
            counts = self.game.room.memory.counts
            counts[ENOUGH] = most
            try:
                moves = self._answers(states, LEGAL_ROOT, doing, role)[1]
            finally:
                counts[ENOUGH] = UNBOUNDED
        return moves[:most].astype(np.int64)

    def is_legal(self, states: States, role: int, move: int) -> bool:
        self._check_moves(np.array([move]))
        doing = f"whether {self.roles[role]} may play a move"
        return bool(len(self._answers(states, IS_LEGAL_ROOT, doing, role, move)[1]))

    def chance(self, states: States) -> Chance:
        return even_chance(self, states)

    def step(self, states: States, joint_moves: IntArray) -> Stepped:
        lanes = self._lanes(states)
        self.states_visited += len(lanes)
        joint = np.asarray(joint_moves, dtype=np.int64).reshape(len(lanes), len(self.roles))
        self._check_moves(joint)
        sees = self._program.is_gdl2
        with self._at_work() as game:
            offsets, names = game.questions.steps(lanes, joint.astype(np.int32), sees)
        lists = _lists_of(offsets, names)
        parts = 1 + sees * len(self.roles)
        successors = RelationalStates(self.game, lists[::parts])
        if not sees:
            return Stepped(successors, self._joint_percepts.of(self, joint))
        ids = [self._percept_set(x) for i, x in enumerate(lists) if i % parts]
        percepts = np.array(ids, dtype=np.int64).reshape(len(lanes), len(self.roles))
        return Stepped(successors, percepts)

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        lanes = self._lanes(states)
        until_s = np.inf if max_seconds is None else clock() + max_seconds
        seeds = rng.integers(1, 1 << 62, len(lanes))
        with self._at_work() as game:
            match, offsets, answers = game.questions.playouts(
                lanes, seeds, max_steps, lambda: clock() >= until_s
            )
        self.states_visited += int(match.steps.sum())
        goals = np.zeros((len(lanes), len(self.roles)))
        finished = match.ended == 1
        settled: dict[bytes, FloatArray] = {}
        for lane in np.flatnonzero(finished).tolist():
            lane_answers = answers[offsets[lane] : offsets[lane + 1]]
            key = lane_answers.tobytes()
            if key not in settled:
                settled[key] = self._settled(lane_answers)
            goals[lane] = settled[key]
        return Playouts(goals, match.steps, finished)

    # ---------------------------------------------------------------- terms

    def move_id(self, move: str) -> int | None:
        if move not in self._ids:
            term = self._parsed(move)
            self._ids[move] = None if term is None else self._name(term)
        return self._ids[move]

    def move_text(self, move: int) -> str:
        self._check_moves(np.array([move]))
        return self._text(int(move))

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        texts = []
        for percept in percepts:
            name = self.move_id(percept)
            if name is None:
                return None
            texts.append(self._text(name))
        return self._percepts.find(texts)

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        return self._percepts.texts(int(percept))

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        return self._revealed.of(self, percepts)

    def may_cause(self, moves: IntArray, mover: int, percepts: int, role: int) -> BoolArray | None:
        """See `InfersMoves`."""
        return self._possible.of(self, moves, mover, percepts, role)

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        return [tuple(sorted(map(self._text, x.tolist()))) for x in self._lanes(states)]

    def written(self, states: States) -> list[tuple[str, ...]]:
        """See `StateWriter`."""
        return self.fluents(states)

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> RelationalStates:
        """See `StateWriter`."""
        with self._at_work() as game:
            lanes = [game.state_of([self._fluent(text) for text in fluents]) for fluents in texts]
            return RelationalStates(game, lanes)

    def warm_up(self) -> None:
        """Load or compile all kernels, so that no later call waits for them."""
        load_at_once()
        first_seen(np.zeros((1, 1), dtype=np.int64))
        with self._at_work() as game:
            # Compiling the game has called all other kernels.
            game.room.grow(FULL_TERMS, "warming up")

    def use_one_thread(self) -> None:
        """See `Forkable`."""
        self.threads = 1

    def close(self) -> None:
        self._game = None

    # ---------------------------------------------------------------- private

    def _lanes(self, states: States) -> Sequence[State]:
        if not isinstance(states, RelationalStates) or states.game is not self.game:
            raise MachineError("these states belong to another machine")
        return states.lanes

    def _answers(
        self, states: States, root: int, doing: str, role: int = -1, move: int = -1
    ) -> tuple[IntArray, I32]:
        lanes = self._lanes(states)
        with self._at_work() as game:
            return game.questions.answers(lanes, root, doing, role, move)

    @contextmanager
    def _at_work(self) -> Iterator[RelationalGame]:
        """The game, locked for this thread; adds the message about growing terms to errors."""
        game = self.game
        try:
            with self.growing:
                yield game
        except ReasonerLimitError as error:
            raise error.because(self._growth) from None

    @made_once
    def _growth(self) -> str:
        return growth_message(self._program)

    def _check_moves(self, moves: IntArray) -> None:
        num_names = self.game.room.memory.terms.counters[NAMES]
        if moves.size and not (moves.min() >= 0 and moves.max() < num_names):
            raise MachineError(f"there is no move number {moves.min()} or {moves.max()}")

    def _parsed(self, text: str) -> Term | None:
        try:
            term = parse_term(text)
        except GDLError:
            return None
        return None if any(True for _ in variables(term)) else term

    def _name(self, term: Term) -> int | None:
        try:
            with self._at_work() as game:
                return game.terms.name(term)
        except (KeyError, ReasonerLimitError):
            return None

    def _text(self, name: int) -> str:
        if name not in self._texts:
            with self.growing:
                self._texts[name] = str(self.game.terms.term(name))
        return self._texts[name]

    def _fluent(self, text: str) -> int:
        name = self.move_id(text)
        if name is None:
            raise MachineError(f"{text} can never hold by these rules")
        return name

    def _percept_set(self, names: I32) -> int:
        key = names.tobytes()
        if key not in self._percepts_of:
            texts = tuple(sorted(map(self._text, names.tolist())))
            self._percepts_of[key] = self._percepts.number(texts)
        return self._percepts_of[key]

    def _goal_order(self, answers: I32) -> tuple[str, ...]:
        """The goal values from pairs of rank and value; the first one counts."""
        pairs = [(int(self._text(a)), self._text(b)) for a, b in answers.reshape(-1, 2).tolist()]
        pairs.sort(key=lambda pair: (pair[0], value_order(pair[1])))
        return tuple(value for _, value in pairs)

    def _settled(self, answers: I32) -> FloatArray:
        """`[R]` goal values at the end of a playout, see `play_kernels`."""
        values, at = [], 0
        for role in range(len(self.roles)):
            num = int(answers[at])
            texts = self._goal_order(answers[at + 1 : at + 1 + num])
            values.append(self._goal_values.settle_playout(role, texts))
            at += 1 + num
        return np.array(values)

    def _check_not_stuck(self, states: States, counts: IntArray, role: int) -> None:
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            lanes = states.take(empty)
            stuck = np.flatnonzero(~self.terminal(lanes))
            if len(stuck):
                state = self.fluents(lanes.take(stuck[:1]))[0]
                raise NoLegalMoveError(self.roles[role], state)


def _lists_of(offsets: IntArray, values: I32) -> list[I32]:
    """The consecutive parts of an array."""
    bounds = offsets.tolist()
    return [values[start:end] for start, end in pairwise(bounds)]


# ------------------------------------------------------------------------
# A compiled game: everything that kernels need to answer questions about its states.

MAX_UNCHECKED_DEPTH = 4
"""If functions cannot nest deeper than this, the size of terms is not checked in play."""

_ROOTS = [
    CallPattern(TERMINAL, ""),
    CallPattern(LEGAL, "kf"),
    CallPattern(NEXT, "f"),
    CallPattern(RANKED, "fkf"),
    CallPattern(SEES, "kf"),
    CallPattern(LEGAL, "kk"),
]
"""The patterns of root procedures, in the order of `play_kernels.TERMINAL_ROOT`."""


class RelationalGame:
    """A compiled game.

    Args:
        program: normalised rules.
        limits: bounds on steps, bytes, and sizes of terms.
        meanwhile: called repeatedly while the game is compiled; an exception ends that.

    Attributes:
        terms: the terms by number.
        room: the memory of kernels.
        questions: calls kernels with batches of states.
        initial: the initial state.
        lock: held while kernels run.

    Raises:
        ReasonerLimitError: there is no initial state within the limits.
        UnsupportedRulesError: the rules cannot be compiled.
    """

    def __init__(
        self, program: Program, limits: Limits, meanwhile: Callable[[], None] | None = None
    ) -> None:
        self.lock = RLock()
        grows = terms_grow(program.rules, MAX_UNCHECKED_DEPTH)
        self.room = GameMemory(limits, grows=grows)
        afterwards = self.room.meanwhile
        self.room.meanwhile = meanwhile or afterwards
        self.terms = TermTable(self.room)
        roles = [self.terms.number(Symbol(role)) for role in program.roles]
        self.questions = KernelQuestions(self.room, np.array(roles, dtype=np.int32))
        # A machine of this game may show all roles the joint move.
        self.terms.function((PLAIN, 2))
        rules = RelationRules(program, self.terms)
        evaluate(rules, self.terms, self.room)
        self.terms.freeze()
        self.initial = self._state(rules.facts[INIT][:, 0])
        rules.answer_roots()
        tuner = Tuner(rules, self.terms, self.room, self.questions, _ROOTS, self.initial)
        tuner.tune()
        self.room.meanwhile = afterwards

    def _state(self, fluents: State) -> State:
        """The state with these terms as fluents."""
        return self.state_of([name_term(self.room.memory.terms, int(term)) for term in fluents])

    def state_of(self, names: list[int]) -> State:
        """The state with the fluents of these names."""
        terms = self.room.memory.terms
        state = np.unique(np.array(names, dtype=np.int32))
        return state[np.argsort(terms.keys[terms.by_name[state]], kind="stable")]
