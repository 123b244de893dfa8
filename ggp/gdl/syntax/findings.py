"""Collects the diagnostics of one text while it is parsed."""

from __future__ import annotations

from collections import Counter

from ggp.errors import GDLSyntaxError
from ggp.gdl.source import Diagnostic, Severity, Source, diagnose, errors, joined, printable

# Text that is not GDL has a problem every few characters; the first ones are enough.
_MAX_LISTED = 1000


class Findings:
    """The diagnostics of one source, reported in any order.

    With `lenient`, errors become warnings, and the parser leaves out the text in question. At most
    1,000 errors and 1,000 warnings are listed; one more diagnostic counts the others.
    """

    def __init__(self, source: Source, *, lenient: bool = False) -> None:
        self.source, self.lenient = source, lenient
        self._diagnostics: list[tuple[int, int, Diagnostic]] = []
        self._num: Counter[Severity] = Counter()
        self._num_unreadable = 0

    def error(self, rule: str, message: str, offset: int) -> None:
        """Report a text that cannot be parsed."""
        self._num_unreadable += 1
        if self.lenient:
            self._add("warning", rule, f"{message}; left out", offset)
        else:
            self._add("error", rule, message, offset)

    def warn(self, rule: str, message: str, offset: int) -> None:
        """Report a repair."""
        self._add("warning", rule, message, offset)

    @property
    def num_unreadable(self) -> int:
        """Number of calls of `error`, listed or not."""
        return self._num_unreadable

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
        problems = errors(everything)
        first = problems[0]
        return GDLSyntaxError(
            joined(problems),
            diagnostics=everything,
            line=first.line,
            column=first.column,
            context=first.context,
        )

    def _add(self, severity: Severity, rule: str, message: str, offset: int) -> None:
        self._num[severity] += 1
        if self._num[severity] <= _MAX_LISTED:
            diagnostic = diagnose(self.source, severity, rule, message, offset)
            self._diagnostics.append((offset, len(self._diagnostics), diagnostic))


def quoted(text: str) -> str:
    """A piece of text for a message: in back quotes, on one line, shortened."""
    return f"`{printable(text if len(text) <= 40 else text[:37] + '...')}`"
