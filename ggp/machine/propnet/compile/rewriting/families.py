"""Families of moves of `random`: moves of one name, whose parts the rules treat separately.

    (<= (legal random (deal ?a ?b)) (true (deck ?a)) (true (deck ?b)) (distinct ?a ?b))

The family of this rule has two parts. Its conditions are grouped by the parts that they are about;
only the last one ties both together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ggp.gdl.program import (
    DISTINCT,
    DOES,
    LEGAL,
    RANDOM,
    Literal,
    NormalRule,
    atom_of,
    local_variables,
    resolve,
    unify,
)
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Compound, Symbol, Term, Variable, signature, substitute, variables
from ggp.machine.propnet.parts import NONE, hole


class NotApartError(Exception):
    """The rules do not treat the parts of a move separately."""


def arguments(atom: Term) -> tuple[Term, Term]:
    """The two arguments of a relation that has two."""
    assert isinstance(atom, Compound)
    return atom.args[0], atom.args[1]


def names_of(*terms: Term) -> set[str]:
    """The variables of terms."""
    return {v.name for term in terms for v in variables(term)}


def makes(role: str, move: Term) -> Literal:
    """The condition that a role makes a move."""
    return Literal(Compound(DOES[0], (Symbol(role), move)))


def negation(literal: Literal) -> Literal:
    """The negation of a condition other than `distinct`."""
    return Literal(literal.atom, not literal.negated)


def differ(left: Term, right: Term) -> Literal:
    """The condition that two terms are different."""
    return Literal(Compound(DISTINCT[0], (left, right)))


def with_binding(rule: NormalRule, binding: Mapping[str, Term]) -> NormalRule:
    """A rule with a unifier applied."""
    return NormalRule(
        atom_of(resolve(rule.head, binding)),
        tuple(Literal(atom_of(resolve(x.atom, binding)), x.negated) for x in rule.body),
        rule.start,
    )


@dataclass(frozen=True)
class Family:
    """Moves of `random` that differ in K parts.

    Attributes:
        number: number of the family.
        rules: the rules that make its moves legal.
        pattern: the move, with a variable for each part, named like its hole.
        parts: `[rules][K]` the part in the head of each rule.
    """

    number: int
    rules: tuple[NormalRule, ...]
    pattern: Term
    parts: tuple[tuple[Term, ...], ...]

    @classmethod
    def of(cls, number: int, rules: Sequence[NormalRule]) -> Family:
        """The family of some rules whose moves have one name.

        Raises:
            NotApartError: the moves have no parts.
        """
        moves = [arguments(rule.head)[1] for rule in rules]
        columns: list[list[Term]] = []
        pattern = _pattern(moves, columns)
        if len(columns) < 2:
            raise NotApartError
        return cls(number, tuple(rules), pattern, tuple(zip(*columns, strict=True)))

    @property
    def size(self) -> int:
        """The number of parts, K."""
        return len(self.parts[0])

    @property
    def stand_in(self) -> Term:
        """The move that stands for all moves of the family."""
        holes = {hole(k): Symbol(hole(k)) for k in range(1, 1 + self.size)}
        return substitute(self.pattern, holes)

    @property
    def made(self) -> Literal:
        """The condition that one of the moves is made."""
        return makes(RANDOM, self.stand_in)

    def parts_in(self, move: Term) -> tuple[Term, ...] | None:
        """The parts of a move in a rule; None if they are not all written there."""
        found: list[Term] = []
        return tuple(found) if _match(self.pattern, move, found) else None


def _pattern(terms: Sequence[Term], columns: list[list[Term]]) -> Term:
    """The common pattern of terms, with variables for parts that differ, added to `columns`."""
    first = terms[0]
    if not isinstance(first, Variable) and len({signature(term) for term in terms}) == 1:
        if isinstance(first, Symbol) and not any(isinstance(term, Variable) for term in terms):
            return first
        rows = [term.args for term in terms if isinstance(term, Compound)]
        if isinstance(first, Compound) and len(rows) == len(terms):
            args = tuple(_pattern(each, columns) for each in zip(*rows, strict=True))
            return Compound(first.name, args)
    columns.append(list(terms))
    return Variable(hole(len(columns)))


def _match(pattern: Term, term: Term, found: list[Term]) -> bool:
    if isinstance(pattern, Variable):
        found.append(term)
        return True
    if isinstance(term, Variable) or signature(pattern) != signature(term):
        return False
    if isinstance(pattern, Compound) and isinstance(term, Compound):
        return all(_match(p, t, found) for p, t in zip(pattern.args, term.args, strict=True))
    return True


@dataclass(frozen=True)
class Tie:
    """Conditions of a rule that share variables, so that they belong together.

    Attributes:
        body: the conditions.
        parts: the parts that they are about.
        denied: whether they must not hold, rather than hold; a `distinct` then stands for equality.
    """

    body: tuple[Literal, ...]
    parts: tuple[int, ...]
    denied: bool

    @property
    def is_difference(self) -> bool:
        """Whether it says that two terms are different."""
        return self.denied and self.body[0].is_distinct


class Cases:
    """One rule that makes moves of a family legal, taken apart.

    Attributes:
        rule: the rule.
        parts: `[K]` the parts in its head.
        ties: its conditions.
    """

    def __init__(self, family: Family, place: int) -> None:
        self.rule = family.rules[place]
        self.parts = family.parts[place]
        self._names = [names_of(part) for part in self.parts]
        own = set().union(*self._names)
        self.ties = [*self._shared(), *(self._tie(each) for each in _components(self.rule, own))]

    def _shared(self) -> Iterator[Tie]:
        """Ties of parts that have a variable in common."""
        for k, names in enumerate(self._names):
            for j in range(k):
                if not names.isdisjoint(self._names[j]):
                    yield Tie((), (j, k), False)

    def _tie(self, literals: list[Literal]) -> Tie:
        names = names_of(*(literal.atom for literal in literals))
        about = tuple(k for k, own in enumerate(self._names) if not own.isdisjoint(names))
        if len(literals) > 1 or literals[0].binds:
            return Tie(tuple(literals), about, False)
        alone = literals[0] if literals[0].is_distinct else negation(literals[0])
        return Tie((alone,), about, True)

    def may_be(self, part: int) -> tuple[Literal, ...]:
        """The conditions on a value of one part, whatever the others are."""
        own = self._names[part]
        others = set().union(*self._names) - own
        body = [x for x in self.rule.body if x.binds and others.isdisjoint(names_of(x.atom))]
        bound = names_of(*(x.atom for x in body))
        for literal in self.rule.body:
            if literal.binds and not (own - bound).isdisjoint(names_of(literal.atom)):
                body.append(literal)
                bound |= names_of(literal.atom)
        for i, literal in enumerate(self.rule.body):
            names = names_of(literal.atom) - local_variables(self.rule, i)
            if not literal.binds and names <= bound and names.isdisjoint(others):
                body.append(literal)
        return tuple(body)

    def differ(self, part: int, other: int) -> bool:
        """Whether the rule demands that two parts, which are variables, differ."""
        both = {self.parts[part], self.parts[other]}
        return any(
            tie.is_difference and set(arguments(tie.body[0].atom)) == both for tie in self.ties
        )

    def alike(self, part: int, other: int) -> bool:
        """Whether two parts have the same values."""
        return self._key(part) == self._key(other)

    def _key(self, part: int) -> tuple[str, ...]:
        body = self.may_be(part)
        terms = [self.parts[part], *(x.atom for x in body)]
        names: dict[str, Term] = {}
        for term in terms:
            for v in variables(term):
                names.setdefault(v.name, Variable(str(len(names))))
        signs = [str(x.negated) for x in body]
        return (*(str(substitute(term, names)) for term in terms), *signs)


def _components(rule: NormalRule, own: set[str]) -> list[list[Literal]]:
    """Groups of conditions that are tied together by variables other than those of parts."""
    found: list[tuple[set[str], list[Literal]]] = []
    for literal in rule.body:
        names, literals = names_of(literal.atom) - own, [literal]
        for other in [each for each in found if not each[0].isdisjoint(names)]:
            found.remove(other)
            names, literals = names | other[0], [*other[1], *literals]
        found.append((names, literals))
    return [literals for _, literals in found]


# ------------------------------------------------------------------------
# Rewrites rules about moves of `random` that are made part by part, in terms of the parts.
#
# (<= (next (hand ?a)) (does random (deal ?a ?b)))
#     (<= (next (hand ?a)) (does random (deal ;1 ;2)) (does random;1 ?a))
#
# Every role makes one move, so a condition on a part whose value does not matter is dropped. That a
# move is not made means that some part is another one: such a rule becomes several.

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
