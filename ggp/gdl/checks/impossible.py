"""Finds conditions that can never hold, and names used as roles that are none.

No formal rule forbids them, but no author can have meant them, so only `ggp validate` looks for
them. Only what is certain is reported: the fluents of a state come from `init` and `next` alone,
and joint moves from `legal`. So a `true` or `does` is wrong if it unifies with no such head, or if
one of its arguments has a value that this position never takes (see `Domains`). Each wrong name is
reported once, with the name that was probably meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ggp.gdl.analysis.dependencies import may_unify
from ggp.gdl.analysis.domains import Domains, Position, position
from ggp.gdl.checks.formal import Diagnosis, conditions
from ggp.gdl.nearest import did_you_mean
from ggp.gdl.program import DOES, GOAL, INIT, LEGAL, NEXT, ROLE, SEES, TRUE, Literal, NormalRule
from ggp.gdl.terms import Compound, Rule, Signature, Symbol, Term, Variable, signature

MOST_FLOWS = 100_000
"""Flows of values between arguments; if there are more, values are not checked."""

MOST_COMPARED = 20_000
"""Number of heads that are compared with conditions; those beyond it are assumed to be possible."""

_WITH_ROLES = (LEGAL, GOAL, SEES, DOES)
_MOST_LISTED = 4


class _Kind(NamedTuple):
    """A relation of the game's states or moves, and how messages speak of it.

    Attributes:
        used: the relation in conditions.
        made: the relations whose heads make it.
        argument: which argument is the fluent or the move.
        rule: short name of the diagnostic.
        never: the words for a fluent or move that cannot be.
        maker: the words for the lack of a head that makes it.
    """

    used: Signature
    made: tuple[Signature, ...]
    argument: int
    rule: str
    never: str
    maker: str


_KINDS = (
    _Kind(TRUE, (INIT, NEXT), 0, "never-true", "never true", "no `init` or `next` makes it"),
    _Kind(DOES, (LEGAL,), 1, "never-legal", "never played", "no `legal` allows it"),
)


def check_possible(
    read: Sequence[Rule],
    unfolded: Sequence[NormalRule],
    roles: Sequence[str],
    report: Diagnosis,
) -> None:
    """Report conditions that can never hold, and names that stand in place of a role.

    Args:
        read: the rules as they were read.
        unfolded: the same without connectives, before anything was dropped.
        roles: the roles of the game.
    """
    _Check(read, unfolded, roles, report).run()


class _Check:
    def __init__(
        self,
        read: Sequence[Rule],
        unfolded: Sequence[NormalRule],
        roles: Sequence[str],
        report: Diagnosis,
    ) -> None:
        self._read, self._unfolded, self._roles = read, unfolded, roles
        self._report = report
        self._known: set[tuple[str, object]] = set()
        self._never: set[tuple[Signature, Signature]] = set()

    def run(self) -> None:
        if self._roles:
            self._check_roles()
        heads = {kind: _Heads(self._read, kind) for kind in _KINDS}
        used = {kind: list(self._patterns(kind)) for kind in _KINDS}
        possible = {
            kind: [atom for atom in used[kind] if self._is_made(kind, heads[kind], atom)]
            for kind in _KINDS
        }
        domains = Domains(list(self._certain()), MOST_FLOWS)
        for kind in _KINDS:
            for atom in possible[kind]:
                self._check_values(kind, heads[kind], atom, domains)

    # ---------------------------------------------------------------- roles

    def _check_roles(self) -> None:
        for rule in self._read:
            if signature(rule.head) in _WITH_ROLES:
                self._check_role(rule.head)
            for atom in conditions(rule):
                if signature(atom) in (*_WITH_ROLES, ROLE):
                    self._check_role(atom)

    def _check_role(self, atom: Term) -> None:
        assert isinstance(atom, Compound)
        role = atom.args[0]
        if isinstance(role, Variable) or str(role) in self._roles:
            return
        if not self._is_new("no-such-role", str(role)):
            return
        meant = did_you_mean(str(role), self._roles) or (
            f": the roles are {_listed(self._roles)}" if len(self._roles) <= _MOST_LISTED else ""
        )
        self._report.breach("no-such-role", f"{role} is no role{meant}", _place(role, atom))

    # ---------------------------------------------------------------- fluents and moves

    def _patterns(self, kind: _Kind) -> Iterator[Compound]:
        """The conditions of a kind, without those whose role is not one of the game's."""
        for rule in self._read:
            for atom in conditions(rule):
                if signature(atom) == kind.used and isinstance(atom, Compound):
                    yield atom

    def _is_made(self, kind: _Kind, heads: _Heads, atom: Compound) -> bool:
        """Whether some head makes a fluent or move of this name; reports it if none does."""
        term = atom.args[kind.argument]
        if isinstance(term, Variable) or heads.any or signature(term) in heads.by_name:
            return True
        self._never.add((kind.used, signature(term)))
        if self._is_new(kind.rule, signature(term)):
            name, arity = signature(term)
            others = sorted(n for other, n in heads.by_name if other == name and n != arity)
            meant = did_you_mean(name, dict.fromkeys(other for other, _ in heads.by_name))
            if others:
                meant = f"; elsewhere `{name}` has {' or '.join(map(_arguments, others))}"
            message = f"{term} is {kind.never}: {kind.maker}{meant}"
            self._report.breach(kind.rule, message, _place(term, atom))
        return False

    def _certain(self) -> Iterator[NormalRule]:
        """The rules without the conditions that are false because of a wrong name.

        The values of their variables are not known then, and one mistake must not be reported as
        many.
        """
        defined = {signature(rule.head) for rule in self._unfolded} | {TRUE, DOES}
        for rule in self._unfolded:
            body = tuple(x for x in rule.body if self._may_hold(x, defined))
            yield rule if len(body) == len(rule.body) else NormalRule(rule.head, body, rule.start)

    def _may_hold(self, literal: Literal, defined: set[Signature]) -> bool:
        atom = literal.atom
        relation = signature(atom)
        if relation not in defined:
            return False
        for kind in _KINDS:
            if relation == kind.used and isinstance(atom, Compound):
                term = atom.args[kind.argument]
                return isinstance(term, Variable) or (relation, signature(term)) not in self._never
        return True

    def _check_values(self, kind: _Kind, heads: _Heads, atom: Compound, domains: Domains) -> None:
        """Report an argument with a value it never takes, or a term that unifies with no head."""
        term = atom.args[kind.argument]
        at = position(kind.used, kind.argument)
        wrong = domains.impossible(term, at) if domains.whole else None
        if wrong is not None:
            part, where = wrong
            if self._is_new(kind.rule, (where, part)):
                message = f"{term} is {kind.never}: {_says_never(part, where, domains)}"
                self._report.breach(kind.rule, message, _place(part, atom))
        elif not heads.may_be(atom) and self._is_new(kind.rule, term):
            self._report.breach(
                kind.rule, f"{term} is {kind.never}: {kind.maker}", _place(term, atom)
            )

    def _is_new(self, rule: str, what: object) -> bool:
        key = (rule, what)
        if key in self._known:
            return False
        self._known.add(key)
        return True


class _Heads:
    """The fluents or moves that heads make.

    Attributes:
        by_name: the heads, by name and number of arguments of what they make.
        any: whether some head may make any fluent or move.
    """

    def __init__(self, read: Sequence[Rule], kind: _Kind) -> None:
        self._argument = kind.argument
        self._work = 0
        self.any = False
        self.by_name: dict[Signature, list[Compound]] = {}
        self._by_value: dict[tuple[Signature, int, str | None], list[Compound]] = {}
        for rule in read:
            head = rule.head
            if signature(head) not in kind.made or not isinstance(head, Compound):
                continue
            made = head.args[kind.argument]
            if isinstance(made, Variable):
                self.any = True
                continue
            name = signature(made)
            self.by_name.setdefault(name, []).append(head)
            for i, arg in enumerate(made.args if isinstance(made, Compound) else ()):
                value = arg.name if isinstance(arg, Symbol) else None
                self._by_value.setdefault((name, i, value), []).append(head)

    def may_be(self, atom: Compound) -> bool:
        """Whether some head may unify with a condition; also true where that is too much work."""
        wanted = atom.args[self._argument]
        if self.any or isinstance(wanted, Variable):
            return True
        for head in self._candidates(wanted):
            self._work += 1
            if self._work > MOST_COMPARED:
                return True
            assert isinstance(head, Compound)
            # `init` and `next` mean the same as `true`.
            if may_unify(Compound(atom.name, head.args), atom):
                return True
        return False

    def _candidates(self, wanted: Symbol | Compound) -> list[Compound]:
        """The heads that agree with a term in the constant that the fewest heads have."""
        name = signature(wanted)
        best = self.by_name[name]
        for i, arg in enumerate(wanted.args if isinstance(wanted, Compound) else ()):
            if isinstance(arg, Symbol):
                found = [
                    head
                    for value in (arg.name, None)
                    for head in self._by_value.get((name, i, value), ())
                ]
                best = min(best, found, key=len)
        return best


def _says_never(part: Term, where: Position, domains: Domains) -> str:
    """The reason why a part of a term is impossible."""
    name, number = where[-1][0][0], where[-1][1]
    if isinstance(part, Symbol):
        others = domains.constants(where)
    else:
        others = tuple(name for name, _ in domains.functions(where))
    assert not isinstance(part, Variable)
    meant = did_you_mean(part.name, others)
    if not meant and 0 < len(others) <= _MOST_LISTED:
        meant = f", only {_listed(others)}"
    if len(where) == 1:
        return f"`{part.name}` is never made{meant}"
    return f"argument {number + 1} of `{name}` is never {part}{meant}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _arguments(number: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(number, f"{number} arguments")


def _place(term: Term, atom: Compound) -> int:
    return term.start if term.start >= 0 else atom.start
