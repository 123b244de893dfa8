"""The reference machine, which evaluates the rules with SWI-Prolog; other backends are tested
against it.

A state is the text of the sorted list of its fluents, as Prolog prints it. Every question about a
state includes that text, so Prolog holds nothing but the rules.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from threading import RLock
from typing import TypeVar

import numpy as np

from ggp.errors import GDLError, MachineError, NoLegalMoveError, ReasonerLimitError
from ggp.gdl import parse_term
from ggp.gdl.analysis.growth import growth_message
from ggp.gdl.analysis.told_moves import move_percept
from ggp.gdl.program import RANDOM, Program, value_order
from ggp.gdl.terms import variables
from ggp.machine.arrays import ragged
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
from ggp.machine.goal_values import GoalValues
from ggp.machine.percepts import JointPercepts, PerceptTable, PossibleMoves, RevealedMoves
from ggp.machine.prolog.compile import SymbolTable, compile_program
from ggp.machine.prolog.engine import engine
from ggp.machine.threads import made_once
from ggp.run.clocks import TellsTime

_T = TypeVar("_T")

CHUNK = 512
"""Number of lanes in one call of Prolog, which bounds its text and its time."""

PLAYOUTS_AT_ONCE = 64
"""Number of lanes that playouts advance between two looks at the clock."""

GoalTexts = tuple[tuple[str, ...], ...]
"""All goal values of each role; the first one counts."""

_NONE = np.zeros(0, dtype=np.int64)


class PrologState:
    """A state, with a cache of answers about it.

    Attributes:
        text: the sorted list of fluents, as Prolog text.
        terminal: whether it is terminal; None if not yet known.
        goals: the goal values of each role; None if not yet known.
        legal: move ids by role, if known.
    """

    __slots__ = ("goals", "legal", "terminal", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.terminal: bool | None = None
        self.goals: GoalTexts | None = None
        self.legal: dict[int, IntArray] = {}


class PrologStates(ShownStates):
    """A batch of states, with the symbols of their texts."""

    __slots__ = ("lanes", "symbols")

    def __init__(self, symbols: SymbolTable, lanes: Sequence[PrologState]) -> None:
        self.symbols, self.lanes = symbols, lanes

    def __len__(self) -> int:
        return len(self.lanes)

    def first_fluents(self) -> list[str]:
        return self.symbols.texts(self.lanes[0].text)

    def take(self, lanes: IntArray) -> PrologStates:
        """The lanes with these indices, in this order, repeats allowed."""
        return PrologStates(self.symbols, [self.lanes[i] for i in lanes.tolist()])


class PrologMachine:
    """A `Machine` on SWI-Prolog; several threads may use it, one at a time.

    Args:
        program: normalised rules.
        limits: bounds on each call into Prolog.

    Raises:
        BackendUnavailableError: SWI-Prolog is missing or too old.
        ReasonerLimitError: the rules cannot be compiled, or have no initial state, within
            the limits.
    """

    backend = "prolog"
    goal_range = (0.0, 100.0)

    def __init__(self, program: Program, limits: Limits | None = None) -> None:
        self.roles = program.roles
        self.random_role = program.roles.index(RANDOM) if RANDOM in program.roles else None
        self.states_visited = 0
        self._program = program
        self._limits = limits or Limits()
        self._engine = engine()
        self._module = self._engine.new_game_name()
        self._symbols = SymbolTable()
        compiled = compile_program(program, self._symbols, self._module)
        self._roles = [self._symbols.number(role) for role in self.roles]
        if not program.is_gdl2:
            self._symbols.number("did")
        self._symbols.freeze()
        self._growing = growing = RLock()
        self._moves: list[str] = []  # as Prolog text, by id
        self._move_ids: dict[str, int] = {}
        self._move_texts: dict[int, str] = {}
        self._percept_sets: dict[str, int] = {}  # by Prolog text
        self._percepts = PerceptTable(lambda text: self._encoded(text) is not None, growing)
        self._joint_percepts = JointPercepts(program)
        self._revealed = RevealedMoves(move_percept(program), growing)
        self._possible = PossibleMoves(program, growing)
        self._goal_values = GoalValues(self.roles, self.random_role)
        self._close = weakref.finalize(self, self._engine.drop, self._module)
        self._close.atexit = False
        self._call("compiling the rules", "new", *compiled)
        self._initial = PrologState(self._call("the initial state", "initial"))

    # ---------------------------------------------------------------- batches

    def initial(self, num_lanes: int = 1) -> PrologStates:
        return self._batch([self._initial] * num_lanes)

    def concatenate(self, batches: Sequence[States]) -> PrologStates:
        return self._batch([state for batch in batches for state in self._lanes(batch)])

    def groups(self, states: States) -> IntArray:
        numbers: dict[str, int] = {}
        group = [numbers.setdefault(state.text, len(numbers)) for state in self._lanes(states)]
        return np.array(group, dtype=np.int64)

    # ---------------------------------------------------------------- semantics

    def terminal(self, states: States) -> BoolArray:
        lanes = self._lanes(states)
        unknown = [state for state in lanes if state.terminal is None]
        for state, line in self._answers(unknown, "terminal", "terminals"):
            state.terminal = line == "1"
        return np.array([state.terminal for state in lanes], dtype=np.bool_)

    def goals(self, states: States) -> FloatArray:
        return self._goal_values.settled(self.goal_texts(states))

    def goal_texts(self, states: States) -> list[GoalTexts]:
        """See `GoalTexts` in `ggp.machine.abilities`."""
        lanes = self._lanes(states)
        unknown = [state for state in lanes if state.goals is None]
        for state, line in self._answers(unknown, "goal", "goals", self._roles):
            state.goals = tuple(self._goals_in(line))
        return [state.goals or () for state in lanes]

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        lanes, over = self._lanes(states), self.terminal(states)
        unknown = [state for state in lanes if not state.terminal and role not in state.legal]
        doing = f"legal moves of {self.roles[role]}"
        for state, line in self._answers(unknown, doing, "legals", self._roles[role]):
            state.legal[role] = self._ids(line)
        lists = [state.legal.get(role, _NONE) for state in lanes]
        if not allow_stuck:
            for lane, moves in enumerate(lists):
                if not len(moves) and not over[lane]:
                    raise NoLegalMoveError(self.roles[role], self._fluents(lanes[lane]))
        return ragged(lists)

    def some_legal(self, states: States, role: int, most: int) -> IntArray:
        doing = f"some legal moves of {self.roles[role]}"
        return self._ids(self._proved(states, doing, "some_legals", self._roles[role], most))

    def is_legal(self, states: States, role: int, move: int) -> bool:
        doing = f"whether {self.roles[role]} may play a move"
        text = self._move(move)
        return self._proved(states, doing, "is_legal", self._roles[role], text) == "1"

    def chance(self, states: States) -> Chance:
        return even_chance(self, states)

    def step(self, states: States, joint_moves: IntArray) -> Stepped:
        lanes = self._lanes(states)
        joint = np.asarray(joint_moves, dtype=np.int64).reshape(len(lanes), len(self.roles))
        sees = self._roles if self._program.is_gdl2 else []
        stepped = self._stepped(list(zip(lanes, map(tuple, joint.tolist()), strict=True)), sees)
        successors = self._batch([state for state, _ in stepped])
        if not sees:
            return Stepped(successors, self._joint_percepts.of(self, joint))
        ids = [[self._percept_set(line) for line in lines] for _, lines in stepped]
        return Stepped(successors, np.array(ids, dtype=np.int64).reshape(joint.shape))

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        until_s = np.inf if max_seconds is None else clock() + max_seconds
        lanes = list(self._lanes(states))
        steps = np.zeros(len(lanes), dtype=np.int64)
        finished = np.zeros(len(lanes), dtype=np.bool_)
        for chunk in _chunks(range(len(lanes)), PLAYOUTS_AT_ONCE):
            going = np.array(chunk)
            while len(going) and clock() < until_s:
                finished[going] = self.terminal(self._batch([lanes[lane] for lane in going]))
                going = going[~finished[going] & (steps[going] < max_steps)]
                batch = self._batch([lanes[lane] for lane in going])
                legal = [self.legal(batch, r, allow_stuck=True) for r in range(len(self.roles))]
                is_stuck = np.any([moves.counts == 0 for moves in legal], axis=0)
                joint = [
                    tuple(int(rng.choice(moves[i])) for moves in legal)
                    for i in np.flatnonzero(~is_stuck).tolist()
                ]
                going = going[~is_stuck]
                rows = [(lanes[lane], moves) for lane, moves in zip(going, joint, strict=True)]
                for lane, (state, _) in zip(going, self._stepped(rows, []), strict=True):
                    lanes[lane] = state
                steps[going] += 1
        goals = np.zeros((len(lanes), len(self.roles)))
        ends = self._batch([lanes[lane] for lane in np.flatnonzero(finished)])
        goals[finished] = self._goal_values.settled(self.goal_texts(ends), in_playout=True)
        return Playouts(goals, steps, finished)

    # ---------------------------------------------------------------- terms

    def move_id(self, move: str) -> int | None:
        encoded = self._encoded(move)
        return None if encoded is None else self._id(encoded)

    def move_text(self, move: int) -> str:
        if move not in self._move_texts:
            self._move_texts[move] = self._symbols.texts(self._move(move))[0]
        return self._move_texts[move]

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        encoded = [self._encoded(percept) for percept in percepts]
        if None in encoded:
            return None
        return self._percept_set(" ".join(map(str, encoded)))

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        return self._percepts.texts(int(percept))

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        return self._revealed.of(self, percepts)

    def may_cause(self, moves: IntArray, mover: int, percepts: int, role: int) -> BoolArray | None:
        """See `InfersMoves`."""
        return self._possible.of(self, moves, mover, percepts, role)

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        return [self._fluents(state) for state in self._lanes(states)]

    def written(self, states: States) -> list[tuple[str, ...]]:
        """See `StateWriter`."""
        return self.fluents(states)

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> PrologStates:
        """See `StateWriter`."""
        lists = ",".join(f"[{','.join(map(self._fluent, fluents))}]" for fluents in texts)
        lines = self._call("states", "states", f"[{lists}]").splitlines()
        return self._batch(list(map(PrologState, lines)))

    def close(self) -> None:
        self._close()

    # ---------------------------------------------------------------- private

    def _batch(self, lanes: Sequence[PrologState]) -> PrologStates:
        return PrologStates(self._symbols, lanes)

    def _lanes(self, states: States) -> Sequence[PrologState]:
        if not isinstance(states, PrologStates) or states.symbols is not self._symbols:
            raise MachineError("these states belong to another machine")
        return states.lanes

    def _call(self, doing: str, goal: str, *args: object) -> str:
        """The output of a goal of runtime.pl about this game."""
        if not self._close.alive:
            raise MachineError("this machine is closed")
        text = f"{goal}({','.join(map(str, (self._module, *args)))})"
        try:
            return self._engine.call(text, self._limits, doing)
        except ReasonerLimitError as error:
            raise error.because(self._growth) from None

    def _answers(
        self, lanes: Sequence[PrologState], doing: str, goal: str, *args: object
    ) -> Iterator[tuple[PrologState, str]]:
        """Yield each distinct state with the line that a goal prints about it."""
        for chunk in _chunks(dict.fromkeys(lanes)):
            listed = ",".join(f'"{state.text}"' for state in chunk)
            lines = self._call(doing, goal, *args, f"[{listed}]").split("\n")[:-1]
            yield from zip(chunk, lines, strict=True)

    def _proved(self, states: States, doing: str, goal: str, *args: object) -> str:
        """The line that a goal prints about one state; empty if it is terminal."""
        if self.terminal(states)[0]:
            return ""
        ((_, line),) = self._answers(self._lanes(states), doing, goal, *args)
        return line

    def _stepped(
        self, rows: Sequence[tuple[PrologState, tuple[int, ...]]], sees: list[int]
    ) -> list[tuple[PrologState, list[str]]]:
        """The successor for each state and joint move, and the percepts of the roles in `sees`."""
        self.states_visited += len(rows)
        stepped: dict[tuple[PrologState, tuple[int, ...]], tuple[PrologState, list[str]]] = {}
        successors: dict[str, PrologState] = {}
        for chunk in _chunks(dict.fromkeys(rows)):
            lanes = (
                f'lane("{state.text}",[{",".join(map(self._move, moves))}])'
                for state, moves in chunk
            )
            text = self._call("a step", "steps", self._roles, sees, f"[{','.join(lanes)}]")
            lines = iter(text.split("\n"))
            for row in chunk:
                line = next(lines)
                state = successors.setdefault(line, PrologState(line))
                stepped[row] = state, [next(lines) for _ in sees]
        return [stepped[row] for row in rows]

    @made_once
    def _growth(self) -> str:
        return growth_message(self._program)

    def _fluents(self, state: PrologState) -> tuple[str, ...]:
        return tuple(self._symbols.texts(state.text))

    def _encoded(self, text: str) -> str | None:
        """A term as Prolog text; None if the rules can never make it."""
        try:
            term = parse_term(text)
            return None if any(True for _ in variables(term)) else self._symbols.encode(term)
        except (KeyError, GDLError):
            return None

    def _fluent(self, text: str) -> str:
        encoded = self._encoded(text)
        if encoded is None:
            raise MachineError(f"{text} can never hold by these rules")
        return encoded

    def _id(self, move: str) -> int:
        """The id of a move given as Prolog text."""
        with self._growing:
            if move not in self._move_ids:
                self._moves.append(move)
                self._move_ids[move] = len(self._moves) - 1
            return self._move_ids[move]

    def _ids(self, line: str) -> IntArray:
        return np.array([self._id(move) for move in line.split()], dtype=np.int64)

    def _move(self, move: int) -> str:
        """A move as Prolog text."""
        if not 0 <= move < len(self._moves):
            raise MachineError(f"there is no move number {move}")
        return self._moves[move]

    def _percept_set(self, line: str) -> int:
        """The id of a set of percepts given as Prolog text."""
        if line not in self._percept_sets:
            texts = dict.fromkeys(self._symbols.texts(line))
            self._percept_sets[line] = self._percepts.number(tuple(texts))
        return self._percept_sets[line]

    def _goals_in(self, line: str) -> Iterator[tuple[str, ...]]:
        """Yield the goal values of each role in a line from Prolog; the first one counts."""
        for rules in line.split("-")[1:]:
            values = [sorted(self._symbols.texts(x), key=value_order) for x in rules.split("+")[1:]]
            yield tuple(chain.from_iterable(values))


def _chunks(items: Iterable[_T], size: int = CHUNK) -> Iterator[list[_T]]:
    """The items in lists of at most this size."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
