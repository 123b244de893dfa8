"""Moves that only a slip in the rules allows: nothing binds a variable of their rule.

    (<= (legal ?p (go ?x ?y)) (true (at ?p ?x)))

We let `?y` range over the values it can take. Others read it otherwise: a reasoner may find no move
there at all, or one with a variable in it. So a player that has another move had better make that.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from ggp.gdl.program import LEGAL, NormalRule, Program
from ggp.gdl.rewriting.safety import is_range
from ggp.gdl.terms import Compound, Signature, Term, signature, variables

_Positions = Set[tuple[Signature, int]]


def doubtful_moves(program: Program) -> tuple[Term, ...]:
    """Patterns of the moves that come from a variable which nothing binds; usually there are none.

    Roles are left out: a variable for a role is bound by whoever asks for the moves of a role.
    """
    if not any(is_range(signature(x.atom)) for rule in program.rules for x in rule.body):
        return ()
    doubtful = _doubtful_positions(program.rules)
    patterns = []
    for rule in program.by_head.get(LEGAL, ()):
        names = _unbound(rule, doubtful)
        if isinstance(rule.head, Compound):
            move = rule.head.args[1]
            if any(v.name in names for v in variables(move)):
                patterns.append(move)
    return tuple(patterns)


def _doubtful_positions(rules: Iterable[NormalRule]) -> _Positions:
    """Arguments of relations that may come, through other relations, from an unbound variable."""
    rules = [rule for rule in rules if isinstance(rule.head, Compound) and rule.body]
    found: set[tuple[Signature, int]] = set()
    while True:
        more = {
            (signature(rule.head), i)
            for rule in rules
            if (names := _unbound(rule, found)) and isinstance(rule.head, Compound)
            for i, arg in enumerate(rule.head.args)
            if any(v.name in names for v in variables(arg))
        }
        if more <= found:
            return found
        found |= more


def _unbound(rule: NormalRule, doubtful: _Positions) -> Set[str]:
    """Variables of a rule that only ranges or doubtful arguments bind."""
    bound: set[str] = set()
    loose: set[str] = set()
    for literal in rule.body:
        if not literal.binds or not isinstance(literal.atom, Compound):
            continue
        sig = signature(literal.atom)
        for i, arg in enumerate(literal.atom.args):
            names = {v.name for v in variables(arg)}
            (loose if is_range(sig) or (sig, i) in doubtful else bound).update(names)
    return loose - bound
