"""Repairs rules that would make a rulesheet unplayable, for when it must be played.

A game server counts a missing move like an illegal one, so a player does better with most of the
rules than without a machine. The repairs do what the reasoners of game servers do, as far as these
do anything: they know no moves while they look for legal moves, goals or the end, and no state
before the initial one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ggp.gdl.analysis.dependencies import RuleGraph, relations_reaching
from ggp.gdl.analysis.what_grows import endless_rule
from ggp.gdl.formal import Diagnosis, forbidden_uses, says_endless, says_forbidden
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
    """The rules without cycles through negation, and with allowed dependencies only."""
    kept = _without_cycles(rules, report)
    while (endless := endless_rule(kept)) is not None:
        report.flaw("endless", says_endless(endless), "rule dropped", endless.start)
        kept.remove(endless)
    uses = list(forbidden_uses(RuleGraph(kept)))
    for relation, target, rule in uses:
        without = "before there was a state" if relation == INIT else "as if nobody had moved"
        message = says_forbidden(relation, target, kept[rule])
        report.flaw("dependency", message, f"evaluated {without}", kept[rule].start)
    flawed = {relation for relation, _, _ in uses}
    if flawed & set(_OF_A_STATE):
        kept = _evaluated_without(kept, _OF_A_STATE, (DOES,), (SEES, NEXT), ";still")
    if INIT in flawed:
        kept = _evaluated_without(kept, (INIT,), (TRUE, DOES), (*_OF_A_STATE, SEES, NEXT), ";first")
    return kept


def _without_cycles(rules: Sequence[NormalRule], report: Diagnosis) -> list[NormalRule]:
    """The rules without those that negate a relation which depends on their own head."""
    kept = list(rules)
    while cycles := RuleGraph(kept).negative_cycles():
        for rule, literal in cycles:
            report.flaw(
                "stratification",
                f"{kept[rule].head} depends on its own negation through {kept[rule].body[literal]}",
                "rule dropped",
                kept[rule].start,
            )
        dropped = {rule for rule, _ in cycles}
        kept = [rule for i, rule in enumerate(kept) if i not in dropped]
    return kept


def _evaluated_without(
    rules: Sequence[NormalRule],
    roots: Sequence[Signature],
    false: Sequence[Signature],
    through: Sequence[Signature],
    mark: str,
) -> list[NormalRule]:
    """The rules with some relations evaluated as if others were false.

    Args:
        roots: relations whose rules are changed.
        false: relations that never hold in the evaluation of `roots`.
        through: relations that `roots` get copies of, like all those that depend on `false`.
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

    made: list[NormalRule | None] = []
    for rule in rules:
        relation = signature(rule.head)
        made.append(changed(rule, rule.head) if relation in roots else rule)
        if relation in affected:
            made.append(changed(rule, _marked(rule.head, mark)))
    return [rule for rule in made if rule is not None]


def _marked(atom: Atom, mark: str) -> Atom:
    if isinstance(atom, Symbol):
        return Symbol(atom.name + mark, atom.start)
    return Compound(atom.name + mark, atom.args, atom.start)
