"""The reference machine, which evaluates the rules with SWI-Prolog; other backends are tested
against it.

A state is the text of the sorted list of its fluents, as Prolog prints it. Every question about a
state includes that text, so Prolog holds nothing but the rules.
"""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from threading import RLock
from typing import NamedTuple, TypeVar

import numpy as np

from ggp.errors import GDLError, MachineError, NoLegalMoveError, ReasonerLimitError
from ggp.gdl import parse_term
from ggp.gdl.analysis.dependencies import relation_components
from ggp.gdl.analysis.growth import growth_message, terms_grow
from ggp.gdl.analysis.told_moves import move_percept
from ggp.gdl.program import (
    DOES,
    GOAL,
    INIT,
    LEGAL,
    NEXT,
    RANDOM,
    SEES,
    TERMINAL,
    TRUE,
    Atom,
    Literal,
    NormalRule,
    Program,
    local_variables,
    value_order,
)
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables
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


# ------------------------------------------------------------------------
# Compiles a `Program` to the clauses of a Prolog module (runtime.pl defines the predicates).
#
# Each relation becomes a predicate. Relations that recur, or would be evaluated too often, are
# tabled: their predicate looks their answers up, and the clauses of their rules get the prefix
# `q_`. Names become numbers in a `SymbolTable`, so that no name of a rulesheet reaches Prolog.

_PREDICATES: dict[Signature, str] = {
    LEGAL: "legal",
    GOAL: "goal",
    SEES: "sees",
    TERMINAL: "terminal",
    DOES: "d",
    NEXT: "n",
    INIT: "i",
    TRUE: "t",
}
_FACTS = DOES, TRUE

_RANKED = "ranked"
"""The predicate for rules of `goal`, with the rank of the rule as a further argument."""

MAX_UNFOLDED_CALLS = 5_000
"""Relations whose call trees have more calls than this are tabled as if they recurred. If each
relation calls the next one twice, evaluation without tables doubles with every level."""

MAX_UNCHECKED_DEPTH = 4
"""If functions cannot nest deeper than this, the size of terms is not checked in play."""


class CompiledGame(NamedTuple):
    """Arguments of `new/4` in runtime.pl, as Prolog text."""

    clauses: str
    static: str
    growing: str


def compile_program(program: Program, symbols: SymbolTable, module: str) -> CompiledGame:
    """The clauses of a game for a module; adds all names to `symbols`."""
    for role in program.roles:
        symbols.number(role)
    return _Compiler(program, symbols, module).compile()


class _Compiler:
    def __init__(self, program: Program, symbols: SymbolTable, module: str) -> None:
        self._program, self._symbols, self._module = program, symbols, module
        self._remembered = dict(self._groups())
        goals = program.by_head.get(GOAL, ())
        self._ranks = dict(zip(goals, program.goal_ranks, strict=True))

    def compile(self) -> CompiledGame:
        program = self._program
        # Answers are sorted by the numbers of names, so names are numbered in rulesheet order.
        clauses = [self._clause(rule) for rule in program.rules]
        if GOAL not in program.by_head:
            clauses.append(f"({_RANKED}(_,_,_) :- fail)")
        elif GOAL not in self._remembered:
            clauses.append(f"(goal(V_0,V_1) :- {self._derived(GOAL)})")
        for sig, group in self._remembered.items():
            args = f"({','.join(f'V_{i}' for i in range(sig[1]))})" if sig[1] else ""
            goal, module = self._predicate(sig) + args, self._module
            how = f"{module}:{self._derived(sig)},{group},{module}"
            clauses.append(f"({goal} :- ggp_runtime:known({goal},{how}))")
        for sig, name in _PREDICATES.items():
            if sig not in program.by_head and sig not in _FACTS:
                head = f"{name}({','.join('_' * sig[1])})" if sig[1] else name
                clauses.append(f"({head} :- fail)")
        growing = terms_grow(program.rules, MAX_UNCHECKED_DEPTH)
        return CompiledGame(
            clauses=f"[{','.join(clauses)}]",
            static=f"[{','.join(self._static_groups())}]",
            growing=str(growing).lower(),
        )

    def _static_groups(self) -> Iterator[str]:
        """Yield lists of static relations with rules; relations that depend on each other share
        one."""
        program = self._program
        for component in relation_components(program.rules):
            members = [sig for sig in sorted(component) if sig in program.static]
            if any(rule.body for sig in members for rule in program.by_head[sig]):
                yield f"[{','.join(f'{self._predicate(sig)}/{sig[1]}' for sig in members)}]"

    def _groups(self) -> Iterator[tuple[Signature, int]]:
        """Yield the relations that are tabled, with the numbers of their groups."""
        program = self._program
        calls: dict[Signature, int] = {}
        for number, component in enumerate(relation_components(program.rules)):
            for sig in sorted(component & program.by_head.keys()):
                bodies = [rule.body for rule in program.by_head[sig]]
                called = [signature(literal.atom) for body in bodies for literal in body]
                size = 1 + sum(calls.get(callee, 0) for callee in called)
                is_remembered = sig in program.recursive or size > MAX_UNFOLDED_CALLS
                if is_remembered:
                    yield sig, number
                calls[sig] = 1 if is_remembered or sig in program.static else size

    def _predicate(self, sig: Signature) -> str:
        return _PREDICATES.get(sig) or f"r{self._symbols.number(sig[0])}"

    def _derived(self, sig: Signature) -> str:
        """A call that evaluates a relation by its rules."""
        args = ",".join(f"V_{i}" for i in range(sig[1]))
        if sig == GOAL:
            return f"{_RANKED}(_,{args})"
        return f"q_{self._predicate(sig)}({args})" if args else f"q_{self._predicate(sig)}"

    def _clause(self, rule: NormalRule) -> str:
        goals = self._body(rule)
        if signature(rule.head) == GOAL and isinstance(rule.head, Compound):
            role, value = map(self._symbols.encode, rule.head.args)
            head = f"{_RANKED}({self._ranks[rule]},{role},{value})"
        else:
            head = self._call(rule.head)
            if signature(rule.head) in self._remembered:
                head = f"q_{head}"
        return f"({head} :- {','.join(goals)})" if goals else head

    def _body(self, rule: NormalRule) -> list[str]:
        goals = []
        bound: set[str] = set()
        for i, literal in enumerate(rule.body):
            names = {v.name for v in variables(literal.atom)}
            goal = self._goal(literal)
            if literal.negated:
                # A local variable occurs only here, so Prolog treats it as anonymous.
                free = names - bound - local_variables(rule, i)
                if free:
                    raise ValueError(f"unbound variables {free} in {rule}")
            elif literal.binds:
                later = {v.name for v in variables(rule.head)}
                later.update(v.name for x in rule.body[i + 1 :] for v in variables(x.atom))
                if not (names - bound) & later:
                    goal = f"({goal}->true)"
                bound |= names
            goals.append(goal)
        if rule.body and _repeats(rule.body[-1].atom):
            goals.append("ggp_runtime:not_last")
        return goals

    def _goal(self, literal: Literal) -> str:
        atom = literal.atom
        if literal.is_distinct and isinstance(atom, Compound):
            left, right = map(self._symbols.encode, atom.args)
            return f"{left} \\== {right}"
        goal = self._call(atom)
        return f"\\+ {goal}" if literal.negated else goal

    def _call(self, atom: Atom) -> str:
        if isinstance(atom, Symbol):
            return self._predicate(signature(atom))
        args = ",".join(map(self._symbols.encode, atom.args))
        return f"{self._predicate(signature(atom))}({args})"


def _repeats(atom: Atom) -> bool:
    """Whether an atom has the same variable as several arguments.

    SWI-Prolog 9.0.4 takes these for different variables if the call is the last one of a clause and
    the variable is an unbound argument of its head.
    """
    args = atom.args if isinstance(atom, Compound) else ()
    names = [arg.name for arg in args if isinstance(arg, Variable)]
    return len(names) > len(set(names))


# ------------------------------------------------------------------------
# Encodes names of a rulesheet as numbers, so that no untrusted text ever reaches Prolog.

_TOKEN = re.compile(r"f?(\d+)(\()?|\)")


class SymbolTable:
    """Numbers for names: in Prolog, the constant `red` may be 17, and the function `cell` f18."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._frozen = False

    def freeze(self) -> None:
        """Accept no more names, since only terms with names of the rules can ever be true."""
        self._frozen = True

    def number(self, name: str) -> int:
        """The number of a name, assigned if it is new.

        Raises:
            KeyError: the name is new and the table is frozen.
        """
        index = self._ids.get(name)
        if index is None:
            if self._frozen:
                raise KeyError(name)
            index = self._ids[name] = len(self._names)
            self._names.append(name)
        return index

    def encode(self, term: Term) -> str:
        """A term as Prolog text: variables `V_<number>`, constants and functions by number.

        Raises:
            KeyError: the table is frozen and the term has a name that the rules do not have.
        """
        if isinstance(term, Symbol):
            return str(self.number(term.name))
        if isinstance(term, Variable):
            return f"V_{self.number('?' + term.name)}"
        args = ",".join(map(self.encode, term.args))
        return f"f{self.number(term.name)}({args})"

    def texts(self, text: str) -> list[str]:
        """The ground terms in a text printed by Prolog, as canonical KIF, sorted."""
        stack: list[tuple[str, list[Term]]] = [("", [])]
        for match in _TOKEN.finditer(text):
            number, opens = match.groups()
            if opens:
                stack.append((self._names[int(number)], []))
            elif number is not None:
                stack[-1][1].append(Symbol(self._names[int(number)]))
            else:
                name, args = stack.pop()
                stack[-1][1].append(Compound(name, tuple(args)))
        return sorted(map(str, stack[0][1]))
