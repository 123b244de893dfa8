"""Recursion that ends by itself, because every step goes one further in a list of facts.

    (<= (clear ?x ?y) (succ ?x ?y))
    (<= (clear ?x ?y) (succ ?x ?z) (true (cell ?z blank)) (clear ?z ?y))

If the facts of `succ` have no cycle, a reasoner that tries one rule after the other comes to an
end, and if they do not branch much, it does not prove the same thing very often: no table of what
has been proved is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ggp.gdl.dependencies import relation_components, strong_components
from ggp.gdl.program import DOES, TRUE, Literal, NormalRule
from ggp.gdl.terms import Compound, Signature, Symbol, Variable, signature, variables

_Step = tuple[str, str]
_Rules = Mapping[Signature, Sequence[NormalRule]]


def descents(rules: Sequence[NormalRule], most: int) -> dict[Signature, int]:
    """Relations whose recursion goes down a list of facts, and how many calls that takes at most.

    Args:
        rules: all of a game.
        most: relations that may take more calls are left out.
    """
    by_head: dict[Signature, list[NormalRule]] = {}
    for rule in rules:
        by_head.setdefault(signature(rule.head), []).append(rule)
    alone = {next(iter(group)) for group in relation_components(rules) if len(group) == 1}
    found = {}
    for relation, alternatives in by_head.items():
        if relation in alone and any(_calls(rule) for rule in alternatives):
            calls = _most_calls(relation, by_head, most)
            if calls is not None:
                found[relation] = calls
    return found


def _most_calls(relation: Signature, by_head: _Rules, most: int) -> int | None:
    """How many calls one of a relation may lead to; None if that is not known, or too many."""
    recursive = [rule for rule in by_head[relation] if _calls(rule)]
    if not all(_is_simple(rule, by_head) for rule in recursive):
        return None
    for argument in range(relation[1]):
        steps: list[_Step] = []
        for rule in recursive:
            taken = _steps(rule, argument, by_head)
            if taken is None:
                break
            steps += taken
        else:
            calls = _paths(steps)
            if calls is not None and calls <= most:
                return calls
    return None


def _calls(rule: NormalRule) -> list[int]:
    """The places of the conditions with which a rule calls its own relation."""
    relation = signature(rule.head)
    return [i for i, literal in enumerate(rule.body) if signature(literal.atom) == relation]


def _is_simple(rule: NormalRule, by_head: _Rules) -> bool:
    """Whether a rule calls itself once, and proves nothing twice before it does.

    Several proofs of one condition would multiply with every step. Conditions whose variables are
    known when they are looked at are only tests, of which one proof is enough.
    """
    calls = _calls(rule)
    if len(calls) != 1 or rule.body[calls[0]].negated:
        return False
    call = rule.body[calls[0]].atom
    matter = {v.name for atom in (rule.head, call) for v in variables(atom)}
    known: set[str] = set()
    for literal in rule.body:
        names = {v.name for v in variables(literal.atom)}
        if not names <= matter:
            return False
        relation = signature(literal.atom)
        is_once = relation in (TRUE, DOES, signature(call)) or _is_facts(relation, by_head)
        if literal.binds and not names <= known and not is_once:
            return False
        known |= names if literal.binds else set()
    return True


def _is_facts(relation: Signature, by_head: _Rules) -> bool:
    return not any(rule.body for rule in by_head.get(relation, ()))


def _steps(rule: NormalRule, argument: int, by_head: _Rules) -> list[_Step] | None:
    """From which value of an argument to which a rule goes, if facts say so before it calls."""
    (place,) = _calls(rule)
    call = rule.body[place].atom
    assert isinstance(rule.head, Compound)
    assert isinstance(call, Compound)
    here, there = rule.head.args[argument], call.args[argument]
    if not (isinstance(here, Variable) and isinstance(there, Variable)):
        return None
    for literal in rule.body[:place]:
        facts = _facts(literal, by_head)
        atom = literal.atom
        if not facts or not isinstance(atom, Compound):
            continue
        if atom.args == (here, there):
            return facts
        if atom.args == (there, here):
            return [(after, before) for before, after in facts]
    return None


def _facts(literal: Literal, by_head: _Rules) -> list[_Step]:
    """The pairs of a relation of two constants that is given by facts alone; nothing of others."""
    relation = signature(literal.atom)
    if not literal.binds or relation[1] != 2 or not _is_facts(relation, by_head):
        return []
    heads = [rule.head for rule in by_head.get(relation, ())]
    pairs = [head.args for head in heads if isinstance(head, Compound)]
    names = [(a.name, b.name) for a, b in pairs if isinstance(a, Symbol) and isinstance(b, Symbol)]
    return names if len(names) == len(heads) else []


def _paths(steps: Sequence[_Step]) -> int | None:
    """How many paths begin at the same place at most, those without a step included."""
    numbers: dict[str, int] = {}
    edges: dict[int, list[int]] = {}
    for before, after in steps:
        here, there = (numbers.setdefault(name, len(numbers)) for name in (before, after))
        edges.setdefault(here, []).append(there)
    paths: dict[int, int] = {}
    for component in strong_components(edges, len(numbers)):
        (node, *others) = component
        if others or node in edges.get(node, ()):
            return None
        paths[node] = 1 + sum(paths[each] for each in edges.get(node, ()))
    return max(paths.values(), default=1)
