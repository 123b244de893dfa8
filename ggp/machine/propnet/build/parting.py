"""Rules in which `random` makes moves part by part, where there are too many to list.

    (<= (legal random (deal ?a ?b)) (true (deck ?a)) (true (deck ?b)) (distinct ?a ?b))
    (<= (next (hand ?a)) (does random (deal ?a ?b)))

become, with a role for each part (see `ggp.machine.propnet.parts`),

    (<= (legal random;1 ?a) (true (deck ?a)))             what may be chosen, part by part
    (<= (legal random;2 ?b) (true (deck ?b)))
    (<= (legal random (deal ;1 ;2)) ...)                  if there is something for each
    (<= same (does random;1 ?a) (does random;2 ?a))
    (<= fits (does random (deal ;1 ;2)) (not same))       what is left of the conditions
    (<= (next (hand ?a)) (does random (deal ;1 ;2)) (does random;1 ?a))

Every role makes one move, so a condition on a part whose value does not matter goes. Conditions
are told apart by the parts that they are about: each set of conditions that only variables of its
own tie together has a relation of its own, so that few parts are ever joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ggp.gdl.dependencies import static_relations
from ggp.gdl.program import (
    DISTINCT,
    DOES,
    LEGAL,
    RANDOM,
    Literal,
    NormalRule,
    Program,
    atom_of,
    local_variables,
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
from ggp.machine.propnet.build.extents import Extent, Extents, Table, join
from ggp.machine.propnet.parts import FITS, FREE, NONE, hole, part_role

LISTED = 50_000
"""Moves of one kind that are listed, if there are estimated to be no more."""

MOST_COPIES = 64
"""Rules that one rule may become."""

LEAST_FITTING = 1 / 64
"""Estimated share of drawn moves that must fit."""

MOST_TIED = 300_000.0
"""Estimated instances of conditions that tie some parts."""

Tables = Callable[[], Mapping[Signature, Table]]
"""Counts the atoms of relations that depend on nothing."""


class _NotApartError(Exception):
    """The parts of a move cannot be told apart in the rules."""


def in_parts(program: Program, tables: Tables, listed: float = LISTED) -> Program:
    """The rules with moves of `random` made part by part, where that is possible and called for.

    Args:
        program: normalised rules.
        tables: only called if there seem to be many moves.
        listed: moves of one kind that are listed.
    """
    if RANDOM not in program.roles:
        return program
    heads = _heads_of_random(program)
    static = static_relations(program.rules)
    extents = Extents(program.rules, static, {})
    many = {kind for kind, rules in heads.items() if _num_moves(rules, extents) > listed}
    if not many:
        return program
    extents = Extents(program.rules, static, tables())
    many = {kind for kind in many if _num_moves(heads[kind], extents) > listed}
    try:
        families = [_Family.of(number, heads[kind]) for number, kind in enumerate(sorted(many))]
        return _Parting(program, families, extents).result() if families else program
    except _NotApartError:
        return program


def _heads_of_random(program: Program) -> dict[Signature, list[NormalRule]]:
    """The rules that say what is legal for `random`, by the move's name."""
    heads: dict[Signature, list[NormalRule]] = {}
    for rule in program.by_head.get(LEGAL, ()):
        role, move = _arguments(rule.head)
        if role == Symbol(RANDOM):
            if isinstance(move, Variable):
                return {}
            heads.setdefault(signature(move), []).append(rule)
    return heads


def _num_moves(rules: Sequence[NormalRule], extents: Extents) -> float:
    """About how many moves some rules make legal."""
    return sum(_num_heads(rule, extents) for rule in rules)


def _num_heads(rule: NormalRule, extents: Extents) -> float:
    found = _joined(rule.body, extents)
    names = {v.name for v in variables(rule.head)}
    return min(found.size, prod(found.values.get(name, 1.0) for name in names))


def _joined(body: Sequence[Literal], extents: Extents) -> Extent:
    return join(extents.of(literal) for literal in body if literal.binds)


def _arguments(atom: Term) -> tuple[Term, Term]:
    assert isinstance(atom, Compound)
    return atom.args[0], atom.args[1]


def _names(*terms: Term) -> set[str]:
    return {v.name for term in terms for v in variables(term)}


@dataclass(frozen=True)
class _Family:
    """Moves of `random` that differ in K parts.

    Attributes:
        number: which family it is.
        rules: that make them legal.
        pattern: the move, with a variable for each part, named like its hole.
        parts: `[rules][K]` the part in the head of each rule.
    """

    number: int
    rules: tuple[NormalRule, ...]
    pattern: Term
    parts: tuple[tuple[Term, ...], ...]

    @classmethod
    def of(cls, number: int, rules: Sequence[NormalRule]) -> _Family:
        """The family of some rules, whose moves have one name."""
        moves = [_arguments(rule.head)[1] for rule in rules]
        columns: list[list[Term]] = []
        pattern = _pattern(moves, columns)
        if len(columns) < 2:
            raise _NotApartError
        return cls(number, tuple(rules), pattern, tuple(zip(*columns, strict=True)))

    @property
    def size(self) -> int:
        return len(self.parts[0])

    @property
    def stand_in(self) -> Term:
        """The move that stands for all of them."""
        holes = {hole(k): Symbol(hole(k)) for k in range(1, 1 + self.size)}
        return substitute(self.pattern, holes)

    @property
    def done(self) -> Literal:
        """One of the moves is made."""
        return _does(RANDOM, self.stand_in)

    def parts_in(self, move: Term) -> tuple[Term, ...] | None:
        """The parts of a move in a rule; None if they are not all written there."""
        found: list[Term] = []
        return tuple(found) if _match(self.pattern, move, found) else None


def _pattern(terms: Sequence[Term], columns: list[list[Term]]) -> Term:
    """What terms have in common, with a variable for what differs; those are added to `columns`."""
    first = terms[0]
    if not isinstance(first, Variable) and len({signature(term) for term in terms}) == 1:
        if isinstance(first, Symbol):
            return first
        rows = [term.args for term in terms if isinstance(term, Compound)]
        if len(rows) == len(terms):
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


def _does(role: str, move: Term) -> Literal:
    return Literal(Compound(DOES[0], (Symbol(role), move)))


def _not(literal: Literal) -> Literal:
    return Literal(literal.atom, not literal.negated)


def _apart(left: Term, right: Term) -> Literal:
    return Literal(Compound(DISTINCT[0], (left, right)))


@dataclass(frozen=True)
class _Tie:
    """Conditions of a rule that go together.

    Attributes:
        body: the conditions.
        parts: those that they are about.
        denied: whether they must not hold, rather than hold.
    """

    body: tuple[Literal, ...]
    parts: tuple[int, ...]
    denied: bool


class _Cases:
    """One rule that makes moves of a family legal, taken apart."""

    def __init__(self, family: _Family, place: int) -> None:
        self.rule = family.rules[place]
        self.parts = family.parts[place]
        self._names = [_names(part) for part in self.parts]
        own = set().union(*self._names)
        self.ties = [*self._shared(), *(self._tie(each) for each in _components(self.rule, own))]

    def _about(self, terms: Sequence[Term]) -> tuple[int, ...]:
        names = _names(*terms)
        return tuple(k for k, own in enumerate(self._names) if not own.isdisjoint(names))

    def _shared(self) -> Iterator[_Tie]:
        """Parts that have a variable in common."""
        for k, names in enumerate(self._names):
            for j in range(k):
                if not names.isdisjoint(self._names[j]):
                    yield _Tie((), (j, k), False)

    def _tie(self, literals: list[Literal]) -> _Tie:
        about = self._about([literal.atom for literal in literals])
        if len(literals) > 1 or literals[0].binds:
            return _Tie(tuple(literals), about, False)
        return _Tie((literals[0] if literals[0].is_distinct else _not(literals[0]),), about, True)

    def may_be(self, part: int) -> tuple[Literal, ...]:
        """What must hold for a value of one part, whatever the others are."""
        others = set().union(*(names for k, names in enumerate(self._names) if k != part))
        others -= self._names[part]
        body = [x for x in self.rule.body if x.binds and others.isdisjoint(_names(x.atom))]
        bound = _names(*(x.atom for x in body))
        for literal in self.rule.body:
            missing = self._names[part] - bound
            if literal.binds and not missing.isdisjoint(_names(literal.atom)):
                body.append(literal)
                bound |= _names(literal.atom)
        for i, literal in enumerate(self.rule.body):
            names = _names(literal.atom) - local_variables(self.rule, i)
            if not literal.binds and names <= bound and names.isdisjoint(others):
                body.append(literal)
        return tuple(body)

    def apart(self, part: int, other: int) -> bool:
        """Whether the rule says that two parts, which are variables, are different."""
        left, right = self.parts[part], self.parts[other]
        return any(
            tie.denied
            and tie.body[0].is_distinct
            and set(_arguments(tie.body[0].atom)) == {left, right}
            for tie in self.ties
        )

    def key(self, part: int) -> object:
        """The same for parts that may be the same."""
        names: dict[str, Term] = {}
        for name in (
            v.name
            for x in (self.parts[part], *(y.atom for y in self.may_be(part)))
            for v in variables(x)
        ):
            names.setdefault(name, Variable(str(len(names))))
        body = [(str(substitute(x.atom, names)), x.negated) for x in self.may_be(part)]
        return str(substitute(self.parts[part], names)), tuple(body)


def _components(rule: NormalRule, own: set[str]) -> list[list[Literal]]:
    """Conditions that are tied together by other variables than those of parts."""
    found: list[tuple[set[str], list[Literal]]] = []
    for literal in rule.body:
        names, literals = _names(literal.atom) - own, [literal]
        for other in [each for each in found if not each[0].isdisjoint(names)]:
            found.remove(other)
            names, literals = names | other[0], [*other[1], *literals]
        found.append((names, literals))
    return [literals for _, literals in found]


class _Parting:
    """Makes the rules of a program that has such families."""

    def __init__(self, program: Program, families: Sequence[_Family], extents: Extents) -> None:
        self._program, self._families, self._extents = program, families, extents
        self._num_parts = max(family.size for family in families)
        legal = {rule for family in families for rule in family.rules}
        self._others = [rule for rule in program.rules if rule not in legal]
        self._has_listed = any(
            signature(rule.head) == LEGAL and _arguments(rule.head)[0] in (Symbol(RANDOM),)
            for rule in self._others
        ) or any(self._is_open(rule) for rule in self._others)
        cases = [_Cases(family, r) for family in families for r in range(len(family.rules))]
        self._single = cases[0] if len(cases) == 1 else None
        self._groups = self._apart_groups()
        self._roles = [part_role(1 + k, group) for k, group in enumerate(self._groups)]

    def result(self) -> Program:
        """The program made of parts."""
        if self._fitting() < LEAST_FITTING:
            raise _NotApartError
        rules: list[NormalRule] = []
        for rule in self._others:
            if signature(rule.head) == LEGAL and self._may_be_of_family(rule.head):
                raise _NotApartError
            copies = list(self._written(rule, 0))
            if len(copies) > MOST_COPIES:
                raise _NotApartError
            rules += copies
        for family in self._families:
            for place in range(len(family.rules)):
                rules += self._legal(family, place)
        rules += self._none()
        roles = (*self._program.roles, *self._roles)
        return replace(self._program, roles=roles, rules=tuple(dict.fromkeys(rules)))

    def _fitting(self) -> float:
        """An estimate of the share of drawn moves that fit."""
        drawn = moves = 0.0
        for family in self._families:
            most = [1.0] * family.size
            for place in range(len(family.rules)):
                cases = _Cases(family, place)
                sizes = [
                    _num_heads(NormalRule(Compound("", (part,)), cases.may_be(k)), self._extents)
                    for k, part in enumerate(cases.parts)
                ]
                most = [max(pair) for pair in zip(most, sizes, strict=True)]
                apart = [
                    1.0 - 1.0 / max(sizes[k] for k in tie.parts)
                    for tie in cases.ties
                    if tie.denied and tie.body[0].is_distinct and tie.parts
                ]
                moves += _num_heads(cases.rule, self._extents) * prod(apart)
            drawn += prod(
                max(1.0, size - (self._groups[:k].count(self._groups[k]) if self._groups[k] else 0))
                for k, size in enumerate(most)
            )
        return moves / drawn

    # ------------------------------------------------------------ rules with `does`

    def _may_be_of_family(self, atom: Term) -> bool:
        role, move = _arguments(atom)
        random = isinstance(role, Variable) or role == Symbol(RANDOM)
        return random and any(self._unified(family, move) is not None for family in self._families)

    @staticmethod
    def _is_open(rule: NormalRule) -> bool:
        return signature(rule.head) == LEGAL and isinstance(_arguments(rule.head)[0], Variable)

    @staticmethod
    def _unified(family: _Family, move: Term) -> dict[str, Term] | None:
        return unify(move, family.pattern)

    def _written(self, rule: NormalRule, start: int) -> Iterator[NormalRule]:
        """The rules that one rule becomes, from condition `start` on."""
        for i in range(start, len(rule.body)):
            literal = rule.body[i]
            if signature(literal.atom) not in (DOES, LEGAL):
                continue
            if not self._may_be_of_family(literal.atom):
                continue
            if signature(literal.atom) == LEGAL:
                raise _NotApartError
            role, move = _arguments(literal.atom)
            if isinstance(role, Variable):
                for each in self._program.roles:
                    yield from self._written(_bound(rule, {role.name: Symbol(each)}), i)
            elif literal.negated:
                yield from self._denied(rule, i, move)
            else:
                yield from self._made(rule, i, move)
            return
        kept = _without_unread(rule, self._roles)
        yield order_conditions(replace(kept, body=(*kept.body, *self._some_parts(kept))))

    def _some_parts(self, rule: NormalRule) -> Iterator[Literal]:
        """That there are the parts that a rule is about."""
        for literal in rule.body:
            if not literal.binds or signature(literal.atom) != DOES:
                continue
            role, value = _arguments(literal.atom)
            for k, each in enumerate(self._roles):
                if role == Symbol(each) and isinstance(value, Variable) and self._has_none(k):
                    yield _apart(value, Symbol(NONE))

    def _made(self, rule: NormalRule, i: int, move: Term) -> Iterator[NormalRule]:
        """A rule with the condition that a move is made, which may be one of families."""
        if isinstance(move, Variable):
            listed = [_apart(move, family.stand_in) for family in self._families]
            body = (*rule.body[: i + 1], *listed, *rule.body[i + 1 :])
            yield from self._written(replace(rule, body=body), i + 1 + len(listed))
        for family in self._families:
            # Apart from the variables of other conditions that were parts.
            fresh: dict[str, Term] = {
                hole(k): Variable(f"{i}{hole(k)}") for k in range(1, 1 + family.size)
            }
            pattern = substitute(family.pattern, fresh)
            binding = unify(move, pattern)
            if binding is None:
                continue
            bound = _bound(rule, binding)
            parts = [resolve(each, binding) for each in fresh.values()]
            does = [_does(role, part) for role, part in zip(self._roles, parts, strict=False)]
            body = (*bound.body[:i], family.done, *does, *bound.body[i + 1 :])
            yield from self._written(replace(bound, body=body), i + 1 + len(does))

    def _denied(self, rule: NormalRule, i: int, move: Term) -> Iterator[NormalRule]:
        """A rule with the condition that a move is not made: it is another one in some part."""
        found = [(family, family.parts_in(move)) for family in self._families]
        matching = [(family, parts) for family, parts in found if parts is not None]
        if len(matching) != 1 or isinstance(move, Variable):
            raise _NotApartError
        ((family, parts),) = matching
        local = local_variables(rule, i)
        cases = [family.done]
        seen: set[str] = set()
        for role, part in zip(self._roles, parts, strict=False):
            if not seen.isdisjoint(_names(part) & local):
                raise _NotApartError
            seen |= _names(part) & local
            if not (isinstance(part, Variable) and part.name in local):
                cases.append(_does(role, part))
        for case in cases:
            body = (*rule.body[:i], _not(case), *rule.body[i + 1 :])
            yield from self._written(replace(rule, body=body), i + 1)

    # ------------------------------------------------------------ what is legal, and fits

    def _legal(self, family: _Family, place: int) -> Iterator[NormalRule]:
        """What one rule of a family says: what may be chosen, and what fits."""
        cases = _Cases(family, place)
        name = f"{family.number};{place}"
        possible, some = Literal(Symbol(f"possible;{name}")), []
        for k, (role, part) in enumerate(zip(self._roles, cases.parts, strict=False)):
            body = cases.may_be(k)
            if not _names(part) <= _names(*(x.atom for x in body if x.binds)):
                raise _NotApartError
            head = Compound(LEGAL[0], (Symbol(role), part))
            # Where there is none for another part, values would only be drawn in vain.
            yield order_conditions(NormalRule(head, (*body, possible)))
            some.append(Literal(Symbol(f"some;{name};{k}")))
            yield order_conditions(NormalRule(some[-1].atom, body))
        yield NormalRule(possible.atom, tuple(some))
        head = Compound(LEGAL[0], (Symbol(RANDOM), family.stand_in))
        yield NormalRule(head, (possible,))
        conditions = [family.done]
        for number, tie in enumerate(cases.ties):
            if self._single and len(tie.parts) < 2:
                continue  # no value that is legal for its part is against it
            if self._size(cases, tie) > MOST_TIED:
                raise _NotApartError
            tied = self._tied(f"tie;{name};{number}", cases, tie)
            if tied is not None:
                yield tied
                conditions.append(Literal(atom_of(tied.head), tie.denied))
        for k, role in enumerate(self._roles):
            if k >= family.size:
                conditions.append(_does(role, Symbol(NONE)))
            elif self._has_none(k):
                conditions.append(_not(_does(role, Symbol(NONE))))
        yield NormalRule(Symbol(FITS), tuple(conditions))

    def _size(self, cases: _Cases, tie: _Tie) -> float:
        """About how many instances conditions have."""
        if tie.denied and tie.body[0].is_distinct:
            return 0.0
        alone = [literal for k in tie.parts for literal in cases.may_be(k)]
        return _joined([*tie.body, *alone], self._extents).size

    def _tied(self, name: str, cases: _Cases, tie: _Tie) -> NormalRule | None:
        """A relation that holds where conditions do; None if they never do."""
        does = tuple(_does(self._roles[k], cases.parts[k]) for k in tie.parts)
        if not (tie.denied and tie.body[0].is_distinct):
            return order_conditions(NormalRule(Symbol(name), (*does, *tie.body)))
        binding = unify(*_arguments(tie.body[0].atom))
        return None if binding is None else _bound(NormalRule(Symbol(name), does), binding)

    def _has_none(self, part: int) -> bool:
        """Whether there are moves without some part."""
        return self._has_listed or any(part >= family.size for family in self._families)

    def _none(self) -> Iterator[NormalRule]:
        """What is legal, and fits, where other moves are; and what everybody may know."""
        move = Variable("move")
        for k, role in enumerate(self._roles):
            if self._has_none(k):
                others = [_apart(move, f.stand_in) for f in self._families if k < f.size]
                made = Literal(Compound(LEGAL[0], (Symbol(RANDOM), move)))
                head = Compound(LEGAL[0], (Symbol(role), Symbol(NONE)))
                yield NormalRule(head, (made, *others))
        if self._has_listed:
            denied = [_not(family.done) for family in self._families]
            none = [_does(role, Symbol(NONE)) for role in self._roles]
            yield NormalRule(Symbol(FITS), (*denied, *none))
        told = [(FITS, (Literal(Symbol(FITS)),)), *([(FREE, ())] if self._is_free() else [])]
        for name, body in told:
            yield NormalRule(Compound("sees", (Symbol(self._roles[0]), Symbol(name))), body)

    # ------------------------------------------------------------ what is drawn apart

    def _apart_groups(self) -> tuple[int, ...]:
        """For each part the number of those that it is drawn apart from, 0 for none."""
        groups: list[list[int]] = []
        if self._single is None:
            return (0,) * self._num_parts
        for k in range(self._num_parts):
            for group in groups:
                if self._single.key(k) == self._single.key(group[0]) and all(
                    self._single.apart(k, other) for other in group
                ):
                    group.append(k)
                    break
            else:
                groups.append([k])
        numbers = [0] * self._num_parts
        for number, group in enumerate((g for g in groups if len(g) > 1), 1):
            for k in group:
                numbers[k] = number
        return tuple(numbers)

    def _is_free(self) -> bool:
        """Whether nothing else ties parts."""
        return self._single is not None and all(
            tie.denied
            and tie.body[0].is_distinct
            and len(tie.parts) == 2
            and self._groups[tie.parts[0]] == self._groups[tie.parts[1]] > 0
            for tie in self._single.ties
            if len(tie.parts) > 1
        )


def _bound(rule: NormalRule, binding: Mapping[str, Term]) -> NormalRule:
    """A rule with a unifier applied; what cannot be different any more is left in it."""
    return NormalRule(
        atom_of(resolve(rule.head, binding)),
        tuple(Literal(atom_of(resolve(x.atom, binding)), x.negated) for x in rule.body),
        rule.start,
    )


def _without_unread(rule: NormalRule, roles: Sequence[str]) -> NormalRule:
    """A rule without conditions on parts that may have any value."""
    used: dict[str, int] = {}
    for term in (rule.head, *(x.atom for x in rule.body)):
        for v in variables(term):
            used[v.name] = used.get(v.name, 0) + 1

    def is_read(literal: Literal) -> bool:
        if literal.negated or signature(literal.atom) != DOES:
            return True
        role, value = _arguments(literal.atom)
        any_value = isinstance(value, Variable) and used[value.name] == 1
        return not (any_value and isinstance(role, Symbol) and role.name in roles)

    return replace(rule, body=tuple(filter(is_read, rule.body)))
