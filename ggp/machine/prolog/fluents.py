"""The fluents of a game, and those that states leave out because they never change."""

from __future__ import annotations

from collections.abc import Sequence

from ggp.gdl.analysis.unchanging import unchanging
from ggp.gdl.program import INIT, NEXT, TRUE, NormalRule, Program
from ggp.gdl.terms import Compound, Signature, Term, Variable, signature


def fluent_signatures(program: Program) -> list[Signature]:
    """Name and arity of every possible fluent with arguments."""
    found: dict[Signature, None] = {}
    generic = False
    for rule in program.rules:
        atoms = [rule.head, *(literal.atom for literal in rule.body)]
        for atom in atoms:
            if signature(atom) in (TRUE, NEXT, INIT) and isinstance(atom, Compound):
                if isinstance(atom.args[0], Compound):
                    found[signature(atom.args[0])] = None
                elif isinstance(atom.args[0], Variable) and atom is rule.head:
                    generic = True
    if generic:
        for rule in program.rules:
            for atom in (rule.head, *(literal.atom for literal in rule.body)):
                for arg in atom.args if isinstance(atom, Compound) else ():
                    _functions(arg, found)
    return list(found)


def _functions(term: Term, found: dict[Signature, None]) -> None:
    if isinstance(term, Compound):
        found[signature(term)] = None
        for arg in term.args:
            _functions(arg, found)


def left_out(program: Program) -> list[Signature]:
    """The functions of fluents left out of states; none if some condition accepts any fluent."""
    atoms = [literal.atom for rule in program.rules for literal in rule.body]
    if any(signature(atom) in (NEXT, INIT) for atom in atoms):
        return []
    fluents = [x.args[0] for x in atoms if signature(x) == TRUE and isinstance(x, Compound)]
    if any(isinstance(fluent, Variable) for fluent in fluents):
        return []
    return unchanging(program.rules)


def is_next_of(rule: NormalRule, functions: Sequence[Signature]) -> bool:
    """Whether a rule concludes `next` of a fluent with one of some functions."""
    head = rule.head
    return (
        signature(head) == NEXT
        and isinstance(head, Compound)
        and signature(head.args[0]) in functions
    )
