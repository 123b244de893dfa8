"""Makes new relations of conditions of rules: equal conditions share one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ggp.gdl.program import Atom, Literal, NormalRule
from ggp.gdl.rewriting.safety import order_conditions
from ggp.gdl.terms import Compound, Symbol, Term, Variable, substitute, variables


def names_in(terms: Iterable[Term]) -> list[str]:
    """Names of the variables in terms, in order of first appearance."""
    return list(dict.fromkeys(v.name for term in terms for v in variables(term)))


Key = tuple[tuple[str, ...], tuple[Literal, ...]]
"""The variables that are kept, and the conditions, whatever the names of variables are."""


class NewRelations:
    """New relations for conditions of some rules.

    Args:
        prefix: they are called `prefix;0`, `prefix;1`, ...
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._relations: dict[Key, str] = {}
        self._shapes: set[tuple[str, ...]] = set()
        self.rules: list[NormalRule] = []

    @staticmethod
    def key(body: Sequence[Literal], kept: Sequence[str]) -> Key:
        """The conditions up to the names of variables, and the variables that are kept."""
        names = names_in(literal.atom for literal in body)
        numbers: dict[str, Term] = {name: Variable(str(i)) for i, name in enumerate(names)}
        renamed = tuple(Literal(with_names(x.atom, numbers), x.negated) for x in body)
        return tuple(str(numbers[name]) for name in kept), renamed

    def has(self, key: Key) -> bool:
        """Whether there is a relation for these conditions already."""
        return key in self._relations

    def may_have(self, body: Sequence[Literal]) -> bool:
        """Whether there is a relation for conditions of the same predicates: a quick check."""
        return _shape(body) in self._shapes

    def atom(self, body: Sequence[Literal], kept: Sequence[str], start: int) -> Atom:
        """An atom that holds if conditions do for some values of the variables not kept.

        Args:
            start: source offset of the rule that they come from.
        """
        key = self.key(body, kept)
        name = self._relations.get(key)
        if name is None:
            name = self._relations[key] = f"{self._prefix};{len(self._relations)}"
            self._shapes.add(_shape(body))
            self.rules.append(order_conditions(NormalRule(_atom(name, kept), tuple(body), start)))
        return _atom(name, kept)


def _shape(body: Sequence[Literal]) -> tuple[str, ...]:
    return tuple(literal.atom.name for literal in body)


def _atom(name: str, kept: Sequence[str]) -> Atom:
    return Compound(name, tuple(map(Variable, kept))) if kept else Symbol(name)


def with_names(atom: Atom, names: dict[str, Term]) -> Atom:
    """An atom with other terms for some of its variables."""
    found = substitute(atom, names)
    if isinstance(found, Variable):
        raise ValueError("an atom cannot be a variable")
    return found
