"""What percepts tell of the moves of other roles, by the rules alone.

`move_percept` recognises games in which the percepts of every role contain the whole joint move; in
other games `Causes` finds the moves that percepts may stem from.

Chance deals three of a deck, and a role sees which. By the rules

    (<= (sees ?p (first ?a)) (dealt ?p ?a ?b ?c))
    (<= (dealt ?p ?a ?b ?c) (does random (deal ?p ?a ?b ?c)) (true (playing ?p)))

every proof that north sees `(first 7)` needs a move of the form `(deal north 7 ?b ?c)`, so of
thousands of deals only these need to be tried. Conditions on the state, negations and relations
that recur are ignored: a move that is excluded is impossible, but one that is left may be
impossible, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ggp.gdl.analysis.dependencies import relations_reaching
from ggp.gdl.program import DOES, LEGAL, SEES, NormalRule, Program, resolve, rule_variables, unify
from ggp.gdl.syntax.parser import parse_term
from ggp.gdl.terms import Compound, Symbol, Term, Variable, signature, substitute

MAX_PROOFS = 256
"""A percept that has more proofs, the unfinished ones included, may stem from any move."""

FEW_FACTS, FEW_PROOFS = 8, 32
"""Proofs use static relations of which no more facts fit than this; with more proofs than the
second number, only those of which one fits."""


class Causes:
    """The forms of moves that percepts may stem from.

    Args:
        program: normalised rules.
    """

    def __init__(self, program: Program) -> None:
        self._rules = program.by_head if program.is_gdl2 else {}
        self._moving = relations_reaching(program.rules, (DOES,)) - program.recursive
        self._followed = self._moving | (program.static - program.recursive)

    def forms(self, percept: str, seer: str, mover: str) -> re.Pattern[str] | None:
        """What matches the text of a move if, by the rules, a percept may stem from it.

        >>> from ggp.gdl import parse
        >>> from ggp.gdl.normalize import normalize
        >>> rules = "role(north). role(random). card(7). card(8). terminal. goal(north, 0)."
        >>> rules += "legal(random, deal(X, Y)) :- card(X), card(Y). legal(north, noop)."
        >>> rules += "sees(north, low(X)) :- does(random, deal(X, Y))."
        >>> forms = Causes(normalize(parse(rules))).forms("(low 7)", "north", "random")
        >>> [forms.fullmatch(move) is not None for move in ("(deal 7 8)", "(deal 8 7)", "noop")]
        [True, False, False]

        Args:
            percept: canonical KIF.
            seer: the role that gets it.
            mover: the role that moves.

        Returns:
            a pattern of canonical KIF; None if any move may be behind the percept.
        """
        if SEES not in self._rules:
            return None
        forms: dict[str, None] = {}
        # A proof lists the move, a variable as long as it may be any, and what is left to prove.
        proofs = [_proof(Variable(""), Compound("sees", (Symbol(seer), parse_term(percept))))]
        for number in range(MAX_PROOFS):
            if not proofs:
                return re.compile("|".join(forms) or "(?!)")
            move, *conditions = proofs.pop().args
            if conditions:
                few = FEW_FACTS if len(proofs) < FEW_PROOFS else 1
                proofs += self._steps(move, conditions, Symbol(mover), few, f";{number}")
            elif isinstance(move, Variable):
                return None
            else:
                forms[_pattern(move)] = None
        return None

    def _steps(
        self, move: Term, conditions: list[Term], mover: Symbol, few: int, suffix: str
    ) -> Iterator[Compound]:
        """The proofs that are left when one of the conditions is proved, in every way."""
        # Moves first: static relations whose arguments they give have fewer facts that fit.
        condition = min(conditions, key=lambda term: signature(term) not in self._moving)
        others = [term for term in conditions if term is not condition]
        heads: list[tuple[Term, list[Term]]] = []
        if signature(condition) == DOES and isinstance(condition, Compound):
            if condition.args[0] != mover and self._is_made_by_another(condition, mover):
                yield _proof(move, *others)
            heads = [(Compound("does", (mover, move)), [])]
        for rule in self._rules.get(signature(condition), ()):
            followed = [
                literal.atom
                for literal in rule.body
                if literal.binds and signature(literal.atom) in self._followed
            ]
            head, *body = _renamed(rule, suffix, rule.head, *followed)
            heads.append((head, body))
        bound = [(unify(condition, head), body) for head, body in heads]
        proofs = [
            _proof(*(resolve(term, binding) for term in (move, *body, *others)))
            for binding, body in bound
            if binding is not None
        ]
        is_static = signature(condition) not in self._moving
        yield from [_proof(move, *others)] if is_static and len(proofs) > few else proofs

    def _is_made_by_another(self, made: Compound, mover: Symbol) -> bool:
        """Whether, by the forms of legal moves, another role than the mover may make this move."""
        for rule in self._rules.get(LEGAL, ()):
            binding = unify(Compound("legal", made.args), *_renamed(rule, ";", rule.head))
            if binding is not None and resolve(made.args[0], binding) != mover:
                return True
        return False


def _renamed(rule: NormalRule, suffix: str, *terms: Term) -> list[Term]:
    """Terms of a rule, with other names for its variables."""
    names = {v.name: Variable(v.name + suffix) for v in rule_variables(rule)}
    return [substitute(term, names) for term in terms]


def _proof(*terms: Term) -> Compound:
    return Compound("", terms)


def _pattern(form: Term) -> str:
    """A regular expression of the canonical KIF of the terms of a form, or of more."""
    if isinstance(form, Variable):
        return r"(?:[^\s()]+|\(.+\))"
    if isinstance(form, Compound):
        return rf"\({' '.join([re.escape(form.name), *map(_pattern, form.args)])}\)"
    return re.escape(form.name)


# ------------------------------------------------------------------------
# Recognises games in which the percepts of every role contain the whole joint move.
#
# `move_percept` gives machines the name of such percepts. A player of these games knows the state.

PLAIN = "did"
"""The name in percepts of plain GDL, which has no rules for percepts."""


def move_percept(program: Program) -> str | None:
    """The name in percepts `(NAME ROLE MOVE)` that show every role the whole joint move.

    Returns:
        `did` in plain GDL. In GDL-II, the name in a rule
        `(<= (sees ?p (NAME ?r ?m)) (role ?p) (does ?r ?m))`, which servers append to plain GDL,
        if no other rule makes percepts of that name. Otherwise None.
    """
    if not program.is_gdl2:
        return PLAIN
    rules = program.by_head.get(SEES, ())
    for rule in rules:
        name = _name_of(rule)
        if name is not None and not any(
            _may_make(name, other_rule) for other_rule in rules if other_rule is not rule
        ):
            return name
    return None


def never_tells(program: Program) -> bool:
    """Whether a program is GDL-II and makes no percepts `(did ROLE MOVE)`.

    If a server sends such percepts nevertheless, it treats the game as plain GDL.
    """
    rules = program.by_head.get(SEES, ())
    return program.is_gdl2 and not any(_may_make(PLAIN, rule) for rule in rules)


def _name_of(rule: NormalRule) -> str | None:
    """The name in the percepts of a rule that shows all moves to all roles; None for others."""
    assert isinstance(rule.head, Compound)
    seer, percept = rule.head.args
    if not isinstance(percept, Compound) or len(percept.args) != 2:
        return None
    role, move = percept.args
    if len({seer, role, move}) != 3 or not all(isinstance(a, Variable) for a in (seer, role, move)):
        return None
    required = {Compound("does", (role, move))}
    permitted = required | {Compound("role", (seer,)), Compound("role", (role,))}
    atoms = {literal.atom for literal in rule.body if not literal.negated}
    return percept.name if required <= atoms <= permitted and len(atoms) == len(rule.body) else None


def _may_make(name: str, rule: NormalRule) -> bool:
    """Whether a rule may make percepts of that name."""
    assert isinstance(rule.head, Compound)
    percept = rule.head.args[1]
    return isinstance(percept, Variable) or percept.name == name
