"""Replays the log of a match into a lobby, which restores the match after a restart.

`ggp.server.match_log` writes a log as one JSON object per line. Every line has `t`, the seconds
since the log began, and `event`:

| event | fields |
|---|---|
| `begin` | `format`, `match` (its id), `time` (UTC, ISO 8601), `role`, `player` (its spec), |
| | `seed`, `start_clock_s`, `play_clock_s`, `version` (of ggp) |
| `received` | `text`: a message as it came, rules included; `peer`: its origin; |
| | `receiver`: the server's name for us, if it uses one |
| `sent` | `text`: the reply; `seconds` since the message came; `turn` if it is a move |
| `decision` | written just before each move is sent; fields: see below |
| `worker` | `worker`: `thinker` or `understudy`; `what`: `started`, `runs`, `built`,    |
| | `died`, `failed`, `gave up`; `pid`; `text`: how or why |
| `foreseen` | `text`: how many ground rules a `worker` expects, and whether these are too many |
| `backend` | `backend`: the backend on which the thinker (`worker`) plays this match |
| `said` | a line of a worker's own log: `worker`, `level`, `text` |
| `undelivered` | nobody waited for the answer, or it was not received; `turn` if it was a move |
| `note` | `text`: something odd about a message, or an error in our server |
| `end` | `why`: `stop`, `abort`, `silent`, `gave way` (to another match; may be resumed), |
| | `replaced`, `server ended`, `log full` |
| `resumed` | the match goes on: our server was restarted, or there is room again; |
| | `listens_at`: the time, on the scale of `t`, from which messages can arrive; null if always; |
| | `alive_at`: when the earlier server was surely alive for the last time, or null |

A `decision` has `turn` (turns played before it), `move` (canonical KIF), `source` (`thinker`,
`understudy`, `last resort`), `final` (false if time was up, and this is the best move so far),
`reading` (which reading of ambiguous messages the particles fit: 0 for the history, n for the n-th
of `Ask.doubts`, null if unknown), `failed_readings` (for how many of the first of them no particle
was found) and the fields of `ggp.players.Decision`: `values` (a list of
`move`, `value`, `stderr`, `visits`), `particles`, `exact`, `states_visited`, `seconds`, `fault`,
`probabilities` (by move, or null). These fields are null if no worker decided.

The state of a lobby depends only on its messages, its answers and their times, and the log contains
them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ggp.protocol.lobby import Lobby
from ggp.protocol.path import Fit
from ggp.protocol.reading import Request
from ggp.protocol.session import Ask, Opening, Receipt

FORMAT = 1

SUFFIX = ".jsonl"

GAVE_WAY = "gave way"
"""Reason why a log ends: the match made room for another, and is resumed once there is room."""

LOG_FULL = "log full"
"""Reason why a log ends: it is too long. The match itself goes on."""


class Retelling:
    """Replays the log of a match into a lobby, so that the lobby gets into the same state again.

    Args:
        lobby: a lobby that does not know the match yet.

    Attributes:
        opening: the beginning of the match; None before it is read.
        ask: the latest question; None before the first.
        backend: the backend on which the match is played; None before it is known.
    """

    def __init__(self, lobby: Lobby) -> None:
        self._lobby = lobby
        self.opening: Opening | None = None
        self.ask: Ask | None = None
        self.backend: str | None = None
        self._role: str | None = None

    def tell(self, event: Mapping[str, Any], at_s: float) -> Receipt | None:
        """Replay one line; returns the lobby's receipt if the line is a received message.

        Args:
            event: the parsed line.
            at_s: time of the event on the clock of the lobby.

        Raises:
            LookupError, TypeError, ValueError: the line does not have the format above.
        """
        ask = self.ask
        match event["event"]:
            case "begin":
                self._role = event.get("role")
            case "received":
                peer, receiver = str(event.get("peer", "")), str(event.get("receiver", ""))
                request = Request(str(event["text"]), at_s, peer, receiver, self._role)
                receipt = self._lobby.receive(request, at_s)
                self.opening = receipt.began or self.opening
                self.ask = receipt.ask or ask
                return receipt
            case "decision" if ask is not None and event["turn"] == _turn_of(ask):
                fit = Fit(event["reading"], int(event.get("failed_readings", 0)))
                self._lobby.answer(ask, str(event["move"]), at_s, fit)
            case "sent" if ask is not None and event.get("turn") == _turn_of(ask):
                self._lobby.answer(ask, None, at_s)  # unless it was decided
            case "backend":
                self.backend = str(event["backend"])
            case "resumed" if self.opening is not None:
                session = self._lobby.session(self.opening.match)
                zero_s, alive_at_s = at_s - float(event["t"]), event.get("alive_at")
                listens_at_s = event.get("listens_at")
                if session is not None and listens_at_s is not None:
                    alive_s = None if alive_at_s is None else zero_s + float(alive_at_s)
                    session.resume(at_s, zero_s + float(listens_at_s), alive_s)
            case "undelivered" if ask is not None and event.get("turn") == _turn_of(ask):
                self._lobby.undelivered(ask)
            case "end" if event["why"] == GAVE_WAY and self.opening is not None:
                self._lobby.take_place(self.opening.match)
        return None


def _turn_of(ask: Ask) -> int | None:
    """The turn of a question as in a log line: None if it asks us to get ready."""
    return ask.turn if ask.wants_move else None
