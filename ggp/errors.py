"""Every error that this package raises, in one hierarchy.

An error carries the objects it concerns, and its message states the problem, the place and the
remedy. Third-party errors (lark, pyswip) are wrapped in the one module that owns the library.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ggp.gdl.source import Diagnostic

NOTE = 25
"""Level of log messages that everybody should see although nothing is wrong: between
`logging.INFO` and `logging.WARNING`."""


class GGPError(Exception):
    """Base of all errors of ggp and match_runner. All can be pickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(kind: type[GGPError], args: tuple[object, ...], fields: dict[str, object]) -> GGPError:
    """A pickled error, rebuilt without calling its `__init__`."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class GDLError(GGPError):
    """A rulesheet, or a single term, that cannot be used.

    Attributes:
        diagnostics: all errors and warnings, in text order; the message consists of the errors,
            of which there is at least one.
        rule: short name of the rule that the first error breaks, printed in brackets.
        line: 1-based line of the first error; 0 if there is no text to point at.
        column: 1-based column of the first error; 0 if there is no text to point at.
        context: the line of text that the first error points at; "" if there is none.
    """

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        first = next(problem for problem in diagnostics if problem.severity == "error")
        self.rule, self.line, self.column = first.rule, first.line, first.column
        self.context = first.context


class GDLSyntaxError(GDLError):
    """A text that is not GDL in any syntax that this package reads."""


class GDLValidationError(GDLError):
    """A text that is GDL but unplayable, since it breaks a rule of the language."""


class MachineError(GGPError):
    """A failure of a game machine."""


class IllegalMoveError(MachineError):
    """A move that is not legal in the current state.

    Attributes:
        role: name of the role.
        move: the move as KIF.
        legal: the legal moves as KIF, sorted.
    """

    def __init__(self, role: str, move: str, legal: Sequence[str]) -> None:
        self.role, self.move, self.legal = role, move, tuple(legal)
        moves_text = ", ".join(self.legal[:20]) + (", ..." if len(self.legal) > 20 else "")
        super().__init__(f"{move} is not legal for {role}; legal moves: {moves_text}")


class NoLegalMoveError(MachineError):
    """A role that has no legal move in a non-terminal state.

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
        cause: the part of the rules that is the cause; empty if unknown.
    """

    def __init__(self, limit: str, reached: float, doing: str, cause: str = "") -> None:
        self.limit, self.reached, self.doing, self.cause = limit, reached, doing, cause
        super().__init__(
            f"{doing} passed the limit of {reached:,.0f} {limit}; "
            f"{cause or 'the rules loop or explode'}, or the limit must be raised"
        )

    def because(self, cause: str) -> ReasonerLimitError:
        """The same error with its cause in the rules; empty leaves the cause unchanged."""
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
    """A failed import of a module that every installation has.

    Attributes:
        reason: Python's message.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the installation of ggp-hyperplay is broken: {reason}; install it again with "
            "`pip install --force-reinstall` from its checkout or wheel"
        )


class BeliefDepletedError(GGPError):
    """A search that found no complete path for an incomplete path.

    Attributes:
        path: the incomplete path, one "move / percepts" text per turn.
        attempts: number of lanes stepped in the search.
        exhausted: whether the search was complete: then no such path exists.
    """

    SHOWN = 4
    """Number of turns in the message, counted from the end."""

    def __init__(self, path: Sequence[str], attempts: int, *, exhausted: bool) -> None:
        self.path, self.attempts, self.exhausted = tuple(path), attempts, exhausted
        finding = "no complete path agrees" if exhausted else "no complete path was found to agree"
        reason = ": this history contradicts the rules" if exhausted else ""
        earlier = len(self.path) - self.SHOWN
        omitted = [f"({earlier} earlier)"] if earlier > 0 else []
        super().__init__(
            f"{finding} with these {len(self.path)} turns after {attempts} attempts{reason}: "
            + (" | ".join([*omitted, *self.path[-self.SHOWN :]]) or "(start of the game)")
        )


class SnapshotError(GGPError):
    """A stored belief that cannot be read: it is damaged, or belongs to another game."""


class ProtocolError(GGPError):
    """A violation of the protocol of game servers."""


class LocalProtocolError(ProtocolError):
    """Our own mistake: an action that the protocol forbids at this point."""


class RemoteProtocolError(ProtocolError):
    """The peer's mistake: a text that is neither message nor reply, or exceeds a limit."""


class MatchError(GGPError):
    """A match that cannot be played or replayed."""


class SolvingError(GGPError):
    """A game that cannot be solved exactly; the message gives the reason."""


class ConfigError(GGPError):
    """An unknown game, role, player, option or history; the message lists the valid ones."""


class PlayerError(ConfigError):
    """An exception in the code of a third-party player; `__cause__` is that exception, if known."""


class ResultsError(GGPError):
    """Results that cannot be stored, for example on a full disk; the input is fine."""
