"""The forecast of grounding a game, for `ggp info` and `ggp validate`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ggp.console import print_rich, table_of
from ggp.errors import GDLError, MachineError
from ggp.gdl.source import Diagnostic, diagnose

if TYPE_CHECKING:
    from ggp.gdl.source import Rulesheet
    from ggp.machine import Limits
    from ggp.machine.definition import GameDefinition

_log = logging.getLogger(__name__)

TOO_MANY = "too-many-ground-rules"
"""Name of the warning."""

_FIELDS = ("ground_rules", "expected_to_ground", "ground_rules_by_relation", "costly_rules")


def expected_json(program: GameDefinition, limits: Limits) -> dict[str, Any]:
    """Ground rules that are expected, in all, by relation, and of the most expensive rules; nulls
    where that is not known, and for games without rules."""
    from ggp.machine.propnet.build.circuits import foresee

    rules = program.as_program()
    if not rules.rules:
        return dict.fromkeys(_FIELDS)
    try:
        found = foresee(rules, limits)
    except MachineError as error:
        _log.info("the number of ground rules is unknown: %s", error)
        return dict.fromkeys(_FIELDS)
    costly = []
    for each in found.costly:
        line, column = program.source.position(each.start)
        count = round(each.ground_rules)
        costly.append({"rule": each.rule, "line": line, "column": column, "ground_rules": count})
    by_relation = {name: round(count) for name, count in found.relations.items()}
    values = (round(found.rules), found.verdict(limits), by_relation, costly)
    return dict(zip(_FIELDS, values, strict=True))


def print_costly(program: GameDefinition, costly: list[dict[str, Any]]) -> None:
    """A table of the most expensive rules."""
    rows = [
        (
            f"{each['ground_rules']:,}",
            f"{program.source.name}:{each['line']}:{each['column']}",
            each["rule"],
        )
        for each in costly
    ]
    print_rich(table_of(["ground rules", "where", "rule"], rows))


def warnings_of(rulesheet: Rulesheet, limits: Limits) -> tuple[Diagnostic, ...]:
    """A warning about the rule that explodes, if the rules are not expected to be ground."""
    from ggp.gdl.normalize import normalize
    from ggp.machine.propnet.build.circuits import hopeless

    try:
        found = hopeless(normalize(rulesheet), limits)
    except (GDLError, MachineError) as error:
        _log.info("the number of ground rules is unknown: %s", error)
        return ()
    if found is None or not found.costly:
        return ()
    worst = found.costly[0]
    message = (
        f"this rule is expected to become {worst.ground_rules:,.0f} of {found.rules:,.0f} ground "
        "rules, too many for the fast backend: the game will be played on Prolog, which is slower"
    )
    return (diagnose(rulesheet.source, "warning", TOO_MANY, message, worst.start),)
