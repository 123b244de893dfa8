"""Cards, dice and counters are recognised by the rules, never by the name of a game."""

from __future__ import annotations

from typing import Any

import pytest

from ggp.gdl.games import find_game
from ggp.machine.games import read_program
from match_runner.pictures.layout import Artist
from match_runner.pictures.side_file import side_file_of
from match_runner.pictures.words import LONGEST

POKER = """
(role ann) (role bob) (role random) (card ah) (card 10s) (card kc)
(init (chips ann 5)) (init (chips bob 5))
(<= (next (holds ?p ?c)) (does random (deal ?p ?c)))
(<= (legal random (deal ?p ?c)) (role ?p) (card ?c))
(<= (next (chips ?p ?n)) (true (chips ?p ?n)))
"""

SUSHI = """
(role p1) (role p2) (dish tempura) (dish wasabi) (amount 1) (amount 2)
(<= (next (plate ?p ?card ?n)) (does ?p (take ?card ?n)) (dish ?card) (amount ?n))
(<= (legal ?p (take ?card ?n)) (role ?p) (dish ?card) (amount ?n))
(init (king_at 1 2 king)) (init (king_at 2 2 queen))
"""

YACHT = """
(role me) (role random) (pips 1) (pips 2) (pips 3) (pips 4) (pips 5) (pips 6)
(<= (legal random (roll ?n)) (pips ?n)) (<= (next (shows ?n)) (does random (roll ?n)))
"""


def artist(game: str) -> Artist:
    """The artist of a game of ours, or of some rules."""
    if game.lstrip().startswith("("):
        return Artist(read_program(f"{game} (<= terminal (true over)) (goal me 0)", "rules"))
    path = find_game(game)
    return Artist(read_program(path.read_text(encoding="utf-8"), game), side_file_of(path))


def hands(picture: dict[str, Any]) -> dict[str, list[str]]:
    """The faces of the cards of each hand."""
    return {
        hand["title"]: [card["symbol"] + card["suit"] for card in hand["cards"]]
        for hand in picture["cards"]
    }


def numbers(picture: dict[str, Any]) -> dict[str, list[str]]:
    return {
        counter["title"]: [value["text"] for value in counter["values"]]
        for counter in picture["counters"]
    }


@pytest.mark.parametrize(
    ("game", "facts", "in_hands"),
    [
        (
            "kuhn_poker",
            ["(holds player1 king)", "(holds player2 jack)"],
            {"player1 holds": ["K"], "player2 holds": ["J"]},
        ),
        (
            "leduc_poker",
            ["(holds player2 queen_hearts)", "(public king_spades)"],
            {"player2's card": ["Q♥"], "the card for both": ["K♠"]},
        ),
        ("meier", ["(rolled 52)", "(claimed 21)"], {"rolled": ["52"], "claimed": ["21"]}),
        (
            POKER,
            ["(holds ann ah)", "(holds bob 10s)"],
            {"ann: holds": ["A♥"], "bob: holds": ["10♠"]},
        ),
        (SUSHI, ["(plate p1 wasabi 2)"], {"p1: plate": ["wasabi"]}),
        (YACHT, ["(shows 5)"], {"shows": ["5"]}),
    ],
)
def test_cards_and_dice_are_in_hands(
    game: str, facts: list[str], in_hands: dict[str, list[str]]
) -> None:
    picture = artist(game).picture(facts)
    assert hands(picture) == in_hands
    assert not picture["facts"]
    assert not picture["tables"]


def test_dice_have_pips_and_cards_have_notes_and_owners() -> None:
    (hand,) = artist("meier").picture(["(rolled 52)"])["cards"]
    assert hand["cards"][0]["dice"] == [5, 2]
    (hand,) = artist(SUSHI).picture(["(plate p1 wasabi 2)"])["cards"]
    assert (hand["owner"], hand["cards"][0]["note"]) == ("p1", "2")


def test_pieces_on_boards_are_no_cards() -> None:
    assert artist(SUSHI).picture(["(king_at 1 2 king)"])["cards"] == []


def test_counters_are_numbers_with_names_in_the_words_of_the_game() -> None:
    facts = ["(holds east 10)", "(turn 3)", "(own west)"]
    picture = artist("banker_and_thief_sequential").picture(facts)
    assert numbers(picture) == {"dollars in the east bank": ["10"], "turns played": ["3"]}
    assert [fact["words"] for fact in picture["facts"]] == ["the west bank is the banker's own"]


def test_several_numbers_of_one_name_are_no_counter() -> None:
    picture = artist(POKER).picture(["(chips ann 4)", "(chips ann 6)", "(chips bob 6)"])
    assert numbers(picture) == {"bob: chips": ["6"]}
    assert [table["rows"] for table in picture["tables"]] == [[["ann", "4"], ["ann", "6"]]]


def test_cards_that_are_not_known_lie_face_down() -> None:
    shares = {
        "(holds player1 king)": 1.0,
        "(holds player2 jack)": 0.5,
        "(holds player2 queen)": 0.5,
    }
    kuhn = artist("kuhn_poker")
    assert hands(kuhn.heat(shares))["player2 holds"] == ["J", "Q"]
    known = kuhn.certain(shares)
    assert hands(known) == {"player1 holds": ["K"], "player2 holds": ["?"]}
    assert "jack" not in str(known)


def test_a_rank_that_is_known_is_face_up_without_its_suit() -> None:
    shares = {"(holds player1 king_hearts)": 0.5, "(holds player1 king_spades)": 0.5}
    known = artist("leduc_poker").certain(shares)
    assert hands(known) == {"player1's card": ["K"]}
    shares = {"(holds player1 king_hearts)": 0.5, "(holds player1 queen_spades)": 0.5}
    assert hands(artist("leduc_poker").certain(shares)) == {"player1's card": ["?"]}


def test_a_counter_that_is_not_known_has_a_question_mark() -> None:
    shares = {"(holds east 10)": 0.25, "(holds east 20)": 0.75}
    banker = artist("banker_and_thief_sequential")
    assert numbers(banker.heat(shares)) == {"dollars in the east bank": ["20", "10"]}
    assert numbers(banker.certain(shares)) == {"dollars in the east bank": ["?"]}


def test_bookkeeping_has_no_face() -> None:
    picture = artist("phantom_ttt").picture(["(number 3)", "(left 4)"])
    assert picture["counters"] == []


HIDDEN_ROLL = """
(role me) (role random) (pips 1) (pips 2) (pips 3) (pips 4) (pips 5) (pips 6)
(<= (legal random (roll ?n)) (pips ?n)) (<= (next (rolled ?n)) (does random (roll ?n)))
(init (score 3)) (<= (next (score ?n)) (true (score ?n)))
(sees me (rolled hidden)) (sees me (rolled 70)) (sees me (score none))
"""


def test_percepts_that_no_face_can_draw_are_facts() -> None:
    view = artist(HIDDEN_ROLL).picture(["(rolled hidden)", "(rolled 70)", "(score none)"])
    assert (hands(view), numbers(view)) == ({}, {})
    assert "hidden" in str(view)
    assert "none" in str(view)


def test_the_texts_of_faces_are_short() -> None:
    long = "9" * 1000
    rules = f"{SUSHI} (sees p1 (plate p1 wasabi {long}))"
    (hand,) = artist(rules).picture([f"(plate p1 wasabi {long})"])["cards"]
    assert len(hand["cards"][0]["note"]) <= LONGEST
