"""The reference machine: a game's rules run by SWI-Prolog.

States are interned in Prolog and known here by number; a batch is an array of these numbers.
Answers about a state are remembered, and equal lanes of a call are evaluated once.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import RLock
from typing import TypeVar

import numpy as np

from ggp.errors import GDLError, MachineError, NoLegalMoveError, ReasonerLimitError
from ggp.gdl import parse_term, to_kif
from ggp.gdl.analysis.joint_move_percepts import told_by
from ggp.gdl.analysis.what_grows import told_growth
from ggp.gdl.program import RANDOM, Program, value_order
from ggp.gdl.terms import Compound, variables
from ggp.machine.arrays import first_seen, ragged
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    NO_PERCEPTS,
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
from ggp.machine.percepts import JointMovesTold, JointPercepts
from ggp.machine.prolog.compile import compile_program
from ggp.machine.prolog.engine import engine
from ggp.machine.prolog.symbols import SymbolTable
from ggp.machine.threads import made_once
from ggp.run.clocks import TellsTime, clock_of

_T = TypeVar("_T")

CHUNK = 512
"""Number of lanes in one call to Prolog: bounds the text that is exchanged, and the time."""

PLAYOUT_CHUNK = 32
"""Number of lanes in one call for playouts, which take a whole game each."""


class PrologMachine:
    """`Machine` on SWI-Prolog; several threads may use it, and are served one after the other.

    Args:
        program: normalised rules.
        limits: bounds on each call into Prolog.

    Attributes:
        growing: held while states are freed, or not yet held by those who asked for them.

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
        compiled = compile_program(program, self._symbols)
        self._roles = [self._symbols.number(role) for role in self.roles]
        if not program.is_gdl2:
            self._symbols.number("did")
        self._symbols.freeze()
        self.growing = RLock()
        self._store = StateStore(self.growing, weakref.WeakMethod(self.fluents))
        self._moves: dict[int, str] = {}
        self._top_move = -1  # the largest id that `legal` gave
        self._move_ids: dict[str, int | None] = {}
        self._percepts: dict[int, tuple[str, ...]] = {NO_PERCEPTS: ()}
        self._percept_ids: dict[tuple[str, ...], int | None] = {(): NO_PERCEPTS}
        self._joint_percepts = JointPercepts(program)
        name = told_by(program)
        self._told = None if name is None else JointMovesTold(name, self.growing)
        self._goal_values = GoalValues(self.roles, self.random_role)
        self._call(compiled.goal(self._module), "compiling the rules")
        self._close = weakref.finalize(self, _drop, self._engine, self._module, self._limits)
        self._close.atexit = False
        self._initial = int(self._call(f"initial({self._module})", "the initial state"))
        self._unchanging = self._call(f"unchanging({self._module})", "the initial state")
        self._keep_initial = PrologStates(self._store, np.array([self._initial]))

    # ---------------------------------------------------------------- batches

    def initial(self, num_lanes: int = 1) -> PrologStates:
        return PrologStates(self._store, np.full(num_lanes, self._initial, dtype=np.int64))

    def concatenate(self, batches: Sequence[States]) -> PrologStates:
        ids = [self._ids(batch) for batch in batches]
        return PrologStates(
            self._store, np.concatenate(ids) if ids else np.zeros(0, dtype=np.int64)
        )

    def groups(self, states: States) -> IntArray:
        return first_seen(self._ids(states))[1]

    # ---------------------------------------------------------------- semantics

    def terminal(self, states: States) -> BoolArray:
        ids = self._ids(states)
        known = self._store.terminal
        missing = [i for i in dict.fromkeys(ids.tolist()) if i not in known]
        for chunk in _chunks(missing):
            text = self._call(f"terminals({self._module},{chunk})", "terminal")
            known.update(zip(chunk, (flag == "1" for flag in text.split()), strict=True))
        return np.array([known[i] for i in ids.tolist()], dtype=np.bool_)

    def goals(self, states: States) -> FloatArray:
        ids = self._ids(states)
        known = self._store.goals
        missing = [i for i in dict.fromkeys(ids.tolist()) if i not in known]
        for chunk in _chunks(missing):
            text = self._call(f"goals({self._module},{self._roles},{chunk})", "goal")
            for state, line in zip(chunk, text.splitlines(), strict=True):
                known[state] = self._settled(line, self._goal_values.settle)
        if not len(ids):
            return np.zeros((0, len(self.roles)))
        return np.stack([known[i] for i in ids.tolist()])

    def goal_texts(self, states: States) -> list[tuple[tuple[str, ...], ...]]:
        """See `GoalTexts`."""
        found: list[tuple[tuple[str, ...], ...]] = []
        for chunk in _chunks(self._ids(states).tolist()):
            text = self._call(f"goals({self._module},{self._roles},{chunk})", "goal")
            found += [tuple(map(tuple, self._goal_values_in(line))) for line in text.splitlines()]
        return found

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        ids = self._ids(states)
        known = self._store.legal
        missing = [i for i in dict.fromkeys(ids.tolist()) if (i, role) not in known]
        if missing:
            over = self.terminal(PrologStates(self._store, np.array(missing)))
            nothing = np.zeros(0, dtype=np.int64)
            known.update(
                ((i, role), nothing) for i, ended in zip(missing, over, strict=True) if ended
            )
            missing = [i for i, ended in zip(missing, over, strict=True) if not ended]
        for chunk in _chunks(missing):
            text = self._call(
                f"legals({self._module},{self._roles[role]},{chunk})",
                f"legal moves of {self.roles[role]}",
            )
            for state, line in zip(chunk, text.split("\n")[:-1], strict=True):
                known[(state, role)] = found = np.array(line.split(), dtype=np.int64)
                self._top_move = max(self._top_move, int(found.max(initial=-1)))
        lists = [known[(i, role)] for i in ids.tolist()]
        if not allow_stuck:
            self._check_not_stuck(ids, lists, role)
        return ragged(lists)

    def some_legal(self, states: States, role: int, most: int) -> IntArray:
        if self.terminal(states)[0]:
            return np.zeros(0, dtype=np.int64)
        goal = f"some_legals({self._module},{self._roles[role]},{most},{self._ids(states)[0]})"
        text = self._call(goal, f"some legal moves of {self.roles[role]}")
        return np.array(text.split(), dtype=np.int64)

    def is_legal(self, states: States, role: int, move: int) -> bool:
        if self.terminal(states)[0]:
            return False
        goal = f"is_legal({self._module},{self._roles[role]},{int(move)},{self._ids(states)[0]})"
        return self._call(goal, f"whether {self.roles[role]} may play a move") == "1"

    def chance(self, states: States) -> Chance:
        return even_chance(self, states)

    def step(self, states: States, joint_moves: IntArray) -> Stepped:
        ids = self._ids(states)
        num = len(ids)
        self.states_visited += num
        rows = np.column_stack([ids, joint_moves]).astype(np.int64)
        first, group = first_seen(rows)
        unique = rows[first]
        sees = self._roles if self._program.is_gdl2 else []
        parts = [np.zeros((0, 1 + len(sees)), dtype=np.int64)]
        # Interned successors have no holder until their batch exists, and no other thread may free
        # them before that.
        with self.growing:
            self._free_unheld()
            for chunk in _chunks(unique.tolist()):
                text = self._call(
                    f"steps({self._module},{self._roles},{sees},{chunk})", "a step", free=False
                )
                parts.append(np.array(text.split(), dtype=np.int64).reshape(len(chunk), -1))
            stepped = np.concatenate(parts)
            successors = PrologStates(self._store, stepped[group, 0])
        seen = stepped[:, 1:] if sees else self._joint_percepts.of(self, unique[:, 1:])
        return Stepped(successors, seen[group])

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        lines: list[list[str]] = []
        until_s = None if max_seconds is None else clock() + max_seconds
        for chunk in _chunks(self._ids(states).tolist(), PLAYOUT_CHUNK):
            seed = int(rng.integers(1 << 62))
            left = "inf"
            if until_s is not None:
                left = f"{clock_of(clock)}({max(until_s - clock(), 0.0):.6f})"
            text = self._call(
                f"playouts({self._module},{self._roles},{seed},{max_steps},{left},{chunk})",
                "playouts",
            )
            lines.extend(line.split(" ", 2) for line in text.splitlines())
        steps = np.array([line[0] for line in lines], dtype=np.int64)
        finished = np.array([line[1] == "1" for line in lines], dtype=np.bool_)
        goals = np.zeros((len(lines), len(self.roles)))
        seen: dict[str, FloatArray] = {}
        for lane, line in enumerate(lines):
            if finished[lane]:
                if line[2] not in seen:
                    seen[line[2]] = self._settled(line[2], self._goal_values.settle_playout)
                goals[lane] = seen[line[2]]
        visited = int(steps.sum())
        self.states_visited += visited
        return Playouts(goals, steps, finished)

    # ---------------------------------------------------------------- terms

    def move_id(self, move: str) -> int | None:
        if move not in self._move_ids:
            encoded = self._encode([move])
            if encoded is None:
                self._move_ids[move] = None
            else:
                text = self._call(f"move_ids({self._module},{encoded})", "a move")
                self._move_ids[move] = int(text)
        return self._move_ids[move]

    def move_text(self, move: int) -> str:
        if move not in self._moves:
            # Ids count up, and moves that are asked for in turn often have consecutive ids.
            beyond = max(move, min(move + CHUNK, self._top_move)) + 1
            ids = [i for i in range(move, beyond) if i not in self._moves]
            terms = self._symbols.decode(self._call(f"move_terms({self._module},{ids})", "moves"))
            if len(terms) != len(ids):
                raise MachineError(f"there is no move number {move}")
            self._moves.update(zip(ids, map(to_kif, terms), strict=True))
        return self._moves[move]

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        key = tuple(sorted(set(percepts)))
        if key not in self._percept_ids:
            encoded = self._encode(key)
            if encoded is None:
                self._percept_ids[key] = None
            else:
                text = self._call(f"percept_ids({self._module},[{encoded}])", "percepts")
                self._percept_ids[key] = int(text)
        return self._percept_ids[key]

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        if percept not in self._percepts:
            text = self._call(f"percept_terms({self._module},[{int(percept)}])", "percepts")
            self._percepts[percept] = self._sorted_texts(text)
        return self._percepts[percept]

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        return None if self._told is None else self._told.of(self, percepts)

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        ids = self._ids(states).tolist()
        texts: dict[int, tuple[str, ...]] = {}
        for chunk in _chunks(list(dict.fromkeys(ids))):
            text = self._call(f"state_terms({self._module},{chunk})", "a state")
            for state, line in zip(chunk, text.split("\n")[:-1], strict=True):
                texts[state] = self._sorted_texts(f"{line} {self._unchanging}")
        return [texts[i] for i in ids]

    def written(self, states: States) -> list[tuple[str, ...]]:
        """See `StateWriter`."""
        return self.fluents(states)

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> PrologStates:
        """See `StateWriter`."""
        known: dict[str, str] = {}
        sets = [[self._fluent(fluent, known) for fluent in fluents] for fluents in texts]
        ids: list[int] = []
        with self.growing:  # as in `step`
            self._free_unheld()
            for chunk in _chunks(sets):
                lists = ",".join(f"[{','.join(fluents)}]" for fluents in chunk)
                text = self._call(f"state_ids({self._module},[{lists}])", "states", free=False)
                ids += map(int, text.split())
            return PrologStates(self._store, np.array(ids, dtype=np.int64))

    def close(self) -> None:
        self._close()

    # ---------------------------------------------------------------- private

    def _ids(self, states: States) -> IntArray:
        if not isinstance(states, PrologStates) or states.store is not self._store:
            raise MachineError("these states belong to another machine")
        return states.ids

    def _call(self, goal: str, doing: str, *, free: bool = True) -> str:
        if free:
            self._free_unheld()
        try:
            return self._engine.call(self._module, goal, self._limits, doing)
        except ReasonerLimitError as error:
            raise error.because(self._growth) from None

    @made_once
    def _growth(self) -> str:
        return told_growth(self._program)

    def _free_unheld(self) -> None:
        with self.growing:
            for chunk in _chunks(self._store.collect(len(self.roles))):
                goal = f"free({chunk},{self._module})"
                self._engine.call(self._module, goal, self._limits, "freeing states")

    def _encode(self, texts: Sequence[str]) -> str | None:
        try:
            terms = [parse_term(text) for text in texts]
            if any(True for term in terms for _ in variables(term)):
                return None
            return f"[{','.join(map(self._symbols.encode, terms))}]"
        except (KeyError, GDLError):
            return None

    def _fluent(self, text: str, known: dict[str, str]) -> str:
        """A fluent as Prolog text; those read before are in `known`."""
        if text not in known:
            try:
                term = parse_term(text)
                encoded = self._symbols.encode(term)
            except (KeyError, GDLError):
                raise MachineError(f"{text} can never hold by these rules") from None
            known[text] = encoded if isinstance(term, Compound) else f"k({encoded})"
        return known[text]

    def _sorted_texts(self, line: str) -> tuple[str, ...]:
        return tuple(sorted(map(to_kif, self._symbols.decode(line))))

    def _settled(self, line: str, settle: Callable[[int, list[str]], float]) -> FloatArray:
        """`[R]` goal values of a line that Prolog printed."""
        found = self._goal_values_in(line)
        return np.array([settle(role, texts) for role, texts in enumerate(found)])

    def _goal_values_in(self, line: str) -> Iterator[list[str]]:
        """For each role, the goal values in a line that Prolog printed, those that count first."""
        for rules in line.split("-")[1:]:
            texts: list[str] = []
            for values in rules.split("+")[1:]:
                texts += sorted(map(to_kif, self._symbols.decode(values)), key=value_order)
            yield texts

    def _check_not_stuck(self, ids: IntArray, lists: Sequence[IntArray], role: int) -> None:
        for state, moves in zip(ids.tolist(), lists, strict=True):
            if not len(moves) and not self._store.terminal[state]:
                lane = PrologStates(self._store, np.array([state]))
                raise NoLegalMoveError(self.roles[role], self.fluents(lane)[0])


def _drop(running: object, module: str, limits: Limits) -> None:
    drop: Callable[[str, Limits], None] = running.drop  # type: ignore[attr-defined]
    drop(module, limits)


def _chunks(items: list[_T], size: int = CHUNK) -> Iterator[list[_T]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


# ------------------------------------------------------------------------
# States that are interned in Prolog and known here by number.

FREE_AFTER = 10_000
"""States that no batch holds any more are freed when there are this many."""

MOST_NOTES = 1_000
"""Batches that were made or collected are counted when there are more than this."""

_NONE = np.zeros(0, dtype=np.int64)


class PrologStates(ShownStates):
    """A batch of interned states; holds them in Prolog as long as it lives."""

    __slots__ = ("ids", "store")

    def __init__(self, store: StateStore, ids: IntArray) -> None:
        self.store = store
        self.ids = ids
        store.note(ids, held=True)

    def __del__(self) -> None:
        self.store.note(self.ids, held=False)

    def __len__(self) -> int:
        return len(self.ids)

    def first_fluents(self) -> tuple[str, ...]:
        told = self.store.fluents()
        if told is None:
            return ("of a machine that is gone",)
        return told(PrologStates(self.store, self.ids[:1]))[0]

    def take(self, lanes: IntArray) -> PrologStates:
        """The lanes with these indices, in this order, repeats allowed."""
        return PrologStates(self.store, self.ids[lanes])


class StateStore:
    """The counts of the batches that hold each interned state, and the known answers about it.

    Batches are made in any thread, and collected in whatever thread collects garbage, in the
    middle of anything. So both are only noted, by one atomic operation of Python each, and counted
    later.

    Args:
        growing: held while batches are counted.
        fluents: tells what holds in states; None once the machine is gone.
    """

    def __init__(
        self,
        growing: RLock,
        fluents: Callable[[], Callable[[States], list[tuple[str, ...]]] | None],
    ) -> None:
        self.fluents = fluents
        self._growing = growing
        self._notes: deque[tuple[IntArray, bool]] = deque()
        self._holders = np.zeros(1024, dtype=np.int64)
        self._unheld: list[IntArray] = []
        self._num_unheld = 0
        self.terminal: dict[int, bool] = {}
        self.goals: dict[int, FloatArray] = {}
        self.legal: dict[tuple[int, int], IntArray] = {}

    def note(self, ids: IntArray, *, held: bool) -> None:
        """Note that a batch holds states from now on, or no longer."""
        self._notes.append((ids, held))
        if held and len(self._notes) > MOST_NOTES and self._growing.acquire(blocking=False):
            try:
                self._count()
            finally:
                self._growing.release()

    def _count(self) -> None:
        """Count the notes. That a batch holds states is always noted before that it does not."""
        notes: dict[bool, list[IntArray]] = {True: [_NONE], False: [_NONE]}
        while self._notes:
            ids, held = self._notes.popleft()
            notes[held].append(ids)
        come, gone = np.concatenate(notes[True]), np.concatenate(notes[False])
        top = int(come.max(initial=-1))
        if top >= len(self._holders):
            grown = np.zeros(max(top + 1, 2 * len(self._holders)), dtype=np.int64)
            grown[: len(self._holders)] = self._holders
            self._holders = grown
        np.add.at(self._holders, come, 1)
        np.subtract.at(self._holders, gone, 1)
        free = gone[self._holders[gone] == 0]
        if len(free):
            self._unheld.append(free)
            self._num_unheld += len(free)

    def collect(self, num_roles: int) -> list[int]:
        """Ids to free in Prolog now, which are forgotten here; empty until there are many."""
        if len(self._notes) > MOST_NOTES:
            self._count()
        if self._num_unheld < FREE_AFTER:
            return []
        self._count()
        candidates = np.unique(np.concatenate(self._unheld))
        self._unheld, self._num_unheld = [], 0
        freed: list[int] = candidates[self._holders[candidates] == 0].tolist()
        for state in freed:
            self.terminal.pop(state, None)
            self.goals.pop(state, None)
            for role in range(num_roles):
                self.legal.pop((state, role), None)
        return freed
