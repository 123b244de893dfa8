"""Repairs rules that would make a rulesheet unplayable; for matches in which it must be played.

`normalize` calls this if it is lenient. A game server treats a missing move like an illegal one, so
a player does better with most of the rules than without a machine. The repairs follow the
reasoners of game servers: there are no moves while these look for legal moves, goals or the end,
and no state while they look for the initial one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ggp.gdl.analysis.dependencies import RuleGraph, relations_reaching
from ggp.gdl.analysis.growth import endless_rule
from ggp.gdl.formal import Diagnosis, endless_message, forbidden_message, forbidden_uses
from ggp.gdl.program import (
    DOES,
    GOAL,
    INIT,
    LEGAL,
    NEXT,
    SEES,
    TERMINAL,
    TRUE,
    Atom,
    Literal,
    NormalRule,
)
from ggp.gdl.terms import Compound, Signature, Symbol, signature

_OF_A_STATE = (LEGAL, GOAL, TERMINAL)


def without_flaws(rules: Sequence[NormalRule], report: Diagnosis) -> list[NormalRule]:
    """The rules without cycles through negation, and without forbidden dependencies."""
    rest = _without_cycles(rules, report)
    while (endless := endless_rule(rest)) is not None:
        report.flaw("endless", endless_message(endless), "rule dropped", endless.start)
        rest.remove(endless)
    uses = list(forbidden_uses(RuleGraph(rest)))
    for relation, target, rule in uses:
        without = "before there was a state" if relation == INIT else "as if nobody had moved"
        message = forbidden_message(relation, target, rest[rule])
        report.flaw("dependency", message, f"evaluated {without}", rest[rule].start)
    flawed = {relation for relation, _, _ in uses}
    if flawed & set(_OF_A_STATE):
        rest = _evaluated_without(rest, _OF_A_STATE, (DOES,), (SEES, NEXT), ";still")
    if INIT in flawed:
        rest = _evaluated_without(rest, (INIT,), (TRUE, DOES), (*_OF_A_STATE, SEES, NEXT), ";first")
    return rest


def _without_cycles(rules: Sequence[NormalRule], report: Diagnosis) -> list[NormalRule]:
    """The rules, with those dropped that negate a relation which depends on their own head."""
    rest = list(rules)
    while cycles := RuleGraph(rest).negative_cycles():
        for rule, literal in cycles:
            report.flaw(
                "stratification",
                f"{rest[rule].head} depends on its own negation through {rest[rule].body[literal]}",
                "rule dropped",
                rest[rule].start,
            )
        dropped = {rule for rule, _ in cycles}
        rest = [rule for i, rule in enumerate(rest) if i not in dropped]
    return rest


def _evaluated_without(
    rules: Sequence[NormalRule],
    roots: Sequence[Signature],
    false: Sequence[Signature],
    through: Sequence[Signature],
    mark: str,
) -> list[NormalRule]:
    """The rules with some relations evaluated as if others were false.

    The rules of `roots` use copies of all relations that depend on `false` or `through`. In the
    copies, a relation of `false` never holds. The originals stay as they are for everything else.

    Args:
        roots: relations whose rules are changed.
        false: relations that never hold in the evaluation of `roots`.
        through: further relations that are copied.
        mark: ending of the names of copies.
    """
    affected = relations_reaching(rules, (*false, *through)) - {*roots, *false}

    def changed(rule: NormalRule, head: Atom) -> NormalRule | None:
        body = []
        for literal in rule.body:
            relation = signature(literal.atom)
            if relation in false:
                if not literal.negated:
                    return None
            elif relation in affected:
                body.append(Literal(_marked(literal.atom, mark), literal.negated))
            else:
                body.append(literal)
        return NormalRule(head, tuple(body), rule.start)

    rewritten: list[NormalRule | None] = []
    for rule in rules:
        relation = signature(rule.head)
        rewritten.append(changed(rule, rule.head) if relation in roots else rule)
        if relation in affected:
            rewritten.append(changed(rule, _marked(rule.head, mark)))
    return [rule for rule in rewritten if rule is not None]


def _marked(atom: Atom, mark: str) -> Atom:
    if isinstance(atom, Symbol):
        return Symbol(atom.name + mark, atom.start)
    return Compound(atom.name + mark, atom.args, atom.start)
