"""Chooses the rules to ground in place of the author's: split, and restricted to what is asked for.

The rules that become facts come first, so that these can be counted, then the others. Where the
ground rules of these are expected to cost too much, they are made only for what is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ggp.gdl.analysis.dependencies import static_relations
from ggp.gdl.analysis.unchanging import always_true, unchanging, with_unchanging
from ggp.gdl.program import GOAL, NormalRule, Program
from ggp.gdl.terms import Signature, signature
from ggp.machine.propnet.build.rewriting.alternatives import with_alternatives
from ggp.machine.propnet.build.rewriting.decompose import cost, decompose, project_locals
from ggp.machine.propnet.build.rewriting.demand import restricted
from ggp.machine.propnet.build.rewriting.differences import with_differences
from ggp.machine.propnet.build.rewriting.extents import Extents, Table
from ggp.machine.propnet.build.rewriting.sizes import Sizes
from ggp.machine.propnet.build.rewriting.translate import RANKED, with_ranks

LARGE = 3_000_000.0
"""Expected cost of ground rules above which they are made only for what is asked for."""

MOST_FACTS = 100_000.0
"""Expected number of facts above which they are not counted to make a forecast: that takes half a
second."""

Tables = Mapping[Signature, Table]
Count = Callable[[Sequence[NormalRule]], Tables]
"""Counts the atoms of relations that depend on nothing."""


class Split(NamedTuple):
    """Rules equivalent to those of a game.

    Attributes:
        fixed: rules that become facts.
        moving: the others, before they were split.
        parts: the others, split.
        static: relations that depend neither on the state nor on moves.
        counted: the counted tables of these.
        recursive: relations whose rules are left as they are.
        extents: estimates that decide what to split, with the new relations.
        is_counted: whether facts were counted for them.
    """

    fixed: list[NormalRule]
    moving: list[NormalRule]
    parts: list[NormalRule]
    static: frozenset[Signature]
    counted: Tables
    recursive: frozenset[Signature]
    extents: Extents
    is_counted: bool

    @property
    def rules(self) -> list[NormalRule]:
        """All rules."""
        return [*self.fixed, *self.parts]


def whole_rules(program: Program) -> list[NormalRule]:
    """The rules of a game as any grounding needs them."""
    rules = with_ranks(program.rules, program.goal_ranks)
    kept = unchanging(rules)
    return project_locals([*with_unchanging(rules, kept), *always_true(kept)])


def split(program: Program, count: Count, most_facts: float | None = None) -> Split:
    """Split the rules of a game.

    Args:
        program: normalised rules.
        count: counts facts.
        most_facts: expected number of facts above which they are not counted.
    """
    rules = whole_rules(program)
    # If `goal` leads back to itself, it does so through its rules with ranks.
    recursive = program.recursive | ({RANKED} if GOAL in program.recursive else set())
    static = static_relations(rules)
    fixed = [rule for rule in rules if signature(rule.head) in static]
    moving = [rule for rule in rules if signature(rule.head) not in static]
    fixed = decompose(fixed, Extents(rules, static, {}), prefix="fixed")
    few = most_facts is None or _facts(fixed) <= most_facts
    counted = count(fixed) if few else {}
    extents = Extents(rules, static, counted)
    parts = decompose(moving, extents, recursive)
    return Split(fixed, moving, parts, static, counted, recursive, extents, few)


def asked_for(program: Program, found: Split) -> list[NormalRule]:
    """The rules to ground: if they cost too much, only for what is asked for."""
    fixed, parts = found.fixed, found.parts
    if cost(parts, found.extents) <= LARGE:
        return found.rules
    static = found.static | frozenset(signature(rule.head) for rule in fixed)
    moving = with_differences([*fixed, *with_alternatives(found.moving)], static)[len(fixed) :]
    extents = Extents([*fixed, *moving], static, found.counted)
    asked = with_alternatives(decompose(moving, extents, found.recursive, asked=True), "or")
    return restricted(program.roles, [*fixed, *asked], static, extents) or found.rules


def expected_whole(program: Program) -> float:
    """Expected number of ground rules if no rule is split: hardly fewer than there will be."""
    rules = whole_rules(program)
    sizes = Sizes(rules, Extents(rules, static_relations(rules), {}), at_most=True)
    return sum(sizes.instances(rule) for rule in rules if rule.body)


def _facts(rules: Sequence[NormalRule]) -> float:
    """The number of facts that rules are expected to derive."""
    sizes = Sizes(rules, Extents(rules, frozenset(), {}))
    return sum(sizes.instances(rule) for rule in rules if rule.body)
