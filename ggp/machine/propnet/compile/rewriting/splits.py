"""Chooses the rules to ground in place of the author's: split, and restricted to what is asked for.

The rules that become facts come first, so that these can be counted, then the others. Where the
ground rules of these are expected to cost too much, they are made only for what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ggp.gdl.analysis.dependencies import always_true, static_relations, unchanging, with_unchanging
from ggp.gdl.program import (
    DOES,
    GOAL,
    KEYWORD_ARITY,
    LEGAL,
    NEXT,
    TRUE,
    Atom,
    Literal,
    NormalRule,
    Program,
    atom_of,
    resolve,
    unify,
)
from ggp.gdl.safety import order_conditions
from ggp.gdl.terms import (
    Compound,
    Signature,
    Symbol,
    Term,
    Variable,
    signature,
    substitute,
    variables,
)
from ggp.machine.propnet.compile.rewriting.decompose import GIVEN, cost, decompose, project_locals
from ggp.machine.propnet.compile.rewriting.extents import MAX_DOMAIN, Extents, RelationSize, Sizes
from ggp.machine.propnet.compile.rewriting.translate import ASKED, MAY, RANKED, with_ranks

LARGE = 3_000_000.0
"""Expected cost of ground rules above which they are made only for what is asked for."""

MOST_FACTS = 100_000.0
"""Expected number of facts above which they are not counted to make a forecast: that takes half a
second."""

Tables = Mapping[Signature, RelationSize]
Count = Callable[[Sequence[NormalRule]], Tables]
"""Counts the atoms of relations that depend on nothing."""


class Split(NamedTuple):
    """Rules equivalent to those of a game.

    Attributes:
        fixed: rules that become facts.
        moving: the others, before they were split.
        parts: the others, split.
        static: relations that depend neither on the state nor on moves.
        counted: the counted tables of these.
        recursive: relations whose rules are left as they are.
        extents: estimates that decide what to split, with the new relations.
        is_counted: whether facts were counted for them.
    """

    fixed: list[NormalRule]
    moving: list[NormalRule]
    parts: list[NormalRule]
    static: frozenset[Signature]
    counted: Tables
    recursive: frozenset[Signature]
    extents: Extents
    is_counted: bool

    @property
    def rules(self) -> list[NormalRule]:
        """All rules."""
        return [*self.fixed, *self.parts]


def whole_rules(program: Program) -> list[NormalRule]:
    """The rules of a game as any grounding needs them."""
    rules = with_ranks(program.rules, program.goal_ranks)
    kept = unchanging(rules)
    return project_locals([*with_unchanging(rules, kept), *always_true(kept)])


def split(program: Program, count: Count, most_facts: float | None = None) -> Split:
    """Split the rules of a game.

    Args:
        program: normalised rules.
        count: counts facts.
        most_facts: expected number of facts above which they are not counted.
    """
    rules = whole_rules(program)
    # If `goal` leads back to itself, it does so through its rules with ranks.
    recursive = program.recursive | ({RANKED} if GOAL in program.recursive else set())
    static = static_relations(rules)
    fixed = [rule for rule in rules if signature(rule.head) in static]
    moving = [rule for rule in rules if signature(rule.head) not in static]
    fixed = decompose(fixed, Extents(rules, static, {}), prefix="fixed")
    few = most_facts is None or _facts(fixed) <= most_facts
    counted = count(fixed) if few else {}
    extents = Extents(rules, static, counted)
    parts = decompose(moving, extents, recursive)
    return Split(fixed, moving, parts, static, counted, recursive, extents, few)


def asked_for(program: Program, found: Split) -> list[NormalRule]:
    """The rules to ground: if they cost too much, only for what is asked for."""
    fixed, parts = found.fixed, found.parts
    if cost(parts, found.extents) <= LARGE:
        return found.rules
    static = found.static | frozenset(signature(rule.head) for rule in fixed)
    moving = with_differences([*fixed, *with_alternatives(found.moving)], static)[len(fixed) :]
    extents = Extents([*fixed, *moving], static, found.counted)
    asked = with_alternatives(decompose(moving, extents, found.recursive, asked=True), "or")
    return restricted(program.roles, [*fixed, *asked], static, extents) or found.rules


def expected_whole(program: Program) -> float:
    """Expected number of ground rules if no rule is split: hardly fewer than there will be."""
    rules = whole_rules(program)
    sizes = Sizes(rules, Extents(rules, static_relations(rules), {}), at_most=True)
    return sum(sizes.instances(rule) for rule in rules if rule.body)


def _facts(rules: Sequence[NormalRule]) -> float:
    """The number of facts that rules are expected to derive."""
    sizes = Sizes(rules, Extents(rules, frozenset(), {}))
    return sum(sizes.instances(rule) for rule in rules if rule.body)


# ------------------------------------------------------------------------
# Merges rules that differ in one condition into one rule, with a relation in its place.
#
# `(<= (p ?x) (q ?x ?y) (or (r ?y) (s ?y)))` is two rules once `or` is unfolded, and everything that
# the rest of it becomes is made twice. As `(<= (p ?x) (q ?x ?y) (either ?y))`, it is made once, and
# two small rules define `either`.


def with_alternatives(rules: Sequence[NormalRule], prefix: str = "either") -> list[NormalRule]:
    """Equivalent rules, in which those with one head that differ in one condition are one.

    Only positive conditions are merged, and only where they bind the same variables.

    Args:
        rules: some rules of a game; variables of different rules may have equal names by chance.
        prefix: the new relations are called `prefix;0`, `prefix;1`, ...
    """
    groups: dict[Atom, list[NormalRule]] = {}
    for rule in rules:
        groups.setdefault(rule.head, []).append(rule)
    relations: dict[tuple[Literal, ...], Atom] = {}
    merged = [rule for group in groups.values() for rule in _merged(group, relations, prefix)]
    merged += [NormalRule(head, (x,)) for found, head in relations.items() for x in found]
    return merged


def _merged(
    rules: list[NormalRule], relations: dict[tuple[Literal, ...], Atom], prefix: str
) -> list[NormalRule]:
    """Rules of one head, merged as far as possible; adds new relations and their conditions."""
    while len(rules) > 1:
        places: dict[tuple[frozenset[Literal], tuple[str, ...]], list[tuple[int, Literal]]] = {}
        for number, rule in enumerate(rules):
            for literal in rule.body:
                if literal.binds and len(rule.body) > 1:
                    key = (frozenset(rule.body) - {literal}, _names(literal))
                    places.setdefault(key, []).append((number, literal))
        most = max(map(len, places.values()), default=0)
        if most < 2:
            break
        (rest, names), found = next(place for place in places.items() if len(place[1]) == most)
        alternatives = tuple(sorted((literal for _, literal in found), key=str))
        name = f"{prefix};{len(relations)}"
        new = Compound(name, tuple(map(Variable, names))) if names else Symbol(name)
        either = relations.setdefault(tuple(dict.fromkeys(alternatives)), new)
        first = rules[found[0][0]]
        body = (*(literal for literal in first.body if literal in rest), Literal(either))
        gone = {number for number, _ in found}
        kept = [rule for number, rule in enumerate(rules) if number not in gone]
        rules = [*kept, order_conditions(NormalRule(first.head, body, first.start))]
    return rules


def _names(literal: Literal) -> tuple[str, ...]:
    return tuple(sorted({variable.name for variable in variables(literal.atom)}))


# ------------------------------------------------------------------------
# Writes out conditions which say that two things differ.
#
# A relation such as
#
# (<= (different ?x1 ?y1 ?x2 ?y2) (distinct ?x1 ?x2) (index ?x1) ...)
#     (<= (different ?x1 ?y1 ?x2 ?y2) (distinct ?y1 ?y2) (index ?x1) ...)
#
# holds for nearly all values. As one condition it ties all of its variables together; written out,
# each rule compares one pair, and the others can be treated separately (see `decompose`).

MAX_RULES = 3
"""Relations with more rules are left, as a rule that uses one becomes as many rules."""

_OTHERS = ";of"


def with_differences(rules: Sequence[NormalRule], static: frozenset[Signature]) -> list[NormalRule]:
    """Equivalent rules, with differences written out where other rules use them.

    Args:
        rules: all rules of a game.
        static: relations that depend neither on the state nor on moves.
    """
    found = _differences(rules, static)
    written = []
    for rule in rules:
        written += [rule] if signature(rule.head) in static else _written_out(rule, found)
    return written


def _differences(
    rules: Sequence[NormalRule], static: frozenset[Signature]
) -> Mapping[Signature, Sequence[NormalRule]]:
    """The relations all of whose rules compare two values and do not mention such relations."""
    of: dict[Signature, list[NormalRule]] = {}
    for rule in rules:
        if signature(rule.head) in static:
            of.setdefault(signature(rule.head), []).append(rule)
    return {
        relation: alternatives
        for relation, alternatives in of.items()
        if len(alternatives) <= MAX_RULES and all(map(_compares, alternatives))
    }


def _compares(rule: NormalRule) -> bool:
    """Whether a rule compares variables of its head, each with a condition that binds it alone."""
    return any(x.is_distinct for x in rule.body) and all(
        x.is_distinct or (x.binds and len(list(variables(x.atom))) == 1) for x in rule.body
    )


def _written_out(
    rule: NormalRule, differences: Mapping[Signature, Sequence[NormalRule]]
) -> list[NormalRule]:
    """The rule, once for each way in which its first difference can hold, and so on."""
    head = {v.name for v in variables(rule.head)}
    for place, literal in enumerate(rule.body):
        alternatives = differences.get(signature(literal.atom), ()) if literal.binds else ()
        if not alternatives or head.issuperset(v.name for v in variables(literal.atom)):
            continue
        made: list[NormalRule] = []
        for number, alternative in enumerate(alternatives):
            apart = {
                v.name: Variable(f"{v.name}{_OTHERS}{place}.{number}")
                for atom in (alternative.head, *(x.atom for x in alternative.body))
                for v in variables(atom)
            }
            binding = unify(substitute(alternative.head, apart), literal.atom)
            if binding is None:
                continue
            instead = [
                Literal(atom_of(resolve(substitute(x.atom, apart), binding)), x.negated)
                for x in alternative.body
            ]
            body = [*rule.body[:place], *instead, *rule.body[place + 1 :]]
            body = [Literal(atom_of(resolve(x.atom, binding)), x.negated) for x in body]
            one = NormalRule(
                atom_of(resolve(rule.head, binding)), tuple(dict.fromkeys(body)), rule.start
            )
            made += _written_out(order_conditions(one), differences)
        return made
    return [rule]


# ------------------------------------------------------------------------
# Restricts rules to the atoms that are asked for (magic sets).
#
# A relation such as "black threatens (x, y) if (u, v) is ignored" has an atom for all values that
# its variables can take, though the rules ask for few of them: squares of a king, and moves of a
# piece. So for each relation another one holds what is asked for, and its rules apply to nothing
# else. This is the magic-sets transformation (Beeri and Ramakrishnan, *On the Power of Magic*,
# 1991).
#
# The atoms asked for must be known before grounding, so they are found by rules in which everything
# that may hold does hold: there are no negations, every fluent that may be reached is true, and
# every legal move is made. These rules use facts alone, so gringo evaluates them like a database.
# In `(<= (p ?x) (q ?x ?y) (not (r ?y)))`, if p is asked for a, then q is asked for a and anything,
# and r for every b with q of a and b:
#
# may;q(X,Y)   :- asked;q(X), ...
#     asked;q(X)   :- asked;p(X).
#     asked;r(Y)   :- asked;p(X), may;q(X,Y).
#     p(X)         :- asked;p(X), q(X,Y), not r(Y).
#
# An argument that would be asked for with all its possible values is left out of the question.
#
# Why this is right: an atom that is asked for keeps its meaning. If a ground rule for it could
# apply, all its positive conditions may hold; so the later conditions are asked for, and by
# induction keep their meanings. Fluents, moves, and a game's percepts and goals are never
# restricted themselves.

_ROOTS = frozenset(KEYWORD_ARITY.items()) | {RANKED}


def restricted(
    roles: Sequence[str],
    rules: Sequence[NormalRule],
    static: frozenset[Signature],
    extents: Extents,
) -> list[NormalRule] | None:
    """Rules that mean the same for what is asked for, and the rules that define what that is.

    None if not even questions bind the variables that only they could bind.

    Args:
        roles: names of the roles.
        rules: rules in which no negated condition has a variable of its own.
        static: relations that depend neither on the state nor on moves: they are left as they are.
        extents: estimates of the numbers of values of arguments.
    """
    plans = _Plans([rule for rule in rules if signature(rule.head) not in static], static, extents)
    if not plans.bind_all:
        return None
    made = [rule for rule in rules if signature(rule.head) in static]
    made += map(plans.restricted, plans.rules)
    questions = dict.fromkeys(asked for rule in plans.rules for asked in plans.questions(rule))
    return [*made, *questions, *_possible(roles, plans, questions)]


def _possible(
    roles: Sequence[str], plans: _Plans, questions: Iterable[NormalRule]
) -> Iterator[NormalRule]:
    """The rules of what may hold, as far as questions, or other such rules, use them."""
    fluent, move = Variable("fluent"), Variable("move")
    true = Compound(MAY + TRUE[0], (fluent,))
    yield NormalRule(true, (Literal(Compound("init", (fluent,))),))
    yield NormalRule(true, (plans.may(Literal(Compound(NEXT[0], (fluent,)))),))
    for role in map(Symbol, roles):
        # Moves that are legal in every state need no rules of what may hold.
        legal = plans.may(Literal(Compound(LEGAL[0], (role, move))))
        yield NormalRule(Compound(MAY + DOES[0], (role, move)), (legal,))
    rules: dict[Signature, list[NormalRule]] = {}
    for rule in plans.rules:
        rules.setdefault(signature(rule.head), []).append(rule)
    named = {(MAY + name, arity): (name, arity) for name, arity in rules}
    pending = [named.get(signature(x.atom)) for rule in questions for x in rule.body]
    pending += [NEXT, LEGAL]
    done: set[Signature] = set()
    while pending:
        relation = pending.pop()
        if relation is not None and relation not in done:
            done.add(relation)
            for rule in map(plans.possible, rules.get(relation, ())):
                yield rule
                pending += [named.get(signature(literal.atom)) for literal in rule.body]


@dataclass(frozen=True, slots=True)
class _Step:
    """A positive condition, and the conditions that are evaluated before it."""

    literal: Literal
    before: tuple[Literal, ...]


class _Plans:
    """The order in which conditions are evaluated, and the arguments known when they are asked.

    Args:
        rules: rules of relations that depend on the state or on moves.
        static: all other relations.
        extents: estimates of the numbers of values of arguments.
    """

    def __init__(
        self, rules: Sequence[NormalRule], static: frozenset[Signature], extents: Extents
    ) -> None:
        self.rules = rules
        self._static = static
        self._extents = extents
        relations = {signature(rule.head) for rule in rules}
        self._known: dict[Signature, frozenset[int]] = {
            relation: frozenset(range(relation[1]))
            for relation in sorted(relations - _ROOTS)
            if relation[1]
        }
        """The arguments of a relation that are known wherever it is asked for."""
        self._given: dict[Signature, frozenset[int]] = {}
        """The arguments that must be known, because the rules do not bind them."""
        for rule in rules:
            relation = signature(rule.head)
            self._given[relation] = self._given.get(relation, frozenset()) | _given(rule)
        while self._learn():
            pass

    @property
    def bind_all(self) -> bool:
        """Whether arguments that must be known are known wherever a relation is asked for."""
        return all(self._given[relation] <= known for relation, known in self._known.items())

    def restricted(self, rule: NormalRule) -> NormalRule:
        """The rule, restricted to what is asked for."""
        return NormalRule(rule.head, (*self._question(rule.head), *_conditions(rule)), rule.start)

    def possible(self, rule: NormalRule) -> NormalRule:
        """The version of the rule that derives what may hold."""
        body = (self.may(x) for x in _conditions(rule) if self._is_sure(x))
        head = _renamed(rule.head, MAY)
        return NormalRule(head, (*self._question(rule.head), *body), rule.start)

    def questions(self, rule: NormalRule) -> Iterator[NormalRule]:
        """The rules that derive what a rule asks for."""
        given = self._question(rule.head)
        for step in self._steps(rule):
            for question in self._question(step.literal.atom):
                before = (*given, *map(self.may, step.before))
                body = _connected(question.atom, before)
                if question not in body:
                    yield NormalRule(question.atom, body, rule.start)

    def _question(self, atom: Atom) -> tuple[Literal, ...]:
        """The condition that an atom is asked for; empty if its relation is not restricted."""
        relation = signature(atom)
        known = self._known.get(relation)
        if not known or not isinstance(atom, Compound):
            return ()
        name = f"{ASKED}{relation[0]};{relation[1]}"
        return (Literal(Compound(name, tuple(atom.args[i] for i in sorted(known)))),)

    def may(self, literal: Literal) -> Literal:
        """The condition that a literal may hold."""
        if literal.is_distinct or signature(literal.atom) in self._static:
            return literal
        return Literal(_renamed(literal.atom, MAY))

    def _is_sure(self, literal: Literal) -> bool:
        """Whether a condition counts in rules of what may hold; negations may go either way."""
        return not literal.negated or signature(literal.atom) in self._static

    def _learn(self) -> bool:
        """Drop arguments that questions do not give, or give to no use; whether there were any."""
        known = dict(self._known)
        vain: dict[Signature, frozenset[int]] = {}
        for rule in self.rules:
            for step in self._steps(rule):
                relation, atom = signature(step.literal.atom), step.literal.atom
                if not self._known.get(relation) or not isinstance(atom, Compound):
                    continue
                names = self._names_before(rule, step)
                said = frozenset(
                    i for i in self._known[relation] if _variable_names(atom.args[i]) <= names
                )
                known[relation] &= said
                told = {i for i in said if not self._asks_for_all(rule, step, i)}
                vain[relation] = vain.get(relation, known[relation]) - told
        for relation, places in vain.items():
            known[relation] -= places - self._given[relation]
        changed = known != self._known
        self._known = known
        return changed

    def _asks_for_all(self, rule: NormalRule, step: _Step, place: int) -> bool:
        """Whether a question is asked with all values of an argument, whatever the others are.

        As far as is known, a piece may stand anywhere: so "is the square of a queen attacked" is
        asked of all squares, and questions would only list these, together with everything else
        that is asked.
        """
        atom = step.literal.atom
        assert isinstance(atom, Compound)
        term = atom.args[place]
        if not isinstance(term, Variable) or term in (*atom.args[:place], *atom.args[place + 1 :]):
            return False
        near = [
            x
            for x in (*self._question(rule.head), *step.before)
            if term.name in _variable_names(x.atom)
        ]
        if near == list(self._question(rule.head)) and signature(rule.head) == signature(atom):
            # Recursion that hands the argument on asks for no more than was asked for.
            return isinstance(rule.head, Compound) and rule.head.args[place] == term
        if any(signature(x.atom) != TRUE or not x.binds for x in near):
            return False
        asked = min(self._extents.of(x).values[term.name] for x in near)
        all_of_them = self._extents.column(signature(atom), place)
        return asked >= all_of_them and all_of_them < MAX_DOMAIN

    def _names_before(self, rule: NormalRule, step: _Step) -> set[str]:
        known = (*self._question(rule.head), *(x for x in step.before if x.binds))
        return {name for x in known for name in _variable_names(x.atom)}

    def _steps(self, rule: NormalRule) -> Iterator[_Step]:
        """The conditions that may be restricted to what is asked for, in a good order."""
        asked = [x for x in _conditions(rule) if signature(x.atom) in self._known]
        others = [x for x in _conditions(rule) if x not in asked and self._is_sure(x)]
        names = {name for x in self._question(rule.head) for name in _variable_names(x.atom)}
        before = [x for x in others if signature(x.atom) not in self._static and x.binds]
        names.update(name for x in before for name in _variable_names(x.atom))
        left = [x for x in others if x not in before]
        waiting = [x for x in asked if x.binds]
        while waiting:
            _join(left, before, names)
            literal = min(waiting, key=lambda x: self._unknown(x, names))
            if self._unknown(literal, names)[0]:
                _join(left, before, names, all_of_them=True)
                literal = min(waiting, key=lambda x: self._unknown(x, names))
            waiting.remove(literal)
            yield _Step(literal, tuple(before))
            before.append(literal)
            names |= _variable_names(literal.atom)
        _join(left, before, names, all_of_them=True)
        for literal in asked:
            if literal.negated:
                yield _Step(literal, tuple(before))

    def _unknown(self, literal: Literal, names: set[str]) -> tuple[bool, int]:
        """Sort key for asking now: whether it is forbidden, and the number of unknown arguments."""
        atom = literal.atom
        assert isinstance(atom, Compound)
        unknown = {i for i, arg in enumerate(atom.args) if not _variable_names(arg) <= names}
        return bool(unknown & self._given[signature(atom)]), len(unknown)


def _join(
    left: list[Literal], before: list[Literal], names: set[str], *, all_of_them: bool = False
) -> None:
    """Move conditions from `left` to `before` that say more about known variables.

    Conditions without known variables would only list values, possibly all: they wait.
    """
    moved = True
    while moved:
        moved = False
        for literal in list(left):
            found = _variable_names(literal.atom)
            if found <= names or (literal.binds and (all_of_them or not found.isdisjoint(names))):
                left.remove(literal)
                before.append(literal)
                names |= found
                moved = True


def _given(rule: NormalRule) -> frozenset[int]:
    """Places of the head's arguments that the rule does not bind itself."""
    head = rule.head.args if isinstance(rule.head, Compound) else ()
    names = {v.name for x in rule.body if _is_given(x) for v in variables(x.atom)}
    return frozenset(i for i, arg in enumerate(head) if _variable_names(arg) & names)


def _conditions(rule: NormalRule) -> list[Literal]:
    return [literal for literal in rule.body if not _is_given(literal)]


def _is_given(literal: Literal) -> bool:
    return signature(literal.atom)[0].startswith(GIVEN)


def _connected(atom: Atom, conditions: Sequence[Literal]) -> tuple[Literal, ...]:
    """The conditions that are connected with an atom through shared variables."""
    names = _variable_names(atom)
    left, found = list(conditions), []
    while True:
        near = [x for x in left if not names.isdisjoint(_variable_names(x.atom))]
        if not near:
            # In their original order: equal rules are only recognised if they are equal as written.
            return tuple(x for x in conditions if x in found)
        found += near
        left = [x for x in left if x not in near]
        names = names.union(*(_variable_names(x.atom) for x in near))


def _renamed(atom: Atom, prefix: str) -> Atom:
    name = prefix + atom.name
    return Compound(name, atom.args) if isinstance(atom, Compound) else Symbol(name)


def _variable_names(term: Term) -> set[str]:
    return {variable.name for variable in variables(term)}
