"""Immutable terms and rules: the syntax tree that both GDL syntaxes share.

The parsers build these terms, and all later stages read them. A rule is a head term and body
terms. The connectives `not`, `or`, `and` and `distinct` are compounds like any other, so printing
and parsing are inverse to each other. Names are folded to lower case when read. Comparisons ignore
positions.

    >>> cell = Compound("cell", (Symbol("1"), Variable("x")))
    >>> str(cell), signature(cell)
    ('(cell 1 ?x)', ('cell', 2))
    >>> str(substitute(cell, {"x": Symbol("blank")}))
    '(cell 1 blank)'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

NO_POSITION = -1


@dataclass(frozen=True, slots=True)
class Symbol:
    """A constant, or a relation or function without arguments: `red`, `100`, `terminal`.

    Attributes:
        name: in lower case; any characters except white space, parentheses and `;`; never empty,
            and does not begin with `?`.
        start: character offset in the source text; -1 without a source.
    """

    name: str
    start: int = field(default=NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; `name` is lower case, without the leading `?`, and may be empty."""

    name: str
    start: int = field(default=NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        return f"?{self.name}"


@dataclass(frozen=True, slots=True)
class Compound:
    """A name with one or more arguments: `(cell 1 ?x)`, `(not (true a))`."""

    name: str
    args: tuple[Term, ...]
    start: int = field(default=NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        # Without recursion, because a game may build terms deeper than Python's stack.
        pieces: list[str] = []
        pending: list[Term | str] = [self]
        while pending:
            item = pending.pop()
            if not isinstance(item, Compound):
                pieces.append(str(item))
            elif any(isinstance(arg, Compound) for arg in item.args):
                pieces.append("(" + item.name)
                pending.append(")")
                for arg in reversed(item.args):
                    pending += (arg, " ")
            else:
                pieces.append(f"({item.name} {' '.join(map(str, item.args))})")
        return "".join(pieces)


Term = Symbol | Variable | Compound


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: `head` holds if all of `body` holds; a fact has an empty body.

    Attributes:
        head: a `Symbol` or `Compound` in a well-formed rulesheet.
        body: the conditions: relations, or the connectives `not`, `or`, `and`, `distinct`.
        start: character offset of the rule in the source text.
    """

    head: Term
    body: tuple[Term, ...] = ()
    start: int = field(default=NO_POSITION, compare=False, repr=False)

    def __str__(self) -> str:
        if not self.body:
            return str(self.head)
        return f"(<= {self.head} {' '.join(map(str, self.body))})"


CONNECTIVES = frozenset({"not", "or", "and", "distinct"})

Signature = tuple[str, int]


def signature(term: Term) -> Signature:
    """Name and arity of a symbol or compound, which identify a relation or function."""
    if isinstance(term, Compound):
        return term.name, len(term.args)
    return term.name, 0


def arguments(term: Term) -> tuple[Term, ...]:
    """The arguments of a compound; other terms have none."""
    return term.args if isinstance(term, Compound) else ()


def applied(name: str, args: tuple[Term, ...]) -> Symbol | Compound:
    """A name with these arguments, or alone if there are none."""
    return Compound(name, args) if args else Symbol(name)


def variables(term: Term) -> Iterator[Variable]:
    """Every occurrence of a variable in a term, left to right, repeats included."""
    if isinstance(term, Variable):
        yield term
    elif isinstance(term, Compound):
        for arg in term.args:
            yield from variables(arg)


def substitute(term: Term, binding: Mapping[str, Term]) -> Term:
    """The term with its variables replaced; values are not searched for further variables."""
    if isinstance(term, Variable):
        return binding.get(term.name, term)
    if isinstance(term, Compound):
        return Compound(term.name, tuple(substitute(a, binding) for a in term.args), term.start)
    return term
