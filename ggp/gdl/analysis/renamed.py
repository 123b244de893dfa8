"""Finds the keywords `sees` and `random` of GDL-II under other names.

Servers rename the words of a rulesheet, so that players learn nothing from them. Many servers know
only the keywords of GDL, and rename `sees` and `random` like any other word. The rules still show
which words these are: see `find_renamed`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ggp.gdl.analysis.dependencies import closure
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
    arguments,
    signature,
)

_SEES = SEES[0]
_MAX_VALUES = 1_000


def find_renamed(rules: Sequence[Rule], ours: str) -> Mapping[str, str]:
    """The names of keywords of GDL-II in rules that lack them: keyword -> name.

    `sees` is a relation with two arguments whose rules depend on `does` or `next`, although no body
    uses it (except bodies of `goal`, as in some sheets of GDL-II), and whose first argument is
    always a role. Plain GDL has no such relation, unless a rule is missing: of 83 rulesheets, none
    has. Of several such relations, one that occurs nowhere else is taken, then one whose own rules
    have `does` or `next`, then the one with the most rules.

    The values of its first argument are found argument by argument, so `(stage deal ?p)` and
    `(stage play 1)` make 1 a possible role. If no relation qualifies, but there is an idle role,
    it is enough that a relation occurs nowhere else and that some of these values are roles.

    `random` is the role that nobody plays (see `has_idle_role`), if there is exactly one. It is
    searched for only if `sees` was found.

    Args:
        rules: the parsed rules.
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
    """Whether a role other than ours has a fact as its goal, or no goal.

    Nobody plays such a role: it is `random` under another name, or a role of plain GDL without a
    choice of moves.
    """
    sheet = _Sheet(rules)
    return any(role != ours and sheet.is_idle(role) for role in sheet.roles)


@dataclass(slots=True)
class _Relation:
    """A relation of a rulesheet: the indices of its rules, and the relations that use it."""

    rules: list[int] = field(default_factory=list)
    users: set[Signature] = field(default_factory=set)


class _Sheet:
    """The relations of a rulesheet, their uses, and the values of their arguments."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._bodies = [tuple(_atoms(rule.body)) for rule in rules]
        self._relations: dict[Signature, _Relation] = {}
        for index, rule in enumerate(rules):
            if isinstance(rule.head, Variable):
                continue
            self._of(signature(rule.head)).rules.append(index)
            for atom, _ in self._bodies[index]:
                self._of(signature(atom)).users.add(signature(rule.head))
        self.heads = {sig[0] for sig, relation in self._relations.items() if relation.rules}
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
        """The name of `sees` in the rules; None if there is none.

        Args:
            loosely: accept a relation that occurs nowhere else if some values of its first argument
                are roles.
        """
        playing = self._depending_on_play()
        candidates = []
        for sig, relation in self._relations.items():
            name, arity = sig
            if arity != 2 or name in KEYWORD_ARITY or sig not in playing:
                continue
            users = frozenset() if loosely else {GOAL}
            if relation.users <= users and self._tells_roles(sig, loosely=loosely):
                direct = sum(self._has(index, DOES, NEXT) for index in relation.rules)
                candidates.append((not relation.users, direct > 0, len(relation.rules), name))
        return max(candidates)[-1] if candidates else None

    def is_idle(self, role: str) -> bool:
        """Whether the goal of a role is always the same, or is not defined."""
        facts, has_general = set(), False
        for index in self._of(GOAL).rules:
            player, value = arguments(self._rules[index].head)
            if player == Symbol(role):
                if self._bodies[index]:
                    return False
                facts.add(value)
            has_general |= isinstance(player, Variable) and self._may_be(player, index, role)
        # Rules for all players do not hold for a role that has a goal of its own.
        return len(facts) == 1 or not (facts or has_general)

    def _of(self, sig: Signature) -> _Relation:
        return self._relations.setdefault(sig, _Relation())

    def _has(self, index: int, *keywords: Signature) -> bool:
        """Whether the body of a rule has one of some relations."""
        return any(signature(atom) in keywords for atom, _ in self._bodies[index])

    def _depending_on_play(self) -> set[Signature]:
        """The relations that depend on `does` or `next`."""
        users = {sig: relation.users for sig, relation in self._relations.items()}
        return closure(users, (DOES, NEXT))

    def _tells_roles(self, sig: Signature, *, loosely: bool) -> bool:
        """Whether the first argument of a relation is always a role; if `loosely`, may be one."""
        for index in self._of(sig).rules:
            first = arguments(self._rules[index].head)[0]
            if isinstance(first, Compound):
                return False
            if isinstance(first, Symbol):
                if first.name not in self.roles:
                    return False
            elif not self._has(index, NEXT):  # a relation that uses `next` is `sees` for certain
                values = self._values(first, index)
                if not (values & self._all_roles if loosely else values <= self._all_roles):
                    return False
        return True

    def _may_be(self, variable: Variable, index: int, name: str) -> bool:
        return name in self._values(variable, index)

    def _values(self, variable: Variable, index: int) -> set[str]:
        """Possible values of a variable for a role in a rule; all roles if nothing binds it."""
        bound = [a for a, positive in self._bodies[index] if positive and _occurs(variable, a)]
        if not bound or any(_binds_role(atom, variable) for atom in bound):
            return self._all_roles
        if self._domains is None:
            self._domains = Domains(self._normal())
        at = next(at for name, at in occurrences(bound[0]) if name == variable.name)
        values = self._domains.values(at, _MAX_VALUES)
        return {"?"} if values is None else set(map(str, values))

    def _normal(self) -> list[NormalRule]:
        """The rules with only the conditions that may bind a variable, for `Domains`."""
        return [
            NormalRule(rule.head, tuple(Literal(atom) for atom, positive in body if positive))
            for rule, body in zip(self._rules, self._bodies, strict=True)
            if not isinstance(rule.head, Variable)
        ]


def _atoms(body: Sequence[Term]) -> Iterator[tuple[Symbol | Compound, bool]]:
    """Yield the relations in a body, at any depth, and whether each is outside of all `not`."""
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


def _occurs(variable: Variable, atom: Term) -> bool:
    return any(name == variable.name for name, _ in occurrences(atom))


def _binds_role(atom: Symbol | Compound, variable: Variable) -> bool:
    """Whether the values that an atom gives to a variable are roles."""
    return (
        isinstance(atom, Compound)
        and atom.name in ("role", "does", "legal", "goal")
        and atom.args[0] == variable
    )
