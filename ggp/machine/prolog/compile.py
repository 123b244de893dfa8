"""Compiles a `Program` to clauses of a Prolog module (see runtime.pl for the vocabulary)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from ggp.gdl.analysis.dependencies import (
    relation_components,
    relations_needed,
    relations_reaching,
    static_relations,
    unchanging,
    with_unchanging,
)
from ggp.gdl.analysis.what_grows import terms_grow
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
    atom_of,
    local_variables,
)
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables
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


# ------------------------------------------------------------------------
# Merges rules that differ in one test into one rule: `or` in a rulesheet makes such rules.
#
# Where `(or (distinct ?m ?j) (distinct ?n ?k))` keeps a cell, each of the two rules that it stands
# for would list nearly all cells again.

_EITHER, _NOT, _IS = "either;", "not;", "is;"

MAX_PASSES = 12
"""Number of times that merged rules are merged again; 12 times `or` in a rule makes 4,096 rules."""


def merged(rules: Iterable[NormalRule]) -> list[NormalRule]:
    """Equivalent rules, in which those that differ in nothing but a test are one.

    A condition that stands for several tests is a negated one of a relation that no rulesheet
    has: `any_of` gives its meaning.
    """
    groups: dict[Atom, list[NormalRule]] = {}
    for rule in rules:
        groups.setdefault(rule.head, []).append(rule)
    return [rule for group in groups.values() for rule in _merged(group)]


def any_of(literal: Literal) -> tuple[Literal, ...]:
    """The tests of which one must hold: the literal itself if it does not stand for several."""
    atom = literal.atom
    if not isinstance(atom, Compound) or atom.name != _EITHER:
        return (literal,)
    marked = [arg for arg in atom.args if isinstance(arg, Compound)]
    return tuple(Literal(atom_of(x.args[0]), x.name == _NOT) for x in marked)


def _merged(rules: list[NormalRule]) -> list[NormalRule]:
    """Merge the rules of one head."""
    for _ in range(MAX_PASSES):
        fewer = _merged_once(rules)
        if len(fewer) == len(rules):
            break
        rules = fewer
    return rules


def _merged_once(rules: list[NormalRule]) -> list[NormalRule]:
    """Merge each rule with one group at most, the largest groups first; in about linear time."""
    places, places_of = _places(rules)
    queue = [(-len(found), i, at) for i, (at, found) in enumerate(places.items()) if len(found) > 1]
    heapify(queue)
    new: list[NormalRule] = []
    while queue:
        size, i, at = heappop(queue)
        found = places[at]
        if len(found) < -size:  # Some have become part of another rule.
            if len(found) > 1:
                heappush(queue, (-len(found), i, at))
            continue
        merged_rule, gone = _one_of(rules, found)
        new.append(merged_rule)
        for number in gone:
            for place in places_of.pop(number):
                places[place].pop(number, None)
    return [*(rules[number] for number in places_of), *new] if new else rules


def _places(rules: list[NormalRule]) -> tuple[dict[int, dict[int, Literal]], dict[int, list[int]]]:
    """For each rest of a rule, the rules with it and their tests; and the rests of every rule.

    A rest is the sum of the hashes of its conditions: listing it for every test of a rule would
    take the square of the rule's length.
    """
    places: dict[int, dict[int, Literal]] = {}
    places_of: dict[int, list[int]] = {}
    for number, rule in enumerate(rules):
        hashes = {literal: hash(literal) for literal in rule.body}
        whole = sum(hashes.values())
        places_of[number] = []
        for literal, value in hashes.items():
            if not literal.binds:
                place = whole - value
                places.setdefault(place, {})[number] = literal
                places_of[number].append(place)
    return places, places_of


def _one_of(rules: list[NormalRule], found: dict[int, Literal]) -> tuple[NormalRule, list[int]]:
    """One rule for those that have the same rest as the first, and their numbers."""
    first, test = next((rules[number], literal) for number, literal in found.items())
    rest = set(first.body) - {test}
    gone = [
        number for number, literal in found.items() if set(rules[number].body) - {literal} == rest
    ]
    tests = dict.fromkeys(test for number in gone for test in any_of(found[number]))
    marks = (Compound(_NOT if test.negated else _IS, (test.atom,)) for test in tests)
    either = Literal(Compound(_EITHER, tuple(marks)), negated=True)
    body = (*(literal for literal in first.body if literal in rest), either)
    return order_conditions(NormalRule(first.head, body, first.start)), gone


# ------------------------------------------------------------------------
# The fluents of a game, and those that states leave out because they never change.


def fluent_signatures(program: Program) -> list[Signature]:
    """Name and arity of every possible fluent with arguments."""
    found: dict[Signature, None] = {}
    generic = False
    for rule in program.rules:
        atoms = [rule.head, *(literal.atom for literal in rule.body)]
        for atom in atoms:
            if signature(atom) in (TRUE, NEXT, INIT) and isinstance(atom, Compound):
                if isinstance(atom.args[0], Compound):
                    found[signature(atom.args[0])] = None
                elif isinstance(atom.args[0], Variable) and atom is rule.head:
                    generic = True
    if generic:
        for rule in program.rules:
            for atom in (rule.head, *(literal.atom for literal in rule.body)):
                for arg in atom.args if isinstance(atom, Compound) else ():
                    _functions(arg, found)
    return list(found)


def _functions(term: Term, found: dict[Signature, None]) -> None:
    if isinstance(term, Compound):
        found[signature(term)] = None
        for arg in term.args:
            _functions(arg, found)


def left_out(program: Program) -> list[Signature]:
    """The functions of fluents left out of states; none if some condition accepts any fluent."""
    atoms = [literal.atom for rule in program.rules for literal in rule.body]
    if any(signature(atom) in (NEXT, INIT) for atom in atoms):
        return []
    fluents = [x.args[0] for x in atoms if signature(x) == TRUE and isinstance(x, Compound)]
    if any(isinstance(fluent, Variable) for fluent in fluents):
        return []
    return unchanging(program.rules)


def is_next_of(rule: NormalRule, functions: Sequence[Signature]) -> bool:
    """Whether a rule concludes `next` of a fluent with one of some functions."""
    head = rule.head
    return (
        signature(head) == NEXT
        and isinstance(head, Compound)
        and signature(head.args[0]) in functions
    )


# ------------------------------------------------------------------------
# Recursion in which a proof is a walk: every rule calls the recurring relations at most once.
#
# `(<= (line ?x ?y) (s ?x ?z) (free ?z) (line ?z ?y))` is such a rule. Where the recursive condition
# can come last, its answers are the answers of the head, so all answers are found by walking from
# call to call, once to each. Where it can come first and asks for nothing but answers of the same
# call, they are found by walking from answer to answer. Both end even if the rules go round in
# circles, and neither keeps a table for each call. In play (memory.pl) the arguments of a call
# decide which way it goes.


@dataclass(frozen=True, slots=True)
class LinearRule:
    """A rule with a recursive condition, the last one of `walk` and the first of `back`."""

    walk: NormalRule
    back: NormalRule


def linear_rules(
    group: Sequence[Signature], by_head: Mapping[Signature, Sequence[NormalRule]]
) -> dict[Signature, tuple[list[NormalRule], list[LinearRule]]] | None:
    """The rules of relations that depend on each other: those without recursion and those with it.

    Args:
        group: all relations of a strongly connected component.
        by_head: the rules of every relation.

    Returns:
        None if a rule calls the group twice, or if its recursive condition cannot come last without
        being asked for more than before, other than facts and fluents.
    """
    finite = {sig for sig, rules in by_head.items() if not any(rule.body for rule in rules)}
    found: dict[Signature, tuple[list[NormalRule], list[LinearRule]]] = {}
    for sig in group:
        found[sig] = base, recursive = [], []
        for rule in by_head[sig]:
            calls = [i for i, literal in enumerate(rule.body) if signature(literal.atom) in group]
            if not calls:
                base.append(rule)
                continue
            linear = _linear(rule, calls[0], finite | {TRUE}) if len(calls) == 1 else None
            if linear is None:
                return None
            recursive.append(linear)
    return found


def _linear(rule: NormalRule, at: int, finite: Set[Signature]) -> LinearRule | None:
    call = rule.body[at]
    others = (*rule.body[:at], *rule.body[at + 1 :])
    bound = _names([x for x in others[:at] if x.binds])
    for literal in others[at:]:
        if literal.binds and signature(literal.atom) in finite:
            bound |= _names([literal])
        elif not _names([literal]) & _names([call]) <= bound:
            return None
    walk = order_conditions(NormalRule(rule.head, others, rule.start))
    back = order_conditions(NormalRule(rule.head, (call, *others), rule.start))
    # Tests without variables have come before the recursive condition.
    rest = tuple(literal for literal in back.body if literal != call)
    return LinearRule(
        NormalRule(rule.head, (*walk.body, call), rule.start),
        NormalRule(rule.head, (call, *rest), rule.start),
    )


def _names(literals: Sequence[Literal]) -> set[str]:
    return {v.name for literal in literals for v in variables(literal.atom)}
