"""Recursion in circles, which a prover without tables never finishes.

A condition of a recursive rule leads from the terms of the rule's head to its own. These steps
become legal moves of a role that is added to the game. Conditions on the state are left out, for
they may come to hold, unless they lead from term to term themselves: then the first state counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from ggp.gdl import parse, parse_terms
from ggp.gdl.analysis.dependencies import groups_by_relation, relations_needed
from ggp.gdl.formal import conditions, without_connectives
from ggp.gdl.normalize import normalize
from ggp.gdl.program import DOES, TRUE
from ggp.gdl.source import Rulesheet
from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable, signature, substitute, variables
from ggp.machine import build_machine

_ROLE, _STEP, _ANY = Symbol("<role>"), "<step>", Symbol("<any>")


def circle(sheet: Rulesheet) -> Term | None:
    """A recursive condition in a circle, if there is one.

    Raises:
        GGPError: the rules loop, or cannot be normalised.
    """
    steps = list(_steps(sheet))
    if not steps:
        return None
    rules = [*sheet.rules, Rule(Compound("role", (_ROLE,)))]
    for number, (head, condition, before) in enumerate(steps):
        move = Compound(_STEP, (Symbol(str(number)), head, condition))
        rules.append(Rule(Compound("legal", (_ROLE, move)), before))
    text = "\n".join(map(str, rules))
    machine = build_machine(normalize(parse(text, sheet.source.name)), "prolog")
    moves = machine.legal(machine.initial(1), machine.roles.index(_ROLE.name))[0].tolist()
    numbers: dict[tuple[Term, Term], int] = {}
    graph = TopologicalSorter[Term]()
    for term in parse_terms(" ".join(map(machine.move_text, moves))):
        if isinstance(term, Compound) and term.name == _STEP:  # no move that all roles have
            name, start, end = term.args
            numbers[start, end] = int(str(name))
            graph.add(start, end)
    try:
        graph.prepare()
    except CycleError as error:
        end, start, *_ = error.args[1]
        return steps[numbers[start, end]][1]
    return None


def _steps(sheet: Rulesheet) -> Iterator[tuple[Term, Term, tuple[Term, ...]]]:
    """Yield head and condition of each step, and the conditions under which it is taken.

    Variables that these do not bind are `_ANY`.
    """
    calls = without_connectives(sheet.rules)
    group_of = groups_by_relation(calls)
    for rule in sheet.rules:
        head = rule.head
        for place, condition in enumerate(rule.body):
            if isinstance(head, Variable) or isinstance(condition, Variable):
                continue
            if signature(condition) not in group_of[signature(head)]:
                continue
            theirs, ours = set(variables(head)), set(variables(condition))
            before, dropped = [], set[Variable]()
            for term in rule.body[:place]:
                atoms = [a for a in conditions(Rule(head, (term,))) if not isinstance(a, Variable)]
                needed = relations_needed(calls, map(signature, atoms))
                used = set(variables(term))
                leads = used & (theirs - ours) and used & (ours - theirs)
                if DOES not in needed and (leads or TRUE not in needed):
                    before.append(term)
                else:
                    dropped |= used
            bound = {
                variable
                for term in before
                if not isinstance(term, Variable) and term.name not in ("not", "distinct")
                for variable in variables(term)
            }
            unknown = (ours - theirs - bound) & dropped
            if unknown or (ours and ours.isdisjoint(bound)):  # where it leads is not known
                continue
            free = {variable.name: _ANY for variable in (theirs | ours) - bound}
            yield substitute(head, free), substitute(condition, free), tuple(before)
