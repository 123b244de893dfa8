"""Logs as `ggp serve --log` writes them, of matches that nobody played."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ggp.players import Decision, MoveValue
from ggp.players.elsewhere.from_json import decision_json
from ggp.protocol.messages import WIRE_STYLES, Play, Start, Stop, print_message
from ggp.server.match_log import MatchLog

Turn = tuple[str, str, tuple[str, ...] | None]
"""Our answer in a turn; the executed move; the percepts that the server sent."""


def write_log(
    folder: Path,
    match: str,
    role: str,
    rules: str,
    turns: Sequence[Turn],
    *,
    style: str,
    why: str | None = "stop",
) -> Path:
    """The log of a match; without `why` the server was killed.

    Args:
        style: of the messages, see `WIRE_STYLES`; with `gdl2` turns have numbers.
    """
    wire = WIRE_STYLES[style]
    log = MatchLog(folder, match)
    start = Start(match, role, rules, 20, 5)
    log.begin(match=match, role=role, player="hyperplay2", seed=5, start_clock_s=20)
    log.write("received", text=print_message(start, wire), peer="127.0.0.1:4")
    log.write("sent", text="READY", seconds=0.1)
    percepts: tuple[str, ...] | None = None
    for number in range(len(turns) + 1):
        numbered = number if style == "gdl2" else None
        last = turns[number - 1][1] if number and style == "gdl2" else None
        if number == len(turns):
            if why is not None:
                stop = Stop(match, numbered, last, percepts)
                log.write("received", text=print_message(stop, wire), peer="127.0.0.1:4")
                log.write("sent", text="DONE", seconds=0.0)
            break
        play = Play(match, numbered, last, percepts)
        log.write("received", text=print_message(play, wire), peer="127.0.0.1:4")
        answer, _, percepts = turns[number]
        value = MoveValue(answer, 70.0 + number, 2.5, 16)
        alternative = MoveValue("(name neither)", 10.0, 1.0, 16)
        decided = Decision(answer, (value, alternative), 3, True, 99, 0.5)
        log.write(
            "decision",
            **decision_json(decided)
            | {"turn": number, "source": "thinker", "final": True, "reading": 0},
        )
        log.write("sent", text=answer, seconds=0.5, turn=number)
    if why is not None:
        log.write("end", why=why)
    log.close()
    assert log.path is not None
    return log.path
