"""Compiles a `Program` to clauses of a Prolog module (see runtime.pl for the vocabulary)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ggp.gdl.analysis.dependencies import (
    relation_components,
    relations_needed,
    relations_reaching,
    static_relations,
)
from ggp.gdl.analysis.growth import terms_grow
from ggp.gdl.analysis.unchanging import with_unchanging
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
from ggp.machine.prolog.either import any_of, merged
from ggp.machine.prolog.fluents import fluent_signatures, is_next_of, left_out
from ggp.machine.prolog.linear import LinearRule, linear_rules
from ggp.machine.prolog.symbols import SymbolTable

_PREDICATES: dict[Signature, str] = {
    LEGAL: "legal",
    GOAL: "goal",
    SEES: "sees",
    TERMINAL: "terminal",
    DOES: "d",
    NEXT: "n",
    INIT: "i",
}

_RANKED = "ranked"
_ANY_RANK = f"(goal(V_R,V_V) :- {_RANKED}(_,V_R,V_V))"

MAX_UNFOLDED_CALLS = 5_000
"""Relations whose call trees have more calls than this are remembered: without recursion, but with
each relation calling the next one twice, evaluation would double with every level."""


MAX_STEP_CALLS = 100
"""Number of calls of a walk's step that the next walk may repeat without remembering them."""

MAX_UNCHECKED_DEPTH = 4
"""Where functions cannot nest deeper than this, the size of terms is not checked in play."""


@dataclass(frozen=True, slots=True)
class CompiledGame:
    """Arguments of `new/8` in runtime.pl, as Prolog text."""

    clauses: str
    static: str
    remembered: str
    fluents: str
    growing: str
    unchanging: str
    names: str

    def goal(self, module: str) -> str:
        """The goal that builds the game's module."""
        sets = self.remembered, self.fluents, self.growing, self.unchanging, self.names
        return f"new({','.join((module, self.clauses, self.static, *sets))})"


def compile_program(program: Program, symbols: SymbolTable) -> CompiledGame:
    """The clauses of a game; a number for every name in it is added to `symbols`."""
    for role in program.roles:
        symbols.number(role)
    functions = left_out(program)
    if functions:
        rules = tuple(
            rule
            for rule in with_unchanging(program.rules, functions)
            if not is_next_of(rule, functions)
        )
        program = replace(program, rules=rules, static=static_relations(rules))
    return _Compiler(program, symbols, functions).compile()


class _Compiler:
    def __init__(
        self, program: Program, symbols: SymbolTable, functions: Sequence[Signature]
    ) -> None:
        self._program = program
        self._functions = functions
        self._symbols = symbols
        self._fluents = fluent_signatures(program)
        self._growing = terms_grow(program.rules, MAX_UNCHECKED_DEPTH)
        goals = program.by_head.get(GOAL, ())
        self._ranks = dict(zip(goals, program.goal_ranks, strict=True))
        self._linear: dict[Signature, tuple[list[NormalRule], list[LinearRule]]] = {}
        self._rule_defined = {
            signature(rule.head)
            for rule in program.rules
            if rule.body and signature(rule.head) not in program.static
        }

    def compile(self) -> CompiledGame:
        program = self._program
        for rule in program.rules:
            # Names get their numbers, by which answers are sorted, in the order of the rulesheet.
            self._clause(rule)
        remembered = self._remembered()
        clauses = [
            self._clause(rule)
            for sig, rules in program.by_head.items()
            if sig not in self._linear
            for rule in (rules if sig == GOAL else merged(rules))
        ]
        for base, recursive in self._linear.values():
            clauses += self._linear_clauses(base, recursive)
        defined = {signature(rule.head) for rule in program.rules}
        # A rule of `goal` becomes one of `ranked`, which keeps the rules apart.
        clauses.append(f"({_RANKED}(_,_,_) :- fail)" if GOAL not in defined else _ANY_RANK)
        for sig, name in _PREDICATES.items():
            if sig not in defined and sig != DOES:
                head = f"{name}({','.join('_' * sig[1])})" if sig[1] else name
                clauses.append(f"({head} :- fail)")
        clauses.append("(fl(V_F) :- k(V_F))")
        names = ["k/1"]
        for name, arity in self._fluents:
            functor = f"f{self._symbols.number(name)}"
            names.append(f"{functor}/{arity}")
            args = ",".join(f"V_{i}" for i in range(arity))
            clauses.append(f"(fl({functor}({args})) :- {functor}({args}))")
        clauses += self._asked_by_legal()
        return CompiledGame(
            clauses=f"[{','.join(clauses)}]",
            static=f"[{','.join(self._static_groups())}]",
            remembered=f"[{','.join(remembered)}]",
            fluents=f"[{','.join(names)}]",
            growing=str(self._growing).lower(),
            unchanging=f"[{','.join(map(self._pattern, self._functions))}]",
            names=str(self._symbols.bound),
        )

    def _asked_by_legal(self) -> list[str]:
        """Clauses that list the fluents which legal moves depend on, unless they are all."""
        needed = relations_needed(self._program.rules, [LEGAL])
        rules = [rule for rule in self._program.rules if signature(rule.head) in needed]
        atoms = [x.atom for rule in rules for x in rule.body if signature(x.atom) == TRUE]
        fluents = [atom.args[0] for atom in atoms if isinstance(atom, Compound)]
        if DOES in needed or any(isinstance(fluent, Variable) for fluent in fluents):
            return []
        functions = dict.fromkeys(map(signature, fluents))
        patterns = [self._pattern(function) for function in functions]
        return [f"(ggp_asked({p}) :- {p})" for p in patterns] or ["(ggp_asked(_) :- fail)"]

    def _pattern(self, function: Signature) -> str:
        """The pattern that all fluents of a function match."""
        number, arity = self._symbols.number(function[0]), function[1]
        args = ",".join(f"V_{i}" for i in range(arity))
        return f"f{number}({args})" if arity else f"k({number})"

    def _static_groups(self) -> list[str]:
        program = self._program
        groups = []
        for component in relation_components(program.rules):
            members = [sig for sig in sorted(component) if sig in program.static]
            rules = [rule for sig in members for rule in program.by_head[sig]]
            if any(rule.body for rule in rules):
                recursive = any(sig in program.recursive for sig in members)
                listed = ",".join(map(self._indicator, members))
                groups.append(f"group({str(recursive).lower()},[{listed}])")
        return groups

    def _remembered(self) -> list[str]:
        program = self._program
        by_moves = relations_reaching(program.rules, [DOES])
        remembered = []
        calls: dict[Signature, int] = {}
        for component in relation_components(program.rules):
            sizes = {
                sig: 1
                + sum(
                    calls.get(signature(literal.atom), 0)
                    for rule in program.by_head[sig]
                    for literal in rule.body
                )
                for sig in sorted(component)
                if sig not in program.static and sig in program.by_head
            }
            group = [
                sig
                for sig, size in sizes.items()
                if sig in program.recursive or (size > MAX_UNFOLDED_CALLS and sig != NEXT)
            ]
            calls.update(sizes)
            if group:
                kind = "moves" if by_moves.intersection(group) else "state"
                watched = self._growing or self._calls_grow(group)
                whole = component == set(group) and not watched
                how = self._way(component, sum(sizes.values())) if whole else "plain"
                if how != "short":
                    calls.update(dict.fromkeys(group, 1))
                listed = ",".join(map(self._indicator, group))
                remembered.append(f"kept({kind},{str(watched).lower()},{how},[{listed}])")
        return remembered

    def _way(self, component: frozenset[Signature], size: int) -> str:
        """The way to find answers of relations that depend on each other (see memory.pl).

        Args:
            size: number of calls in the trees of their rules.
        """
        rules = self._program.by_head
        if not component.isdisjoint(_PREDICATES):
            return "plain"
        linear = linear_rules(sorted(component), rules)
        if linear is None or not any(recursive for _, recursive in linear.values()):
            return "plain"
        self._linear.update(linear)
        needed = relations_needed(self._program.rules, component) - component
        nested = any(sig in self._program.recursive - self._program.static for sig in needed)
        return "linear" if nested or size > MAX_STEP_CALLS else "short"

    def _linear_clauses(
        self, base: Sequence[NormalRule], recursive: Sequence[LinearRule]
    ) -> list[str]:
        """Clauses of a relation's walk from call to call, and from answer to answer."""
        clauses = []
        for rule in base:
            goals = self._body(rule)
            for kind, more in (("b", ()), ("w", ("_", "_"))):
                clauses.append(_clause_text(self._variant(kind, rule.head, *more), goals))
        for linear in recursive:
            rule = linear.walk
            head, call = rule.head, rule.body[-1].atom
            goals = self._body(rule)[:-1]
            goals.append(f"ggp_runtime:unseen(V_S,{self._call(call)},V_T)")
            goals.append(self._variant("w", call, "V_S", "V_T"))
            bound = {v.name for x in rule.body[:-1] if x.binds for v in variables(x.atom)}
            if _repeats(call, {v.name for v in variables(call)} - bound):
                goals.append("ggp_runtime:not_last")
            clauses.append(_clause_text(self._variant("w", head, "V_S", "V_T"), goals))
            back = f"{self._call(head)},{self._call(call)}"
            clauses.append(
                _clause_text(
                    f"{self._variant_name('l', head)}({back})", self._body(linear.back)[1:]
                )
            )
            clauses.append(f"{self._variant_name('c', head)}({back})")
        return clauses

    def _variant_name(self, kind: str, atom: Atom) -> str:
        return f"{kind}_{self._predicate(signature(atom))}"

    def _variant(self, kind: str, atom: Atom, *more: str) -> str:
        """An atom of a predicate that accompanies a relation, with more arguments."""
        args = map(self._symbols.encode, atom.args) if isinstance(atom, Compound) else ()
        listed = ",".join([*args, *more])
        name = self._variant_name(kind, atom)
        return f"{name}({listed})" if listed else name

    def _calls_grow(self, group: Sequence[Signature]) -> bool:
        """Whether relations call each other with terms that are built for the call."""
        rules = [rule for sig in group for rule in self._program.by_head[sig]]
        called = [x.atom for rule in rules for x in rule.body if signature(x.atom) in group]
        return any(
            isinstance(arg, Compound)
            for atom in called
            if isinstance(atom, Compound)
            for arg in atom.args
        )

    def _indicator(self, sig: Signature) -> str:
        return f"{self._predicate(sig)}/{sig[1]}"

    def _predicate(self, sig: Signature) -> str:
        return _PREDICATES.get(sig) or f"r{self._symbols.number(sig[0])}"

    def _clause(self, rule: NormalRule) -> str:
        goals = self._body(rule)
        sig = signature(rule.head)
        if sig in (NEXT, INIT):
            fluent = rule.head.args[0] if isinstance(rule.head, Compound) else rule.head
            if isinstance(fluent, Variable):
                raw = self._symbols.encode(fluent)
                head = f"{_PREDICATES[sig]}(V_F)"
                goals.append(f"(integer({raw})->V_F=k({raw});V_F={raw})")
            else:
                head = f"{_PREDICATES[sig]}({self._fluent(fluent)})"
        elif sig == GOAL and isinstance(rule.head, Compound):
            role, value = map(self._symbols.encode, rule.head.args)
            head = f"{_RANKED}({self._ranks[rule]},{role},{value})"
        else:
            head = self._call(rule.head)
        return _clause_text(head, goals)

    def _body(self, rule: NormalRule) -> list[str]:
        goals = []
        bound: set[str] = set()
        for i, literal in enumerate(rule.body):
            names = {v.name for v in variables(literal.atom)}
            goal = self._goal(literal)
            if literal.negated:
                # A local variable is printed as an anonymous one by being used only here.
                free = names - bound - local_variables(rule, i)
                if free:
                    raise ValueError(f"unbound variables {free} in {rule}")
            elif literal.binds:
                later = {v.name for v in variables(rule.head)}
                later.update(v.name for x in rule.body[i + 1 :] for v in variables(x.atom))
                fresh = names - bound
                if not fresh & later and (fresh or signature(literal.atom) in self._rule_defined):
                    goal = f"({goal}->true)"
                elif i == len(rule.body) - 1 and _repeats(literal.atom, fresh):
                    goal = f"{goal},ggp_runtime:not_last"
                bound |= names
            goals.append(goal)
        return goals

    def _goal(self, literal: Literal) -> str:
        tests = any_of(literal)
        if tests != (literal,):
            return f"({';'.join(f'{self._goal(test)}->true' for test in tests)})"
        atom = literal.atom
        if literal.is_distinct and isinstance(atom, Compound):
            left, right = map(self._symbols.encode, atom.args)
            return f"{left} \\== {right}"
        goal = self._call(atom)
        return f"\\+ {goal}" if literal.negated else goal

    def _call(self, atom: Atom) -> str:
        sig = signature(atom)
        if isinstance(atom, Symbol):
            return self._predicate(sig)
        if sig in (TRUE, NEXT, INIT):
            fluent = atom.args[0]
            if sig == TRUE:
                if isinstance(fluent, Variable):
                    return f"fl({self._symbols.encode(fluent)})"
                return self._fluent(fluent)
            if isinstance(fluent, Variable):
                raw = self._symbols.encode(fluent)
                name = _PREDICATES[sig]
                return f"({name}(V_W_{raw}),(V_W_{raw}=k({raw})->true;V_W_{raw}={raw}))"
            return f"{_PREDICATES[sig]}({self._fluent(fluent)})"
        args = ",".join(map(self._symbols.encode, atom.args))
        return f"{self._predicate(sig)}({args})"

    def _fluent(self, fluent: Term) -> str:
        text = self._symbols.encode(fluent)
        return text if isinstance(fluent, Compound) else f"k({text})"


def _clause_text(head: str, goals: Sequence[str]) -> str:
    return f"({head} :- {','.join(goals)})" if goals else head


def _repeats(atom: Term, names: set[str]) -> bool:
    """Whether an atom has one of these variables as more than one argument.

    SWI-Prolog 9.0.4 takes the two for different variables when the call is the last one of a
    clause and the variable an unbound argument of its head.
    """
    if signature(atom) == TRUE and isinstance(atom, Compound):
        atom = atom.args[0]
    args = atom.args if isinstance(atom, Compound) else ()
    found = [arg.name for arg in args if isinstance(arg, Variable) and arg.name in names]
    return len(found) > len(set(found))
