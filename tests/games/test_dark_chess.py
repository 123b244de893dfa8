"""Dark chess beside OpenSpiel and pyffish, and by script: who sees what, and what ends it."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.games.dark_chess_umpires import UMPIRES
from tests.games.kriegspiel_games import compare
from tests.support.matches import Match

SIZES = {"dark_chess": 8, "dark_chess_4x4": 4}


def compare_with(library: str, game: str, num_games: int) -> Counter[str]:
    pytest.importorskip(library)
    counts = compare(game, lambda: UMPIRES[library](SIZES[game]), num_games, seed=5)
    assert counts["white 100"] > 0
    assert counts["white 0"] > 0
    return counts


@pytest.mark.parametrize("game", SIZES)
@pytest.mark.parametrize("library", UMPIRES)
def test_random_games_agree_with_the_umpires(library: str, game: str) -> None:
    compare_with(library, game, 5 if game == "dark_chess" else 15)


@pytest.mark.verify
@pytest.mark.parametrize("game", SIZES)
@pytest.mark.parametrize("library", UMPIRES)
def test_a_thousand_random_games_agree_with_the_umpires(library: str, game: str) -> None:
    counts = compare_with(library, game, 1000)
    rare = {"promotion"} if SIZES[game] == 4 else {"promotion", "castling", "in passing"}
    assert all(counts[kind] >= 10 for kind in rare)
    # Random games on the small board are too short for a draw.
    assert (counts["white 50"] > 0) == (SIZES[game] == 8)


def play_all(match: Match, moves: str) -> dict[str, set[str]]:
    """What the players see after the last of these moves, which are made by turns."""
    seen: dict[str, set[str]] = {}
    for number, move in enumerate(moves.split()):
        squares = " ".join(move[:4])
        percepts = match.play(**{("white", "black")[number % 2]: f"(move {squares})"})
        seen = {role: set(percepts.get(role, ())) for role in ("white", "black")}
    return seen


def test_pieces_see_where_they_could_go_and_pawns_what_they_could_take() -> None:
    match = Match("dark_chess")
    seen = play_all(match, "e2e4 d7d5")
    assert "(piece d 5 pawn)" in seen["white"]
    assert "(piece e 4 pawn)" in seen["black"]
    assert {"(empty e 5)", "(empty a 6)", "(empty h 5)", "(empty e 2)"} <= seen["white"]
    assert not {"(empty f 5)", "(empty d 6)", "(empty e 6)"} & seen["white"]
    assert not any("(piece d 7" in percept for percept in seen["white"])


def test_a_pawn_does_not_see_what_blocks_it() -> None:
    seen = play_all(Match("dark_chess"), "a2a4 a7a5")
    assert not any(
        " a " in percept.replace("(empty a 2)", "")
        for percept in seen["black"]
        if "piece" in percept
    )
    assert not {"(empty a 5)", "(piece a 5 pawn)"} & seen["white"]


@pytest.mark.parametrize("unseen", ["e7e6", "b8c6", "h8g8"])
def test_what_is_moved_in_the_fog_looks_the_same(unseen: str) -> None:
    """A pawn's move and a knight's, which reset the clock or do not, and a rook's that castles no
    more."""
    before = "a2a3 h7h6 a3a4 g8f6 b2b3"
    seen = play_all(Match("dark_chess"), f"{before} {unseen}")
    assert seen["white"] == play_all(Match("dark_chess"), before)["white"]


def test_a_pawn_that_may_be_taken_in_passing_is_seen_until_then_and_by_who_may_take_it() -> None:
    match = Match("dark_chess")
    seen = play_all(match, "e2e4 a7a6 e4e5 d7d5")
    assert {"(passed d 6)", "(piece d 5 pawn)", "(empty d 6)"} <= seen["white"]
    assert not any("passed" in percept for percept in seen["black"])
    assert "(move e 5 d 6)" in match.legal("white")
    later = play_all(match, "h2h3 h7h6")["white"]
    assert not {"(passed d 6)", "(piece d 5 pawn)", "(empty d 6)"} & later
    assert "(move e 5 d 6)" not in match.legal("white")
    nobody = play_all(Match("dark_chess"), "e2e4 a7a6 h2h3 d7d5")["white"]
    assert not any("passed" in percept for percept in nobody)


def test_taking_in_passing_tells_the_other_where_its_pawn_stood() -> None:
    match = Match("dark_chess")
    play_all(match, "e2e4 a7a6 e4e5 d7d5")
    assert "(lost d 5)" in match.play(white="(move e 5 d 6)")["black"]
    assert not any(fluent.startswith("(cell d 5 ") for fluent in match.fluents)


def test_the_king_castles_out_of_through_and_into_attack() -> None:
    """White's king is attacked on e 1, and so are f 1 and g 1."""
    match = Match("dark_chess")
    play_all(match, "e2e4 e7e6 g1h3 d8h4 f1e2 h4f2")
    assert {"(move e 1 f 2)", "(move e 1 g 1)"} <= match.legal("white")
    match.play(white="(move e 1 g 1)")
    assert {"(cell g 1 white king)", "(cell f 1 white rook)"} <= set(match.fluents)
    match.play(black="(move f 2 g 1)")
    assert match.goals == {"white": 0, "black": 100}


def test_a_king_may_go_where_it_is_taken_and_that_ends_the_game() -> None:
    match = Match("dark_chess")
    play_all(match, "e2e4 e7e5 e1e2 d8g5 e2f3 g5g3")
    assert not match.terminal
    assert "(move f 3 g 4)" in match.legal("white")
    match.play(white="(move f 3 e 2)")
    match.play(black="(move g 3 e 3)")
    match.play(white="(move e 2 e 1)")
    seen = match.play(black="(move e 3 e 1)")
    assert match.terminal
    assert match.goals == {"white": 0, "black": 100}
    assert "(lost e 1)" in seen["white"]


def test_a_hundred_plies_without_capture_or_move_of_a_pawn_draw() -> None:
    match = Match("dark_chess")
    play_all(match, "e2e4 e7e5 " + "g1f3 g8f6 f3g1 f6g8 " * 24 + "g1f3 g8f6 f3g1")
    assert not match.terminal
    match.play(black="(move f 6 g 8)")
    assert match.terminal
    assert match.goals == {"white": 50, "black": 50}


def test_on_the_small_board_pawns_do_not_jump_and_kings_do_not_castle() -> None:
    match = Match("dark_chess_4x4")
    captures = {f"(move {a} 2 {b} 3)" for a, b in ("ab", "ba", "bc", "cb", "cd", "dc")}
    assert match.legal("white") == captures | {"(move a 1 b 1)", "(move c 1 b 1)"}
    seen = match.play(white="(move a 2 b 3)")
    assert {"(lost b 3)", "(piece b 3 pawn)"} <= set(seen["black"])
