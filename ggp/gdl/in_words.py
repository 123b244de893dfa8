"""The rules of a game as English sentences, one for each rule.

    (<= (legal ?r (mark ?x)) (true (control ?r)) (not (taken ?x)))
    ?r may (mark ?x) if (control ?r) is true and not (taken ?x)

Only the keywords are put into words. An author's own names stay as they are, since nobody but the
author knows what they mean. Each sentence says exactly what its rule says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ggp.gdl.checks.formal import IGNORED
from ggp.gdl.program import DISTINCT, DOES, GOAL, INIT, LEGAL, NEXT, ROLE, SEES, TERMINAL, TRUE
from ggp.gdl.terms import Compound, Rule, Signature, Term, signature

_TITLES: Mapping[Signature, str] = {
    ROLE: "Who plays",
    INIT: "At the start",
    LEGAL: "Moves",
    NEXT: "After each turn",
    SEES: "What roles are told after a turn, besides their own moves",
    TERMINAL: "The end",
    GOAL: "Scores",
}
_TOLD: Mapping[Signature, str] = {
    LEGAL: "{} may {}",
    NEXT: "{} will be true",
    SEES: "{} sees {}",
    GOAL: "{} scores {}",
    TERMINAL: "the game is over",
}
_CONCLUSIONS = {**_TOLD, INIT: "{} is true", ROLE: "{} plays"}
_CONDITIONS = {
    **_TOLD,
    DISTINCT: "{} is not {}",
    ROLE: "{} is a role",
    TRUE: "{} is true",
    DOES: "{} plays {}",
}
_NEGATIONS: Mapping[Signature, str] = {
    TRUE: "{} is not true",
    DOES: "{} does not play {}",
    ROLE: "{} is not a role",
    DISTINCT: "{} is {}",
    LEGAL: "{} may not {}",
    TERMINAL: "the game is not over",
}
_OWN = "What these words mean"
_FACTS = "What is always so"

_MOST_FACTS = 40
"""Number of facts of one relation that are listed."""


def rules_in_words(rules: Iterable[Rule]) -> dict[str, list[str]]:
    """Sentences by title, in an order for reading; titles without any are left out."""
    found: dict[str, list[str]] = {title: [] for title in (*_TITLES.values(), _OWN, _FACTS)}
    facts: dict[Signature, list[str]] = {}
    for rule in rules:
        relation = signature(rule.head)
        if relation in IGNORED:
            continue
        if relation in (INIT, ROLE) and not rule.body and isinstance(rule.head, Compound):
            facts.setdefault(relation, []).append(str(rule.head.args[0]))
        elif relation not in _TITLES and not rule.body:
            facts.setdefault(relation, []).append(str(rule.head))
        else:
            found[_TITLES.get(relation, _OWN)].append(sentence(rule))
    for relation, listed in facts.items():
        more = len(listed) - _MOST_FACTS
        end = f", and {more:,} more" if more > 0 else ""
        lines = found[_TITLES.get(relation, _FACTS)]
        first = 0 if relation in _TITLES else len(lines)
        lines.insert(first, ", ".join(listed[:_MOST_FACTS]) + end)
    return {title: lines for title, lines in found.items() if lines}


def sentence(rule: Rule) -> str:
    """A rule or fact in words, without a full stop."""
    if not rule.body:
        return _concludes(rule.head)
    return f"{_concludes(rule.head)} if {' and '.join(map(_inner, rule.body))}"


def _concludes(head: Term) -> str:
    """The words for a head."""
    return _said(_CONCLUSIONS, head) or str(head)


def _holds(term: Term) -> str:
    """A condition in words."""
    args = term.args if isinstance(term, Compound) else ()
    match signature(term):
        case ("not", 1):
            return _fails(args[0])
        case ("or" | "and" as word, _) if args:
            return _joined(word, args)
    return _said(_CONDITIONS, term) or str(term)


def _fails(term: Term) -> str:
    """The words for the negation of a condition."""
    if isinstance(term, Compound) and signature(term) == ("not", 1):
        return _holds(term.args[0])
    return _said(_NEGATIONS, term) or f"not {_inner(term)}"


def _said(texts: Mapping[Signature, str], term: Term) -> str:
    """A term in words; empty where there are none for its relation."""
    return texts.get(signature(term), "").format(*(term.args if isinstance(term, Compound) else ()))


def _inner(term: Term) -> str:
    """A condition among others in words, in parentheses if it consists of several itself."""
    text = _holds(term)
    return f"({text})" if _is_several(term) else text


def _is_several(term: Term) -> bool:
    return isinstance(term, Compound) and term.name in ("or", "and") and len(term.args) > 1


def _joined(word: str, terms: Sequence[Term]) -> str:
    return f" {word} ".join(map(_inner, terms))
