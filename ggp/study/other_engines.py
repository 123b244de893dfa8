"""What other engines need of a game beyond its meaning: whole hints, and recursion that ends.

Both become questions about a game made of the rules, which Prolog answers.

`base` and `input` should leave out no fluents and moves that random matches reach. GDL gives these
relations no meaning, so machines ignore them. But programs like ggp-base build their networks from
them. The rules of both become those of a game whose first state they make.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl import parse, parse_terms
from ggp.gdl.analysis.dependencies import groups_by_relation, relations_needed
from ggp.gdl.formal import conditions, without_connectives
from ggp.gdl.normalize import normalize
from ggp.gdl.program import DOES, GOAL, INIT, LEGAL, NEXT, SEES, TERMINAL, TRUE
from ggp.gdl.source import Rulesheet
from ggp.gdl.terms import Compound, Rule, Symbol, Term, Variable, signature, substitute, variables
from ggp.machine import build_machine
from ggp.machine.base import Machine
from ggp.search.moves import random_moves

_HINTS = (("base", 1), ("input", 2))
_OF_PLAY = (INIT, NEXT, LEGAL, GOAL, SEES, TERMINAL)
_THAT_CHANGE = {*_OF_PLAY, TRUE, DOES}
_NAMES = re.compile(r"\((base|input) ")
_HINTED = re.compile(r"\((base|input)_hint ")
_STATE = """
(<= (init (base ?f)) (base_hint ?f)) (<= (init (input ?r ?m)) (input_hint ?r ?m))
(<= (legal ?r noop) (role ?r)) (<= (goal ?r 0) (role ?r)) terminal
"""
_LANES, _PROLOG_LANES, _MAX_TURNS = 16, 4, 200


def hinted(sheet: Rulesheet) -> Mapping[str, frozenset[str]]:
    """All `base` and `input` facts that follow from rules, by relation; none that has no rule.

    Raises:
        GGPError: they depend on play, or are too many.
    """
    written = {rule.head.name for rule in sheet.rules if signature(rule.head) in _HINTS}
    if not written:
        return {}
    changing = relations_needed(without_connectives(sheet.rules), _HINTS) & _THAT_CHANGE
    if changing:
        raise ConfigError(f"base or input depends on {min(changing)[0]}")
    kept = [str(rule) for rule in sheet.rules if signature(rule.head) not in _OF_PLAY]
    text = _NAMES.sub(r"(\1_hint ", " ".join(kept)) + _STATE
    machine = build_machine(normalize(parse(text, sheet.source.name)), "prolog")
    facts = [_HINTED.sub(r"(\1 ", fact) for fact in machine.fluents(machine.initial(1))[0]]
    return {name: frozenset(f for f in facts if f.startswith(f"({name} ")) for name in written}


def unhinted(machine: Machine, hints: Mapping[str, frozenset[str]], seed: int) -> dict[str, str]:
    """The first fact that some random matches show to be missing, by relation.

    Args:
        hints: see `hinted`.

    Raises:
        GGPError: the rules loop, or a role has no legal move.
    """
    lanes = _PROLOG_LANES if machine.backend == "prolog" else _LANES
    rng, states = np.random.default_rng(seed), machine.initial(lanes)
    roles, missing = range(len(machine.roles)), dict[str, str]()
    for _ in range(_MAX_TURNS):
        facts = [f"(base {fluent})" for lane in machine.fluents(states) for fluent in lane]
        states = states.take(np.flatnonzero(~machine.terminal(states)))
        for role in roles if len(states) else ():
            moves = map(machine.move_text, np.unique(machine.legal(states, role).values).tolist())
            facts += [f"(input {machine.roles[role]} {move})" for move in moves]
        for name, known in hints.items():
            shown = (f for f in facts if f.startswith(f"({name} ") and f not in known)
            if name not in missing and (fact := next(shown, None)):
                missing[name] = fact
        if not len(states) or len(missing) == len(hints):
            break
        joint = [random_moves(machine, states, role, rng) for role in roles]
        states = machine.step(states, np.stack(joint, axis=1)).states
    return missing


# ------------------------------------------------------------------------
# Recursion in circles, which a prover without tables never finishes.
#
# A condition of a recursive rule leads from the terms of the rule's head to its own. These steps
# become legal moves of a role that is added to the game. Conditions on the state are left out, for
# they may come to hold, unless they lead from term to term themselves: then the first state counts.

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
