"""Finds likely mistakes in a rulesheet: conditions that never hold, names that are not roles, and
the notation of other languages.

No formal rule forbids these, but no author can intend them. So only `ggp validate` looks for them.
Only certain mistakes are reported: fluents come from `init` and `next` alone, and joint moves from
`legal`. So a `true` or `does` is wrong if it unifies with no such head, or if one of its arguments
has a value that this position never takes (see `Domains`). Each wrong name is reported once, with
the name that was probably meant.
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

MAX_FLOWS = 100_000
"""Flows of values between arguments before the check of values is given up."""

MAX_COMPARED = 20_000
"""Comparisons of heads with conditions; after these, every condition is assumed to be possible."""

_WITH_ROLES = (LEGAL, GOAL, SEES, DOES)
_MAX_LISTED = 4


class _Kind(NamedTuple):
    """A relation of fluents or moves, and the words for it in messages.

    Attributes:
        body_relation: the relation in conditions.
        head_relations: the relations in heads that make its fluents or moves.
        argument: index of the argument that is the fluent or the move.
        rule: short name of the diagnostic.
        never: the words for an impossible fluent or move.
        maker: the words for the missing head.
    """

    body_relation: Signature
    head_relations: tuple[Signature, ...]
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
    """Report conditions that can never hold, and names in place of a role that are none.

    Args:
        read: the parsed rules.
        unfolded: the same rules without connectives, before any was dropped.
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
        self._reported: set[tuple[str, object]] = set()
        self._never: set[tuple[Signature, Signature]] = set()

    def run(self) -> None:
        if self._roles:
            self._check_roles()
        heads = {kind: _Heads(self._read, kind) for kind in _KINDS}
        patterns = {kind: list(self._patterns(kind)) for kind in _KINDS}
        possible = {
            kind: [atom for atom in patterns[kind] if self._is_made(kind, heads[kind], atom)]
            for kind in _KINDS
        }
        domains = Domains(list(self._certain()), MAX_FLOWS)
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
        hint = did_you_mean(str(role), self._roles) or (
            f": the roles are {_listed(self._roles)}" if len(self._roles) <= _MAX_LISTED else ""
        )
        self._report.breach("no-such-role", f"{role} is no role{hint}", _place(role, atom))

    # ---------------------------------------------------------------- fluents and moves

    def _patterns(self, kind: _Kind) -> Iterator[Compound]:
        """Yield the conditions of a kind."""
        for rule in self._read:
            for atom in conditions(rule):
                if signature(atom) == kind.body_relation and isinstance(atom, Compound):
                    yield atom

    def _is_made(self, kind: _Kind, heads: _Heads, atom: Compound) -> bool:
        """Whether some head makes a fluent or move of this name; reports it if none does."""
        term = atom.args[kind.argument]
        if isinstance(term, Variable) or heads.any or signature(term) in heads.by_name:
            return True
        self._never.add((kind.body_relation, signature(term)))
        if self._is_new(kind.rule, signature(term)):
            name, arity = signature(term)
            arities = sorted(n for head, n in heads.by_name if head == name and n != arity)
            hint = did_you_mean(name, dict.fromkeys(head for head, _ in heads.by_name))
            if arities:
                hint = f"; elsewhere `{name}` has {' or '.join(map(_arguments, arities))}"
            message = f"{term} is {kind.never}: {kind.maker}{hint}"
            self._report.breach(kind.rule, message, _place(term, atom))
        return False

    def _certain(self) -> Iterator[NormalRule]:
        """Yield the rules without the conditions that are false because of a wrong name.

        Their variables would have no values, and one mistake would be reported many times.
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
            if relation == kind.body_relation and isinstance(atom, Compound):
                term = atom.args[kind.argument]
                return isinstance(term, Variable) or (relation, signature(term)) not in self._never
        return True

    def _check_values(self, kind: _Kind, heads: _Heads, atom: Compound, domains: Domains) -> None:
        """Report an argument whose value is impossible, or a term that unifies with no head."""
        term = atom.args[kind.argument]
        at = position(kind.body_relation, kind.argument)
        wrong = domains.impossible(term, at) if domains.whole else None
        if wrong is not None:
            part, part_at = wrong
            if self._is_new(kind.rule, (part_at, part)):
                message = f"{term} is {kind.never}: {_says_never(part, part_at, domains)}"
                self._report.breach(kind.rule, message, _place(part, atom))
        elif not heads.may_be(atom) and self._is_new(kind.rule, term):
            self._report.breach(
                kind.rule, f"{term} is {kind.never}: {kind.maker}", _place(term, atom)
            )

    def _is_new(self, rule: str, subject: object) -> bool:
        key = (rule, subject)
        if key in self._reported:
            return False
        self._reported.add(key)
        return True


class _Heads:
    """The heads that make fluents or moves of one kind.

    Attributes:
        by_name: the heads, by name and arity of the fluent or move.
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
            if signature(head) not in kind.head_relations or not isinstance(head, Compound):
                continue
            term = head.args[kind.argument]
            if isinstance(term, Variable):
                self.any = True
                continue
            name = signature(term)
            self.by_name.setdefault(name, []).append(head)
            for i, arg in enumerate(term.args if isinstance(term, Compound) else ()):
                value = arg.name if isinstance(arg, Symbol) else None
                self._by_value.setdefault((name, i, value), []).append(head)

    def may_be(self, atom: Compound) -> bool:
        """Whether some head may unify with a condition; true after too many comparisons."""
        term = atom.args[self._argument]
        if self.any or isinstance(term, Variable):
            return True
        for head in self._candidates(term):
            self._work += 1
            if self._work > MAX_COMPARED:
                return True
            assert isinstance(head, Compound)
            # `init` and `next` mean the same as `true`.
            if may_unify(Compound(atom.name, head.args), atom):
                return True
        return False

    def _candidates(self, term: Symbol | Compound) -> list[Compound]:
        """The heads that agree with a term in one constant: the one with the fewest heads."""
        name = signature(term)
        best = self.by_name[name]
        for i, arg in enumerate(term.args if isinstance(term, Compound) else ()):
            if isinstance(arg, Symbol):
                heads = [
                    head
                    for value in (arg.name, None)
                    for head in self._by_value.get((name, i, value), ())
                ]
                best = min(best, heads, key=len)
        return best


def _says_never(part: Term, at: Position, domains: Domains) -> str:
    """The reason why a part of a term is impossible."""
    name, number = at[-1][0][0], at[-1][1]
    if isinstance(part, Symbol):
        values = domains.constants(at)
    else:
        values = tuple(name for name, _ in domains.functions(at))
    assert not isinstance(part, Variable)
    hint = did_you_mean(part.name, values)
    if not hint and 0 < len(values) <= _MAX_LISTED:
        hint = f", only {_listed(values)}"
    if len(at) == 1:
        return f"`{part.name}` is never made{hint}"
    return f"argument {number + 1} of `{name}` is never {part}{hint}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _arguments(number: int) -> str:
    return {0: "no arguments", 1: "1 argument"}.get(number, f"{number} arguments")


def _place(term: Term, atom: Compound) -> int:
    return term.start if term.start >= 0 else atom.start


# ------------------------------------------------------------------------
# Notation of other languages that is a mere name in GDL, or means nothing.
#
# KIF takes every run of characters for a name, so `[mark`, `=>` and `+` are ordinary names. The
# rule can be read, but has another meaning than intended. A sheet may well define a relation `>` by
# facts, or use `+` as a name; these are not reported.

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
"""Operators of other languages, with the GDL to write instead, as the end of a message."""

_NAMING = frozenset({INIT, TRUE, NEXT, LEGAL, DOES, SEES})
"""Relations whose last argument may be a name."""

_CALCULATING = frozenset({"+", "-", "*", "/", "%", "^", "**"})
_ARROWS = frozenset({"=>", "->", "<-", "==>", "<==", "-->", "<--", ":=", "<->", "<=>"})
_BRACKETS = frozenset("[]{}")


@dataclass(slots=True)
class _Uses:
    """The names in a rulesheet, each with the offset of its first occurrence.

    Attributes:
        symbols: names of constants, functions and relations.
        heads, bodies: relations in heads and in bodies.
        in_heads, in_bodies: functions in heads, and in conditions other than `distinct`.
        functions: functions anywhere.
    """

    symbols: dict[str, int] = field(default_factory=dict)
    heads: dict[Signature, int] = field(default_factory=dict)
    bodies: dict[Signature, int] = field(default_factory=dict)
    in_heads: dict[Signature, int] = field(default_factory=dict)
    in_bodies: dict[Signature, int] = field(default_factory=dict)
    functions: dict[Signature, int] = field(default_factory=dict)


def check_notation(rulesheet: Rulesheet, report: Diagnosis) -> None:
    """Report brackets, commas, arrows, arithmetic and misspelled keywords."""
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
            keyword = nearest(name, KEYWORD_ARITY)
            if keyword is not None and keyword not in ("true", "does", "distinct"):
                message = f"nothing uses the relation `{name}`; did you mean `{keyword}`?"
                report.breach("unused", message, place)
    for function, place in uses.functions.items():
        name = function[0]
        if name in _CALCULATING and not (function in uses.in_heads and function in uses.in_bodies):
            message = f"`{name}` does not calculate: it is a name like any other{OPERATORS[name]}"
            report.breach("notation", message, place)
        elif name in _ARROWS and not (function in uses.in_heads and function in uses.in_bodies):
            message = f"`{name}` means nothing in GDL; a rule is written (<= head condition ...)"
            report.breach("notation", message, place)


def _check_variables(rulesheet: Rulesheet, report: Diagnosis) -> None:
    """Report constants of KIF that look like variables of Prolog and are used like them.

    Such a constant begins with a capital letter, while not all keywords do. It occurs in two atoms
    of one rule, but not as a whole fluent, move or percept, and in no fact.
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
        atoms = [term for term in (rule.head, *conditions(rule)) if isinstance(term, Compound)]
        tables = [{s.name: s for s in _inside(atom) if s.name in capitals} for atom in atoms]
        for name, times in Counter(name for table in tables for name in table).items():
            if times > 1:
                capitals.remove(name)
                place = next(table[name].start for table in tables if name in table)
                text = f"`{spelling[name]}` is a constant; a variable is written ?{spelling[name]}"
                report.breach("notation", text, place)


def _inside(atom: Compound) -> Iterator[Symbol]:
    """Yield the constants in an atom, except one that is a whole fluent, move or percept."""
    for arg in atom.args:
        for part in _parts(arg):
            whole = part is atom.args[-1] and signature(atom) in _NAMING
            if isinstance(part, Symbol) and not whole:
                yield part


def check_control(rules: Sequence[Rule], roles: Sequence[str], report: Diagnosis) -> None:
    """Warn if `control` seems to say who moves, as in pyggp, but no `legal` depends on it."""
    control_facts = [Compound("init", (Compound("control", (Symbol(role),)),)) for role in roles]
    first = next((rule for rule in rules if rule.head in control_facts), None)
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
        "no `legal` depends on `control`, which alone means nothing in GDL: all roles move in "
        "every turn (in pyggp, only roles that have it)"
    )
    report.breach("control", message, first.start)


def _uses_in(rulesheet: Rulesheet) -> _Uses:
    uses = _Uses()
    for rule in rulesheet.rules:
        if signature(rule.head) in IGNORED:
            continue
        uses.heads.setdefault(signature(rule.head), rule.head.start)
        _note(uses, rule.head, uses.in_heads)
        for atom in conditions(rule):
            if isinstance(atom, Variable):
                continue
            uses.bodies.setdefault(signature(atom), atom.start)
            _note(uses, atom, uses.in_bodies if atom.name not in CONNECTIVES else None)
    return uses


def _note(uses: _Uses, atom: Term, into: dict[Signature, int] | None) -> None:
    for term in _parts(atom):
        uses.symbols.setdefault(term.name, term.start)
        if isinstance(term, Compound) and term is not atom:
            uses.functions.setdefault(signature(term), term.start)
            if into is not None:
                into.setdefault(signature(term), term.start)


def _parts(term: Term) -> Iterator[Symbol | Compound]:
    """Yield the term and all terms inside it, except variables."""
    pending = [term]
    while pending:
        item = pending.pop()
        if isinstance(item, Variable):
            continue
        yield item
        if isinstance(item, Compound):
            pending.extend(reversed(item.args))
