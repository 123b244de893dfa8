"""Folds names to lower case, and restores their original spelling in answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from ggp.gdl.syntax.findings import Findings, quoted
from ggp.gdl.syntax.tuples import TUPLE
from ggp.gdl.terms import Rule, Variable, variables

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
    rules: Iterable[Rule], spelled: Callable[[Variable], str], findings: Findings
) -> None:
    """Warn about variables with two spellings in one rule, once for each name."""
    clashing: set[str] = set()
    for rule in rules:
        first: dict[str, str] = {}
        for variable in chain.from_iterable(map(variables, (rule.head, *rule.body))):
            spelling = spelled(variable)
            first_spelling = first.setdefault(variable.name, spelling)
            if first_spelling != spelling and variable.name not in clashing:
                clashing.add(variable.name)
                findings.warn(
                    "case-clash",
                    f"{quoted(spelling)} was spelled {quoted(first_spelling)} before in this rule; "
                    "both are one variable",
                    variable.start,
                )
