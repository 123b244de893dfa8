"""Reads the log of a match that our server played elsewhere (`ggp serve --log`).

The log has the messages that came, and the decisions; it may end in the middle of a line. A lobby
rebuilds the role's incomplete path from the messages, just as the server did. The terminal and the
table show the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ggp.errors import ConfigError, MatchError
from ggp.gdl import parse
from ggp.gdl.analysis.told_moves import PLAIN, never_tells
from ggp.gdl.normalize import normalize
from ggp.players import Decision
from ggp.players.elsewhere.from_json import decision_from_json
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import Stop
from ggp.protocol.path import History, PathTurn, read_news
from ggp.protocol.retelling import FORMAT, SUFFIX, Retelling
from ggp.run.whole_files import read_whole

ALL_TOLD = f"(<= (sees ?r ({PLAIN} ?other ?move)) (role ?r) (does ?other ?move))"
"""Rule for the habit of servers of plain GDL: everybody sees all moves."""

_OVER = "stop"


_FIRST_EVENT = "begin"

LogLine = Mapping[str, Any]
"""One line of a log."""


def is_log(path: Path) -> bool:
    """Whether a file is the log of a match, by its name."""
    return path.suffix == SUFFIX


def read_log(path: Path) -> list[LogLine]:
    """Read the lines of a log, without a last line that was cut off.

    Raises:
        ConfigError: there is no such file, it cannot be read, or it is not the log of a match;
            says which line is wrong.
    """
    lines = read_whole(path).split(b"\n")
    events = []
    for number, line in enumerate(lines[:-1], start=1):
        events.append(_event(line, f"{path}, line {number}"))
    if not events or events[0]["event"] != _FIRST_EVENT:
        raise ConfigError(f"{path} does not begin like the log of a match")
    if events[0].get("format") != FORMAT:
        version = json.dumps(events[0].get("format"))
        raise ConfigError(f"{path}: format {version} is not known; this version reads {FORMAT}")
    return events


def _event(line: bytes, line_name: str) -> LogLine:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{line_name} is not JSON: {error}") from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ConfigError(f"{line_name} must be an object with the field `event`")
    if not isinstance(event.get("t"), int | float):
        raise ConfigError(f"{line_name} must have the number `t`")
    return event


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """Our answer in a turn.

    Attributes:
        move: in canonical KIF.
        source: worker that chose the move, or another source.
        decision: the decision; None if the log does not have it.
    """

    move: str | None
    source: str
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class LoggedMatch:
    """A match as its log describes it.

    Attributes:
        id: the game server's id of the match.
        role: our role.
        player: spec of our player.
        rules: text of a playable rulesheet.
        turns: our incomplete path.
        answers: our answers, by the number of turns played before.
        why: why the match ended, in the log's words; None if the log does not say that it ended.
    """

    id: str
    role: str
    player: str
    seed: int
    rules: str
    turns: History
    answers: Mapping[int, SentAnswer]
    why: str | None

    @property
    def is_over(self) -> bool:
        """Whether the game was played to its end."""
        return self.why == _OVER


def read_logged_match(path: Path) -> LoggedMatch:
    """Read the match in a log.

    Raises:
        ConfigError: the file cannot be read, or is not the log of a match.
        GDLError: its rules cannot be used.
    """
    events = read_log(path)
    try:
        return _match(events)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be replayed: {error!r}") from error


def _match(events: Sequence[LogLine]) -> LoggedMatch:
    begin = events[0]
    lobby = Lobby("reader")
    retelling = Retelling(lobby)
    answers: dict[int, SentAnswer] = {}
    turns: History = ()
    why = None
    for event in events:
        # Look before the event: a session that is over keeps nothing.
        session = None if retelling.ask is None else lobby.session(retelling.ask.match)
        rules = None if session is None else session.outline
        receipt = retelling.tell(event, float(event["t"]))
        if event["event"] == "decision":
            answers[int(event["turn"])] = _answer_of(event)
        elif event["event"] == "end":
            why = str(event["why"])
        if receipt is None or retelling.ask is None:
            continue
        if receipt.ask is not None:
            turns = receipt.ask.history
        elif isinstance(receipt.message, Stop) and rules is not None and retelling.ask.wants_move:
            stop = receipt.message
            last_turn = read_news(stop, rules, str(begin["role"]))
            answer = answers.get(len(turns))
            submitted = None if answer is None else answer.move
            if rules.is_gdl2 or stop.terms is not None:  # else the log lacks the last turn
                turns = (*turns, PathTurn(last_turn.move, last_turn.percepts, submitted))
    if retelling.opening is None:
        raise ValueError("it does not hold the start message")
    return LoggedMatch(
        id=str(begin["match"]),
        role=retelling.opening.role,
        player=str(begin["player"]),
        seed=int(begin["seed"]),
        rules=_playable(retelling.opening.rules, turns),
        turns=turns,
        answers=answers,
        why=why,
    )


def _answer_of(event: LogLine) -> SentAnswer:
    decision = None
    if isinstance(event["particles"], int):
        decision = decision_from_json(dict(event), "decision", MatchError)
    return SentAnswer(event["move"], str(event["source"]), decision)


def _playable(rules: str, turns: History) -> str:
    """The rules as the server played them: repaired, and with its percepts of moves, if any."""
    program = normalize(parse(rules, "the rules", lenient=True), lenient=True)
    text = "\n".join(map(str, program.rules)) if program.diagnostics else rules
    if never_tells(program) and any(turn.shows_moves(program.roles) for turn in turns):
        return f"{text}\n{ALL_TOLD}\n"
    return text
