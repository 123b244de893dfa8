"""The log of a match that `ggp serve` played elsewhere (`ggp.protocol.retelling`), to be replayed.

The log has the messages that came, and what was decided. From the messages a lobby makes the role's
incomplete path once more, just as the server did. `log_frames` draws what follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ggp.errors import ConfigError, MatchError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.telling import PLAIN, never_tells
from ggp.players import Decision
from ggp.players.decision_json import decision_from_json
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import Stop
from ggp.protocol.retelling import Retelling
from ggp.protocol.turns import History, PathTurn, read_heard
from match_runner.log_views import LogLine, read_log

ALL_TOLD = f"(<= (sees ?r ({PLAIN} ?other ?move)) (role ?r) (does ?other ?move))"
"""What servers of plain GDL do, as a rule."""

_OVER = "stop"


@dataclass(frozen=True, slots=True)
class Sent:
    """What was answered in a turn.

    Attributes:
        move: canonical KIF.
        source: which worker found it, or what else it comes from.
        decision: what was thought; None if that is not in the log.
    """

    move: str | None
    source: str
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class LoggedMatch:
    """What a log says of a match.

    Attributes:
        id: as the server sent it.
        role: ours.
        player: its spec.
        rules: text of a rulesheet that can be played as it is.
        turns: our incomplete path.
        sent: by turns played before.
        why: the match ended, as the log says it; None where it does not.
    """

    id: str
    role: str
    player: str
    seed: int
    rules: str
    turns: History
    sent: Mapping[int, Sent]
    why: str | None

    @property
    def is_over(self) -> bool:
        """Whether the game came to its end."""
        return self.why == _OVER


def read_logged_match(path: Path) -> LoggedMatch:
    """The match in a log.

    Raises:
        ConfigError: the file cannot be read, or is no log of a match.
        GDLError: its rules cannot be used.
    """
    events = read_log(path)
    try:
        return _match(events)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be followed: {error!r}") from error


def _match(events: Sequence[LogLine]) -> LoggedMatch:
    begin = events[0]
    lobby = Lobby("reader")
    retold = Retelling(lobby)
    sent: dict[int, Sent] = {}
    turns: History = ()
    why = None
    for event in events:
        # A session that is over keeps nothing.
        session = None if retold.ask is None else lobby.session(retold.ask.match)
        rules = None if session is None else session.outline
        receipt = retold.tell(event, float(event["t"]))
        if event["event"] == "decision":
            sent[int(event["turn"])] = _sent(event)
        elif event["event"] == "end":
            why = str(event["why"])
        if receipt is None or retold.ask is None:
            continue
        if receipt.ask is not None:
            turns = receipt.ask.history
        elif isinstance(receipt.message, Stop) and rules is not None and retold.ask.wants_move:
            stop = receipt.message
            heard = read_heard(stop.last_move, stop.told, rules, str(begin["role"]))
            answer = sent.get(len(turns))
            submitted = None if answer is None else answer.move
            if rules.is_gdl2 or stop.told is not None:  # else nothing is told of the last turn
                turns = (*turns, PathTurn(heard.move, heard.percepts, submitted))
    if retold.opening is None:
        raise ValueError("it does not hold the start message")
    return LoggedMatch(
        id=str(begin["match"]),
        role=retold.opening.role,
        player=str(begin["player"]),
        seed=int(begin["seed"]),
        rules=_playable(retold.opening.rules, turns),
        turns=turns,
        sent=sent,
        why=why,
    )


def _sent(event: LogLine) -> Sent:
    decision = None
    if isinstance(event["particles"], int):
        decision = decision_from_json(dict(event), "decision", MatchError)
    return Sent(event["move"], str(event["source"]), decision)


def _playable(rules: str, turns: History) -> str:
    """The rules as the server played them: repaired, and telling moves where those were told."""
    program = normalize(parse(rules, "the rules", lenient=True), lenient=True)
    text = "\n".join(map(str, program.rules)) if program.diagnostics else rules
    if never_tells(program) and any(turn.tells_moves(program.roles) for turn in turns):
        return f"{text}\n{ALL_TOLD}\n"
    return text
