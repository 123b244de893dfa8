"""Rewrites rules so that `random` makes moves part by part, where there are too many to list.

    (<= (legal random (deal ?a ?b)) (true (deck ?a)) (true (deck ?b)) (distinct ?a ?b))

becomes, with a role for each part (see `ggp.machine.propnet.parts`),

    (<= (legal random;1 ?a) (true (deck ?a)))             what may be chosen, part by part
    (<= (legal random;2 ?b) (true (deck ?b)))
    (<= (legal random (deal ;1 ;2)) ...)                  if there is something for each
    (<= same (does random;1 ?a) (does random;2 ?a))
    (<= fits (does random (deal ;1 ;2)) (not same))       what is left of the conditions

and other rules are rewritten by `families`. Each set of conditions that is only tied together
by variables of its own has a relation of its own, so that few parts are ever joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from ggp.gdl.analysis.dependencies import static_relations
from ggp.gdl.program import LEGAL, RANDOM, SEES, Literal, NormalRule, Program, atom_of, unify
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature
from ggp.machine.propnet.compile.rewriting.extents import Extent, Extents, RelationSize, join
from ggp.machine.propnet.compile.rewriting.families import (
    Cases,
    Family,
    MadeOfParts,
    NotApartError,
    Tie,
    arguments,
    differ,
    makes,
    names_of,
    negation,
    with_binding,
)
from ggp.machine.propnet.parts import FITS, FREE, NONE, part_role

LISTED = 60_000
"""Greatest estimated number of moves of one kind that are listed."""

LEAST_FITTING = 1 / 64
"""Least estimated share of drawn moves that fit."""

MOST_TIED = 300_000.0
"""Greatest estimated number of instances of conditions that tie some parts."""

Tables = Callable[[], Mapping[Signature, RelationSize]]
"""Counts the atoms of relations that depend on nothing."""


def in_parts(program: Program, tables: Tables, listed: float = LISTED) -> Program:
    """The rules with moves of `random` made part by part, where that is possible and necessary.

    Args:
        program: normalised rules.
        tables: only called if there seem to be many moves.
        listed: number of moves of one kind that are listed.
    """
    heads = _heads_of_random(program)
    if not heads:
        return program
    static = static_relations(program.rules)
    extents = Extents(program.rules, static, {})
    many = {kind for kind, rules in heads.items() if _num_moves(rules, extents) > listed}
    if not many:
        return program
    extents = Extents(program.rules, static, tables())
    many = {kind for kind in many if _num_moves(heads[kind], extents) > listed}
    try:
        families = [Family.of(number, heads[kind]) for number, kind in enumerate(sorted(many))]
        return _Parting(program, families, extents).result() if families else program
    except NotApartError:
        return program


def _heads_of_random(program: Program) -> dict[Signature, list[NormalRule]]:
    """The rules for `legal` of `random`, by the move's name; none if the move may be any."""
    heads: dict[Signature, list[NormalRule]] = {}
    for rule in program.by_head.get(LEGAL, ()):
        role, move = arguments(rule.head)
        if role == Symbol(RANDOM):
            if isinstance(move, Variable):
                return {}
            heads.setdefault(signature(move), []).append(rule)
    return heads


def _num_moves(rules: Sequence[NormalRule], extents: Extents) -> float:
    """The estimated number of moves that some rules make legal."""
    return sum(_num_values([rule.head], rule.body, extents) for rule in rules)


def _num_values(terms: Sequence[Term], body: Sequence[Literal], extents: Extents) -> float:
    """The estimated number of instances of terms for which some conditions hold."""
    found = _joined(body, extents)
    return min(found.size, prod(found.values.get(name, 1.0) for name in names_of(*terms)))


def _joined(body: Sequence[Literal], extents: Extents) -> Extent:
    return join(extents.of(literal) for literal in body if literal.binds)


class _Parting:
    """Rewrites the rules of a program with some families of moves."""

    def __init__(self, program: Program, families: Sequence[Family], extents: Extents) -> None:
        self._program, self._families, self._extents = program, families, extents
        legal = {rule for family in families for rule in family.rules}
        self._others = [rule for rule in program.rules if rule not in legal]
        self._has_listed = any(
            signature(rule.head) == LEGAL
            and (isinstance(role := arguments(rule.head)[0], Variable) or role == Symbol(RANDOM))
            for rule in self._others
        )
        self._cases = [Cases(family, r) for family in families for r in range(len(family.rules))]
        self._single = self._cases[0] if len(self._cases) == 1 else None
        self._apart = self._drawn_apart(max(family.size for family in families))
        self._roles = [part_role(1 + k, group) for k, group in enumerate(self._apart)]

    def result(self) -> Program:
        """The program in terms of parts.

        Raises:
            NotApartError: that cannot be done, or too few drawn moves would fit.
        """
        if self._share_that_fits() < LEAST_FITTING:
            raise NotApartError
        game_roles = self._program.roles
        made = MadeOfParts(self._families, game_roles, self._roles, self._has_none)
        rules = [copy for rule in self._others for copy in made.rules(rule)]
        for family in self._families:
            for place in range(len(family.rules)):
                rules += self._legal(family, place)
        rules += self._without_parts()
        rules += self._told()
        roles = (*game_roles, *self._roles)
        return replace(self._program, roles=roles, rules=tuple(dict.fromkeys(rules)))

    def _share_that_fits(self) -> float:
        """The estimated share of drawn moves that fit."""
        most: list[float] = [1.0] * len(self._roles)
        moves = 0.0
        for cases in self._cases:
            sizes = [
                _num_values([part], cases.may_be(k), self._extents)
                for k, part in enumerate(cases.parts)
            ]
            most[: len(sizes)] = [max(pair) for pair in zip(most, sizes, strict=False)]
            different = [
                1.0 - 1.0 / max(sizes[k] for k in tie.parts)
                for tie in cases.ties
                if tie.is_difference and tie.parts
            ]
            moves += _num_moves([cases.rule], self._extents) * prod(different)
        taken = [
            self._apart[:k].count(group) if group else 0 for k, group in enumerate(self._apart)
        ]
        return moves / prod(max(1.0, size - n) for size, n in zip(most, taken, strict=True))

    # ------------------------------------------------------------ moves with parts

    def _legal(self, family: Family, place: int) -> Iterator[NormalRule]:
        """The new rules for one rule of a family: what may be chosen, and what fits."""
        cases = Cases(family, place)
        name = f"{family.number};{place}"
        possible, some = Literal(Symbol(f"possible;{name}")), []
        for k, (role, part) in enumerate(zip(self._roles, cases.parts, strict=False)):
            body = cases.may_be(k)
            if not names_of(part) <= names_of(*(x.atom for x in body if x.binds)):
                raise NotApartError
            head = Compound(LEGAL[0], (Symbol(role), part))
            # Where another part has no value, values would only be drawn in vain.
            yield order_conditions(NormalRule(head, (*body, possible)))
            some.append(Literal(Symbol(f"some;{name};{k}")))
            yield order_conditions(NormalRule(some[-1].atom, body))
        yield NormalRule(possible.atom, tuple(some))
        yield NormalRule(Compound(LEGAL[0], (Symbol(RANDOM), family.stand_in)), (possible,))
        yield from self._fits(family, name, cases)

    def _missing(self, size: int) -> list[Literal]:
        """The conditions that a move has exactly so many parts."""
        missing = [(k, makes(role, Symbol(NONE))) for k, role in enumerate(self._roles)]
        return [
            none if k >= size else negation(none)
            for k, none in missing
            if k >= size or self._has_none(k)
        ]

    def _fits(self, family: Family, name: str, cases: Cases) -> Iterator[NormalRule]:
        """The rules for when parts fit."""
        conditions = [family.made, *self._missing(family.size)]
        for number, tie in enumerate(cases.ties):
            # A value that is legal for its part satisfies the conditions on that part alone.
            if self._single and len(tie.parts) < 2:
                continue
            if not tie.is_difference and self._num_tied(cases, tie) > MOST_TIED:
                raise NotApartError
            tied = self._tied(f"tie;{name};{number}", cases, tie)
            if tied is not None:
                yield tied
                conditions.append(Literal(atom_of(tied.head), tie.denied))
        yield NormalRule(Symbol(FITS), tuple(conditions))

    def _num_tied(self, cases: Cases, tie: Tie) -> float:
        """The estimated number of instances of tied conditions."""
        alone = [literal for k in tie.parts for literal in cases.may_be(k)]
        return _joined([*tie.body, *alone], self._extents).size

    def _tied(self, name: str, cases: Cases, tie: Tie) -> NormalRule | None:
        """A relation that holds where conditions do; None if they never do."""
        made = tuple(makes(self._roles[k], cases.parts[k]) for k in tie.parts)
        if not tie.is_difference:
            return order_conditions(NormalRule(Symbol(name), (*made, *tie.body)))
        binding = unify(*arguments(tie.body[0].atom))
        return None if binding is None else with_binding(NormalRule(Symbol(name), made), binding)

    # ------------------------------------------------------------ other moves

    def _has_none(self, part: int) -> bool:
        """Whether there are moves without some part."""
        return self._has_listed or any(part >= family.size for family in self._families)

    def _without_parts(self) -> Iterator[NormalRule]:
        """The rules for what is legal, and fits, for moves without some part."""
        move = Variable("move")
        for k, role in enumerate(self._roles):
            if self._has_none(k):
                others = [differ(move, each.stand_in) for each in self._families if k < each.size]
                legal = Literal(Compound(LEGAL[0], (Symbol(RANDOM), move)))
                head = Compound(LEGAL[0], (Symbol(role), Symbol(NONE)))
                yield NormalRule(head, (legal, *others))
        if self._has_listed:
            denied = [negation(family.made) for family in self._families]
            none = [makes(role, Symbol(NONE)) for role in self._roles]
            yield NormalRule(Symbol(FITS), (*denied, *none))

    # ------------------------------------------------------------ what is drawn apart

    def _told(self) -> Iterator[NormalRule]:
        """The rules for what the first part sees."""
        first = Symbol(self._roles[0])
        fits = Literal(Symbol(FITS))
        yield NormalRule(Compound(SEES[0], (first, Symbol(FITS))), (fits,))
        if self._is_free():
            yield NormalRule(Compound(SEES[0], (first, Symbol(FREE))))

    def _drawn_apart(self, size: int) -> tuple[int, ...]:
        """For each part, the number of the set that it is drawn apart in, 0 for none."""
        groups: list[list[int]] = []
        cases = self._single
        if cases is None:
            return (0,) * size
        for k in range(size):
            for group in groups:
                if cases.alike(k, group[0]) and all(cases.differ(k, other) for other in group):
                    group.append(k)
                    break
            else:
                groups.append([k])
        numbers = [0] * size
        for number, group in enumerate((each for each in groups if len(each) > 1), 1):
            for k in group:
                numbers[k] = number
        return tuple(numbers)

    def _is_free(self) -> bool:
        """Whether nothing else ties parts together."""
        return self._single is not None and all(
            tie.is_difference
            and len(tie.parts) == 2
            and self._apart[tie.parts[0]] == self._apart[tie.parts[1]] > 0
            for tie in self._single.ties
            if len(tie.parts) > 1
        )
