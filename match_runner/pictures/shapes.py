"""Shapes of a game's fluents: `(cell a (sq 1 2))` has the leaves a, 1 and 2.

A program comes in; its shapes go out, each with the values of its leaves. Two terms have the same
shape if they differ in leaves only. So coordinates may be at any depth, and the rest of the package
sees flat rows of leaves.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from ggp.gdl.analysis.domains import MAX_DEPTH, Domains, Position, occurrences, position
from ggp.gdl.program import INIT, NEXT, TRUE, Literal, NormalRule, Program
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

Skeleton = tuple[Signature | None, ...]
"""Functions of a term from left to right, None for each leaf."""

MAX_SHAPES = 200
_MAX_LEAVES = 12
_MAX_INITIAL = 5_000
_MAX_DEPTH = 4
_MAX_FUNCTIONS = 8


@dataclass(frozen=True, slots=True)
class FluentLeaf:
    """A leaf: an argument that is not a compound term.

    Attributes:
        values: its possible constants, in order of first appearance.
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
    """The shape and leaves of a term; a term with too many leaves counts as one leaf."""
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
        if len(leaves) > _MAX_LEAVES or len(skeleton) > 2 * _MAX_LEAVES:
            return (None,), (term,)
    return tuple(skeleton), tuple(leaves)


def shapes_of(program: Program, values: Values) -> list[FluentShape]:
    """Shapes of a game's fluents, in the order of the rules; at most `MAX_SHAPES`."""
    skeletons: list[tuple[Skeleton, tuple[Position, ...]]] = []
    base: Position = ((TRUE, 0),)
    for function in values.functions(base)[:MAX_SHAPES]:
        skeletons += islice(_expand(base, function, values, 1), MAX_SHAPES - len(skeletons))
    initial = _initial(program, values)
    names = _variable_names(program)
    moving = _counters(program)
    shapes = []
    for skeleton, positions in skeletons[:MAX_SHAPES]:
        if len(positions) > _MAX_LEAVES:
            continue
        leaves = tuple(
            FluentLeaf(values.constants(at), max(counts, key=counts.__getitem__, default=""))
            for i, at in enumerate(positions)
            for counts in [names[skeleton, i]]
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
        shapes: list[tuple[Skeleton, tuple[Position, ...]]] = []
        if values.constants(inner):
            shapes.append(((None,), (inner,)))
        if depth < _MAX_DEPTH:
            for deeper in values.functions(inner)[:_MAX_FUNCTIONS]:
                shapes += islice(_expand(inner, deeper, values, depth + 1), _MAX_FUNCTIONS)
        options.append(shapes)
    size = 1
    for choices in options:
        size *= len(choices)
    if not 0 < size <= MAX_SHAPES:
        return
    for combination in product(*options):
        skeleton: Skeleton = (function, *(part for choice in combination for part in choice[0]))
        yield skeleton, tuple(position for choice in combination for position in choice[1])


def _initial(program: Program, values: Values) -> Mapping[Skeleton, list[tuple[str, ...]]]:
    """Leaves of the initial fluents, perhaps with a few fluents that conditions exclude."""
    rows_by_shape: dict[Skeleton, dict[tuple[str, ...], None]] = {}
    budget = _MAX_INITIAL
    for rule in program.by_head.get(INIT, ()):
        assert isinstance(rule.head, Compound)
        for term in _instances(rule, rule.head.args[0], values, budget):
            skeleton, leaves = flatten(term)
            rows_by_shape.setdefault(skeleton, {})[tuple(str(leaf) for leaf in leaves)] = None
            budget -= 1
    return {skeleton: list(rows) for skeleton, rows in rows_by_shape.items()}


def _instances(rule: NormalRule, term: Term, values: Values, limit: int) -> Iterator[Term]:
    if not any(variables(term)):
        yield from [term][:limit]
        return
    bound = values.bind(rule)
    names = list(dict.fromkeys(variable.name for variable in variables(term)))
    size = 1
    for name in names:
        size *= len(bound.get(name, ()))
    if size > limit:
        return
    for row in product(*(bound.get(name, ()) for name in names)):
        yield substitute(term, dict(zip(names, map(Symbol, row), strict=True)))


def _variable_names(program: Program) -> Mapping[tuple[Skeleton, int], Counter[str]]:
    """Number of times that each variable stands for a leaf of the fluents of a shape."""
    counts_by_leaf: dict[tuple[Skeleton, int], Counter[str]] = defaultdict(Counter)
    for rule in program.rules:
        for atom in (rule.head, *(literal.atom for literal in rule.body)):
            if isinstance(atom, Compound) and atom.name in ("true", "next", "init"):
                skeleton, leaves = flatten(atom.args[0])
                for i, leaf in enumerate(leaves):
                    if isinstance(leaf, Variable):
                        counts_by_leaf[skeleton, i][leaf.name] += 1
    return counts_by_leaf


def _counters(program: Program) -> set[Skeleton]:
    """Shapes with one leaf that a `next` rule advances: steps, rounds, the role to move."""
    counters: set[Skeleton] = set()
    for rule in program.by_head.get(NEXT, ()):
        assert isinstance(rule.head, Compound)
        skeleton, leaves = flatten(rule.head.args[0])
        if len(leaves) != 1 or len(skeleton) != 2:
            continue
        if any(getattr(literal.atom, "name", "") == "does" for literal in rule.body):
            continue
        conditions = _conditions(rule.body, skeleton)
        if conditions and all(leaf != leaves[0] for leaf in conditions):
            counters.add(skeleton)
    return counters


def _conditions(body: Sequence[Literal], skeleton: Skeleton) -> list[Term]:
    """The leaves of the positive conditions of a shape with one leaf."""
    values = []
    for literal in body:
        atom = literal.atom
        if isinstance(atom, Compound) and atom.name == "true" and not literal.negated:
            atom_skeleton, leaves = flatten(atom.args[0])
            if atom_skeleton == skeleton:
                values.append(leaves[0])
    return values


# ------------------------------------------------------------------------
# Constants that arguments of relations can be: tighter domains than those of `ggp.gdl.analysis`.
#
# There, a variable takes the values of its first condition. Here it takes only values that all of
# its conditions allow, and facts count as whole rows: with `(next a b) (next 1 2)`, the successor
# of a letter is a letter. Boards need that: a wider domain would mix files with ranks. Invariant:
# the values are an upper bound, since values only ever spread from conditions to heads, until
# nothing changes. If the work becomes too much, the domains of `ggp.gdl.analysis.domains` serve
# instead.

MAX_FLOWS = 40_000
"""Most flows from position to position. Nested functions can make millions, and then we would find
no boards anyway."""

MAX_WORK = 400_000
"""Most values and facts that we examine before giving up: well below a second."""

Names = dict[str, None]
"""An ordered set."""

Key = tuple[Signature, Signature | None]
"""A relation, and the function of its first compound argument."""


class TooMuchWorkError(Exception):
    """The rules are too large for a close analysis."""


class Values:
    """Constants at the argument positions of a program's relations."""

    def __init__(self, program: Program) -> None:
        self.domains = Domains(program.rules, MAX_FLOWS)
        self.facts = facts_of(program)
        self._tight: dict[Position, Names] | None = None
        try:
            if self.domains.whole:
                self._tight = _Spread(program, self.domains, self.facts).tight
        except TooMuchWorkError:
            return

    def constants(self, at: Position) -> tuple[str, ...]:
        """Constants at a position, in order of first appearance."""
        if not self.domains.whole:
            return ()
        if self._tight is None:
            return self.domains.constants(at)
        return tuple(self._tight.get(at, ()))

    def bind(self, rule: NormalRule) -> dict[str, tuple[str, ...]]:
        """Constants that a rule's variables can be: the values that all of its conditions allow."""
        bound: dict[str, tuple[str, ...]] = {}
        for literal in rule.body:
            if literal.binds:
                for name, at in occurrences(literal.atom):
                    values = self.constants(at)
                    if name in bound:
                        values = tuple(value for value in bound[name] if value in values)
                    bound[name] = values
        return bound

    def functions(self, at: Position) -> tuple[Signature, ...]:
        """Functions of the compound terms at a position."""
        if not self.domains.whole:
            return ()
        return self.domains.functions(at)


def facts_of(program: Program) -> dict[Signature, list[tuple[str, ...]]]:
    """Relations that consist only of facts with constants, with these facts."""
    facts: dict[Signature, list[tuple[str, ...]]] = {}
    for sig, rules in program.by_head.items():
        rows = []
        for rule in rules:
            head = rule.head
            if rule.body or not isinstance(head, Compound):
                break
            names = tuple(arg.name for arg in head.args if isinstance(arg, Symbol))
            if len(names) < len(head.args):
                break
            rows.append(names)
        else:
            if sig in program.static:
                facts[sig] = rows
    return facts


class _Spread:
    """Propagates values from conditions to heads until nothing changes."""

    def __init__(
        self,
        program: Program,
        domains: Domains,
        facts: Mapping[Signature, list[tuple[str, ...]]],
    ) -> None:
        self.tight: dict[Position, Names] = {}
        self._domains, self._facts = domains, facts
        self._work = 0
        rules = [rule for rule in program.rules if rule.body or any(variables(rule.head))]
        for rule in program.rules:
            if not rule.body:
                self._add_all(rule, {}, {})
        readers: dict[Signature, dict[Signature | None, list[int]]] = {}
        for index, rule in enumerate(rules):
            for literal in rule.body:
                if literal.binds:
                    relation, function = _key(literal.atom)
                    readers.setdefault(relation, {}).setdefault(function, []).append(index)
        pending = dict.fromkeys(range(len(rules)))
        while pending:
            index = next(iter(pending))
            del pending[index]
            for relation, function in self._apply(rules[index]):
                for read, indices in readers.get(relation, {}).items():
                    if read == function or read is None or function is None:
                        pending.update(dict.fromkeys(indices))

    def _spend(self, amount: int) -> None:
        self._work += amount
        if self._work > MAX_WORK:
            raise TooMuchWorkError

    def _apply(self, rule: NormalRule) -> list[Key]:
        """Propagate the values of a rule's conditions to its head; return the changed relations."""
        sources: dict[str, Position] = {}
        bound = self._bind(rule, sources)
        return [] if bound is None else self._add_all(rule, bound, sources)

    def _bind(self, rule: NormalRule, sources: dict[str, Position]) -> dict[str, Names] | None:
        """Values of a rule's variables; None if a condition cannot hold.

        Args:
            sources: filled with the positions of variables that may stand for compound terms.
        """
        bound: dict[str, Names] = {}
        listed: list[tuple[Compound, list[tuple[str, ...]]]] = []
        for literal in rule.body:
            atom = literal.atom
            if not literal.binds or not isinstance(atom, Compound):
                continue
            facts = self._facts.get(signature(atom))
            if facts is not None and all(not isinstance(arg, Compound) for arg in atom.args):
                listed.append((atom, facts))
            for term, at in _leaves(atom):
                values = self.tight.get(at, {})
                if isinstance(term, Symbol):
                    if term.name not in values:
                        return None
                elif self._domains.functions(at):
                    sources.setdefault(term.name, at)
                elif term.name in bound:
                    self._spend(len(bound[term.name]))
                    bound[term.name] = {n: None for n in bound[term.name] if n in values}
                else:
                    bound[term.name] = values
        for name in sources:
            bound.pop(name, None)
        if not self._narrow(bound, listed) or not all(bound.values()):
            return None
        return bound

    def _narrow(
        self, bound: dict[str, Names], listed: Sequence[tuple[Compound, list[tuple[str, ...]]]]
    ) -> bool:
        """Keep the values that facts allow, condition by condition; false if none are left."""
        for _ in range(2 if len(listed) > 1 else 1):
            for atom, facts in listed:
                self._spend(len(facts))
                rows = facts
                for i, arg in enumerate(atom.args):
                    if isinstance(arg, Variable):
                        values = bound.get(arg.name, {})
                        rows = [fact for fact in rows if fact[i] in values]
                    elif isinstance(arg, Symbol):
                        rows = [fact for fact in rows if fact[i] == arg.name]
                if not rows:
                    return False
                for i, arg in enumerate(atom.args):
                    if isinstance(arg, Variable):
                        bound[arg.name] = dict.fromkeys(fact[i] for fact in rows)
        return True

    def _add_all(
        self, rule: NormalRule, bound: Mapping[str, Names], sources: Mapping[str, Position]
    ) -> list[Key]:
        changed = False
        if not isinstance(rule.head, Compound):
            return []
        for term, at in _leaves(rule.head):
            if isinstance(term, Symbol):
                changed |= self._add({term.name: None}, at)
            elif term.name in bound:
                changed |= self._add(bound[term.name], at)
            elif term.name in sources:
                changed |= self._copy(sources[term.name], at)
        return [_key(rule.head)] if changed else []

    def _add(self, new: Names, at: Position) -> bool:
        """Add values at a position; return whether any is new."""
        values = self.tight.setdefault(at, {})
        self._spend(len(new))
        num_before = len(values)
        values.update(new)
        return len(values) > num_before

    def _copy(self, source: Position, target: Position) -> bool:
        """Copy all values of a position to another, including values inside functions."""
        self._spend(1)
        if len(target) > MAX_DEPTH or source == target:
            return False
        changed = self._add(self.tight.get(source, {}), target)
        for function in self._domains.functions(source):
            for i in range(function[1]):
                changed |= self._copy((*source, (function, i)), (*target, (function, i)))
        return changed


def _key(atom: Term) -> Key:
    shared = position(signature(atom), 0)[0][0]
    if isinstance(atom, Compound):
        for arg in atom.args:
            if isinstance(arg, Compound):
                return shared, signature(arg)
    return shared, None


def _leaves(atom: Compound) -> Iterator[tuple[Symbol | Variable, Position]]:
    """Yield the constants and variables of an atom, with their positions."""
    pending: list[tuple[Term, Position]] = [
        (arg, position(signature(atom), i)) for i, arg in enumerate(atom.args)
    ]
    while pending:
        term, at = pending.pop()
        if isinstance(term, Compound):
            pending += [(arg, (*at, (signature(term), i))) for i, arg in enumerate(term.args)]
        else:
            yield term, at


def chains_of(facts: Mapping[Signature, list[tuple[str, ...]]]) -> list[dict[str, str]]:
    """Binary relations in which every constant has at most one successor and one predecessor."""
    chains = []
    for (_, arity), rows in facts.items():
        following = dict(row for row in rows if len(row) == 2) if arity == 2 else {}
        if len(following) > 1 and len(set(following.values())) == len(following) == len(rows):
            chains.append(following)
    return chains
