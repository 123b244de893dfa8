"""Chooses the rules to ground in place of the rulesheet's: equivalent, split, perhaps restricted.

In comes a `Program`, out go rules for `translate`. The static rules, which become facts, come
first, so that `grounding` can count their atoms; by these counts the other rules are split
(`decompose`). If their ground rules are still expected to cost too much, they are restricted to the
atoms that other rules ask for (`restricted`).
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
"""Expected cost of ground rules above which rules are restricted to atoms that are asked for."""

MAX_FACTS = 100_000.0
"""Expected number of facts above which a forecast does not count them: counting these takes half a
second."""

Tables = Mapping[Signature, RelationSize]
Count = Callable[[Sequence[NormalRule]], Tables]
"""Counts the atoms of static relations."""


class Split(NamedTuple):
    """Rules equivalent to a game's.

    Attributes:
        fixed: static rules, which become facts.
        moving: the other rules, before they were split.
        parts: the other rules, split.
        static: relations that depend neither on the state nor on moves.
        counted: the counted tables of static relations.
        recursive: relations whose rules are not split.
        extents: the estimates by which rules were split, with the new relations.
        is_counted: whether facts were counted for the estimates.
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
    """The rules of a game, unsplit, in the form that grounding needs."""
    rules = with_ranks(program.rules, program.goal_ranks)
    relations = unchanging(rules)
    return project_locals([*with_unchanging(rules, relations), *always_true(relations)])


def split(program: Program, count: Count, most_facts: float | None = None) -> Split:
    """Split the rules of a game.

    Args:
        program: normalised rules.
        count: counts facts.
        most_facts: expected number of facts above which they are not counted.
    """
    rules = whole_rules(program)
    # If `goal` is recursive, it is so through its rules with ranks.
    recursive = program.recursive | ({RANKED} if GOAL in program.recursive else set())
    static = static_relations(rules)
    fixed = [rule for rule in rules if signature(rule.head) in static]
    moving = [rule for rule in rules if signature(rule.head) not in static]
    fixed = decompose(fixed, Extents(rules, static, {}), prefix="fixed")
    is_counted = most_facts is None or _facts(fixed) <= most_facts
    counted = count(fixed) if is_counted else {}
    extents = Extents(rules, static, counted)
    parts = decompose(moving, extents, recursive)
    return Split(fixed, moving, parts, static, counted, recursive, extents, is_counted)


def asked_for(program: Program, split: Split) -> list[NormalRule]:
    """The rules to ground: the split ones, or, if these cost too much, restricted ones."""
    fixed, parts = split.fixed, split.parts
    if cost(parts, split.extents) <= LARGE:
        return split.rules
    static = split.static | frozenset(signature(rule.head) for rule in fixed)
    moving = with_differences([*fixed, *with_alternatives(split.moving)], static)[len(fixed) :]
    extents = Extents([*fixed, *moving], static, split.counted)
    demanded = with_alternatives(decompose(moving, extents, split.recursive, on_demand=True), "or")
    return restricted(program.roles, [*fixed, *demanded], static, extents) or split.rules


def expected_whole(program: Program) -> float:
    """Expected number of ground rules if no rule is split; rarely too low."""
    rules = whole_rules(program)
    sizes = Sizes(rules, Extents(rules, static_relations(rules), {}), at_most=True)
    return sum(sizes.instances(rule) for rule in rules if rule.body)


def _facts(rules: Sequence[NormalRule]) -> float:
    """Expected number of facts that rules derive."""
    sizes = Sizes(rules, Extents(rules, frozenset(), {}))
    return sum(sizes.instances(rule) for rule in rules if rule.body)


# ------------------------------------------------------------------------
# Merges rules that differ in one condition into one rule, with a new relation for that condition.
#
# `(<= (p ?x) (q ?x ?y) (or (r ?y) (s ?y)))` is two rules once `or` is unfolded, and the instances
# of the other conditions are ground twice. As `(<= (p ?x) (q ?x ?y) (either ?y))`, they are ground
# once, and two small rules define `either`.


def with_alternatives(rules: Sequence[NormalRule], prefix: str = "either") -> list[NormalRule]:
    """Equivalent rules, in which rules with one head that differ in one condition are merged.

    Only positive conditions are merged, and only if they bind the same variables.

    Args:
        rules: some rules of a game; variables of different rules may have equal names by chance.
        prefix: the new relations are called `prefix;0`, `prefix;1`, ...
    """
    groups: dict[Atom, list[NormalRule]] = {}
    for rule in rules:
        groups.setdefault(rule.head, []).append(rule)
    relations: dict[tuple[Literal, ...], Atom] = {}
    merged = [rule for group in groups.values() for rule in _merged(group, relations, prefix)]
    merged += [NormalRule(head, (x,)) for literals, head in relations.items() for x in literals]
    return merged


def _merged(
    rules: list[NormalRule], relations: dict[tuple[Literal, ...], Atom], prefix: str
) -> list[NormalRule]:
    """Rules of one head, merged as long as two differ in one condition; adds to `relations`."""
    while len(rules) > 1:
        sites: dict[tuple[frozenset[Literal], tuple[str, ...]], list[tuple[int, Literal]]] = {}
        for index, rule in enumerate(rules):
            for literal in rule.body:
                if literal.binds and len(rule.body) > 1:
                    key = (frozenset(rule.body) - {literal}, _names(literal))
                    sites.setdefault(key, []).append((index, literal))
        most = max(map(len, sites.values()), default=0)
        if most < 2:
            break
        (rest, names), uses = next(site for site in sites.items() if len(site[1]) == most)
        alternatives = tuple(sorted((literal for _, literal in uses), key=str))
        name = f"{prefix};{len(relations)}"
        new = Compound(name, tuple(map(Variable, names))) if names else Symbol(name)
        either = relations.setdefault(tuple(dict.fromkeys(alternatives)), new)
        first = rules[uses[0][0]]
        body = (*(literal for literal in first.body if literal in rest), Literal(either))
        merged_indices = {index for index, _ in uses}
        unmerged = [rule for index, rule in enumerate(rules) if index not in merged_indices]
        rules = [*unmerged, order_conditions(NormalRule(first.head, body, first.start))]
    return rules


def _names(literal: Literal) -> tuple[str, ...]:
    return tuple(sorted({variable.name for variable in variables(literal.atom)}))


# ------------------------------------------------------------------------
# Unfolds conditions that say that two things differ.
#
# A relation such as
#
#     (<= (different ?x1 ?y1 ?x2 ?y2) (distinct ?x1 ?x2) (index ?x1) ...)
#     (<= (different ?x1 ?y1 ?x2 ?y2) (distinct ?y1 ?y2) (index ?x1) ...)
#
# holds for nearly all values. As one condition it ties all of its variables together. Unfolded,
# each rule compares one pair, and the other variables can be split off (see `decompose`).

MAX_RULES = 3
"""Relations with more rules are not unfolded: a rule that uses one would become as many rules."""

_OTHERS = ";of"


def with_differences(rules: Sequence[NormalRule], static: frozenset[Signature]) -> list[NormalRule]:
    """Equivalent rules, with differences unfolded in the rules that use them.

    Args:
        rules: all rules of a game.
        static: relations that depend neither on the state nor on moves.
    """
    differences = _differences(rules, static)
    written = []
    for rule in rules:
        written += [rule] if signature(rule.head) in static else _written_out(rule, differences)
    return written


def _differences(
    rules: Sequence[NormalRule], static: frozenset[Signature]
) -> Mapping[Signature, Sequence[NormalRule]]:
    """The static relations all of whose rules compare two values, with these rules."""
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
    """The rule with its first difference unfolded, once for each rule of it, and so on."""
    head = {v.name for v in variables(rule.head)}
    for index, literal in enumerate(rule.body):
        alternatives = differences.get(signature(literal.atom), ()) if literal.binds else ()
        if not alternatives or head.issuperset(v.name for v in variables(literal.atom)):
            continue
        variants: list[NormalRule] = []
        for choice, alternative in enumerate(alternatives):
            fresh = {
                v.name: Variable(f"{v.name}{_OTHERS}{index}.{choice}")
                for atom in (alternative.head, *(x.atom for x in alternative.body))
                for v in variables(atom)
            }
            binding = unify(substitute(alternative.head, fresh), literal.atom)
            if binding is None:
                continue
            instead = [
                Literal(atom_of(resolve(substitute(x.atom, fresh), binding)), x.negated)
                for x in alternative.body
            ]
            body = [*rule.body[:index], *instead, *rule.body[index + 1 :]]
            body = [Literal(atom_of(resolve(x.atom, binding)), x.negated) for x in body]
            variant = NormalRule(
                atom_of(resolve(rule.head, binding)), tuple(dict.fromkeys(body)), rule.start
            )
            variants += _written_out(order_conditions(variant), differences)
        return variants
    return [rule]


# ------------------------------------------------------------------------
# Restricts rules to the atoms that are asked for (magic sets).
#
# A relation such as "black threatens (x, y) if (u, v) is ignored" has an atom for all values of its
# variables, though other rules ask for few of them: squares of a king, and moves of a piece. So for
# each relation, a second one holds the *questions*, the atoms that are asked for, and its rules
# apply to these alone. This is the magic-sets transformation (Beeri and Ramakrishnan, *On the Power
# of Magic*, 1991).
#
# The questions must be known before grounding. So they are derived by rules in which everything
# that may hold does hold: without negations, with every reachable fluent true and every legal move
# made. These rules use facts alone, so gringo evaluates them like a database. In
# `(<= (p ?x) (q ?x ?y) (not (r ?y)))`, if p is asked for a, then q is asked for a and anything, and
# r for every b with q of a and b:
#
#     may;q(X,Y)   :- asked;q(X), ...
#     asked;q(X)   :- asked;p(X).
#     asked;r(Y)   :- asked;p(X), may;q(X,Y).
#     p(X)         :- asked;p(X), q(X,Y), not r(Y).
#
# If an argument would be asked for with all its possible values, the question does not have it.
#
# Why this is right: an atom that is asked for keeps its meaning. If a ground rule for it could
# apply, all its positive conditions may hold; so the later conditions are asked for, and by
# induction keep their meanings. Fluents, moves, percepts and goals are never restricted.

_ROOTS = frozenset(KEYWORD_ARITY.items()) | {RANKED}


def restricted(
    roles: Sequence[str],
    rules: Sequence[NormalRule],
    static: frozenset[Signature],
    extents: Extents,
) -> list[NormalRule] | None:
    """Rules restricted to the atoms that are asked for, with the rules that derive these questions.

    None if some variables, which only a question could bind, are not bound by it.

    Args:
        roles: names of the roles.
        rules: rules in which no negated condition has a variable of its own.
        static: relations that depend neither on the state nor on moves; they are not restricted.
        extents: estimates of the numbers of values of arguments.
    """
    plans = _Plans([rule for rule in rules if signature(rule.head) not in static], static, extents)
    if not plans.bind_all:
        return None
    restricted_rules = [rule for rule in rules if signature(rule.head) in static]
    restricted_rules += map(plans.restricted, plans.rules)
    questions = dict.fromkeys(q for rule in plans.rules for q in plans.questions(rule))
    return [*restricted_rules, *questions, *_possible(roles, plans, questions)]


def _possible(
    roles: Sequence[str], plans: _Plans, questions: Iterable[NormalRule]
) -> Iterator[NormalRule]:
    """The rules of atoms that may hold, if questions, directly or through such rules, use them."""
    fluent, move = Variable("fluent"), Variable("move")
    true = Compound(MAY + TRUE[0], (fluent,))
    yield NormalRule(true, (Literal(Compound("init", (fluent,))),))
    yield NormalRule(true, (plans.may(Literal(Compound(NEXT[0], (fluent,)))),))
    for role in map(Symbol, roles):
        # Moves that are legal in every state are facts, and need no rules of their own.
        legal = plans.may(Literal(Compound(LEGAL[0], (role, move))))
        yield NormalRule(Compound(MAY + DOES[0], (role, move)), (legal,))
    rules: dict[Signature, list[NormalRule]] = {}
    for rule in plans.rules:
        rules.setdefault(signature(rule.head), []).append(rule)
    named = {(MAY + name, arity): (name, arity) for name, arity in rules}
    pending = [named.get(signature(x.atom)) for rule in questions for x in rule.body]
    pending += [NEXT, LEGAL]
    finished: set[Signature] = set()
    while pending:
        relation = pending.pop()
        if relation is not None and relation not in finished:
            finished.add(relation)
            for rule in map(plans.possible, rules.get(relation, ())):
                yield rule
                pending += [named.get(signature(literal.atom)) for literal in rule.body]


@dataclass(frozen=True, slots=True)
class _Step:
    """A positive condition, and the conditions that are evaluated before it."""

    literal: Literal
    earlier: tuple[Literal, ...]


class _Plans:
    """The order in which conditions are evaluated, and the arguments that questions bind.

    The bound arguments are a greatest fixpoint: all are assumed to be bound at first, and an
    argument is dropped if some question does not bind it, or would ask for all its values.

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
        self._bound: dict[Signature, frozenset[int]] = {
            relation: frozenset(range(relation[1]))
            for relation in sorted(relations - _ROOTS)
            if relation[1]
        }
        """The arguments of each relation that every question for it binds."""
        self._required: dict[Signature, frozenset[int]] = {}
        """The arguments that questions must bind, because the rules do not."""
        for rule in rules:
            relation = signature(rule.head)
            self._required[relation] = self._required.get(relation, frozenset()) | _unbound(rule)
        while self._learn():
            pass

    @property
    def bind_all(self) -> bool:
        """Whether every question binds the arguments that it must bind."""
        return all(self._required[relation] <= bound for relation, bound in self._bound.items())

    def restricted(self, rule: NormalRule) -> NormalRule:
        """The rule, restricted to atoms that are asked for."""
        return NormalRule(rule.head, (*self._question(rule.head), *_conditions(rule)), rule.start)

    def possible(self, rule: NormalRule) -> NormalRule:
        """The version of the rule that derives atoms that may hold."""
        body = (self.may(x) for x in _conditions(rule) if self._is_sure(x))
        head = _renamed(rule.head, MAY)
        return NormalRule(head, (*self._question(rule.head), *body), rule.start)

    def questions(self, rule: NormalRule) -> Iterator[NormalRule]:
        """The rules that derive the atoms that a rule asks for."""
        guard = self._question(rule.head)
        for step in self._steps(rule):
            for question in self._question(step.literal.atom):
                context = (*guard, *map(self.may, step.earlier))
                body = _connected(question.atom, context)
                if question not in body:
                    yield NormalRule(question.atom, body, rule.start)

    def _question(self, atom: Atom) -> tuple[Literal, ...]:
        """The condition that an atom is asked for; empty if its relation is not restricted."""
        relation = signature(atom)
        positions = self._bound.get(relation)
        if not positions or not isinstance(atom, Compound):
            return ()
        name = f"{ASKED}{relation[0]};{relation[1]}"
        return (Literal(Compound(name, tuple(atom.args[i] for i in sorted(positions)))),)

    def may(self, literal: Literal) -> Literal:
        """The condition that a literal may hold."""
        if literal.is_distinct or signature(literal.atom) in self._static:
            return literal
        return Literal(_renamed(literal.atom, MAY))

    def _is_sure(self, literal: Literal) -> bool:
        """Whether rules of atoms that may hold have this condition; negated ones only if static."""
        return not literal.negated or signature(literal.atom) in self._static

    def _learn(self) -> bool:
        """Drop arguments that questions do not bind, or bind in vain; whether there were any."""
        remaining = dict(self._bound)
        vain: dict[Signature, frozenset[int]] = {}
        for rule in self.rules:
            for step in self._steps(rule):
                relation, atom = signature(step.literal.atom), step.literal.atom
                if not self._bound.get(relation) or not isinstance(atom, Compound):
                    continue
                names = self._names_before(rule, step)
                bound = frozenset(
                    i for i in self._bound[relation] if _variable_names(atom.args[i]) <= names
                )
                remaining[relation] &= bound
                useful = {i for i in bound if not self._asks_for_all(rule, step, i)}
                vain[relation] = vain.get(relation, remaining[relation]) - useful
        for relation, indices in vain.items():
            remaining[relation] -= indices - self._required[relation]
        changed = remaining != self._bound
        self._bound = remaining
        return changed

    def _asks_for_all(self, rule: NormalRule, step: _Step, index: int) -> bool:
        """Whether a question lists all values of an argument, whatever the others are.

        A piece may stand anywhere: so "is the square of a queen attacked" is asked of all squares,
        and the argument would only multiply the questions.
        """
        atom = step.literal.atom
        assert isinstance(atom, Compound)
        term = atom.args[index]
        if not isinstance(term, Variable) or term in (*atom.args[:index], *atom.args[index + 1 :]):
            return False
        near = [
            x
            for x in (*self._question(rule.head), *step.earlier)
            if term.name in _variable_names(x.atom)
        ]
        if near == list(self._question(rule.head)) and signature(rule.head) == signature(atom):
            # Recursion that passes the argument on asks for no more values.
            return isinstance(rule.head, Compound) and rule.head.args[index] == term
        if any(signature(x.atom) != TRUE or not x.binds for x in near):
            return False
        num_asked = min(self._extents.of(x).values[term.name] for x in near)
        num_possible = self._extents.column(signature(atom), index)
        return num_asked >= num_possible and num_possible < MAX_DOMAIN

    def _names_before(self, rule: NormalRule, step: _Step) -> set[str]:
        evaluated = (*self._question(rule.head), *(x for x in step.earlier if x.binds))
        return {name for x in evaluated for name in _variable_names(x.atom)}

    def _steps(self, rule: NormalRule) -> Iterator[_Step]:
        """The conditions that may be restricted to questions, in the order of evaluation.

        The condition with the fewest unbound arguments comes next; tests come as soon as they share
        bound variables, and negated conditions come last.
        """
        restrictable = [x for x in _conditions(rule) if signature(x.atom) in self._bound]
        checks = [x for x in _conditions(rule) if x not in restrictable and self._is_sure(x)]
        names = {name for x in self._question(rule.head) for name in _variable_names(x.atom)}
        earlier = [x for x in checks if signature(x.atom) not in self._static and x.binds]
        names.update(name for x in earlier for name in _variable_names(x.atom))
        waiting_checks = [x for x in checks if x not in earlier]
        waiting = [x for x in restrictable if x.binds]
        while waiting:
            _join(waiting_checks, earlier, names)
            literal = min(waiting, key=lambda x: self._unknown(x, names))
            if self._unknown(literal, names)[0]:
                _join(waiting_checks, earlier, names, take_all=True)
                literal = min(waiting, key=lambda x: self._unknown(x, names))
            waiting.remove(literal)
            yield _Step(literal, tuple(earlier))
            earlier.append(literal)
            names |= _variable_names(literal.atom)
        _join(waiting_checks, earlier, names, take_all=True)
        for literal in restrictable:
            if literal.negated:
                yield _Step(literal, tuple(earlier))

    def _unknown(self, literal: Literal, names: set[str]) -> tuple[bool, int]:
        """Sort key of the next question: whether it is forbidden, and its unbound arguments."""
        atom = literal.atom
        assert isinstance(atom, Compound)
        unknown = {i for i, arg in enumerate(atom.args) if not _variable_names(arg) <= names}
        return bool(unknown & self._required[signature(atom)]), len(unknown)


def _join(
    pending: list[Literal], earlier: list[Literal], names: set[str], *, take_all: bool = False
) -> None:
    """Move conditions from `pending` to `earlier` that restrict bound variables.

    Conditions without bound variables would only list values, possibly all: they wait.
    """
    moved = True
    while moved:
        moved = False
        for literal in list(pending):
            needs = _variable_names(literal.atom)
            if needs <= names or (literal.binds and (take_all or not needs.isdisjoint(names))):
                pending.remove(literal)
                earlier.append(literal)
                names |= needs
                moved = True


def _unbound(rule: NormalRule) -> frozenset[int]:
    """Indices of the head's arguments that the rule does not bind."""
    head = rule.head.args if isinstance(rule.head, Compound) else ()
    names = {v.name for x in rule.body if _is_given(x) for v in variables(x.atom)}
    return frozenset(i for i, arg in enumerate(head) if _variable_names(arg) & names)


def _conditions(rule: NormalRule) -> list[Literal]:
    return [literal for literal in rule.body if not _is_given(literal)]


def _is_given(literal: Literal) -> bool:
    return signature(literal.atom)[0].startswith(GIVEN)


def _connected(atom: Atom, conditions: Sequence[Literal]) -> tuple[Literal, ...]:
    """The conditions that are connected to an atom through shared variables, in order."""
    names = _variable_names(atom)
    pending, connected = list(conditions), []
    while True:
        near = [x for x in pending if not names.isdisjoint(_variable_names(x.atom))]
        if not near:
            # In their original order, so that equal rules are equal as written.
            return tuple(x for x in conditions if x in connected)
        connected += near
        pending = [x for x in pending if x not in near]
        names = names.union(*(_variable_names(x.atom) for x in near))


def _renamed(atom: Atom, prefix: str) -> Atom:
    name = prefix + atom.name
    return Compound(name, atom.args) if isinstance(atom, Compound) else Symbol(name)


def _variable_names(term: Term) -> set[str]:
    return {variable.name for variable in variables(term)}
