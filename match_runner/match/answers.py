"""Answers of players, as the referee takes them: a move or an error, in texts of bounded length."""

from __future__ import annotations

from dataclasses import dataclass

from ggp.gdl.source import printable
from ggp.players import Decision
from match_runner.match.apart import RaisedApartError
from match_runner.match.records import TurnRecord
from match_runner.remote.remote_players import MOST_SHOWN, RemoteAnswer


@dataclass(frozen=True, slots=True)
class Answer:
    """A player's answer, or the lack of one.

    Attributes:
        submitted: the move, in canonical KIF if it is a term; None without an answer.
        decision: None without an answer.
        may_count: false for an answer that is late or is not a move, whatever it says.
    """

    submitted: str | None
    decision: Decision | None
    may_count: bool = True


def decision_of(answer: RemoteAnswer) -> Decision | None:
    """Decision of a remote player, of which only the move and the time it took are known."""
    if answer.submitted is None:
        return None
    return Decision(answer.submitted, (), 0, False, 0, answer.seconds)


def was_replaced(turn: TurnRecord, role: str) -> bool:
    """Whether a role's move was drawn instead of the one it asked for."""
    if turn.submitted[role] != turn.joint_move[role]:
        return True
    return any(fault.role == role and fault.kind == "late" for fault in turn.faults)


def clipped(move: str) -> str:
    """A move that may come from anybody, on one line of bounded length."""
    line = printable(move)
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]}..."


def shown_error(error: BaseException) -> str:
    """An exception of a player on one line; from another process, its text has the type too."""
    if isinstance(error, RaisedApartError):
        return one_line(str(error))
    return f"{type(error).__name__}: {one_line(str(error))}"


def one_line(text: str) -> str:
    """A text with each run of white space, line breaks included, made one space."""
    return " ".join(text.split())
