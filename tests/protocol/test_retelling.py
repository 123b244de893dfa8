"""A log that is told again leads to the same lobby, whatever became of its connections."""

from __future__ import annotations

from typing import Any

import pytest

from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import WIRE_STYLES, print_message
from ggp.protocol.path import Fit, History
from ggp.protocol.reading import Request
from ggp.protocol.retelling import Retelling
from ggp.protocol.session import Ask
from tests.protocol.test_session import START2

ZERO_S = 1000.0
FIRST = Fit(0)


class Logged:
    """A lobby with one match, and the log of all that happens."""

    def __init__(self) -> None:
        self.lobby, self.now = Lobby("ggp"), ZERO_S
        self.log: list[dict[str, Any]] = []
        self.answer(self.receive(print_message(START2, WIRE_STYLES["newest"])), None)

    def write(self, event: str, **fields: Any) -> None:
        self.log.append({"t": self.now - ZERO_S, "event": event, **fields})

    def receive(self, text: str) -> Ask:
        self.now += 1.0
        self.write("received", text=text, peer="10.0.0.1:80")
        ask = self.lobby.receive(Request(text, self.now, "10.0.0.1:80"), self.now).ask
        assert ask is not None
        return ask

    def answer(
        self, ask: Ask, move: str | None, fit: Fit = FIRST, *, is_broken: bool = False
    ) -> None:
        turn = {"turn": ask.turn} if ask.wants_move else {}
        self.now += 0.25
        if is_broken:
            self.write("undelivered", **turn)
            self.lobby.undelivered(ask)
        if move is not None:
            fields = {"reading": fit.reading, "failed_readings": fit.num_failed}
            self.write("decision", move=move, **fields, **turn)
        text = self.lobby.answer(ask, move, self.now, fit)
        if not is_broken:
            self.write("sent", text=text, **turn)

    def restart(self) -> None:
        self.now += 0.5
        self.lobby.resume(self.now, self.now, {1: self.now - 0.2})
        at_s = self.now - ZERO_S
        self.write("resumed", listens_at=at_s, alive_at=at_s - 0.2)

    def retold(self) -> History:
        """The history in a lobby that is told the log."""
        lobby = Lobby("ggp")
        retelling = Retelling(lobby)
        for event in self.log:
            retelling.tell(event, ZERO_S + event["t"])
        session = lobby.session(1)
        assert session is not None
        return session.history


@pytest.mark.parametrize("fit", [Fit(0), Fit(2, 2), Fit(None, 1)])
@pytest.mark.parametrize("is_broken", [False, True])
def test_which_reading_fitted_is_told_again(fit: Fit, *, is_broken: bool) -> None:
    match = Logged()
    match.answer(match.receive("(PLAY m NIL)"), "move")
    match.restart()
    match.answer(match.receive("(PLAY m ((SAW 1)))"), "move", fit, is_broken=is_broken)
    for number in (2, 3):
        match.answer(match.receive(f"(PLAY m ((SAW {number})))"), "other")
    session = match.lobby.session(1)
    assert session is not None
    assert match.retold() == session.history


def test_a_repeated_reply_answers_no_other_question() -> None:
    match = Logged()
    match.answer(match.receive("(PLAY m NIL)"), "move")
    ask = match.receive("(PLAY m ((SAW 1)))")
    match.write("sent", text="move")
    match.answer(ask, "other")
    match.receive("(PLAY m ((SAW 2)))")
    assert [turn.submitted for turn in match.retold()] == ["move", "other"]
