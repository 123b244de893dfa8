"""Places in a full lobby: a lost STOP costs the next match nothing, and nobody keeps all places."""

from __future__ import annotations

import pytest

from ggp.protocol.lobby import LONG_CLOCKS_S, MAX_HELD_S, MAX_WAITING, MAX_WAITING_CHARS, Lobby
from ggp.protocol.path import PathTurn
from ggp.protocol.reading import Request, read_request
from ggp.protocol.session import Receipt
from tests.protocol.doubles import receive

RULES = "(role white) (role black) (<= (legal ?p ?m) (true ?m)) (<= (goal ?p 5) (true x))"
HERE, THERE = "10.0.0.1", "10.0.0.2"


def start(match_id: str, clocks: str = "30 10", rules: str = RULES) -> str:
    return f"(START {match_id} white ({rules}) {clocks})"


def ready(
    lobby: Lobby, match_id: str, now: float = 0.0, sender: str = "", clocks: str = "30 10"
) -> Receipt:
    receipt = receive(lobby, start(match_id, clocks), now, sender)
    if receipt.ask is not None:
        lobby.answer(receipt.ask, None, now)
    return receipt


def moved(lobby: Lobby, text: str, now: float, sender: str = "", move: str = "move") -> Receipt:
    """Play a turn, which is answered at once unless it is refused."""
    receipt = receive(lobby, text, now, sender)
    if receipt.ask is not None:
        lobby.answer(receipt.ask, move, now)
    return receipt


def live(lobby: Lobby) -> list[str]:
    return [session.start.match_id for session in lobby.live]


# ---------------------------------------------------------------- a lost STOP


def test_start_evicts_a_match_that_is_silent_for_longer_than_its_play_clock() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "ghost")
    ghost = moved(lobby, "(PLAY ghost NIL)", 100)
    assert receive(lobby, start("early"), 114).reply == "busy"
    receipt = receive(lobby, start("next"), 116)
    assert receipt.began is not None
    assert receipt.ask is not None
    assert receipt.ended == (ghost.match,)
    assert live(lobby) == ["next"]


def test_match_that_was_never_played_is_evicted_after_both_clocks() -> None:
    """Three stray STARTs once cost an honest match all of its moves."""
    lobby = Lobby("ggp", matches=3)
    for name in ("a", "b", "c"):
        ready(lobby, name)
    assert receive(lobby, start("early"), 44).reply == "busy"
    receipt = receive(lobby, start("next"), 46)
    assert receipt.began is not None
    assert len(receipt.ended) == 1
    assert live(lobby) == ["b", "c", "next"]


def test_match_that_begins_anew_under_its_id_replaces_one_whose_server_is_gone() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    ask = receive(lobby, "(PLAY m NIL)", 1).ask
    assert ask is not None
    anew = start("m", rules=RULES + " (init y)")
    assert receive(lobby, anew, 2).reply == "busy"  # somebody waits for our answer
    receive(lobby, "(PLAY m NIL)", 2)
    lobby.abandoned(ask)
    receipt = receive(lobby, anew, 3)
    assert receipt.began is not None
    assert receipt.ended == (ask.match,)
    assert live(lobby) == ["m"]
    assert lobby.answer(ask, "move", 3) == "move"  # no client gets it


def test_match_that_is_thought_for_is_never_evicted() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    ask = receive(lobby, "(PLAY m NIL)", 1).ask
    assert ask is not None
    assert receive(lobby, start("n"), 50).reply == "busy"
    assert live(lobby) == ["m"]
    starting = Lobby("ggp")
    receive(starting, start("m"), 0)
    assert receive(starting, start("n"), 100).reply == "busy"


def test_of_several_silent_matches_the_latest_expected_gives_way_last() -> None:
    lobby = Lobby("ggp", matches=2)
    ready(lobby, "long", 0, clocks="30 60")
    ready(lobby, "short", 0, clocks="30 10")
    moved(lobby, "(PLAY long NIL)", 10)
    moved(lobby, "(PLAY short NIL)", 20)
    assert receive(lobby, start("n"), 100).began is not None
    assert live(lobby) == ["long", "n"]


def test_lobby_of_abandoned_matches_is_not_busy() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "ghost")
    assert "busy" in str(receive(lobby, "(INFO)", 44).reply)
    assert "available" in str(receive(lobby, "(INFO)", 46).reply)
    assert live(lobby) == ["ghost"]


# ---------------------------------------------------------------- a START that came too early


def test_first_turn_of_a_refused_match_is_played_as_soon_as_there_is_room() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    refused = receive(lobby, start("n"), 1)
    assert (refused.reply, refused.began) == ("busy", None)
    assert "remembered" in refused.notes[-1]
    receive(lobby, "(STOP m NIL)", 2)
    receipt = receive(lobby, "(PLAY n NIL)", 3)
    assert receipt.began is not None
    assert receipt.began.start.match_id == "n"
    assert receipt.ask is not None
    assert (receipt.ask.wants_move, receipt.ask.match) == (True, receipt.began.match)
    assert lobby.answer(receipt.ask, "move", 4) == "move"
    assert live(lobby) == ["n"]


def test_turns_for_which_there_was_no_room_are_not_forgotten() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    receive(lobby, start("n"), 1)
    for turn, text in enumerate(("(PLAY n NIL)", "(PLAY n (a b))", "(PLAY n (c d))")):
        assert moved(lobby, text, 2.0 + turn).reply == "busy"
    receive(lobby, "(STOP m NIL)", 5)
    receipt = receive(lobby, "(PLAY n (e f))", 6)
    assert receipt.began is not None
    assert receipt.ask is not None
    assert [turn.move for turn in receipt.ask.history] == ["a", "c", "e"]
    assert [turn.submitted for turn in receipt.ask.history] == [None, None, None]


def test_refused_match_takes_the_place_of_one_gone_silent_at_its_first_turn() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "ghost", 0)
    assert receive(lobby, start("n"), 20).reply == "busy"
    assert receive(lobby, "(PLAY n NIL)", 40).reply == "busy"
    receipt = receive(lobby, "(PLAY n (a b))", 50)
    assert receipt.began is not None
    assert len(receipt.ended) == 1
    assert live(lobby) == ["n"]


def test_same_start_again_gets_the_place_that_is_free_by_now() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    assert receive(lobby, start("n"), 1).reply == "busy"
    assert receive(lobby, start("n"), 2).reply == "busy"
    receive(lobby, "(STOP m NIL)", 3)
    assert receive(lobby, start("n"), 4).began is not None
    assert live(lobby) == ["n"]


def test_refused_match_with_other_content_is_refused_too() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    receive(lobby, start("n"), 1)
    changed = receive(lobby, start("n", rules=f"{RULES} (role red)"), 2)
    assert (changed.reply, changed.began, changed.ended) == ("busy", None, ())
    receive(lobby, "(STOP m NIL)", 3)
    began = receive(lobby, "(PLAY n NIL)", 4).began
    assert began is not None
    assert "red" in began.rules


@pytest.mark.parametrize(("text", "reply"), [("(STOP n NIL)", "done"), ("(ABORT n)", "aborted")])
def test_refused_match_can_be_ended(text: str, reply: str) -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    receive(lobby, start("n"), 1)
    receipt = receive(lobby, text, 2)
    assert (receipt.reply, receipt.ended, receipt.released) == (reply, (), ())
    assert live(lobby) == ["m"]


def test_match_that_gave_way_goes_on_with_its_history() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "slow")
    first = moved(lobby, "(PLAY slow NIL)", 1, move="a")
    ready(lobby, "n", 100)
    assert receive(lobby, "(PLAY slow (a b))", 101).reply == "busy"
    receive(lobby, "(STOP n NIL)", 102)
    receipt = receive(lobby, "(PLAY slow (c d))", 103)
    assert receipt.began is not None
    assert receipt.began.match != first.match
    assert receipt.ask is not None
    assert [(turn.move, turn.submitted) for turn in receipt.ask.history] == [
        ("a", "a"),
        ("c", None),
    ]


@pytest.mark.verify
def test_refused_matches_are_forgotten_when_there_are_many() -> None:
    """Matches of the address that sends most of them are forgotten first."""
    lobby = Lobby("ggp")
    ready(lobby, "m", clocks="3000 3000")
    receive(lobby, start("honest"), 1, HERE)
    for number in range(3 * MAX_WAITING):
        receive(lobby, start(f"flood{number}"), 2, THERE)
    assert lobby.knows("honest")
    assert sum(lobby.knows(f"flood{number}") for number in range(3 * MAX_WAITING)) < MAX_WAITING
    long = f"{RULES} (word {' '.join(['x' * 900] * (MAX_WAITING_CHARS // 5000))})"
    for number in range(10):
        receive(lobby, start(f"long{number}", rules=long), 3, THERE)
    assert lobby.knows("honest")
    assert 0 < sum(lobby.knows(f"long{number}") for number in range(10)) < 10


# ---------------------------------------------------------------- waiting for room


def may_find_room(lobby: Lobby, text: str, came_s: float, now: float) -> bool:
    return lobby.may_find_room(read_request(Request(text, came_s)), now)


def test_start_waits_for_a_match_that_will_have_to_give_way_before_the_first_move() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "ghost")
    moved(lobby, "(PLAY ghost NIL)", 100)  # gives way at 115
    near = start("n")
    assert may_find_room(lobby, near, 101, 101)
    assert may_find_room(lobby, start("n", clocks="10 5"), 101, 101)
    # It would have to move at 113.5 at the latest.
    assert not may_find_room(lobby, start("n", clocks="2 2"), 110, 110)
    assert not may_find_room(lobby, near, 110, 116)  # there is room now
    assert not may_find_room(lobby, near, 80, 108)  # its own time is up
    receipt = receive(lobby, near, 116, came_s=110)
    assert receipt.began is not None
    assert receipt.ask is not None
    assert receipt.ask.deadline_s == 110 + 27


def test_turn_without_a_place_waits_too_and_nothing_else_does() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "ghost")
    moved(lobby, "(PLAY ghost NIL)", 100)
    assert receive(lobby, start("n"), 105).reply == "busy"
    play = "(PLAY n NIL)"
    assert may_find_room(lobby, play, 105, 105)
    assert may_find_room(lobby, play, 105, 113.9)
    assert not may_find_room(lobby, play, 105, 114.1)  # it must be answered
    for text in ("(PLAY ghost NIL)", "(PLAY other NIL)", "(STOP n NIL)", "(INFO)", "nonsense"):
        assert not may_find_room(lobby, text, 107, 107)
    receipt = receive(lobby, play, 115.5, came_s=107)
    assert receipt.ask is not None
    assert (receipt.ask.asked_at_s, receipt.ask.deadline_s) == (107, 116)


def test_start_does_not_wait_for_a_match_that_is_thought_for() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    receive(lobby, "(PLAY m NIL)", 100)
    assert not may_find_room(lobby, start("n"), 110, 110)


# ---------------------------------------------------------------- after a restart


def test_silent_restored_match_gives_its_place_up() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    receive(lobby, "(PLAY m NIL)", 40)  # and then the server was killed
    lobby.resume(100)
    assert lobby.forget(114) == ()
    (serial,) = lobby.forget(116)
    assert serial == 1
    assert lobby.live == ()
    assert receive(lobby, "(PLAY m (a b))", 117).began is not None  # it goes on after all


def test_restored_match_that_hears_something_stays() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    lobby.resume(100)
    assert moved(lobby, "(PLAY m NIL)", 110).ask is not None
    assert lobby.forget(150) == ()
    assert live(lobby) == ["m"]


def test_restored_match_in_which_a_move_was_asked_for_can_be_evicted() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    receive(lobby, "(PLAY m NIL)", 40)
    lobby.resume(100)
    assert receive(lobby, start("n"), 114).reply == "busy"
    assert receive(lobby, start("n"), 116).began is not None


# ---------------------------------------------------------------- one address


def test_one_address_does_not_keep_others_out_with_long_clocks() -> None:
    lobby = Lobby("ggp", matches=2)
    for name in ("a", "b"):
        ready(lobby, name, 0, HERE, clocks="1000 1000")
    assert receive(lobby, start("n"), MAX_HELD_S - 1, THERE).reply == "busy"
    assert receive(lobby, start("same"), MAX_HELD_S + 1, HERE).reply == "busy"
    assert receive(lobby, start("n"), MAX_HELD_S + 2, THERE).began is not None
    assert live(lobby) == ["b", "n"]
    # Nor can others take all from it.
    assert receive(lobby, start("o"), MAX_HELD_S + 3, THERE).reply == "busy"


def test_one_address_does_not_get_the_last_place_for_hours() -> None:
    lobby = Lobby("ggp", matches=2)
    hours = f"10 {int(LONG_CLOCKS_S)}"
    assert ready(lobby, "a", 0, HERE, hours).began is not None
    assert ready(lobby, "b", 0, HERE, hours).began is None
    assert ready(lobby, "c", 0, THERE, hours).began is not None


def test_one_address_may_have_all_places_while_nobody_else_wants_in() -> None:
    lobby = Lobby("ggp", matches=3)
    for name in ("a", "b", "c"):
        assert ready(lobby, name, 0, HERE, "600 600").began is not None
    assert lobby.forget(1000) == ()


def test_history_of_a_match_that_was_refused_begins_at_its_first_turn() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    receive(lobby, start("n"), 1)
    receive(lobby, "(STOP m NIL)", 2)
    moved(lobby, "(PLAY n NIL)", 3, move="a")
    ask = receive(lobby, "(PLAY n (a b))", 4).ask
    assert ask is not None
    percepts = ("(did black b)", "(did white a)")
    assert ask.history == (PathTurn("a", percepts, "a", True),)


# ---------------------------------------------------------------- nobody waits any more


def test_match_whose_answer_nobody_took_gives_way_at_once() -> None:
    lobby = Lobby("ggp", matches=2)
    ready(lobby, "silent")
    ready(lobby, "ghost")
    ask = receive(lobby, "(PLAY ghost NIL)", 1).ask
    assert ask is not None
    lobby.answer(ask, "move", 2)
    lobby.undelivered(ask)
    receipt = receive(lobby, start("next"), 3)
    assert receipt.began is not None
    assert live(lobby) == ["silent", "next"]
    assert lobby.is_waiting("ghost")


def test_match_that_is_thought_for_gives_way_if_nobody_waits_for_the_move() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "ghost")
    ask = receive(lobby, "(PLAY ghost NIL)", 1).ask
    assert ask is not None
    assert receive(lobby, start("early"), 2).reply == "busy"
    lobby.abandoned(ask)
    assert receive(lobby, start("next"), 3).began is not None


def test_match_whose_start_nobody_waits_for_gives_way() -> None:
    lobby = Lobby("ggp")
    ask = receive(lobby, start("ghost"), 0).ask
    assert ask is not None
    lobby.undelivered(ask)
    assert receive(lobby, start("next"), 1).began is not None


def test_match_that_is_heard_of_again_keeps_its_place() -> None:
    lobby = Lobby("ggp")
    ready(lobby, "m")
    first = receive(lobby, "(PLAY m NIL)", 1).ask
    assert first is not None
    lobby.undelivered(first)
    assert receive(lobby, "(PLAY m NIL)", 2).ask == first  # the same message again
    assert receive(lobby, start("next"), 3).reply == "busy"
    lobby.answer(first, "move", 4)
    second = receive(lobby, "(PLAY m (move other))", 5).ask
    assert second is not None
    lobby.abandoned(first)  # an older question says nothing
    assert receive(lobby, start("next"), 6).reply == "busy"
