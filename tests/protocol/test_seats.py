"""Several roles of one match on one address: both are played, and each gets its own messages."""

from __future__ import annotations

import pytest

from ggp.protocol.lobby import MAX_ROLES, Lobby
from ggp.protocol.session import Ask, Receipt
from tests.protocol.doubles import receive

RULES = "(role white) (role black) (<= (legal ?p move) (role ?p)) (<= terminal (true over))"
GDL2 = f"{RULES} (<= (sees ?p (saw ?q)) (does ?q move) (role ?p))"
ROLES = ("white", "black")


def start(role: str, rules: str = RULES, match_id: str = "m", clocks: str = "30 10") -> str:
    return f"(START {match_id} {role} ({rules}) {clocks})"


def ask_of(receipt: Receipt) -> Ask:
    assert receipt.ask is not None
    return receipt.ask


def lobby_with_match(rules: str = RULES, matches: int = 1, roles: tuple[str, ...] = ROLES) -> Lobby:
    """A lobby in which a match has begun for several roles, and all are ready."""
    lobby = Lobby("ggp", matches=matches)
    for role in roles:
        receipt = receive(lobby, start(role, rules), 0, receiver=f"as {role}")
        assert receipt.began is not None
        assert lobby.answer(ask_of(receipt), None, 0) == "ready"
    return lobby


def role_of(lobby: Lobby, receipt: Receipt) -> str:
    session = lobby.session(ask_of(receipt).match)
    assert session is not None
    return session.role


def test_both_roles_are_played_and_take_one_place() -> None:
    lobby = lobby_with_match()
    assert [session.role for session in lobby.live] == ["white", "black"]
    assert "busy" in str(receive(lobby, "(INFO)", 0).reply)
    assert receive(lobby, start("white", match_id="n"), 0).reply == "busy"
    roomy = lobby_with_match(matches=2)
    assert "available" in str(receive(roomy, "(INFO)", 0).reply)
    assert receive(roomy, start("white", match_id="n"), 0).began is not None


@pytest.mark.parametrize("roles", [ROLES, ROLES[::-1]])
def test_roles_are_asked_in_the_order_of_the_rules(roles: tuple[str, ...]) -> None:
    lobby = lobby_with_match(roles=roles)
    for turn, text in enumerate(["(PLAY m NIL)", "(PLAY m (move move))", "(PLAY m (move move))"]):
        receipts = [receive(lobby, text, turn) for _ in ROLES]
        assert [role_of(lobby, receipt) for receipt in receipts] == ["white", "black"]
        for receipt in receipts:
            assert lobby.answer(ask_of(receipt), "move", turn) == "move"
    ended = [receive(lobby, "(STOP m (move move))", 9) for _ in ROLES]
    assert [receipt.reply for receipt in ended] == ["done", "done"]
    assert lobby.live == ()


def test_role_that_was_asked_and_answered_waits_for_the_other() -> None:
    lobby = lobby_with_match()
    for turn, text in enumerate(["(PLAY m NIL)", "(PLAY m (move move))", "(PLAY m (move move))"]):
        for role in ROLES:  # one after the other
            receipt = receive(lobby, text, turn)
            assert role_of(lobby, receipt) == role
            lobby.answer(ask_of(receipt), "move", turn)


def test_names_of_receivers_tell_roles_apart() -> None:
    lobby = lobby_with_match()
    for turn, text in enumerate(["(PLAY m NIL)", "(PLAY m (move move))"]):
        for role in ROLES[::-1]:
            receipt = receive(lobby, text, turn, receiver=f"as {role}")
            assert role_of(lobby, receipt) == role
            lobby.answer(ask_of(receipt), "move", turn)


def test_one_name_for_several_roles_is_noted() -> None:
    lobby = Lobby("ggp")
    assert receive(lobby, start("white"), 0, receiver="me").notes == ()
    (note,) = receive(lobby, start("black"), 0, receiver="me").notes
    assert note.startswith("we are white in this match too, under the same name")


def test_executed_move_tells_roles_apart() -> None:
    lobby = lobby_with_match(GDL2)
    for move in ("left", "right"):
        receipt = receive(lobby, "(PLAY m 0 NIL NIL)", 1)
        lobby.answer(ask_of(receipt), move, 1)
    for move, role in (("right", "black"), ("left", "white")):
        receipt = receive(lobby, f"(PLAY m 1 {move} ((saw white) (saw black)))", 2)
        assert role_of(lobby, receipt) == role


def test_message_that_comes_again_is_for_the_role_whose_answer_was_lost() -> None:
    lobby = lobby_with_match(GDL2)
    first = "(PLAY m 0 NIL NIL)"
    asks = [ask_of(receive(lobby, first, 1)) for _ in ROLES]
    for ask in asks:
        lobby.answer(ask, "move", 2)
    lobby.undelivered(asks[1])
    assert receive(lobby, first, 3).match == asks[1].match


def test_start_with_other_rules_or_after_the_first_turn_is_another_match() -> None:
    lobby = lobby_with_match(roles=("white",))
    assert receive(lobby, start("black", RULES + " (init x)"), 1).ended
    assert [session.role for session in lobby.live] == ["black"]
    lobby = lobby_with_match()
    thinking = receive(lobby, "(PLAY m NIL)", 1)
    assert receive(lobby, start("white", GDL2), 1).reply == "busy"
    lobby.answer(ask_of(thinking), "move", 1)
    lobby = lobby_with_match(roles=("white",))
    lobby.answer(ask_of(receive(lobby, "(PLAY m NIL)", 1)), "move", 1)
    assert receive(lobby, start("black"), 2).ended
    assert [session.role for session in lobby.live] == ["black"]


def test_match_gives_way_with_all_its_roles_once_none_is_expected_any_more() -> None:
    lobby = lobby_with_match()
    receipts = [receive(lobby, "(PLAY m NIL)", 100) for _ in ROLES]
    lobby.answer(ask_of(receipts[0]), "move", 101)
    other_match = start("white", match_id="n")
    assert (
        receive(lobby, other_match, 130).reply == "busy"
    )  # somebody waits for the other role's move
    lobby.answer(ask_of(receipts[1]), "move", 131)
    receipt = receive(lobby, other_match, 160)
    assert receipt.began is not None
    assert {*receipt.ended} == {seat.match for seat in receipts}
    assert lobby.is_waiting("m", "black")
    receive(lobby, "(ABORT n)", 161)
    late = [receive(lobby, "(PLAY m (move move))", 162) for _ in ROLES]
    assert [role_of(lobby, seat) for seat in late] == ["white", "black"]
    assert all(seat.began is not None for seat in late)


def test_nobody_gets_workers_for_any_number_of_roles() -> None:
    roles = tuple(f"r{number}" for number in range(MAX_ROLES + 1))
    rules = " ".join(f"(role {role})" for role in roles)
    lobby = lobby_with_match(rules, roles=roles[:-1])
    assert receive(lobby, start(roles[-1], rules), 1).reply == "busy"
    assert receive(lobby, start("nobody", rules), 1).began is not None  # another match
    assert len(lobby.live) == 1
