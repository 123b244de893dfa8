"""What the parsers of both syntaxes do alike while they read one text.

`Findings` collects the diagnostics, `Builder` makes lists and facts, `Tuples` finds terms without a
name, `FoldedNames` folds names to lower case, and `well_shaped` refuses rules that later stages
cannot represent.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from lark import Token, Transformer

from ggp.errors import GDLSyntaxError
from ggp.gdl.source import Diagnostic, Severity, Source, diagnose, errors, joined, printable
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable, variables

# Text that is not GDL has a problem every few characters; the first ones are enough.
_MAX_LISTED = 1000


class Findings:
    """The diagnostics of one source, reported in any order.

    With `lenient`, errors become warnings, and the parser leaves out the text in question. At most
    1,000 errors and 1,000 warnings are listed; one more diagnostic counts the others.

    Attributes:
        num_unreadable: number of calls of `error`, listed or not.
    """

    def __init__(self, source: Source, *, lenient: bool = False) -> None:
        self.source, self.lenient = source, lenient
        self._diagnostics: list[tuple[int, int, Diagnostic]] = []
        self._num: Counter[Severity] = Counter()
        self.num_unreadable = 0

    def error(self, rule: str, message: str, offset: int) -> None:
        """Report a text that cannot be parsed."""
        self.num_unreadable += 1
        if self.lenient:
            self._add("warning", rule, f"{message}; left out", offset)
        else:
            self._add("error", rule, message, offset)

    def warn(self, rule: str, message: str, offset: int) -> None:
        """Report a repair."""
        self._add("warning", rule, message, offset)

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All diagnostics, in text order."""
        listed = [diagnostic for _, _, diagnostic in sorted(self._diagnostics, key=lambda f: f[:2])]
        for severity, num in self._num.items():
            if num > _MAX_LISTED:
                message = f"{num - _MAX_LISTED:,} more {severity}s are not listed"
                listed.append(diagnose(self.source, severity, "too-many", message, -1))
        return tuple(listed)

    def raise_errors(self) -> None:
        """Raise `GDLSyntaxError` about all errors, if there are any."""
        if self._num["error"]:
            raise self.syntax_error()

    def syntax_error(self) -> GDLSyntaxError:
        """The exception that lists all errors; there must be at least one."""
        everything = self.diagnostics()
        return GDLSyntaxError(joined(errors(everything)), everything)

    def _add(self, severity: Severity, rule: str, message: str, offset: int) -> None:
        self._num[severity] += 1
        if self._num[severity] <= _MAX_LISTED:
            diagnostic = diagnose(self.source, severity, rule, message, offset)
            self._diagnostics.append((offset, len(self._diagnostics), diagnostic))


class Builder(Transformer[Token, object]):
    """Builds lists and facts while a parser reduces."""

    def first(self, children: list[Any]) -> list[Any]:
        return children

    def appended(self, children: list[Any]) -> list[Any]:
        terms: list[Any] = children[0]
        terms.append(children[1])
        return terms

    def fact(self, children: list[Term]) -> Rule:
        return Rule(children[0], (), children[0].start)


def start_of(token: Token) -> int:
    """The character offset of a token, -1 if it has none."""
    return -1 if token.start_pos is None else token.start_pos


def quoted(text: str) -> str:
    """A piece of text for a message: in back quotes, on one line, shortened."""
    return f"`{printable(text if len(text) <= 40 else text[:37] + '...')}`"


# ------------------------------------------------------------------------
# Tuples: terms without a name, such as `(X, 1)` in infix syntax and `(?n coins)` in KIF.
#
# GDL has none, but some rulesheets use them. They are parsed as terms of the function `tuple`, and
# printed without it again. In KIF, `(3 coins)` may be a term with a name or a tuple, and must be
# the same kind as `(?n coins)` where the two meet. So wherever a list may begin with a variable or
# a list, all lists of the same length are tuples. Terms meet in an argument of a relation or
# function, or in a variable; `Tuples` computes these classes of places with union-find.

TUPLE = "tuple"
"""The function of all tuples."""

UNNAMED = {TUPLE: ""}
"""Spells `(tuple a b)` as `(a b)`; see `spelled`."""

_SHARED = {("init", 1): "true", ("next", 1): "true", ("does", 2): "legal", ("sees", 2): "legal"}
"""Relations that share a place: those of fluents; and those of moves and percepts, since messages
may hold either."""

_MOVE = ("legal", 2, 1)
_DID_MOVE = ("did", 2, 1, "in")
"""The place of the move in a percept `(did ROLE MOVE)` of plain GDL."""

_Place = Hashable
"""A place for terms: an argument of a relation or function, or a variable of a rule."""


def warn_of_tuples(rules: Sequence[Rule], named: Collection[int], findings: Findings) -> bool:
    """Whether there are tuples without a name; warns about the first.

    Args:
        named: the offsets of terms with the explicit name `tuple`.
    """
    starts = {
        term.start: term
        for number, rule in enumerate(rules)
        for _, term in _terms(rule, number)
        if isinstance(term, Compound) and term.name == TUPLE and term.start not in named
    }
    if starts:
        first = starts[min(starts)]
        message = f"this term has no name, as terms of GDL have; read as {quoted(str(first))}"
        findings.warn("tuple", message, first.start)
    return bool(starts)


class Tuples:
    """Finds the tuples of a KIF rulesheet.

    Args:
        rules: the parsed rules, in which lists that begin with a variable or a list are terms of
            `TUPLE` already.

    Attributes:
        rules: the rules with all tuples as terms of `TUPLE`.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._parents: dict[_Place, _Place] = {}
        self._lengths: dict[_Place, set[int]] = defaultdict(set)
        self._named: dict[_Place, list[tuple[str, int]]] = defaultdict(list)
        self._changed: list[_Place] = []
        self._merge(_DID_MOVE, _MOVE)
        for number, rule in enumerate(rules):
            for place, term in _terms(rule, number):
                if isinstance(term, Variable):
                    self._merge(place, (number, term.name))
                elif isinstance(term, Compound) and term.name == TUPLE:
                    self._lengths[self._root(place)].add(len(term.args))
                elif isinstance(term, Compound):
                    self._named[self._root(place)].append((term.name, len(term.args)))
        self._changed += self._lengths
        while self._changed:
            self._take_names(self._root(self._changed.pop()))
        self.rules = tuple(
            Rule(head, tuple(body), rule.start)
            for number, rule in enumerate(rules)
            for head, *body in [[self._in_condition(x, number) for x in (rule.head, *rule.body)]]
        )

    def __bool__(self) -> bool:
        return any(self._lengths.values())

    def in_message(self, term: Term) -> Term:
        """A move or percept from a message, with all tuples in it as terms of `TUPLE`."""
        return self._in_term(term, _MOVE)

    def _in_term(self, term: Term, place: _Place) -> Term:
        if not isinstance(term, Compound):
            return term
        name, args = term.name, term.args
        if name != TUPLE and self._is_tuple(place, len(args) + 1):
            name, args = TUPLE, (Symbol(name, term.start), *args)
        inner = [self._in_term(arg, (name, len(args), i, "in")) for i, arg in enumerate(args)]
        return Compound(name, tuple(inner), term.start)

    def _in_condition(self, term: Term, rule: int) -> Term:
        if not isinstance(term, Compound):
            return term
        if term.name in CONNECTIVES - {"distinct"}:
            args = [self._in_condition(arg, rule) for arg in term.args]
        else:
            args = [self._in_term(arg, place) for place, arg in _arguments(term, rule)]
        return Compound(term.name, tuple(args), term.start)

    def _take_names(self, root: _Place) -> None:
        """Make tuples of named lists at a place that has tuples of their length."""
        lengths, named = self._lengths[root], dict.fromkeys(self._named.pop(root, ()))
        self._named[root] = [key for key in named if key[1] + 1 not in lengths]
        for name, num in named:
            for i in range(num if num + 1 in lengths else 0):
                self._merge((name, num, i, "in"), (TUPLE, num + 1, i + 1, "in"))

    def _is_tuple(self, place: _Place, num: int) -> bool:
        """Whether lists of `num` terms are tuples at a place."""
        return num in self._lengths.get(self._root(place), ())

    def _root(self, place: _Place) -> _Place:
        while place in self._parents:
            above = self._parents[place]
            self._parents[place] = self._parents.get(above, above)
            place = above
        return place

    def _merge(self, source: _Place, target: _Place) -> None:
        source, target = self._root(source), self._root(target)
        if source == target:
            return
        self._parents[source] = target
        self._lengths[target] |= self._lengths.pop(source, set())
        self._named[target] += self._named.pop(source, ())
        self._changed.append(target)


def _arguments(atom: Compound, rule: int) -> Iterator[tuple[_Place, Term]]:
    """Yield each argument of a relation, with its place."""
    num = len(atom.args)
    name = _SHARED.get((atom.name, num), atom.name)
    for i, arg in enumerate(atom.args):
        yield (name, num, i) if name != "distinct" else (name, rule, atom.args), arg


def _terms(rule: Rule, number: int) -> Iterator[tuple[_Place, Term]]:
    """Yield each term in the relations of a rule, with its place."""
    conditions = [rule.head, *rule.body]
    while conditions:
        atom = conditions.pop()
        if not isinstance(atom, Compound):
            continue
        if atom.name in CONNECTIVES - {"distinct"}:
            conditions += atom.args
            continue
        pending = list(_arguments(atom, number))
        while pending:
            place, term = pending.pop()
            yield place, term
            if isinstance(term, Compound):
                num = len(term.args)
                pending += [((term.name, num, i, "in"), arg) for i, arg in enumerate(term.args)]


# ------------------------------------------------------------------------
# Folds names to lower case, and restores their original spelling in answers.

ARROWS = frozenset({"<=", ":-"})
"""Words that begin a rule in KIF: they may be constants, but not relations or functions."""

MAX_CHARACTERS = 1_000
"""Greatest length of a name; the longest name in 300 rulesheets from elsewhere has 60."""

# Folding must not depend on the rest of the text, so all modules use `str.lower`.
_SYMBOL = re.compile(r"[^\s();?\ufeff][^\s();\ufeff]*")
_SYMBOL_OR_VARIABLE = re.compile(r"[^\s();\ufeff]+")


class FoldedNames:
    """Folds the names of one text, and warns once about each constant with two spellings.

    Attributes:
        spelling: folded name -> first spelling, where that is not lower case.
        mixed_variables: whether any variable name has two spellings. These clash only within one
            rule: see `warn_of_mixed_variables`.
    """

    def __init__(self, findings: Findings) -> None:
        self.spelling: dict[str, str] = {}
        self.mixed_variables = False
        self._findings = findings
        self._first: dict[str, str] = {}
        self._clashing: set[str] = set()
        self._variables: dict[str, str] = {}

    def constant(self, spelled: str, offset: int) -> str:
        """The folded name of a constant, relation or function."""
        spelled = self._bounded(spelled, offset)
        name = spelled.lower()
        first = self._first.setdefault(name, spelled)
        if first == spelled:
            if name != spelled:
                self.spelling[name] = spelled
        elif name not in self._clashing:
            self._clashing.add(name)
            self._findings.warn(
                "case-clash",
                f"{quoted(spelled)} was spelled {quoted(first)} before; upper and lower case "
                "are the same, so both are one name",
                offset,
            )
        return name

    def variable(self, spelled: str, offset: int) -> str:
        """The folded name of a variable, given without a leading `?`."""
        spelled = self._bounded(spelled, offset)
        name = spelled.lower()
        if self._variables.setdefault(name, spelled) != spelled:
            self.mixed_variables = True
        return name

    def _bounded(self, spelled: str, offset: int) -> str:
        if len(spelled) <= MAX_CHARACTERS:
            return spelled
        message = f"a name may not have more than {MAX_CHARACTERS:,} characters"
        self._findings.error("size", message, offset)
        return spelled[:MAX_CHARACTERS]


def is_symbol(name: str) -> bool:
    """Whether a name can be written as a constant in KIF."""
    return _SYMBOL.fullmatch(name) is not None


def spelled(text: str, spelling: Mapping[str, str]) -> str:
    """The text of canonical KIF in the spelling of a rulesheet.

    Other programs distinguish upper from lower case, so they get names in this spelling. Tuples
    have no name if they have none in the rulesheet.

    Args:
        text: terms or rules, without comments.
        spelling: folded name -> spelling, as in `Rulesheet.spelling`.
    """
    if spelling.get(TUPLE) == "":
        text = text.replace(f"({TUPLE} ", "(")
    return _SYMBOL_OR_VARIABLE.sub(lambda word: spelling.get(word[0]) or word[0], text)


def warn_of_mixed_variables(
    rules: Iterable[Rule], spelled: re.Pattern[str], findings: Findings
) -> None:
    """Warn about variables with two spellings in one rule, once for each name.

    Args:
        spelled: matches the spelling of a variable in the text.
    """
    clashing: set[str] = set()
    for rule in rules:
        first: dict[str, str] = {}
        for variable in chain.from_iterable(map(variables, (rule.head, *rule.body))):
            match = spelled.match(findings.source.text, variable.start)
            spelling = match.group() if match else str(variable)
            first_spelling = first.setdefault(variable.name, spelling)
            if first_spelling != spelling and variable.name not in clashing:
                clashing.add(variable.name)
                findings.warn(
                    "case-clash",
                    f"{quoted(spelling)} was spelled {quoted(first_spelling)} before in this rule; "
                    "both are one variable",
                    variable.start,
                )


# ------------------------------------------------------------------------
# Checks the shape of each parsed rule, in either syntax: its size, nesting and connectives.
#
# Only rules that later stages cannot represent are refused here; `formal` checks their meaning.

MAX_NESTING = 100
"""Greatest nesting of terms, so that later stages can recurse over them."""

MAX_PARTS = 5_000
"""Greatest number of names, variables and connectives in a rule; the largest in 300 rulesheets from
elsewhere has some 250. The time for a rule may grow with the square of its size."""


def is_small(rule: Rule, findings: Findings) -> bool:
    """Whether a rule has at most `MAX_PARTS` parts; reports it if not."""
    num, pending = 0, [rule.head, *rule.body]
    while pending:
        num += 1
        item = pending.pop()
        if isinstance(item, Compound):
            pending += item.args
        if num > MAX_PARTS:
            message = f"a rule may not have more than {MAX_PARTS:,} names and variables"
            findings.error("size", message, rule.start)
            return False
    return True


def nesting(term: Term) -> int:
    """The number of compounds around the innermost argument of a term."""
    deepest, pending = 0, [(term, 1)]
    while pending:
        item, depth = pending.pop()
        if isinstance(item, Compound):
            deepest = max(deepest, depth)
            pending += [(arg, depth + 1) for arg in item.args]
    return deepest


def too_deep(findings: Findings, offset: int) -> None:
    """Report that a term nests too deeply."""
    findings.error("nesting", f"terms may not nest deeper than {MAX_NESTING} levels", offset)


def well_shaped(rule: Rule, findings: Findings) -> bool:
    """Whether head and conditions are relations or connectives; reports others."""
    head, num_before = rule.head, findings.num_unreadable
    if isinstance(head, Variable):
        _variable_as_relation(head, findings)
    elif head.name in CONNECTIVES:
        findings.error(
            "connective-head", f"{quoted(head.name)} cannot be the head of a rule", head.start
        )
    for condition in rule.body:
        _check_condition(condition, findings)
    return findings.num_unreadable == num_before and is_small(rule, findings)


def _check_condition(condition: Term, findings: Findings) -> None:
    if isinstance(condition, Variable):
        _variable_as_relation(condition, findings)
    elif condition.name in CONNECTIVES:
        args = condition.args if isinstance(condition, Compound) else ()
        _check_number(condition, len(args), findings)
        if condition.name != "distinct":
            for arg in args:
                _check_condition(arg, findings)


def _check_number(connective: Symbol | Compound, num: int, findings: Findings) -> None:
    name = connective.name
    arity = {"not": 1, "distinct": 2}.get(name)
    if num == arity or (num and arity is None):
        return
    takes = {"not": "one condition", "distinct": "two terms"}.get(name, "at least one condition")
    findings.error(
        "connective-arguments", f"{quoted(name)} takes {takes}, not {num}", connective.start
    )


def _variable_as_relation(variable: Variable, findings: Findings) -> None:
    findings.error(
        "variable-relation",
        f"the variable {quoted(str(variable))} cannot stand where a relation must be",
        variable.start,
    )
