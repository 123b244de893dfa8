"""One match on the server, by the messages of its worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from match_runner.table.held_match import ALL, HeldMatch
from match_runner.table.match_folder import MatchSetup

SETUP = MatchSetup(
    id="m",
    game="game",
    rules="(role xplayer) (role oplayer)",
    side_file=None,
    roles=("xplayer", "oplayer"),
    players={"xplayer": "human", "oplayer": "random"},
    is_told=False,
    play_clock_s=None,
    human_clock_s=1.0,
    pause_s=0.0,
    seed=1,
    created_s=0.0,
    seats={"xplayer": "secret"},
    key="key",
    shares_goals=True,
)


def frame(number: int) -> dict[str, Any]:
    """A worker's message about a turn, in which the person had a choice."""
    seat_frame = {"turn": number, "move": f"(mark {number})", "chose": number > 0}
    record = {"turn": number} if number else None
    return {
        **{"kind": "frame", "number": number, "all": {"turn": number}, "record": record},
        **{"seats": {"xplayer": seat_frame}, "may": {"xplayer": {}}},
    }


@pytest.fixture
def match() -> HeldMatch:
    """A match after two turns."""
    held = HeldMatch(SETUP)
    for number in range(3):
        assert held.receive(frame(number)) == frame(number)["record"]
    return held


def test_what_a_worker_sends_of_turns_that_were_taken_back_does_not_count(match: HeldMatch) -> None:
    match.take_back("xplayer", 1)
    late = {"kind": "ask", "role": "xplayer", "turn": 3, "moves": [], "clock_s": None}
    assert match.receive(frame(3)) is None
    match.receive(late)
    assert match.question("xplayer") is None
    assert len(match.frames[ALL]) == 2
    assert sorted(match.beliefs["xplayer"]) == [0, 1]
    match.receive({**late, "turn": 1})
    assert match.question("xplayer")
    assert match.receive(frame(2)) == frame(2)["record"]


def test_the_lobby_does_not_know_of_moves_that_were_taken_back(match: HeldMatch) -> None:
    match.take_back("xplayer", 1)
    assert "(mark 2)" not in str(match.summary())
    taken_back = {"turn": 1, "role": "xplayer", "move": "(mark 2)"}
    assert match.snapshot(ALL, [])["match"]["taken_back"] == [taken_back]


def test_the_lobby_knows_how_far_a_match_is_if_nothing_is_hidden(match: HeldMatch) -> None:
    assert match.summary()["turns"] is None
    match.setup = replace(SETUP, is_told=True)
    assert match.summary()["turns"] == 2
    assert match.summary()["shares_goals"]
