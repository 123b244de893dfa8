"""Games in which all players want the same, by the rules of `goal` alone."""

from __future__ import annotations

from ggp.gdl.program import GOAL, RANDOM, Literal, Program, unify
from ggp.gdl.terms import Compound, Symbol, Term, signature, substitute, variables


def shares_goals(program: Program) -> bool:
    """Whether there are several players who get the same goal value in every state.

    True only if it can be seen: the players must have the same goal rules, once a player stands in
    place of the role, and conditions without variables that facts decide are left out.

        >>> from ggp.gdl.normalize import load
        >>> shares_goals(load("cooperative_spies")), shares_goals(load("tic_tac_toe"))
        (True, False)
    """
    players = [Symbol(role) for role in program.roles if role != RANDOM]
    return len(players) > 1 and len({_goals_of(program, player) for player in players}) == 1


def _goals_of(program: Program, player: Symbol) -> frozenset[tuple[Term, frozenset[Literal]]]:
    """The goal values of a player, each with the conditions under which it gets it."""
    goals = set()
    for rule in program.by_head.get(GOAL, ()):
        assert isinstance(rule.head, Compound)
        role, value = rule.head.args
        binding = unify(role, player)
        if binding is None:
            continue
        atoms = [(substitute(x.atom, binding), x.negated) for x in rule.body]
        body = {Literal(atom, negated): _truth(program, atom) for atom, negated in atoms}  # type: ignore[arg-type]
        if all(truth in (None, not literal.negated) for literal, truth in body.items()):
            unknown = frozenset(literal for literal, truth in body.items() if truth is None)
            goals.add((substitute(value, binding), unknown))
    return frozenset(goals)


def _truth(program: Program, atom: Term) -> bool | None:
    """Whether an atom holds, if it has no variables and its relation has only facts; else None."""
    if any(True for _ in variables(atom)):
        return None
    if isinstance(atom, Compound) and atom.name == "distinct":
        return atom.args[0] != atom.args[1]
    rules = program.by_head.get(signature(atom), ())
    if not rules or any(rule.body for rule in rules):
        return None
    return any(rule.head == atom for rule in rules)
