"""Finds the keywords of GDL-II under other names.

Servers rename the words of a rulesheet so that players learn nothing from them. Many know only the
keywords of GDL, and rename `sees` and `random` like any other word. The use that rules make of
these still shows which they are, see `find_renamed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ggp.gdl.analysis.domains import Domains, occurrences
from ggp.gdl.program import DOES, GOAL, KEYWORD_ARITY, NEXT, RANDOM, ROLE, SEES, Literal, NormalRule
from ggp.gdl.terms import (
    CONNECTIVES,
    Compound,
    Rule,
    Signature,
    Symbol,
    Term,
    Variable,
    signature,
)

_SEES = SEES[0]
_MOST_VALUES = 1_000


def find_renamed(rules: Sequence[Rule], ours: str) -> Mapping[str, str]:
    """Names that keywords of GDL-II have in rules that lack them: keyword -> name.

    `sees` is a relation of two arguments whose rules depend on `does` or `next` although no body
    uses it, and whose first argument is always a role. Plain GDL has no such relation, unless
    somebody forgot a rule in it: of 83 rulesheets, none has. It may occur in `goal` rules, as in
    some sheets of GDL-II. Where several relations are like that, the one that occurs nowhere else
    is taken, then one whose own rules have `does` or `next`, then the one with the most rules. The
    values of its first argument are found argument by argument, so that `(stage deal ?p)` beside
    `(stage play 1)` makes 1 a possible role. So if there is nothing better, it is enough for a
    relation that occurs nowhere else that some of these values are roles, where there is an idle
    role too.

    `random` is the role that nobody plays, see `has_idle_role`, if there is exactly one. It is
    looked for only where `sees` was found.

    Args:
        rules: the rules as they were read.
        ours: the role that we play, which is not `random`.
    """
    sheet = _Sheet(rules)
    if _SEES in sheet.heads or RANDOM in sheet.roles or ours == RANDOM:
        return {}
    idle = [role for role in sheet.roles if role != ours and sheet.is_idle(role)]
    sees = sheet.sees() or (sheet.sees(loosely=True) if idle else None)
    if sees is None:
        return {}
    return {_SEES: sees} | ({RANDOM: idle[0]} if len(idle) == 1 else {})


def has_idle_role(rules: Sequence[Rule], ours: str) -> bool:
    """Whether there is a role, other than ours, whose goal is a fact or is not defined.

    Nobody plays such a role: it is `random` under another name, or a role of plain GDL that has no
    choice of moves.
    """
    sheet = _Sheet(rules)
    return any(role != ours and sheet.is_idle(role) for role in sheet.roles)


@dataclass(slots=True)
class _Relation:
    """A relation of a rulesheet: the numbers of its rules, and of those that use it."""

    rules: list[int] = field(default_factory=list)
    users: set[Signature] = field(default_factory=set)


class _Sheet:
    """The relations of some rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._bodies = [tuple(_atoms(rule.body)) for rule in rules]
        self._relations: dict[Signature, _Relation] = {}
        for number, rule in enumerate(rules):
            if isinstance(rule.head, Variable):
                continue
            self._of(signature(rule.head)).rules.append(number)
            for atom, _ in self._bodies[number]:
                self._of(signature(atom)).users.add(signature(rule.head))
        self.heads = {sig[0] for sig, each in self._relations.items() if each.rules}
        self.roles = tuple(
            dict.fromkeys(
                rule.head.args[0].name
                for rule in rules
                if isinstance(rule.head, Compound)
                and signature(rule.head) == ROLE
                and isinstance(rule.head.args[0], Symbol)
            )
        )
        self._all_roles = set(self.roles)
        self._domains: Domains | None = None

    def sees(self, *, loosely: bool = False) -> str | None:
        """The name under which `sees` appears; None if there is none.

        Args:
            loosely: accept a relation that occurs nowhere else if some values of its first argument
                are roles.
        """
        playing = self._depending_on_play()
        found = []
        for sig, relation in self._relations.items():
            name, arity = sig
            if arity != 2 or name in KEYWORD_ARITY or sig not in playing:
                continue
            users = frozenset() if loosely else {GOAL}
            if relation.users <= users and self._tells_roles(sig, loosely=loosely):
                direct = sum(self._has(number, DOES, NEXT) for number in relation.rules)
                found.append((not relation.users, direct > 0, len(relation.rules), name))
        return max(found)[-1] if found else None

    def is_idle(self, role: str) -> bool:
        """Whether the goal of a role is always the same, or is not defined."""
        facts, others = set(), False
        for number in self._of(GOAL).rules:
            player, value = _args(self._rules[number].head)
            if player == Symbol(role):
                if self._bodies[number]:
                    return False
                facts.add(value)
            others |= isinstance(player, Variable) and self._may_be(player, number, role)
        # Rules for all players do not hold for a role that has a goal of its own.
        return len(facts) == 1 or not (facts or others)

    def _of(self, sig: Signature) -> _Relation:
        return self._relations.setdefault(sig, _Relation())

    def _has(self, number: int, *keywords: Signature) -> bool:
        """Whether a body has one of these relations."""
        return any(signature(atom) in keywords for atom, _ in self._bodies[number])

    def _depending_on_play(self) -> set[Signature]:
        """The relations that depend on `does` or `next`."""
        found = {DOES, NEXT}
        pending = [DOES, NEXT]
        while pending:
            for user in self._of(pending.pop()).users - found:
                found.add(user)
                pending.append(user)
        return found

    def _tells_roles(self, sig: Signature, *, loosely: bool) -> bool:
        """Whether the first argument of a relation is always a role, or loosely: may be one."""
        for number in self._of(sig).rules:
            first = _args(self._rules[number].head)[0]
            if isinstance(first, Compound):
                return False
            if isinstance(first, Symbol):
                if first.name not in self.roles:
                    return False
            elif not self._has(number, NEXT):  # a relation that uses `next` is `sees` for certain
                values = self._values(first, number)
                if not (values & self._all_roles if loosely else values <= self._all_roles):
                    return False
        return True

    def _may_be(self, variable: Variable, number: int, name: str) -> bool:
        return name in self._values(variable, number)

    def _values(self, variable: Variable, number: int) -> set[str]:
        """Values that a variable for a role may take in a rule; all roles if nothing binds it."""
        bound = [a for a, positive in self._bodies[number] if positive and _occurs(variable, a)]
        if not bound or any(_binds_role(atom, variable) for atom in bound):
            return self._all_roles
        if self._domains is None:
            self._domains = Domains(self._normal())
        at = next(at for name, at in occurrences(bound[0]) if name == variable.name)
        values = self._domains.values(at, _MOST_VALUES)
        return {"?"} if values is None else set(map(str, values))

    def _normal(self) -> list[NormalRule]:
        """The rules with every condition that may bind a variable; enough to see its values."""
        return [
            NormalRule(rule.head, tuple(Literal(atom) for atom, positive in body if positive))
            for rule, body in zip(self._rules, self._bodies, strict=True)
            if not isinstance(rule.head, Variable)
        ]


def _atoms(body: Sequence[Term]) -> Iterator[tuple[Symbol | Compound, bool]]:
    """The relations in a body, wherever they stand, and whether outside of all `not`."""
    pending = [(term, True) for term in reversed(body)]
    while pending:
        term, positive = pending.pop()
        if isinstance(term, Variable):
            continue
        if isinstance(term, Compound) and term.name in CONNECTIVES:
            if term.name != "distinct":
                positive = positive and term.name != "not"
                pending += [(arg, positive) for arg in reversed(term.args)]
        else:
            yield term, positive


def _args(head: Term) -> tuple[Term, ...]:
    return head.args if isinstance(head, Compound) else ()


def _occurs(variable: Variable, atom: Term) -> bool:
    return any(name == variable.name for name, _ in occurrences(atom))


def _binds_role(atom: Symbol | Compound, variable: Variable) -> bool:
    """Whether the values that an atom gives to a variable are roles."""
    return (
        isinstance(atom, Compound)
        and atom.name in ("role", "does", "legal", "goal")
        and atom.args[0] == variable
    )
