"""Binds every variable of the rules: orders conditions, and gives unbound variables a range.

In come rules of literals from `normalize`; out go the same rules, in which every variable gets its
values from an earlier positive condition. A variable without one is a breach of GDL. It is repaired
by a new condition, on a relation of the values that fit its place (`Domains`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from ggp.gdl.analysis.domains import Domains, Position, occurrences, position, with_uses
from ggp.gdl.formal import Diagnosis
from ggp.gdl.nearest import nearest
from ggp.gdl.program import (
    KEYWORD_ARITY,
    ROLE,
    Literal,
    NormalRule,
    atom_of,
    local_variables,
    rule_variables,
)
from ggp.gdl.terms import Compound, Signature, Term, Variable, signature, substitute, variables

MAX_DOMAIN = 20_000
"""Greatest number of values that an unbound variable may range over."""

_APART = ";not;"
"""Part of the names of variables that several negations share, renamed in each of them."""

_RANGE = "domain;"
"""Prefix of relations that hold the values of an unbound variable."""

_ROLE_POSITIONS = frozenset(
    position(relation, 0) for relation in (ROLE, ("legal", 2), ("sees", 2), ("goal", 2))
)


def bind_variables(
    rules: Sequence[NormalRule], report: Diagnosis, context: Sequence[NormalRule] = ()
) -> list[NormalRule]:
    """The rules with every variable bound, and conditions in an order that can be evaluated.

    A variable that no positive condition binds is reported and repaired. If it occurs only under
    negations, it means "there is no", separately in each of them. Otherwise it ranges over the
    roles if it is a role argument, and else over the values that its argument position can take.
    A rule is dropped if such a variable has no possible value.

    Args:
        context: further rules of the game, from which values may come.
    """
    rules = list(map(_renamed_apart, rules))
    ranges = _Ranges([*rules, *context], report)
    bound = []
    for rule in rules:
        repaired = _bind_rule(rule, ranges, report)
        if repaired is not None:
            bound.append(order_conditions(repaired))
    return [*bound, *ranges.facts]


def is_range(relation: Signature) -> bool:
    """Whether a relation holds the values of an unbound variable."""
    return relation[0].startswith(_RANGE)


def order_conditions(rule: NormalRule) -> NormalRule:
    """The rule with each test (`not`, `distinct`) moved to where all its variables are bound."""
    if all(literal.binds for literal in rule.body):
        return rule
    waiting: list[tuple[Literal, frozenset[str]]] = []
    for i, literal in enumerate(rule.body):
        if not literal.binds:
            names = frozenset(v.name for v in variables(literal.atom))
            waiting.append((literal, names - local_variables(rule, i)))
    bound: set[str] = set()
    ordered: list[Literal] = []

    def flush() -> None:
        nonlocal waiting
        ordered.extend(literal for literal, needs in waiting if needs <= bound)
        waiting = [(literal, needs) for literal, needs in waiting if not needs <= bound]

    flush()
    for literal in rule.body:
        if literal.binds:
            ordered.append(literal)
            bound.update(v.name for v in variables(literal.atom))
            flush()
    ordered.extend(literal for literal, _ in waiting)
    return NormalRule(rule.head, tuple(ordered), rule.start)


class _Ranges:
    """Makes the conditions that give values to unbound variables, and the facts for them.

    Attributes:
        facts: the values of each new relation.
    """

    def __init__(self, rules: Sequence[NormalRule], report: Diagnosis) -> None:
        self._rules = rules
        self._report = report
        self._names: dict[tuple[Position, ...], str | None] = {}
        self.facts: list[NormalRule] = []

    def over(self, name: str, rule: NormalRule) -> Literal | None:
        """A literal that binds a variable of a rule, or None if it has no possible value."""
        variable = Variable(name)
        in_head = _places(name, [rule.head])
        in_body = _places(name, [x.atom for x in rule.body if x.negated])
        if any(place in _ROLE_POSITIONS for place in (*in_head, *in_body)):
            return Literal(Compound("role", (variable,)))
        relation = None
        if in_head and signature(rule.head)[0] not in KEYWORD_ARITY:
            relation = self._relation(in_head, self._domains_with_uses, rule.start)
            in_head = ()
        for place in (*in_head, *in_body):
            relation = relation or self._relation((place,), self._domains, rule.start)
        return Literal(Compound(relation, (variable,))) if relation else None

    @cached_property
    def _domains(self) -> Domains:
        return Domains(self._rules)

    @cached_property
    def _domains_with_uses(self) -> Domains:
        return Domains(with_uses(self._rules))

    def _relation(self, places: tuple[Position, ...], domains: Domains, start: int) -> str | None:
        if places not in self._names:
            columns = [domains.values(place, MAX_DOMAIN) for place in places]
            values = dict.fromkeys(value for column in columns for value in column or ())
            if None in columns or len(values) > MAX_DOMAIN:
                self._report.flaw(
                    "unsafe-head",
                    f"an unbound variable would range over more than {MAX_DOMAIN} values; "
                    "bind it with a condition",
                    "rule dropped",
                    start,
                )
                values = {}
            name = f"{_RANGE}{len(self._names)}" if values else None
            self._names[places] = name
            if name is not None:
                self.facts.extend(NormalRule(Compound(name, (value,))) for value in values)
        return self._names[places]


def _renamed_apart(rule: NormalRule) -> NormalRule:
    """Rename variables that occur only in negated conditions, in each of these conditions.

    Reasoners prove each negated condition separately, and such a proof binds no variable: "nobody
    buys and nobody resets", whatever the names of the variables.
    """
    names = [{v.name for v in variables(literal.atom)} for literal in rule.body]
    fixed = {v.name for v in variables(rule.head)}
    fixed.update(
        n for x, members in zip(rule.body, names, strict=True) if not x.negated for n in members
    )
    times = Counter(name for members in names for name in members - fixed)
    shared = {name for name, count in times.items() if count > 1}
    if not shared:
        return rule
    body = []
    for i, literal in enumerate(rule.body):
        if literal.negated:
            binding: dict[str, Term] = {
                v.name: Variable(f"{v.name}{_APART}{i}", v.start)
                for v in variables(literal.atom)
                if v.name in shared
            }
            literal = Literal(atom_of(substitute(literal.atom, binding)), True)
        body.append(literal)
    return NormalRule(rule.head, tuple(body), rule.start)


def _bind_rule(rule: NormalRule, ranges: _Ranges, report: Diagnosis) -> NormalRule | None:
    bound = {v.name for x in rule.body if x.binds for v in variables(x.atom)}
    unbound = {v.name: v for v in reversed(list(rule_variables(rule))) if v.name not in bound}
    if not unbound:
        return rule
    local: set[str] = set()
    for i, literal in enumerate(rule.body):
        if literal.negated:
            local |= local_variables(rule, i)
    extra: list[Literal] = []
    body = rule.body
    for name in dict.fromkeys(v.name for v in rule_variables(rule)):
        if name not in unbound:
            continue
        place = unbound[name].start if unbound[name].start >= 0 else rule.start
        label = "?" + name.split(";")[0]
        if name in local:
            subject = "`not`s: each is" if _APART in name else "this `not`:"
            report.breach(
                "unsafe-not",
                f'{label} occurs only under {subject} read as "there is no {label} such that ..."',
                place,
            )
            continue
        in_head = any(v.name == name for v in variables(rule.head))
        kind = "unsafe-head" if in_head else "unsafe-variable"
        range_of = ranges.over(name, rule)
        if range_of is not None:
            is_role = signature(range_of.atom) == ROLE
            over = "the roles" if is_role else "the values it can take"
            hint = _hint(name, rule, by_use=not is_role)
            report.breach(kind, f"nothing binds {label}: it ranges over {over}{hint}", place)
            extra.append(range_of)
        elif in_head and _is_written(rule):
            hint = _hint(name, rule, by_use=True)
            message = f"nothing binds {label} and it has no possible value{hint}"
            report.flaw(kind, message, "rule dropped", place)
            return None
        elif in_head or any(name == n for x in body if x.negated for n, _ in occurrences(x.atom)):
            report.breach(
                kind, f"nothing binds {label} and it has no possible value: rule dropped", place
            )
            return None
        else:
            report.breach(kind, f"nothing binds {label}: the `distinct` is taken to hold", place)
            body = tuple(
                x
                for x in body
                if not (x.is_distinct and any(v.name == name for v in variables(x.atom)))
            )
    return NormalRule(rule.head, (*extra, *body), rule.start)


def _is_written(rule: NormalRule) -> bool:
    """Whether the author wrote the head of a rule, as opposed to unfolding."""
    return ";" not in signature(rule.head)[0]


def _hint(name: str, rule: NormalRule, *, by_use: bool) -> str:
    """The question whether another variable was meant by an unbound one of a head.

    The candidate has a similar name. Failing that, with `by_use`, it is the only bound variable
    that occurs once.
    """
    if not any(v.name == name for v in variables(rule.head)):
        return ""
    times = Counter(v.name for v in rule_variables(rule))
    bound = dict.fromkeys(v.name for x in rule.body if x.binds for v in variables(x.atom))
    singles = [candidate for candidate in bound if times[candidate] == 1]
    guess = nearest(name, bound) or (singles[0] if by_use and len(singles) == 1 else None)
    return "" if guess is None else f"; did you mean `?{guess}`?"


def _places(name: str, atoms: Sequence[Term]) -> tuple[Position, ...]:
    """The distinct positions of a variable in some atoms."""
    positions = (at for atom in atoms for variable, at in occurrences(atom) if variable == name)
    return tuple(dict.fromkeys(positions))
