"""Binds every variable: orders conditions, and gives a range to what nothing binds."""

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
"""Part of the names of variables that several negations share but that are different in each."""

_RANGE = "domain;"
"""Beginning of the names of relations that hold the values of variables which nothing binds."""

_ROLE_POSITIONS = frozenset(
    position(relation, 0) for relation in (ROLE, ("legal", 2), ("sees", 2), ("goal", 2))
)


def bind_variables(
    rules: Sequence[NormalRule], report: Diagnosis, others: Sequence[NormalRule] = ()
) -> list[NormalRule]:
    """Every rule with its variables bound, and its conditions in an order that can be evaluated.

    A variable that no positive condition binds is repaired, and reported. If it occurs only under
    negations, it means "there is no", separately in each of them. Otherwise it ranges over the
    roles if it is a role argument, and over the values that its argument position can take if not.
    Rules whose variable has no possible value are dropped.

    Args:
        others: further rules of the game, which say what values there are.
    """
    rules = list(map(_renamed_apart, rules))
    ranges = _Ranges([*rules, *others], report)
    bound = []
    for rule in rules:
        repaired = _bind_rule(rule, ranges, report)
        if repaired is not None:
            bound.append(order_conditions(repaired))
    return [*bound, *ranges.facts]


def is_range(relation: Signature) -> bool:
    """Whether a relation holds the values of a variable that nothing binds."""
    return relation[0].startswith(_RANGE)


def order_conditions(rule: NormalRule) -> NormalRule:
    """The rule with tests (`not`, `distinct`) as soon as all of their variables are bound."""
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
    """Literals that make an unbound variable range over something."""

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
            relation = self._relation(in_head, self._asked, rule.start)
            in_head = ()
        for place in (*in_head, *in_body):
            relation = relation or self._relation((place,), self._made, rule.start)
        return Literal(Compound(relation, (variable,))) if relation else None

    @cached_property
    def _made(self) -> Domains:
        return Domains(self._rules)

    @cached_property
    def _asked(self) -> Domains:
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
    """The rule with each variable that occurs in several negated conditions only renamed in each.

    Reasoners look for a proof of each negated condition by itself, and nothing that they find there
    binds a variable: "nobody buys and nobody resets", whatever the variables are called.
    """
    names = [{v.name for v in variables(literal.atom)} for literal in rule.body]
    others = {v.name for v in variables(rule.head)}
    others.update(
        n for x, found in zip(rule.body, names, strict=True) if not x.negated for n in found
    )
    times = Counter(name for found in names for name in found - others)
    shared = {name for name, number in times.items() if number > 1}
    if not shared:
        return rule
    body = []
    for i, literal in enumerate(rule.body):
        if literal.negated:
            apart: dict[str, Term] = {
                v.name: Variable(f"{v.name}{_APART}{i}", v.start)
                for v in variables(literal.atom)
                if v.name in shared
            }
            literal = Literal(atom_of(substitute(literal.atom, apart)), True)
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
        at = unbound[name].start if unbound[name].start >= 0 else rule.start
        shown = "?" + name.split(";")[0]
        if name in local:
            what = "`not`s: each is" if _APART in name else "this `not`:"
            report.breach(
                "unsafe-not",
                f'{shown} occurs only under {what} read as "there is no {shown} such that ..."',
                at,
            )
            continue
        in_head = any(v.name == name for v in variables(rule.head))
        kind = "unsafe-head" if in_head else "unsafe-variable"
        range_of = ranges.over(name, rule)
        if range_of is not None:
            is_role = signature(range_of.atom) == ROLE
            over = "the roles" if is_role else "the values it can take"
            meant = _meant(name, rule, by_use=not is_role)
            report.breach(kind, f"nothing binds {shown}: it ranges over {over}{meant}", at)
            extra.append(range_of)
        elif in_head and _is_written(rule):
            meant = _meant(name, rule, by_use=True)
            message = f"nothing binds {shown} and it has no possible value{meant}"
            report.flaw(kind, message, "rule dropped", at)
            return None
        elif in_head or any(name == n for x in body if x.negated for n, _ in occurrences(x.atom)):
            report.breach(
                kind, f"nothing binds {shown} and it has no possible value: rule dropped", at
            )
            return None
        else:
            report.breach(kind, f"nothing binds {shown}: the `distinct` is taken to hold", at)
            body = tuple(
                x
                for x in body
                if not (x.is_distinct and any(v.name == name for v in variables(x.atom)))
            )
    return NormalRule(rule.head, (*extra, *body), rule.start)


def _is_written(rule: NormalRule) -> bool:
    """Whether the author wrote the head of a rule, as opposed to unfolding."""
    return ";" not in signature(rule.head)[0]


def _meant(name: str, rule: NormalRule, *, by_use: bool) -> str:
    """The variable that was probably meant by an unbound one of a head, as a question.

    It is one with a similar name; failing that, with `by_use`, the only one that nothing else uses.
    """
    if not any(v.name == name for v in variables(rule.head)):
        return ""
    times = Counter(v.name for v in rule_variables(rule))
    bound = dict.fromkeys(v.name for x in rule.body if x.binds for v in variables(x.atom))
    alone = [other for other in bound if times[other] == 1]
    meant = nearest(name, bound) or (alone[0] if by_use and len(alone) == 1 else None)
    return "" if meant is None else f"; did you mean `?{meant}`?"


def _places(name: str, atoms: Sequence[Term]) -> tuple[Position, ...]:
    """The distinct positions of a variable in some atoms."""
    found = (at for atom in atoms for variable, at in occurrences(atom) if variable == name)
    return tuple(dict.fromkeys(found))
