"""Normalised rules: `normalize` makes a `Program` from a rulesheet, and every backend compiles it.

The rules of a `Program` keep four invariants:

- Every variable of a head, of a `distinct`, and of a negated condition (unless it is local to that
  condition) is bound by an earlier positive condition.
- The only connective is the negation of a single relation.
- Every relation that a condition uses has rules.
- Negation is stratified.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import ClassVar

from ggp.gdl.source import Description, Diagnostic, Source, describe
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables

KEYWORD_ARITY: Mapping[str, int] = {
    "role": 1,
    "init": 1,
    "true": 1,
    "next": 1,
    "does": 2,
    "legal": 2,
    "sees": 2,
    "goal": 2,
    "terminal": 0,
    "distinct": 2,
}
"""The relations that GDL-II gives a meaning to, with their numbers of arguments."""

TRUE: Signature = ("true", 1)
DOES: Signature = ("does", 2)
NEXT: Signature = ("next", 1)
SEES: Signature = ("sees", 2)
LEGAL: Signature = ("legal", 2)
GOAL: Signature = ("goal", 2)
INIT: Signature = ("init", 1)
ROLE: Signature = ("role", 1)
TERMINAL: Signature = ("terminal", 0)
DISTINCT: Signature = ("distinct", 2)

RANDOM = "random"
"""Name of the role that stands for chance."""

MIN_GOAL, MAX_GOAL = 0.0, 100.0
"""Bounds on goal values (Love et al. 2006)."""

Atom = Symbol | Compound


@dataclass(frozen=True, slots=True)
class Literal:
    """One condition: a relation, a negated relation, or `distinct` (never negated).

    A variable of a negated literal that occurs nowhere else in the rule is local to it:
    "there is no value for which ...".
    """

    atom: Atom
    negated: bool = False

    @property
    def is_distinct(self) -> bool:
        return signature(self.atom) == DISTINCT

    @property
    def binds(self) -> bool:
        """Whether the literal gives values to its variables."""
        return not self.negated and not self.is_distinct

    def __str__(self) -> str:
        return f"(not {self.atom})" if self.negated else str(self.atom)


@dataclass(frozen=True, slots=True)
class NormalRule:
    """A rule of a `Program`; `start` is the offset of its original rule in the source."""

    head: Atom
    body: tuple[Literal, ...] = ()
    start: int = field(default=-1, compare=False, repr=False)

    def __str__(self) -> str:
        if not self.body:
            return str(self.head)
        return f"(<= {self.head} {' '.join(map(str, self.body))})"


@dataclass(frozen=True)
class Program:
    """The normalised rules of a game.

    Attributes:
        roles: names in the order of the rulesheet.
        rules: the rules that a keyword depends on, without duplicates.
        is_gdl2: false for plain GDL (neither `sees` nor `random`), where every role sees the whole
            joint move as percepts `(did ROLE MOVE)`.
        static: relations that depend neither on the state nor on moves.
        recursive: relations with a rule that can lead back to itself (see `RuleGraph`).
        spelling: folded name -> spelling in the source, where that differs.
        source: the text that the rules came from.
        diagnostics: every repair, in text order.

    >>> from ggp.gdl.normalize import load
    >>> program = load("tic_tac_toe")
    >>> program.roles, program.is_gdl2
    (('xplayer', 'oplayer'), False)
    """

    prefix: ClassVar[str] = ""
    """The beginning of this kind of game's names: empty for rulesheets."""

    roles: tuple[str, ...]
    rules: tuple[NormalRule, ...]
    is_gdl2: bool
    static: frozenset[Signature]
    recursive: frozenset[Signature]
    spelling: Mapping[str, str]
    source: Source
    diagnostics: tuple[Diagnostic, ...]

    @cached_property
    def by_head(self) -> Mapping[Signature, tuple[NormalRule, ...]]:
        """The rules of each relation, in order."""
        grouped: dict[Signature, list[NormalRule]] = {}
        for rule in self.rules:
            grouped.setdefault(signature(rule.head), []).append(rule)
        return {sig: tuple(rules) for sig, rules in grouped.items()}

    @cached_property
    def goal_ranks(self) -> tuple[int, ...]:
        """For each rule of `goal`, the number (from 0) of its original rule in the rulesheet.

        Of several goal values, the one from the first rule counts; of several from one rule, the
        highest.
        """
        written: dict[object, int] = {}
        return tuple(
            written.setdefault(rule.start if rule.start >= 0 else (i,), len(written))
            for i, rule in enumerate(self.by_head.get(GOAL, ()))
        )

    @cached_property
    def digest(self) -> str:
        """128-bit hex digest of roles and rules: equal programs have equal digests."""
        lines = [*self.roles, *map(str, self.rules)]
        if len(set(self.goal_ranks)) < len(self.goal_ranks):
            lines.append(f"ranks of goals: {self.goal_ranks}")
        return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()

    def describe(self) -> Description:
        """The description at the beginning of the rulesheet."""
        return describe(self.source.text)

    def as_program(self) -> Program:
        """This program itself; see `GameDefinition.as_program` in `ggp.machine.definition`."""
        return self


def without_rules(roles: Sequence[str], name: str) -> Program:
    """A program without rules, for a game that is not defined by a rulesheet."""
    no_relations: frozenset[Signature] = frozenset()
    return Program(tuple(roles), (), True, no_relations, no_relations, {}, Source(name, ""), ())


def atom_of(term: Term) -> Atom:
    """The term, checked to be a relation.

    Raises:
        ValueError: the term is a variable.
    """
    if isinstance(term, Variable):
        raise ValueError(f"not a relation: {term}")
    return term


def number_of(text: str) -> float | None:
    """The finite number that a name spells; None if it is not a finite number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def value_order(text: str) -> tuple[float, str]:
    """Sort key for the goal values of one rule: first non-numbers, then numbers, highest first."""
    number = number_of(text)
    return (-math.inf if number is None else -number, text)


def rule_variables(rule: NormalRule) -> Iterator[Variable]:
    """Every occurrence of a variable in a rule, head first."""
    yield from variables(rule.head)
    for literal in rule.body:
        yield from variables(literal.atom)


def local_variables(rule: NormalRule, index: int) -> frozenset[str]:
    """Names of the variables that occur in the negated `rule.body[index]` and nowhere else."""
    literal = rule.body[index]
    if not literal.negated:
        return frozenset()
    outside = {v.name for v in variables(rule.head)}
    for i, condition in enumerate(rule.body):
        if i != index:
            outside.update(v.name for v in variables(condition.atom))
    return frozenset(v.name for v in variables(literal.atom)) - outside


def unify(left: Term, right: Term) -> dict[str, Term] | None:
    """A most general unifier, or None if the terms do not unify.

    Values may contain variables that have values themselves (triangular form): see `resolve`. A
    variable name that occurs in both terms means the same variable.
    """
    binding: dict[str, Term] = {}

    def walk(term: Term) -> Term:
        while isinstance(term, Variable) and term.name in binding:
            term = binding[term.name]
        return term

    def occurs(name: str, term: Term) -> bool:
        term = walk(term)
        if isinstance(term, Variable):
            return term.name == name
        return isinstance(term, Compound) and any(occurs(name, a) for a in term.args)

    pairs = [(left, right)]
    while pairs:
        a, b = pairs.pop()
        a, b = walk(a), walk(b)
        if isinstance(a, Variable):
            if a != b:
                if occurs(a.name, b):
                    return None
                binding[a.name] = b
        elif isinstance(b, Variable):
            if occurs(b.name, a):
                return None
            binding[b.name] = a
        elif signature(a) != signature(b):
            return None
        elif isinstance(a, Compound) and isinstance(b, Compound):
            pairs.extend(zip(a.args, b.args, strict=True))
    return binding


def resolve(term: Term, binding: Mapping[str, Term]) -> Term:
    """Apply a unifier from `unify`, repeatedly until no variable has a value."""
    if isinstance(term, Variable):
        return resolve(binding[term.name], binding) if term.name in binding else term
    if isinstance(term, Compound):
        return Compound(term.name, tuple(resolve(a, binding) for a in term.args), term.start)
    return term
