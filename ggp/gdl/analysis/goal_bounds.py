"""The least and the greatest goal value that the rules of a game can give.

Goal values go from 0 to 100, but real rulesheets may give others, which are kept. What a rule gives
is written in its head, or comes from a variable, whose values flow from constants to where it
stands (`Domains`): no state has to be visited.
"""

from __future__ import annotations

from ggp.gdl.analysis.domains import Domains, position
from ggp.gdl.program import GOAL, LEAST_GOAL, MOST_GOAL, RANDOM, Program, number_of
from ggp.gdl.terms import Compound, Symbol, Variable

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
