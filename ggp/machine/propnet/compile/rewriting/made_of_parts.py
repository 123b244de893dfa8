"""Rewrites rules about moves of `random` that are made part by part, in terms of the parts.

    (<= (next (hand ?a)) (does random (deal ?a ?b)))
    (<= (next (hand ?a)) (does random (deal ;1 ;2)) (does random;1 ?a))

Every role makes one move, so a condition on a part whose value does not matter is dropped. That a
move is not made means that some part is another one: such a rule becomes several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ggp.gdl.program import (
    DOES,
    LEGAL,
    RANDOM,
    Literal,
    NormalRule,
    local_variables,
    resolve,
    unify,
)
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Symbol, Term, Variable, signature, substitute, variables
from ggp.machine.propnet.compile.rewriting.families import (
    Family,
    NotApartError,
    arguments,
    differ,
    makes,
    names_of,
    negation,
    with_binding,
)
from ggp.machine.propnet.parts import NONE, hole

MOST_COPIES = 64
"""Greatest number of rules that one rule may become."""


@dataclass(frozen=True)
class MadeOfParts:
    """Rewrites rules in terms of parts.

    Attributes:
        families: moves that are made part by part.
        game_roles: the roles of the game.
        roles: `[K]` the roles that make the parts.
        has_none: whether a part may be missing.
    """

    families: Sequence[Family]
    game_roles: Sequence[str]
    roles: Sequence[str]
    has_none: Callable[[int], bool]

    def rules(self, rule: NormalRule) -> list[NormalRule]:
        """The rules that one rule becomes.

        Raises:
            NotApartError: it does not treat parts separately, or depends on when a move is legal.
        """
        if signature(rule.head) == LEGAL and self._may_be_of_family(rule.head):
            raise NotApartError
        copies: list[NormalRule] = []
        for copy in self._written(rule, 0):
            copies.append(copy)
            if len(copies) > MOST_COPIES:
                raise NotApartError
        return copies

    def _may_be_of_family(self, atom: Term) -> bool:
        role, move = arguments(atom)
        if not isinstance(role, Variable) and role != Symbol(RANDOM):
            return False
        return any(unify(move, family.pattern) is not None for family in self.families)

    def _written(self, rule: NormalRule, start: int) -> Iterator[NormalRule]:
        """The rules that one rule becomes, from condition `start` on."""
        for i in range(start, len(rule.body)):
            literal = rule.body[i]
            kind = signature(literal.atom)
            if kind not in (DOES, LEGAL) or not self._may_be_of_family(literal.atom):
                continue
            if kind == LEGAL:
                raise NotApartError
            role, move = arguments(literal.atom)
            if isinstance(role, Variable):
                if role.name in local_variables(rule, i):
                    raise NotApartError
                for each in self.game_roles:
                    yield from self._written(with_binding(rule, {role.name: Symbol(each)}), i)
            elif literal.negated:
                yield from self._denied(rule, i, move)
            else:
                yield from self._made(rule, i, move)
            return
        kept = self._without_unread(rule)
        yield order_conditions(replace(kept, body=(*kept.body, *self._some(kept))))

    def _made(self, rule: NormalRule, i: int, move: Term) -> Iterator[NormalRule]:
        """The rules for a condition that a move is made, which may belong to families."""
        if isinstance(move, Variable):
            listed = [differ(move, family.stand_in) for family in self.families]
            body = (*rule.body[: i + 1], *listed, *rule.body[i + 1 :])
            yield from self._written(replace(rule, body=body), i + 1 + len(listed))
        for family in self.families:
            # Distinct from the variables of other conditions that were parts.
            fresh: dict[str, Term] = {
                hole(k): Variable(f"{i}{hole(k)}") for k in range(1, 1 + family.size)
            }
            binding = unify(move, substitute(family.pattern, fresh))
            if binding is None:
                continue
            copy = with_binding(rule, binding)
            parts = [resolve(each, binding) for each in fresh.values()]
            made = [makes(role, part) for role, part in zip(self.roles, parts, strict=False)]
            body = (*copy.body[:i], family.made, *made, *copy.body[i + 1 :])
            yield from self._written(replace(copy, body=body), i + 1 + len(made))

    def _denied(self, rule: NormalRule, i: int, move: Term) -> Iterator[NormalRule]:
        """The rules for a condition that a move is not made: some part is another one."""
        found = [(family, family.parts_in(move)) for family in self.families]
        matching = [(family, parts) for family, parts in found if parts is not None]
        if len(matching) != 1:
            raise NotApartError
        ((family, parts),) = matching
        local = local_variables(rule, i)
        cases = [family.made]
        seen: set[str] = set()
        for role, part in zip(self.roles, parts, strict=False):
            if not seen.isdisjoint(names_of(part) & local):
                raise NotApartError
            seen |= names_of(part) & local
            if not (isinstance(part, Variable) and part.name in local):
                cases.append(makes(role, part))
        for case in cases:
            body = (*rule.body[:i], negation(case), *rule.body[i + 1 :])
            yield from self._written(replace(rule, body=body), i + 1)

    def _some(self, rule: NormalRule) -> Iterator[Literal]:
        """The conditions that the parts which a rule is about exist."""
        for literal in rule.body:
            if not literal.binds or signature(literal.atom) != DOES:
                continue
            role, value = arguments(literal.atom)
            for k, each in enumerate(self.roles):
                if role == Symbol(each) and isinstance(value, Variable) and self.has_none(k):
                    yield differ(value, Symbol(NONE))

    def _without_unread(self, rule: NormalRule) -> NormalRule:
        """A rule without conditions on parts that may have any value."""
        used: dict[str, int] = {}
        for term in (rule.head, *(x.atom for x in rule.body)):
            for v in variables(term):
                used[v.name] = used.get(v.name, 0) + 1

        def is_read(literal: Literal) -> bool:
            if literal.negated or signature(literal.atom) != DOES:
                return True
            role, value = arguments(literal.atom)
            any_value = isinstance(value, Variable) and used[value.name] == 1
            return not (any_value and isinstance(role, Symbol) and role.name in self.roles)

        return replace(rule, body=tuple(filter(is_read, rule.body)))
