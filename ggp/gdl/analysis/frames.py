"""Finds fluents that seem to lack a frame rule: a rule that keeps them from turn to turn.

Every turn makes a new state, so a board that no rule keeps is empty after the first move. Fluents
that stand for events must vanish, however. So fluents of a function are suspects only if

- several of them hold initially, or one rule requires several of them (not counting moves that
  different roles made in the same turn), or no `next` makes any; and
- no `next` for them depends on the fluents of the same function before.

`Frames.vanished` compares two states of a match. A suspect lacks a frame rule if it vanishes and no
fluent that differs in one argument takes its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import ne

from ggp.gdl.program import DOES, INIT, NEXT, TRUE, Atom, NormalRule, Program
from ggp.gdl.syntax.parser import parse_term
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables


class Frames:
    """The fluents that no rule of a game seems to keep.

    Args:
        program: the rules.

    Attributes:
        suspects: the functions of these fluents.
    """

    def __init__(self, program: Program) -> None:
        self._rules = program.by_head
        initial = Counter(_relation(rule.head) for rule in self._rules.get(INIT, ()))
        # A rule may make several fluents.
        several = {_relation(rule.head) for rule in self._rules.get(INIT, ()) if rule.body}
        several |= {relation for relation, num in initial.items() if num > 1}
        by_role = self._arguments_of_roles()
        for rule in program.rules:
            fluents = [x.atom for x in rule.body if signature(x.atom) == TRUE and not x.negated]
            times = Counter((_relation(atom), _argument(atom, by_role)) for atom in fluents)
            several |= {relation for (relation, _), num in times.items() if num > 1}
        sources: dict[Signature | None, set[Signature | None]] = {}
        for rule in self._rules.get(NEXT, ()):
            sources.setdefault(_relation(rule.head), set()).update(self._sources(rule))
        suspects = several | (initial.keys() - sources.keys())
        self.suspects = {
            relation
            for relation in suspects
            if relation is not None and relation[1] and None not in sources
            if not {relation, None} & sources.get(relation, set())
        }

    def vanished(self, state: Iterable[str], successor: Iterable[str]) -> str | None:
        """A fluent that the next state lacks for want of a frame rule; None if there is none.

        Args:
            state, successor: the fluents of the two states, as canonical KIF.
        """
        if not self.suspects:
            return None
        old, new = set(state), set(successor)
        added = [term for text in new - old if isinstance(term := parse_term(text), Compound)]
        for text in sorted(old - new):
            term = parse_term(text)
            if signature(term) not in self.suspects or not isinstance(term, Compound):
                continue
            replacements = [fluent.args for fluent in added if signature(fluent) == signature(term)]
            if all(sum(map(ne, term.args, args)) > 1 for args in replacements):
                return text
        return None

    def _arguments_of_roles(self) -> dict[Signature | None, int]:
        """For fluents that one role's move makes, the index of the argument that is this role."""
        columns: dict[Signature | None, set[int | None]] = {}
        for rule in self._rules.get(NEXT, ()):
            fluent, *_ = rule.head.args if isinstance(rule.head, Compound) else ()
            args = fluent.args if isinstance(fluent, Compound) else ()
            movers = [
                literal.atom.args[0]
                for literal in rule.body
                if signature(literal.atom) == DOES and not literal.negated
                if isinstance(literal.atom, Compound)
            ]
            at = args.index(movers[0]) if len(movers) == 1 and movers[0] in args else None
            columns.setdefault(_relation(rule.head), set()).add(at)
        return {
            relation: column
            for relation, (column, *rest) in columns.items()
            if column is not None and not rest
        }

    def _sources(self, rule: NormalRule) -> Iterator[Signature | None]:
        """Yield the functions of the fluents that a rule for `next` depends on.

        Conditions on other relations count only if they have all variables of the head:
        `(lands ?x ?y)` keeps no `(disc ?x ?y ?player)`.
        """
        named = {variable.name for variable in variables(rule.head)}
        for literal in rule.body:
            if literal.negated or _asks_for_another(literal.atom, rule.head):
                continue
            if named <= {variable.name for variable in variables(literal.atom)}:
                yield from self._required(literal.atom, set())
            elif signature(literal.atom) == TRUE:
                yield _relation(literal.atom)

    def _required(self, atom: Atom, seen: set[Signature]) -> Iterator[Signature | None]:
        """Yield the functions of the fluents that an atom depends on."""
        if signature(atom) == TRUE:
            yield _relation(atom)
        elif signature(atom) not in seen:
            seen.add(signature(atom))
            for rule in self._rules.get(signature(atom), ()):
                for literal in rule.body:
                    if not literal.negated:
                        yield from self._required(literal.atom, seen)


def vanished_message(fluent: str) -> str:
    """The message for a fluent that has vanished."""
    name, num = signature(parse_term(fluent))
    general = f"({name}{''.join(f' ?x{i}' for i in range(1, num + 1))})"
    return (
        f"{fluent} holds no longer, and no `next` for `{name}` asks whether it did: what stays is "
        f"kept by a frame rule like (<= (next {general}) (true {general}) ...)"
    )


def _argument(atom: Atom, by_role: Mapping[Signature | None, int]) -> Term | None:
    """The argument of a fluent that is the role whose move made it; None if there is none."""
    column = by_role.get(_relation(atom))
    assert isinstance(atom, Compound)
    fluent = atom.args[0]
    return None if column is None or not isinstance(fluent, Compound) else fluent.args[column]


def _asks_for_another(condition: Atom, head: Atom) -> bool:
    """Whether a condition requires the head's fluent with another value.

    `(true (cell ?x ?y blank))` does for `(next (cell ?x ?y ?role))`: it keeps no fluent.
    """
    if signature(condition) != TRUE or _relation(condition) != _relation(head):
        return False
    assert isinstance(condition, Compound)
    assert isinstance(head, Compound)
    old, new = condition.args[0], head.args[0]
    if not isinstance(old, Compound) or not isinstance(new, Compound):
        return False
    pairs = zip(old.args, new.args, strict=True)
    return any(isinstance(old_arg, Symbol) and old_arg != new_arg for old_arg, new_arg in pairs)


def _relation(atom: Atom) -> Signature | None:
    """The function of the fluent in a `true`, `init` or `next`; None for a variable."""
    assert isinstance(atom, Compound)
    fluent = atom.args[0]
    return None if isinstance(fluent, Variable) else signature(fluent)
