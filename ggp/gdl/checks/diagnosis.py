"""Collecting the problems of one rulesheet while it is checked and normalised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ggp.errors import GDLValidationError
from ggp.gdl.source import Diagnostic, Rulesheet, Severity, diagnose, errors, joined

FORMAL_READER_RULES = frozenset(
    {
        "unbalanced",
        "empty-arguments",
        "empty-body",
        "empty-list",
        "stray-condition",
        "encoding",
        "tuple",
    }
)
"""Repairs made while reading that break the letter of the specification."""


class Diagnosis:
    """The problems of a rulesheet, with one entry for each place and rule.

    `strict` turns breaches of the formal rules that were repaired into errors, `lenient` turns
    flaws of single rules into warnings.
    """

    def __init__(self, rulesheet: Rulesheet, *, strict: bool, lenient: bool = False) -> None:
        self._source = rulesheet.source
        self._strict, self.lenient = strict, lenient
        self._is_used = True
        self._once: set[tuple[str, str]] = set()
        self._found: dict[tuple[str, str, int], Diagnostic] = {}
        for diagnostic in rulesheet.diagnostics:
            severity = diagnostic.severity
            if strict and diagnostic.rule in FORMAL_READER_RULES:
                severity = "error"
            key = (diagnostic.rule, diagnostic.message, len(self._found))
            self._found[key] = replace(diagnostic, severity=severity)

    @contextmanager
    def of_unused_rules(self) -> Iterator[None]:
        """Report problems meanwhile as breaches of the formal rules: nothing depends on them."""
        self._is_used = False
        try:
            yield
        finally:
            self._is_used = True

    def error(self, rule: str, message: str, offset: int) -> None:
        """Report a problem that makes the rulesheet unplayable."""
        self._add("error" if self._is_used or self._strict else "warning", rule, message, offset)

    def flaw(self, rule: str, message: str, remedy: str, offset: int) -> None:
        """Report a flaw that makes the rulesheet unplayable; if lenient, warn and add `remedy`."""
        if self.lenient:
            self._add("warning", rule, f"{message}: {remedy}", offset)
        else:
            self.error(rule, message, offset)

    def breach(self, rule: str, message: str, offset: int) -> None:
        """Report a breach of the formal rules that was repaired: an error only when strict."""
        self._add("error" if self._strict else "warning", rule, message, offset)

    def warn(self, rule: str, message: str, offset: int) -> None:
        """Warn of something that the formal rules allow but the author may not have meant."""
        self._add("warning", rule, message, offset)

    def warn_once(self, rule: str, message: str, offset: int) -> None:
        """Like `warn`, but only at the first place."""
        if (rule, message) not in self._once:
            self._once.add((rule, message))
            self.warn(rule, message, offset)

    def breach_once(self, rule: str, message: str, offset: int) -> None:
        """Like `breach`, but only at the first place."""
        if (rule, message) not in self._once:
            self._once.add((rule, message))
            self.breach(rule, message, offset)

    def line_of(self, offset: int) -> int:
        """The 1-based line of a character offset."""
        return self._source.position(offset)[0]

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything found, in text order."""
        return tuple(sorted(self._found.values(), key=lambda d: (d.line, d.column)))

    def raise_errors(self) -> None:
        """Raise `GDLValidationError` for all errors found, if there are any."""
        found = errors(self.diagnostics())
        if found:
            first = found[0]
            raise GDLValidationError(
                joined(found),
                rule=first.rule,
                diagnostics=self.diagnostics(),
                line=first.line,
                column=first.column,
                context=first.context,
            )

    def _add(self, severity: Severity, rule: str, message: str, offset: int) -> None:
        key = (rule, message, offset)
        if key not in self._found:
            self._found[key] = diagnose(self._source, severity, rule, message, offset)
