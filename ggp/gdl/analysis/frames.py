"""Finds fluents that seem to lack a frame rule, the rule by which they go on holding.

A state is written anew in every turn, so if no rule keeps the board it is empty after the first
move. But events must vanish. So a relation of fluents is only suspected if several of its fluents
hold initially, if a rule asks for several that did not come in one turn, each by another role, or
if no `next` makes any; and if no `next` for them asks what held of it before. It lacks a rule if a
fluent of it vanishes, and none that differs in one argument takes its place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from operator import ne

from ggp.gdl.program import DOES, INIT, NEXT, TRUE, Atom, NormalRule, Program
from ggp.gdl.syntax.parser import parse_term
from ggp.gdl.terms import Compound, Signature, Symbol, Term, Variable, signature, variables


class Frames:
    """The relations of fluents that no rule of a game keeps.

    Args:
        program: the rules.
    """

    def __init__(self, program: Program) -> None:
        self._rules = program.by_head
        initial = Counter(_relation(rule.head) for rule in self._rules.get(INIT, ()))
        # A rule may make several at once.
        several = {_relation(rule.head) for rule in self._rules.get(INIT, ()) if rule.body}
        several |= {relation for relation, num in initial.items() if num > 1}
        by_role = self._arguments_of_roles()
        for rule in program.rules:
            asks = [x.atom for x in rule.body if signature(x.atom) == TRUE and not x.negated]
            times = Counter((_relation(each), _argument(each, by_role)) for each in asks)
            several |= {relation for (relation, _), num in times.items() if num > 1}
        asked: dict[Signature | None, set[Signature | None]] = {}
        for rule in self._rules.get(NEXT, ()):
            asked.setdefault(_relation(rule.head), set()).update(self._asked(rule))
        suspects = several | (initial.keys() - asked.keys())
        self.suspects = {
            relation
            for relation in suspects
            if relation is not None and relation[1] and None not in asked
            if not {relation, None} & asked.get(relation, set())
        }

    def vanished(self, before: Iterable[str], after: Iterable[str]) -> str | None:
        """A fluent of a state that the next one lacks, and should not; None if there is none.

        Args:
            before, after: the fluents of the two states, canonical.
        """
        if not self.suspects:
            return None
        held, holds = set(before), set(after)
        new = [term for text in holds - held if isinstance(term := parse_term(text), Compound)]
        for text in sorted(held - holds):
            term = parse_term(text)
            if signature(term) not in self.suspects or not isinstance(term, Compound):
                continue
            same = [each.args for each in new if signature(each) == signature(term)]
            if all(sum(map(ne, term.args, args)) > 1 for args in same):
                return text
        return None

    def _arguments_of_roles(self) -> dict[Signature | None, int]:
        """For relations of fluents that moves alone make: the argument that is the mover."""
        found: dict[Signature | None, set[int | None]] = {}
        for rule in self._rules.get(NEXT, ()):
            fluent, *_ = rule.head.args if isinstance(rule.head, Compound) else ()
            args = fluent.args if isinstance(fluent, Compound) else ()
            movers = [
                each.atom.args[0]
                for each in rule.body
                if signature(each.atom) == DOES and not each.negated
                if isinstance(each.atom, Compound)
            ]
            at = args.index(movers[0]) if len(movers) == 1 and movers[0] in args else None
            found.setdefault(_relation(rule.head), set()).add(at)
        return {
            relation: number
            for relation, (number, *others) in found.items()
            if number is not None and not others
        }

    def _asked(self, rule: NormalRule) -> Iterator[Signature | None]:
        """The relations of the fluents that a `next` asks for, itself or by one that names as much
        as its head does, since `(lands ?x ?y)` keeps no `(disc ?x ?y ?player)`."""
        named = {variable.name for variable in variables(rule.head)}
        for literal in rule.body:
            if literal.negated or _asks_for_another(literal.atom, rule.head):
                continue
            if named <= {each.name for each in variables(literal.atom)}:
                yield from self._needed(literal.atom, set())
            elif signature(literal.atom) == TRUE:
                yield _relation(literal.atom)

    def _needed(self, atom: Atom, seen: set[Signature]) -> Iterator[Signature | None]:
        """The relations of the fluents that hold where a relation does."""
        if signature(atom) == TRUE:
            yield _relation(atom)
        elif signature(atom) not in seen:
            seen.add(signature(atom))
            for rule in self._rules.get(signature(atom), ()):
                for literal in rule.body:
                    if not literal.negated:
                        yield from self._needed(literal.atom, seen)


def says_vanished(fluent: str) -> str:
    """The message for a fluent that has vanished."""
    name, num = signature(parse_term(fluent))
    general = f"({name}{''.join(f' ?x{i}' for i in range(1, num + 1))})"
    return (
        f"{fluent} holds no longer, and no `next` for `{name}` asks whether it did: what stays is "
        f"kept by a frame rule like (<= (next {general}) (true {general}) ...)"
    )


def _argument(atom: Atom, by_role: Mapping[Signature | None, int]) -> Term | None:
    """The argument of a fluent that is the role which made it; None if there is no such."""
    number = by_role.get(_relation(atom))
    assert isinstance(atom, Compound)
    fluent = atom.args[0]
    return None if number is None or not isinstance(fluent, Compound) else fluent.args[number]


def _asks_for_another(asked: Atom, made: Atom) -> bool:
    """Whether a condition asks for a fluent with a certain value where the head has another, as
    `(true (cell ?x ?y blank))` does for `(next (cell ?x ?y ?role))`: that one is not kept."""
    if signature(asked) != TRUE or _relation(asked) != _relation(made):
        return False
    assert isinstance(asked, Compound)
    assert isinstance(made, Compound)
    before, after = asked.args[0], made.args[0]
    if not isinstance(before, Compound) or not isinstance(after, Compound):
        return False
    pairs = zip(before.args, after.args, strict=True)
    return any(isinstance(one, Symbol) and one != other for one, other in pairs)


def _relation(atom: Atom) -> Signature | None:
    """The relation of the fluent in a `true`, `init` or `next`; None if any can stand there."""
    assert isinstance(atom, Compound)
    fluent = atom.args[0]
    return None if isinstance(fluent, Variable) else signature(fluent)
