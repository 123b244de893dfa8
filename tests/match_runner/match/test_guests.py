"""Guests of a match, who watches it, and matches that go on after they were broken off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.gdl.normalize import load
from ggp.players import Decision
from match_runner.match.apart import NoAnswerError
from match_runner.match.conditions import Conditions
from match_runner.match.records import TurnRecord
from match_runner.match.referee import play_match
from match_runner.match.seats import Arena, Seat, set_up


class Scripted:
    """A guest that makes the last legal move, or gives no answer; notes what happens to it."""

    states_visited = 0

    def __init__(self, silent: bool = False) -> None:
        self.silent = silent
        self.notes: list[tuple[str, Any]] = []
        self._legal: Sequence[str] = ()

    def observe(self, move: str | None, percepts: Sequence[str] | None, **_: Any) -> None:
        self.notes.append(("observe", (move, percepts)))

    def invite(self, legal: Sequence[str]) -> None:
        self.notes.append(("invite", tuple(legal)))
        self._legal = legal

    def choose(self, deadline: object = None, *, value_forced: bool = False) -> Decision:
        assert deadline is None
        self.notes.append(("choose", None))
        if self.silent:
            raise NoAnswerError("gave no answer")
        return Decision(self._legal[-1], (), 0, False, 0, 0.0)


class Witness:
    """Records the notes that a watcher gets."""

    def __init__(self) -> None:
        self.seen: list[tuple[TurnRecord | None, tuple[str, ...], bool]] = []

    def reached(self, turn: TurnRecord | None, fluents: tuple[str, ...], *, over: bool) -> None:
        self.seen.append((turn, fluents, over))


def arena_of(game: str, guests: dict[str, Scripted], **players: str) -> Arena:
    def seat(guest: Scripted) -> Seat:
        def make(rng: np.random.Generator) -> Any:
            return guest

        return Seat("human", make)

    seats = {role: seat(guest) for role, guest in guests.items()}
    return set_up(game, load(game), {**players, **seats})


def test_guests_are_invited_with_their_moves_before_anybody_is_asked() -> None:
    white, black = Scripted(), Scripted()
    arena = arena_of("tic_tac_toe", {"xplayer": white, "oplayer": black})
    record = play_match(arena, 1, Conditions(max_turns=2))
    assert [kind for kind, _ in white.notes] == ["invite", "choose", "observe", "invite", "choose"]
    first = white.notes[0][1]
    assert first == tuple(sorted(first))
    assert len(first) == 9
    assert record.turns[0].joint_move == {"xplayer": "(mark 3 3)", "oplayer": "noop"}
    assert record.players == {"xplayer": "human", "oplayer": "human"}


def test_a_guest_keeps_its_own_clock() -> None:
    guest = Scripted()
    arena = arena_of("tic_tac_toe", {"xplayer": guest}, oplayer="random")
    record = play_match(arena, 1, Conditions(play_clock_s=1e-9, max_turns=1))
    assert [fault.role for fault in record.faults] == ["oplayer"]


def test_a_guest_without_an_answer_costs_itself_its_move() -> None:
    arena = arena_of("tic_tac_toe", {"xplayer": Scripted(silent=True)}, oplayer="random")
    record = play_match(arena, 1)
    assert record.error is None
    assert {(fault.role, fault.kind) for fault in record.faults} == {("xplayer", "late")}


def test_a_watcher_sees_every_state_once() -> None:
    witness = Witness()
    arena = arena_of("monty_hall", {}, candidate="random")
    record = play_match(arena, 4, watcher=witness)
    assert [turn for turn, _, _ in witness.seen] == [None, *record.turns]
    assert [over for _, _, over in witness.seen] == [False] * len(record.turns) + [True]


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize("game", ["monty_hall", "meier"])
def test_a_match_goes_on_as_if_it_had_not_been_broken_off(game: str, silent: bool) -> None:
    """Chance draws, and the referee replaces moves, as they would have."""
    roles = [role for role in load(game).roles if role != "random"]

    def play(earlier: Sequence[TurnRecord] = ()) -> tuple[Any, list[Scripted]]:
        guests = [Scripted(silent) for _ in roles]
        arena = arena_of(game, dict(zip(roles, guests, strict=True)))
        return play_match(arena, 9, earlier=earlier), guests

    whole, witnesses = play()
    for at in range(1, len(whole.turns)):
        resumed, guests = play(whole.turns[:at])
        assert [t.joint_move for t in resumed.turns] == [t.joint_move for t in whole.turns]
        assert resumed.goals == whole.goals
        for guest, witness in zip(guests, witnesses, strict=True):
            percepts = [note for note in guest.notes if note[0] == "observe"]
            assert percepts == [note for note in witness.notes if note[0] == "observe"]


def test_players_elsewhere_cannot_go_on() -> None:
    players = {"xplayer": "http://localhost:1", "oplayer": "random"}
    arena = set_up("tic_tac_toe", load("tic_tac_toe"), players)
    turn = play_match(arena_of("tic_tac_toe", {}, xplayer="random", oplayer="random"), 0).turns[0]
    with pytest.raises(ConfigError, match="cannot be continued"):
        play_match(arena, 0, Conditions(play_clock_s=5), earlier=[turn])


def test_decisions_of_a_player_of_this_process_are_reported() -> None:
    reports: list[tuple[str, Decision]] = []
    arena = set_up(
        "exploding_bomb",
        load("exploding_bomb"),
        {"agent": "hyperplay:n=2"},
        report=lambda role, decision: reports.append((role, decision)),
    )
    play_match(arena, 1)
    assert {role for role, _ in reports} == {"agent"}
