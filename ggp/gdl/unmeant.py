"""Finds what no author can have meant: conditions that never hold, names used as roles that are
none, and the notation of other languages.

No formal rule forbids them, but no author can have meant them, so only `ggp validate` looks for
them. Only what is certain is reported: the fluents of a state come from `init` and `next` alone,
and joint moves from `legal`. So a `true` or `does` is wrong if it unifies with no such head, or if
one of its arguments has a value that this position never takes (see `Domains`). Each wrong name is
reported once, with the name that was probably meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ggp.gdl.analysis.dependencies import may_unify
from ggp.gdl.analysis.domains import Domains, Position, position
from ggp.gdl.formal import IGNORED, Diagnosis, conditions
from ggp.gdl.nearest import did_you_mean, nearest
from ggp.gdl.program import (
    DOES,
    GOAL,
    INIT,
    KEYWORD_ARITY,
    LEGAL,
    NEXT,
    ROLE,
    SEES,
    TRUE,
    Literal,
    NormalRule,
    number_of,
)
from ggp.gdl.source import Rulesheet
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Signature, Symbol, Term, Variable, signature

MOST_FLOWS = 100_000
"""Flows of values between arguments; if there are more, values are not checked."""

MOST_COMPARED = 20_000
"""Number of heads that are compared with conditions; those beyond it are assumed to be possible."""

_WITH_ROLES = (LEGAL, GOAL, SEES, DOES)
_MOST_LISTED = 4


class _Kind(NamedTuple):
    """A relation of the game's states or moves, and how messages speak of it.

    Attributes:
        used: the relation in conditions.
        made: the relations whose heads make it.
        argument: which argument is the fluent or the move.
        rule: short name of the diagnostic.
        never: the words for a fluent or move that cannot be.
        maker: the words for the lack of a head that makes it.
    """

    used: Signature
    made: tuple[Signature, ...]
    argument: int
    rule: str
    never: str
    maker: str


_KINDS = (
    _Kind(TRUE, (INIT, NEXT), 0, "never-true", "never true", "no `init` or `next` makes it"),
    _Kind(DOES, (LEGAL,), 1, "never-legal", "never played", "no `legal` allows it"),
)


def check_possible(
    read: Sequence[Rule],
    unfolded: Sequence[NormalRule],
    roles: Sequence[str],
    report: Diagnosis,
) -> None:
    """Report conditions that can never hold, and names that stand in place of a role.

    Args:
        read: the rules as they were read.
        unfolded: the same without connectives, before anything was dropped.
        roles: the roles of the game.
    """
    _Check(read, unfolded, roles, report).run()


class _Check:
    def __init__(
        self,
        read: Sequence[Rule],
        unfolded: Sequence[NormalRule],
        roles: Sequence[str],
        report: Diagnosis,
    ) -> None:
        self._read, self._unfolded, self._roles = read, unfolded, roles
        self._report = report
        self._known: set[tuple[str, object]] = set()
        self._never: set[tuple[Signature, Signature]] = set()

    def run(self) -> None:
        if self._roles:
            self._check_roles()
        heads = {kind: _Heads(self._read, kind) for kind in _KINDS}
        used = {kind: list(self._patterns(kind)) for kind in _KINDS}
        possible = {
            kind: [atom for atom in used[kind] if self._is_made(kind, heads[kind], atom)]
            for kind in _KINDS
        }
        domains = Domains(list(self._certain()), MOST_FLOWS)
        for kind in _KINDS:
            for atom in possible[kind]:
                self._check_values(kind, heads[kind], atom, domains)

    # ---------------------------------------------------------------- roles

    def _check_roles(self) -> None:
        for rule in self._read:
            if signature(rule.head) in _WITH_ROLES:
                self._check_role(rule.head)
            for atom in conditions(rule):
                if signature(atom) in (*_WITH_ROLES, ROLE):
                    self._check_role(atom)

    def _check_role(self, atom: Term) -> None:
        assert isinstance(atom, Compound)
        role = atom.args[0]
        if isinstance(role, Variable) or str(role) in self._roles:
            return
        if not self._is_new("no-such-role", str(role)):
            return
        meant = did_you_mean(str(role), self._roles) or (
            f": the roles are {_listed(self._roles)}" if len(self._roles) <= _MOST_LISTED else ""
        )
        self._report.breach("no-such-role", f"{role} is no role{meant}", _place(role, atom))

    # ---------------------------------------------------------------- fluents and moves

    def _patterns(self, kind: _Kind) -> Iterator[Compound]:
        """The conditions of a kind, without those whose role is not one of the game's."""
        for rule in self._read:
            for atom in conditions(rule):
                if signature(atom) == kind.used and isinstance(atom, Compound):
                    yield atom

    def _is_made(self, kind: _Kind, heads: _Heads, atom: Compound) -> bool:
        """Whether some head makes a fluent or move of this name; reports it if none does."""
        term = atom.args[kind.argument]
        if isinstance(term, Variable) or heads.any or signature(term) in heads.by_name:
            return True
        self._never.add((kind.used, signature(term)))
        if self._is_new(kind.rule, signature(term)):
            name, arity = signature(term)
            others = sorted(n for other, n in heads.by_name if other == name and n != arity)
            meant = did_you_mean(name, dict.fromkeys(other for other, _ in heads.by_name))
            if others:
                meant = f"; elsewhere `{name}` has {' or '.join(map(_arguments, others))}"
            message = f"{term} is {kind.never}: {kind.maker}{meant}"
            self._report.breach(kind.rule, message, _place(term, atom))
        return False

    def _certain(self) -> Iterator[NormalRule]:
        """The rules without the conditions that are false because of a wrong name.

        The values of their variables are not known then, and one mistake must not be reported as
        many.
        """
        defined = {signature(rule.head) for rule in self._unfolded} | {TRUE, DOES}
        for rule in self._unfolded:
            body = tuple(x for x in rule.body if self._may_hold(x, defined))
            yield rule if len(body) == len(rule.body) else NormalRule(rule.head, body, rule.start)

    def _may_hold(self, literal: Literal, defined: set[Signature]) -> bool:
        atom = literal.atom
        relation = signature(atom)
        if relation not in defined:
            return False
        for kind in _KINDS:
            if relation == kind.used and isinstance(atom, Compound):
                term = atom.args[kind.argument]
                return isinstance(term, Variable) or (relation, signature(term)) not in self._never
        return True

    def _check_values(self, kind: _Kind, heads: _Heads, atom: Compound, domains: Domains) -> None:
        """Report an argument with a value it never takes, or a term that unifies with no head."""
        term = atom.args[kind.argument]
        at = position(kind.used, kind.argument)
        wrong = domains.impossible(term, at) if domains.whole else None
        if wrong is not None:
            part, where = wrong
            if self._is_new(kind.rule, (where, part)):
                message = f"{term} is {kind.never}: {_says_never(part, where, domains)}"
                self._report.breach(kind.rule, message, _place(part, atom))
        elif not heads.may_be(atom) and self._is_new(kind.rule, term):
            self._report.breach(
                kind.rule, f"{term} is {kind.never}: {kind.maker}", _place(term, atom)
            )

    def _is_new(self, rule: str, what: object) -> bool:
        key = (rule, what)
        if key in self._known:
            return False
        self._known.add(key)
        return True


class _Heads:
    """The fluents or moves that heads make.

    Attributes:
        by_name: the heads, by name and number of arguments of what they make.
        any: whether some head may make any fluent or move.
    """

    def __init__(self, read: Sequence[Rule], kind: _Kind) -> None:
        self._argument = kind.argument
        self._work = 0
        self.any = False
        self.by_name: dict[Signature, list[Compound]] = {}
        self._by_value: dict[tuple[Signature, int, str | None], list[Compound]] = {}
        for rule in read:
            head = rule.head
            if signature(head) not in kind.made or not isinstance(head, Compound):
                continue
            made = head.args[kind.argument]
            if isinstance(made, Variable):
                self.any = True
                continue
            name = signature(made)
            self.by_name.setdefault(name, []).append(head)
            for i, arg in enumerate(made.args if isinstance(made, Compound) else ()):
                value = arg.name if isinstance(arg, Symbol) else None
                self._by_value.setdefault((name, i, value), []).append(head)

    def may_be(self, atom: Compound) -> bool:
        """Whether some head may unify with a condition; also true where that is too much work."""
        wanted = atom.args[self._argument]
        if self.any or isinstance(wanted, Variable):
            return True
        for head in self._candidates(wanted):
            self._work += 1
            if self._work > MOST_COMPARED:
                return True
            assert isinstance(head, Compound)
            # `init` and `next` mean the same as `true`.
            if may_unify(Compound(atom.name, head.args), atom):
                return True
        return False

    def _candidates(self, wanted: Symbol | Compound) -> list[Compound]:
        """The heads that agree with a term in the constant that the fewest heads have."""
        name = signature(wanted)
        best = self.by_name[name]
        for i, arg in enumerate(wanted.args if isinstance(wanted, Compound) else ()):
            if isinstance(arg, Symbol):
                found = [
                    head
                    for value in (arg.name, None)
                    for head in self._by_value.get((name, i, value), ())
                ]
                best = min(best, found, key=len)
        return best


def _says_never(part: Term, where: Position, domains: Domains) -> str:
    """The reason why a part of a term is impossible."""
    name, number = where[-1][0][0], where[-1][1]
    if isinstance(part, Symbol):
        others = domains.constants(where)
    else:
        others = tuple(name for name, _ in domains.functions(where))
    assert not isinstance(part, Variable)
    meant = did_you_mean(part.name, others)
    if not meant and 0 < len(others) <= _MOST_LISTED:
        meant = f", only {_listed(others)}"
    if len(where) == 1:
        return f"`{part.name}` is never made{meant}"
    return f"argument {number + 1} of `{name}` is never {part}{meant}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _arguments(number: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(number, f"{number} arguments")


def _place(term: Term, atom: Compound) -> int:
    return term.start if term.start >= 0 else atom.start


# ------------------------------------------------------------------------
# Finds notation of other languages that is a mere name in GDL, or means nothing there.
#
# KIF takes every run of characters for a name, so `[mark`, `=>` and `+` are names like any other:
# the rule is read, but does not say what its author thinks. A sheet may well define a relation `>`
# by facts, or use `+` as a name of its own; these are not reported.

_BY_FACTS = "; GDL has no arithmetic: write facts like (less 1 2) and (succ 1 2)"
_EQUAL = "; GDL has no `=`: write the same variable twice, or `distinct` for what differs"

OPERATORS: Mapping[str, str] = {
    **dict.fromkeys(("+", "-", "*", "/", "%", "^", "**"), _BY_FACTS),
    **dict.fromkeys((">", "<", ">=", "=<", "<=", "=>"), _BY_FACTS),
    **dict.fromkeys(("=", "==", "!=", "/=", "<>", "neq", "eq"), _EQUAL),
    **dict.fromkeys(("!", "~", "\\+"), "; a negation is written (not condition)"),
    **dict.fromkeys(("&", "&&", ","), "; all conditions of a rule must hold; write nothing"),
    **dict.fromkeys(("|", "||"), "; a disjunction is written (or condition condition)"),
    "knows": (
        "; it is of GDL-III, whose rules may ask what a role knows: in GDL-II, keep what it has "
        "seen in a fluent"
    ),
}
"""The GDL to write instead of an operator of another language, as the end of a message."""

_NAMING = frozenset({INIT, TRUE, NEXT, LEGAL, DOES, SEES})
"""Relations whose last argument may be a name."""

_CALCULATING = frozenset({"+", "-", "*", "/", "%", "^", "**"})
_ARROWS = frozenset({"=>", "->", "<-", "==>", "<==", "-->", "<--", ":=", "<->", "<=>"})
_BRACKETS = frozenset("[]{}")


@dataclass(slots=True)
class _Uses:
    """The places where names occur.

    Attributes:
        symbols: first place of each name of a constant, function or relation.
        heads, bodies: relations in heads and in bodies, with their first place.
        made, taken: functions in heads, and in conditions other than `distinct`, with first place.
        all_made: functions anywhere, with their first place.
    """

    symbols: dict[str, int] = field(default_factory=dict)
    heads: dict[Signature, int] = field(default_factory=dict)
    bodies: dict[Signature, int] = field(default_factory=dict)
    made: dict[Signature, int] = field(default_factory=dict)
    taken: dict[Signature, int] = field(default_factory=dict)
    functions: dict[Signature, int] = field(default_factory=dict)


def check_notation(rulesheet: Rulesheet, report: Diagnosis) -> None:
    """Report brackets, commas, arrows and arithmetic, and keywords that are spelled wrong."""
    uses = _uses_in(rulesheet)
    fluents = {
        signature(rule.head.args[0])
        for rule in rulesheet.rules
        if signature(rule.head) in (INIT, NEXT) and isinstance(rule.head, Compound)
        if not isinstance(rule.head.args[0], Variable)
    }
    _check_variables(rulesheet, report)
    for name, place in uses.symbols.items():
        if _BRACKETS & set(name):
            message = "brackets mean nothing in GDL: terms are written (name argument ...)"
            report.breach("notation", f"`{name}` is read as a name; {message}", place)
        elif len(name) > 1 and (name.endswith(",") or name.startswith(",")):
            message = "arguments are separated by blanks"
            report.breach("notation", f"`{name}` is read as a name; {message}", place)
    for (name, _), place in (uses.heads | uses.bodies).items():
        if number_of(name) is not None:
            message = "here a number names a relation; a fact is written (name argument ...)"
            report.breach("notation", f"`{name}`: {message}", place)
    for relation, place in uses.heads.items():
        name = relation[0]
        if name in _ARROWS and relation not in uses.bodies:
            message = f"`{name}` means nothing in GDL; a rule is written (<= head condition ...)"
            report.breach("notation", message, place)
        elif name not in KEYWORD_ARITY and relation not in uses.bodies | dict.fromkeys(IGNORED):
            if relation in fluents:
                shape = f"({name} ...)" if relation[1] else name
                message = f"nothing uses the relation `{name}`; a fluent is made by (next {shape})"
                report.breach("unused", message, place)
                continue
            meant = nearest(name, KEYWORD_ARITY)
            if meant is not None and meant not in ("true", "does", "distinct"):
                message = f"nothing uses the relation `{name}`; did you mean `{meant}`?"
                report.breach("unused", message, place)
    for function, place in uses.functions.items():
        name = function[0]
        if name in _CALCULATING and not (function in uses.made and function in uses.taken):
            message = f"`{name}` does not calculate: it is a name like any other{OPERATORS[name]}"
            report.breach("notation", message, place)
        elif name in _ARROWS and not (function in uses.made and function in uses.taken):
            message = f"`{name}` means nothing in GDL; a rule is written (<= head condition ...)"
            report.breach("notation", message, place)


def _check_variables(rulesheet: Rulesheet, report: Diagnosis) -> None:
    """Report constants of KIF that look like variables of Prolog, and stand where these would.

    Such a constant begins with a capital letter, though not all keywords do; two conditions of one
    rule or its head have it, but not as a whole fluent, move or percept; and no fact has it.
    """
    spelling = rulesheet.spelling
    keywords = {rule.head.name for rule in rulesheet.rules} & KEYWORD_ARITY.keys()
    if rulesheet.syntax != "kif" or keywords <= spelling.keys():
        return
    capitals = {name for name, spelled in spelling.items() if spelled[:1].isupper()}
    for rule in rulesheet.rules:
        if not rule.body:
            capitals -= {part.name for part in _parts(rule.head)}
    for rule in rulesheet.rules:
        atoms = [each for each in (rule.head, *conditions(rule)) if isinstance(each, Compound)]
        symbols = [
            {each.name: each for each in _inside(atom) if each.name in capitals} for atom in atoms
        ]
        for name, times in Counter(name for each in symbols for name in each).items():
            if times > 1:
                capitals.remove(name)
                place = next(each[name].start for each in symbols if name in each)
                said = f"`{spelling[name]}` is a constant; a variable is written ?{spelling[name]}"
                report.breach("notation", said, place)


def _inside(atom: Compound) -> Iterator[Symbol]:
    """The constants in an atom, but for a whole fluent, move or percept."""
    for arg in atom.args:
        for part in _parts(arg):
            whole = part is atom.args[-1] and signature(atom) in _NAMING
            if isinstance(part, Symbol) and not whole:
                yield part


def check_control(rules: Sequence[Rule], roles: Sequence[str], report: Diagnosis) -> None:
    """Warn where `control` seems to say who moves, as it does in pyggp, but no `legal` asks it."""
    given = [Compound("init", (Compound("control", (Symbol(role),)),)) for role in roles]
    first = next((rule for rule in rules if rule.head in given), None)
    if first is None or len(roles) == 1:
        return
    bodies: dict[Signature, list[Term]] = {}
    for rule in rules:
        bodies.setdefault(signature(rule.head), []).extend(conditions(rule))
    pending = [LEGAL]
    while pending:
        for atom in bodies.pop(pending.pop(), ()):
            if signature(atom) == TRUE and any(part.name == "control" for part in _parts(atom)):
                return
            if signature(atom) == ("control", 1):  # of which something else is said
                return
            pending.append(signature(atom))
    message = (
        "no `legal` asks who has `control`, which means nothing by itself in GDL: all roles move "
        "in every turn (in pyggp only those that have it)"
    )
    report.breach("control", message, first.start)


def _uses_in(rulesheet: Rulesheet) -> _Uses:
    uses = _Uses()
    for rule in rulesheet.rules:
        if signature(rule.head) in IGNORED:
            continue
        uses.heads.setdefault(signature(rule.head), rule.head.start)
        _note(uses, rule.head, uses.made)
        for atom in conditions(rule):
            if isinstance(atom, Variable):
                continue
            uses.bodies.setdefault(signature(atom), atom.start)
            _note(uses, atom, uses.taken if atom.name not in CONNECTIVES else None)
    return uses


def _note(uses: _Uses, atom: Term, into: dict[Signature, int] | None) -> None:
    for term in _parts(atom):
        uses.symbols.setdefault(term.name, term.start)
        if isinstance(term, Compound) and term is not atom:
            uses.functions.setdefault(signature(term), term.start)
            if into is not None:
                into.setdefault(signature(term), term.start)


def _parts(term: Term) -> Iterator[Symbol | Compound]:
    """The term and all terms inside of it, except variables."""
    pending = [term]
    while pending:
        item = pending.pop()
        if isinstance(item, Variable):
            continue
        yield item
        if isinstance(item, Compound):
            pending.extend(reversed(item.args))
