"""Finds goal values that are not allowed, as far as the rules alone show them.

A goal value is a whole number from 0 to 100 (Love et al. 2006). Only what is certain is reported:
that a rule gives a wrong value whenever it applies. A variable may well take a wrong value in one
state of many that are never reached, so it is reported only if one of its conditions gives it no
value that is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ggp.gdl.analysis.domains import Domains, occurrences, position
from ggp.gdl.checks.formal import Diagnosis
from ggp.gdl.program import GOAL, LEAST_GOAL, MOST_GOAL, RANDOM, NormalRule, Program, number_of
from ggp.gdl.terms import Compound, Symbol, Term, Variable, signature

MAX_VALUES = 1_000
"""Variables with more values than this are not looked into."""

_WHOLE = re.compile(r"[0-9]+")

_BOUNDS = f"{LEAST_GOAL:g} to {MOST_GOAL:g}"


def check_goal_values(rules: Sequence[NormalRule], report: Diagnosis) -> None:
    """Report rules for `goal` whose value is not a whole number from 0 to 100."""
    domains: Domains | None = None
    for rule in rules:
        if signature(rule.head) != GOAL or not isinstance(rule.head, Compound):
            continue
        value = rule.head.args[1]
        place = value.start if value.start >= 0 else rule.start
        if not isinstance(value, Variable):
            wrong = what_is_wrong(value)
            if wrong:
                report.breach("goal-value", f"the goal value {value} {wrong}", place)
            continue
        domains = domains or Domains(rules)
        for values in _possible(value, rule, domains):
            if all(map(what_is_wrong, values)):
                shown = ", ".join(map(str, values[:4])) + (", ..." if len(values) > 4 else "")
                text = f"no value of {value} ({shown}) is a goal value: these are {_BOUNDS}"
                report.breach("goal-value", text, place)
                break


def what_is_wrong(value: Term) -> str:
    """The reason why a ground term is no goal value; empty if it is one."""
    number = number_of(value.name) if isinstance(value, Symbol) else None
    if number is None:
        return f"is not a number: goal values go from {_BOUNDS}; in play it is an error"
    if not LEAST_GOAL <= number <= MOST_GOAL:
        return f"is not from {_BOUNDS}: in play it is kept"
    if not _WHOLE.fullmatch(str(value)):
        return f"is not written as a whole number from {_BOUNDS}: in play it is kept"
    return ""


def _possible(variable: Variable, rule: NormalRule, domains: Domains) -> Iterator[list[Term]]:
    """For each condition that binds a variable, the values it can give it, where they are known."""
    for literal in rule.body:
        if not literal.binds:
            continue
        for name, at in occurrences(literal.atom):
            values = domains.values(at, MAX_VALUES) if name == variable.name else None
            if values:
                yield values


# ------------------------------------------------------------------------
# The least and the greatest goal value that the rules of a game can give.
#
# Goal values go from 0 to 100, but real rulesheets may give others, which are kept. What a rule
# gives is written in its head, or comes from a variable, whose values flow from constants to where
# it stands (`Domains`): no state has to be visited.

MOST_FLOWS = 100_000
"""Number of times that values may flow between positions; so many take seconds."""


def goal_bounds(program: Program) -> tuple[float, float] | None:
    """The least and the greatest goal value of any role but `random`; None if they are not known.

    From 0 to 100 at least, even if the rules give less, or the game has no rules: that is what a
    match is usually worth. Values that are no numbers are left out, as a match that ends with them
    has no score.
    """
    texts: list[str] = []
    has_variables = False
    for rule in program.by_head.get(GOAL, ()):
        if not isinstance(rule.head, Compound) or rule.head.args[0] == Symbol(RANDOM):
            continue
        value = rule.head.args[1]
        has_variables |= isinstance(value, Variable)
        if isinstance(value, Symbol):
            texts.append(value.name)
    if has_variables:
        domains, at = Domains(program.rules, MOST_FLOWS), position(GOAL, 1)
        if not domains.whole or domains.is_open(at):
            return None
        texts += domains.constants(at)
    numbers = [number for text in texts if (number := number_of(text)) is not None]
    return min([LEAST_GOAL, *numbers]), max([MOST_GOAL, *numbers])
