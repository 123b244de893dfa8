"""What `base` and `input` leave out: fluents and moves that random matches reach.

GDL gives these relations no meaning, so machines ignore them. But programs like ggp-base build
their networks from them. The rules of both become those of a game whose first state they make.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl import parse
from ggp.gdl.analysis.dependencies import relations_needed
from ggp.gdl.formal import without_connectives
from ggp.gdl.normalize import normalize
from ggp.gdl.program import DOES, GOAL, INIT, LEGAL, NEXT, SEES, TERMINAL, TRUE
from ggp.gdl.source import Rulesheet
from ggp.gdl.terms import signature
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
