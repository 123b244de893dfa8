"""Compiles a `Program` to the clauses of a Prolog module (runtime.pl defines the predicates).

Each relation becomes a predicate. Relations that recur, or would be evaluated too often, are
tabled: their predicate looks their answers up, and the clauses of their rules get the prefix `q_`.
Names become numbers in a `SymbolTable`, so that no name of a rulesheet reaches Prolog.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ggp.gdl import to_kif
from ggp.gdl.analysis.dependencies import relation_components
from ggp.gdl.analysis.growth import terms_grow
from ggp.gdl.program import (
    DOES,
    GOAL,
    INIT,
    LEGAL,
    NEXT,
    SEES,
    TERMINAL,
    TRUE,
    Atom,
    Literal,
    NormalRule,
    Program,
    local_variables,
)
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables

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
        return sorted(map(to_kif, stack[0][1]))
