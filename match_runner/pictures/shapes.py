"""Shapes of a game's fluents: `(cell a (sq 1 2))` has the leaves a, 1 and 2.

Two terms have the same shape if they differ in leaves only. So coordinates may stand at any depth,
and the rest of the package sees flat rows of leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from ggp.gdl.analysis.domains import Position
from ggp.gdl.program import INIT, NEXT, TRUE, Literal, NormalRule, Program
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, substitute
from match_runner.pictures.values import Values, variables_in

Skeleton = tuple[Signature | None, ...]
"""Functions of a term from left to right, None for each leaf."""

MOST_SHAPES = 200
_MOST_LEAVES = 12
_MOST_INITIAL = 5_000
_MOST_DEPTH = 4
_MOST_FUNCTIONS = 8


@dataclass(frozen=True, slots=True)
class FluentLeaf:
    """A leaf: an argument that is not a compound term.

    Attributes:
        values: the constants that it takes, in order of first appearance.
        name: name of the variable that most rules have in its place; empty if there is none.
    """

    values: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class FluentShape:
    """Fluents that differ in their leaves only."""

    skeleton: Skeleton
    leaves: tuple[FluentLeaf, ...]
    initial: tuple[tuple[str, ...], ...]
    counter: bool

    @property
    def name(self) -> str:
        """Name of the fluents."""
        head = self.skeleton[0]
        assert head is not None
        return head[0]


def flatten(term: Term) -> tuple[Skeleton, tuple[Term, ...]]:
    """The shape and leaves of a term; a term with very many leaves is one leaf."""
    skeleton: list[Signature | None] = []
    leaves: list[Term] = []
    pending = [term]
    while pending:
        item = pending.pop()
        if isinstance(item, Compound):
            skeleton.append((item.name, len(item.args)))
            pending += reversed(item.args)
        else:
            skeleton.append(None)
            leaves.append(item)
        if len(leaves) > _MOST_LEAVES or len(skeleton) > 2 * _MOST_LEAVES:
            return (None,), (term,)
    return tuple(skeleton), tuple(leaves)


def shapes_of(program: Program, values: Values) -> list[FluentShape]:
    """Shapes of a game's fluents, in the order of the rules; at most `MOST_SHAPES`."""
    found: list[tuple[Skeleton, tuple[Position, ...]]] = []
    base: Position = ((TRUE, 0),)
    for function in values.functions(base)[:MOST_SHAPES]:
        found += islice(_expand(base, function, values, 1), MOST_SHAPES - len(found))
    initial = _initial(program, values)
    names = _variable_names(program)
    moving = _counters(program)
    shapes = []
    for skeleton, at in found[:MOST_SHAPES]:
        if len(at) > _MOST_LEAVES:
            continue
        leaves = tuple(
            FluentLeaf(values.constants(each), _commonest(names.get((skeleton, i), {})))
            for i, each in enumerate(at)
        )
        shapes.append(
            FluentShape(skeleton, leaves, tuple(initial.get(skeleton, ())), skeleton in moving)
        )
    return shapes


def _expand(
    at: Position, function: Signature, values: Values, depth: int
) -> Iterator[tuple[Skeleton, tuple[Position, ...]]]:
    """Yield the shapes of terms with a function, and the positions of their leaves."""
    options: list[list[tuple[Skeleton, tuple[Position, ...]]]] = []
    for i in range(function[1]):
        inner = (*at, (function, i))
        here: list[tuple[Skeleton, tuple[Position, ...]]] = []
        if values.constants(inner):
            here.append(((None,), (inner,)))
        if depth < _MOST_DEPTH:
            for deeper in values.functions(inner)[:_MOST_FUNCTIONS]:
                here += islice(_expand(inner, deeper, values, depth + 1), _MOST_FUNCTIONS)
        options.append(here)
    size = 1
    for choices in options:
        size *= len(choices)
    if not 0 < size <= MOST_SHAPES:
        return
    for combination in product(*options):
        skeleton: Skeleton = (function, *(part for each in combination for part in each[0]))
        yield skeleton, tuple(position for each in combination for position in each[1])


def _initial(program: Program, values: Values) -> Mapping[Skeleton, list[tuple[str, ...]]]:
    """Leaves of the initial fluents, and perhaps of a few that the rules then exclude."""
    found: dict[Skeleton, dict[tuple[str, ...], None]] = {}
    budget = _MOST_INITIAL
    for rule in program.by_head.get(INIT, ()):
        assert isinstance(rule.head, Compound)
        for term in _instances(rule, rule.head.args[0], values, budget):
            skeleton, leaves = flatten(term)
            found.setdefault(skeleton, {})[tuple(str(leaf) for leaf in leaves)] = None
            budget -= 1
    return {skeleton: list(rows) for skeleton, rows in found.items()}


def _instances(rule: NormalRule, term: Term, values: Values, limit: int) -> Iterator[Term]:
    if not variables_in(term):
        yield from [term][:limit]
        return
    bound = values.bind(rule)
    names = list(
        dict.fromkeys(leaf.name for leaf in flatten(term)[1] if isinstance(leaf, Variable))
    )
    size = 1
    for name in names:
        size *= len(bound.get(name, ()))
    if size > limit:
        return
    for row in product(*(bound.get(name, ()) for name in names)):
        yield substitute(term, dict(zip(names, map(Symbol, row), strict=True)))


def _variable_names(program: Program) -> Mapping[tuple[Skeleton, int], dict[str, int]]:
    """Number of times that each variable stands for a leaf of the fluents of a shape."""
    found: dict[tuple[Skeleton, int], dict[str, int]] = {}
    for rule in program.rules:
        for atom in (rule.head, *(literal.atom for literal in rule.body)):
            if isinstance(atom, Compound) and atom.name in ("true", "next", "init"):
                skeleton, leaves = flatten(atom.args[0])
                for i, leaf in enumerate(leaves):
                    if isinstance(leaf, Variable):
                        counts = found.setdefault((skeleton, i), {})
                        counts[leaf.name] = counts.get(leaf.name, 0) + 1
    return found


def _commonest(counts: Mapping[str, int]) -> str:
    return max(counts, key=lambda name: counts[name]) if counts else ""


def _counters(program: Program) -> set[Skeleton]:
    """Shapes whose one leaf is advanced by a rule of `next`: steps, rounds, who is to move."""
    found: set[Skeleton] = set()
    for rule in program.by_head.get(NEXT, ()):
        assert isinstance(rule.head, Compound)
        skeleton, leaves = flatten(rule.head.args[0])
        if len(leaves) != 1 or len(skeleton) != 2:
            continue
        if any(getattr(literal.atom, "name", "") == "does" for literal in rule.body):
            continue
        before = _conditions(rule.body, skeleton)
        if before and all(leaf != leaves[0] for leaf in before):
            found.add(skeleton)
    return found


def _conditions(body: Sequence[Literal], skeleton: Skeleton) -> list[Term]:
    """The leaves of the positive conditions of a shape with one leaf."""
    found = []
    for literal in body:
        atom = literal.atom
        if isinstance(atom, Compound) and atom.name == "true" and not literal.negated:
            other, leaves = flatten(atom.args[0])
            if other == skeleton:
                found.append(leaves[0])
    return found
