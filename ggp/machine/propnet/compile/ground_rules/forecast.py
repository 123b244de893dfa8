"""Forecasts the number of ground rules of a game before it is ground, and counts them meanwhile.

In come rules and estimates (`Sizes`), out goes a `GroundingForecast`, which names the costly rules.
Some rulesheets cannot be ground: a rule that deals three cards of fifty joins all triples with
everything that depends on them. Users should learn that before memory or time run out. The
estimates are summed up for each rule as its author wrote it, and compared with the greatest number
that any grounding within the limits could reach. A forecast may be wrong by some factor, so rules
are refused only if it is far too large (`DOUBT`); others are tried, and a `Counter` stops gringo
when it writes too many. All limits are counts, not seconds, so that every machine refuses the same
rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl.program import GOAL, NormalRule, Program
from ggp.gdl.terms import Signature, signature
from ggp.machine.base import GROUND_RULES, Limits
from ggp.machine.propnet.compile.rewriting.extents import Extents, Sizes
from ggp.machine.propnet.compile.rewriting.translate import ASKED, MAY, RANKED

DOING = "grounding the rules"

RULES_PER_SECOND = 1_000_000
"""Upper bound on the rules that gringo writes in a second: 0.3 to 0.9 million were measured."""

BYTES_PER_RULE = 128
"""Lower bound on the bytes that a ground rule takes: 190 to 310 were measured, with the circuit."""

DOUBT = 2.0
"""Rules are refused if more than this many times the limit are expected."""

BYTES_PER_CONDITION = 8
"""Further bytes that each condition of a ground rule takes while it is read and assembled."""

BETWEEN = 1_000_000
"""Number of rules between two reports of their count."""

MAX_SHOWN = 3
"""Number of rules that a forecast names, the ones that become most ground rules first."""

Verdict = Literal["yes", "perhaps", "no"]


class Costly(NamedTuple):
    """A rule of the rulesheet that becomes many ground rules.

    Attributes:
        rule: the rule as KIF, after normalisation.
        start: its offset in the source, -1 where there is none.
        ground_rules: expected number of ground rules of it and of the rules it was split into.
    """

    rule: str
    start: int
    ground_rules: float


class GroundingForecast(NamedTuple):
    """The forecast of grounding a game.

    Attributes:
        rules: expected number of ground rules.
        relations: number of ground rules for each relation of the rulesheet, the greatest first.
        costly: the rules that become the most ground rules, the greatest first.
        is_sure: false if terms may grow, so that no bound is known.
    """

    rules: float
    relations: Mapping[str, float]
    costly: tuple[Costly, ...]
    is_sure: bool

    def verdict(self, limits: Limits) -> Verdict:
        """Whether the rules are expected to be ground within the limits."""
        most = most_rules(limits)
        if not self.is_sure:
            return "perhaps"
        return "yes" if self.rules <= most else "perhaps" if self.rules <= DOUBT * most else "no"

    def cause(self, program: Program) -> str:
        """The cause of too many ground rules: the rule, its place, and their number."""
        if not self.costly:
            return f"{self.rules:,.0f} are expected"
        worst = self.costly[0]
        return (
            f"{self.rules:,.0f} are expected, {worst.ground_rules:,.0f} of them from the rule at "
            f"{self.place(program, worst)}: {worst.rule}"
        )

    def summary(self, program: Program, limits: Limits) -> str:
        """The forecast in one line."""
        match self.verdict(limits):
            case "yes":
                return f"{self.rules:,.0f} ground rules are expected"
            case "no":
                return f"the rules are not expected to be ground: {self.cause(program)}"
        return f"the rules may be too many to be ground: {self.cause(program)}"

    @staticmethod
    def place(program: Program, costly: Costly) -> str:
        """`file:line:column` of a rule."""
        line, column = program.source.position(costly.start)
        return f"{program.source.name}:{line}:{column}"

    def to_json(self) -> dict[str, Any]:
        """The forecast in the form that `from_json` reads."""
        return {**self._asdict(), "costly": [rule._asdict() for rule in self.costly]}

    @staticmethod
    def from_json(stored: Any) -> GroundingForecast:
        """A forecast that was stored.

        Raises:
            MachineError: it is not a forecast.
        """
        try:
            costly = [Costly(**rule) for rule in stored["costly"]]
            return GroundingForecast(
                float(stored["rules"]),
                {str(name): float(count) for name, count in stored["relations"].items()},
                tuple(Costly(str(a), int(b), float(c)) for a, b, c in costly),
                bool(stored["is_sure"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise MachineError(f"not a forecast: {error!r}") from error


def most_rules(limits: Limits) -> int:
    """Greatest number of ground rules that could become a circuit within the limits."""
    by_time = RULES_PER_SECOND * limits.grounding_seconds
    return max(1, int(min(by_time, limits.grounding_bytes / BYTES_PER_RULE)))


@dataclass(frozen=True)
class Watch:
    """Callbacks that follow the progress of a grounding, and end it.

    Attributes:
        limits: the limits in force.
        foreseen: called with the forecast.
        written: called with the number of rules so far.
        end: ends the process with an error; returns only if the caller must raise it.
    """

    limits: Limits
    foreseen: Callable[[GroundingForecast], None]
    written: Callable[[int], None]
    end: Callable[[ReasonerLimitError], None]


class Counter:
    """Counts the rules that are written, and ends the grounding when they are too many.

    Args:
        watch: the callbacks.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._most = most_rules(watch.limits)
        self._number = self._bytes = 0

    def add(self, number: int, conditions: int) -> None:
        """Count further rules that were written, and their conditions.

        Raises:
            ReasonerLimitError: there are too many.
        """
        previous, self._number = self._number, self._number + number
        self._bytes += BYTES_PER_RULE * number + BYTES_PER_CONDITION * conditions
        too_large = self._bytes > self._watch.limits.grounding_bytes
        is_over = self._number > self._most or too_large
        if is_over or self._number // BETWEEN > previous // BETWEEN:
            self._watch.written(self._number)
        if is_over:
            error = too_many(self._watch.limits)
            self._watch.end(error)
            raise error


def too_many(limits: Limits, cause: str = "") -> ReasonerLimitError:
    """The exception for too many ground rules."""
    return ReasonerLimitError(GROUND_RULES, most_rules(limits), DOING, cause)


def forecast(
    program: Program,
    rules: Sequence[NormalRule],
    static: frozenset[Signature],
    extents: Extents,
    *,
    is_sure: bool,
) -> GroundingForecast:
    """The forecast of grounding some rules.

    Args:
        program: the program they come from.
        rules: the rules as they will be ground.
        static: relations that depend neither on the state nor on moves.
        extents: estimates for the rules, with the counted tables.
        is_sure: see `GroundingForecast`.
    """
    sizes = Sizes(rules, extents)
    written = {rule.start: rule for rule in reversed(program.rules) if rule.start >= 0}
    by_rule: dict[int | str, float] = {}
    first: dict[int | str, NormalRule] = {}
    relations: dict[str, float] = {}
    for rule in rules:
        count = _count(rule, sizes, static)
        whole = written.get(rule.start, rule)
        key: int | str = rule.start if rule.start >= 0 else str(rule)
        first.setdefault(key, whole)
        by_rule[key] = by_rule.get(key, 0.0) + count
        name = _name(signature(whole.head))
        relations[name] = relations.get(name, 0.0) + count
    # Besides, the translation has two choice rules for each fluent, and one for each move.
    total = sum(by_rule.values()) + 2 * sizes.atoms("true") + sizes.atoms("legal")
    largest = sorted(by_rule, key=lambda key: -by_rule[key])[:MAX_SHOWN]
    return GroundingForecast(
        total,
        dict(sorted(relations.items(), key=lambda pair: -pair[1])),
        tuple(Costly(str(first[key]), first[key].start, by_rule[key]) for key in largest),
        is_sure,
    )


def _count(rule: NormalRule, sizes: Sizes, static: frozenset[Signature]) -> float:
    """Number of ground rules of a rule: facts count once, however often they are derived."""
    if not rule.body:
        return 1.0
    if signature(rule.head) in static or rule.head.name.startswith((MAY, ASKED)):
        return sizes.derived_atoms(rule)
    return sizes.instances(rule)


def _name(relation: Signature) -> str:
    name, arity = GOAL if relation == RANKED else relation
    return f"{name}/{arity}"


def to_bytes(content: GroundingForecast) -> bytes:
    """A forecast as bytes to pass between processes."""
    return json.dumps(content.to_json()).encode()


def from_bytes(message: bytes) -> GroundingForecast:
    """Read the bytes of `to_bytes`.

    Raises:
        MachineError: the bytes are no forecast.
    """
    try:
        return GroundingForecast.from_json(json.loads(message))
    except ValueError as error:
        raise MachineError(f"not a forecast: {error}") from error
