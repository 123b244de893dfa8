"""Every error this package raises, in one hierarchy.

Errors carry the objects they are about, and their message says what was wrong, where, and
what to do. Third-party errors (lark, pyswip) are wrapped in the one module that owns the
library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggp.gdl.source import Diagnostic

NOTE = 25
"""Level of log messages that everybody should see, though nothing is wrong: between
`logging.INFO` and `logging.WARNING`."""


class GGPError(Exception):
    """Base of all errors of ggp and match_runner; all of them can be pickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[GGPError], args: tuple[object, ...], about: dict[str, object]) -> GGPError:
    """Rebuild a pickled error."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(about)
    return error


class GDLError(GGPError):
    """A rulesheet, or a single term, that cannot be used.

    Attributes:
        diagnostics: every problem found in the text, errors and warnings, in text order. The
            error's message is made of its errors. Empty when a single term was at fault.
        line: 1-based line of the first error, 0 when there is no text to point at.
        column: 1-based column of the first error, 0 when there is no text to point at.
        context: the line of text the first error points at, "" when there is none.
    """

    def __init__(
        self,
        message: str,
        *,
        diagnostics: Sequence[Diagnostic] = (),
        line: int = 0,
        column: int = 0,
        context: str = "",
    ) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        self.line = line
        self.column = column
        self.context = context


class GDLSyntaxError(GDLError):
    """The text is not GDL in any syntax this package reads."""


class GDLValidationError(GDLError):
    """The text is GDL, but breaks a rule without which it cannot be played.

    Attributes:
        rule: short name of the broken rule, as printed in brackets after the message.
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str,
        diagnostics: Sequence[Diagnostic] = (),
        line: int = 0,
        column: int = 0,
        context: str = "",
    ) -> None:
        super().__init__(
            message, diagnostics=diagnostics, line=line, column=column, context=context
        )
        self.rule = rule


class MachineError(GGPError):
    """A game machine could not do what it was asked."""


class IllegalMoveError(MachineError):
    """A move that is not legal in the state in which it was to be played.

    Attributes:
        role: name of the role.
        move: the move as KIF.
        legal: the legal moves as KIF, sorted.
    """

    def __init__(self, role: str, move: str, legal: Sequence[str]) -> None:
        self.role, self.move, self.legal = role, move, tuple(legal)
        shown = ", ".join(self.legal[:20]) + (", ..." if len(self.legal) > 20 else "")
        super().__init__(f"{move} is not legal for {role}; legal moves: {shown}")


class NoLegalMoveError(MachineError):
    """A role without a legal move in a state that is not terminal.

    Attributes:
        role: name of the role.
        state: the fluents of the state as KIF, sorted.
    """

    def __init__(self, role: str, state: Sequence[str]) -> None:
        self.role, self.state = role, tuple(state)
        super().__init__(
            f"{role} has no legal move in a state that is not terminal: "
            f"{' '.join(self.state)}; the rulesheet must give every role a legal move "
            "until the game ends"
        )


class GoalError(MachineError):
    """Goal values that cannot be read as numbers."""


class ReasonerLimitError(MachineError):
    """A reasoner exceeded a limit of time, memory or inferences; it can be used again.

    Attributes:
        limit: the limit, with its unit ("inferences", "stack bytes", ...).
        reached: the bound that was exceeded.
        doing: the work that exceeded it.
        cause: the part of the rules that is to blame; empty if unknown.
    """

    def __init__(self, limit: str, reached: float, doing: str, cause: str = "") -> None:
        self.limit, self.reached, self.doing, self.cause = limit, reached, doing, cause
        super().__init__(
            f"{doing} passed the limit of {reached:,.0f} {limit}; "
            f"{cause or 'the rules loop or explode'}, or the limit must be raised"
        )

    def because(self, cause: str) -> ReasonerLimitError:
        """The same error with the known cause in the rules; empty for none."""
        return ReasonerLimitError(self.limit, self.reached, self.doing, cause or self.cause)


class BackendUnavailableError(MachineError):
    """A tool that a backend needs is missing or unusable.

    Attributes:
        tool: the missing tool.
        hint: what to install, and how.
    """

    def __init__(self, tool: str, hint: str) -> None:
        self.tool, self.hint = tool, hint
        super().__init__(f"{tool} is not usable: {hint}")


class InstallationError(GGPError):
    """Something that every installation has cannot be imported.

    Attributes:
        reason: Python's message.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the installation of ggp-hyperplay is broken: {reason}; install it again, with "
            "`pip install --force-reinstall` and the checkout or wheel that it is from"
        )


class BeliefDepletedError(GGPError):
    """No complete path was found that agrees with an incomplete path.

    Attributes:
        path: the incomplete path, one "move / percepts" text per turn.
        attempts: number of lanes stepped in the search.
        exhausted: true if the search was complete, so that no such path exists.
    """

    SHOWN = 4
    """Number of last turns that the message shows."""

    def __init__(self, path: Sequence[str], attempts: int, *, exhausted: bool) -> None:
        self.path, self.attempts, self.exhausted = tuple(path), attempts, exhausted
        found = "no complete path agrees" if exhausted else "no complete path was found to agree"
        so = ": what was told contradicts the rules" if exhausted else ""
        earlier = len(self.path) - self.SHOWN
        shown = [f"({earlier} earlier)"] if earlier > 0 else []
        super().__init__(
            f"{found} with these {len(self.path)} turns after {attempts} attempts{so}: "
            + (" | ".join([*shown, *self.path[-self.SHOWN :]]) or "(start of the game)")
        )


class ProtocolError(GGPError):
    """Something that the protocol of game servers does not allow."""


class LocalProtocolError(ProtocolError):
    """Our own mistake: an action that the protocol does not allow at this point."""


class RemoteProtocolError(ProtocolError):
    """The peer's mistake: text that is not a message or reply, or exceeds a limit."""


class MatchError(GGPError):
    """A match that cannot be played or replayed."""


class SolvingError(GGPError):
    """A game that cannot be solved exactly; the message says why."""


class ConfigError(GGPError):
    """An unknown game, role, player, option or history; the message says what is possible."""


class PlayerError(ConfigError):
    """A player from elsewhere whose own code raised: the cause, where it is known here."""


class ResultsError(GGPError):
    """Results that cannot be stored, such as on a full disk; nothing is wrong with the input."""
