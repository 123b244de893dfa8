"""Translates rules to an answer-set program whose ground instances are the game's propositions.

In come normalised rules, out goes text for gringo (`Translation`). Choice rules make every fluent
that may come to hold, and every legal move, free to hold or not, so that grounding derives all
reachable fluents and moves:

    {true(F)} :- init(F).   {true(F)} :- next(F).   {does(R,M)} :- legal(R,M), player(R).

The first rule that gives a goal counts. So goals carry their rule: a rule of `goal` becomes one of
`goal;rank`, with the number of the rule as first argument.

Rules are data: a constant becomes an integer, a function `f<N>`, a relation `p<N>`, a variable
`V<N>`. No text of a rulesheet ever reaches the grounder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
    local_variables,
)
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature

RANKED: Signature = ("goal;rank", 3)

ASKED, MAY = "asked;", "may;"
"""Prefixes of new relations: the atoms that are asked for, and the atoms that may hold. Both become
facts."""

_KEYWORDS: Mapping[Signature, str] = {
    sig: sig[0] for sig in (INIT, TRUE, NEXT, DOES, LEGAL, SEES, TERMINAL)
} | {RANKED: "ranked"}

SHOWN = tuple(f"{name}/{arity}" for (_, arity), name in _KEYWORDS.items())

_FROM_START = """\
{true(F)} :- init(F).
{true(F)} :- next(F).
"""

_SHOW = " ".join(f"#show {shown}." for shown in SHOWN) + "\n"

_ANY_MOVE = f"""\
{{does(R,M)}} :- legal(R,M), player(R).
{_SHOW}"""


@dataclass(frozen=True)
class Translation:
    """Rules as an answer-set program, and the names that its numbers stand for."""

    rules: str
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """The program whose ground instances are all propositions of the game."""
        return _FROM_START + _ANY_MOVE + self.rules

    @property
    def fixed(self) -> str:
        """The program of rules that depend on no state."""
        return _SHOW + self.rules

    def of_states(self, certain: Iterable[str], possible: Iterable[str]) -> str:
        """The program of all states with some fluents, apart from earlier and later turns.

        Args:
            certain: terms of fluents that hold in all of these states, as clingo prints them.
            possible: terms of fluents that may hold or not.
        """
        facts = "".join(f"true({fluent}).\n" for fluent in certain)
        choices = "".join(f"{{true({fluent})}}.\n" for fluent in possible)
        return facts + choices + _ANY_MOVE + self.rules

    def relation(self, predicate: str) -> str | None:
        """The relation for a predicate of the text; None for GDL's own."""
        number = predicate.removeprefix("p")
        return self.names[int(number)] if number.isdecimal() else None


def with_ranks(rules: Sequence[NormalRule], ranks: Sequence[int]) -> list[NormalRule]:
    """The rules, with each rule of `goal` as one of `goal;rank`."""
    rank = iter(ranks)
    ranked = []
    for rule in rules:
        if signature(rule.head) == GOAL and isinstance(rule.head, Compound):
            head = Compound(RANKED[0], (Symbol(str(next(rank))), *rule.head.args))
            rule = NormalRule(head, rule.body, rule.start)
        ranked.append(rule)
    if any(signature(literal.atom) == GOAL for rule in rules for literal in rule.body):
        role, value = Variable("role"), Variable("value")
        condition = Literal(Compound(RANKED[0], (Variable("rank"), role, value)))
        ranked.append(NormalRule(Compound(GOAL[0], (role, value)), (condition,)))
    return ranked


def translate(roles: Iterable[str], rules: Iterable[NormalRule]) -> Translation:
    """The answer-set program of a game; equal rules give equal text.

    Args:
        roles: names of the roles.
        rules: normalised rules in which no negated condition has a variable of its own
            (see `project_locals`).

    Raises:
        ValueError: a negated condition has a variable of its own.
    """
    names = _Names()
    lines = [f"player({names.number(role)})." for role in roles]
    lines += [_RuleText(names, rule).text() for rule in rules]
    return Translation("\n".join(lines) + "\n", tuple(names.numbers))


class _Names:
    """Numbers of names in order of first appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


class _RuleText:
    """One rule as text; its variables are numbered from 0."""

    def __init__(self, names: _Names, rule: NormalRule) -> None:
        self._names = names
        self._rule = rule
        self._variables: dict[str, str] = {}

    def text(self) -> str:
        rule = self._rule
        for i in range(len(rule.body)):
            if local_variables(rule, i):
                raise ValueError(f"a negated condition has a variable of its own: {rule}")
        head = self._atom(rule.head)
        if not rule.body:
            return f"{head}."
        return f"{head} :- {', '.join(map(self._literal, rule.body))}."

    def _literal(self, literal: Literal) -> str:
        atom = literal.atom
        if literal.is_distinct and isinstance(atom, Compound):
            a, b = map(self._term, atom.args)
            return f"{a} != {b}"
        return f"not {self._atom(atom)}" if literal.negated else self._atom(atom)

    def _atom(self, atom: Atom) -> str:
        sig = signature(atom)
        name = _KEYWORDS.get(sig) or f"p{self._names.number(sig[0])}"
        if isinstance(atom, Symbol):
            return name
        return f"{name}({','.join(map(self._term, atom.args))})"

    def _term(self, term: Term) -> str:
        if isinstance(term, Variable):
            return self._variables.setdefault(term.name, f"V{len(self._variables)}")
        number = self._names.number(term.name)
        if isinstance(term, Symbol):
            return str(number)
        return f"f{number}({','.join(map(self._term, term.args))})"
