"""The facts shown to a role that does not know the whole state."""

from __future__ import annotations

from typing import Any

from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.games import load_program
from match_runner.match.knowledge import Knowledge
from match_runner.pictures.kinds import Json
from match_runner.pictures.layout import Artist

GAME = "krieg_tic_tac_toe"


def cells_of(picture: Any) -> dict[str, str]:
    """What stands in each cell of the only board."""
    (board,) = picture["boards"]
    return {
        f"{board['columns'][cell['column']]} {board['rows'][cell['row']]}": " ".join(
            item["text"] for item in cell["items"]
        )
        for cell in board["cells"]
    }


def test_a_cell_that_may_hold_something_is_marked_and_nothing_else_is_told() -> None:
    program = load(GAME)
    knowledge = Knowledge(build_machine(program), program.roles.index("xplayer"), 0)
    knowledge.observe("(mark 2 2)", (), "(mark 2 2)", in_time=True)
    knowledge.observe("noop", ("your_move",), "noop", in_time=True)
    facts = knowledge.facts()
    assert (facts.states, facts.exact) == (8, True)
    artist = Artist(program)
    cells = cells_of(artist.certain(facts.shares))
    assert "xplayer" in cells.pop("2 2")
    assert set(cells.values()) == {"unknown"}
    sure = artist.certain(dict.fromkeys(facts.shares, 1.0))
    assert "unknown" not in cells_of(sure).values()


def test_an_impossible_path_leaves_no_knowledge() -> None:
    program = load(GAME)
    knowledge = Knowledge(build_machine(program), 0, 0)
    knowledge.observe("noop", ("refused",), "noop", in_time=True)
    assert knowledge.facts().states == 0
    assert knowledge.facts().shares == {}


def test_words_of_openspiel_say_what_a_role_knows_and_what_its_moves_are() -> None:
    program = load_program("openspiel:kuhn_poker")
    knowledge = Knowledge(build_machine(program), 0, 0)
    knowledge.observe("noop", ("(told x1bf41ef6fd6f6f6c)",), "noop", in_time=True)
    knowledge.observe("noop", ("your_move",), "noop", in_time=True)
    facts = knowledge.facts()
    assert (facts.states, facts.words) == (2, "2")
    assert facts.lines() == ["2", "(act 0): Pass", "(act 1): Bet"]
    without_words = Knowledge(build_machine(load(GAME)), 0, 0)
    assert without_words.facts().lines() == []


def test_an_unknown_cell_keeps_what_was_last_seen_there_while_it_may_still_be_there() -> None:
    artist = Artist(load("dark_chess_4x4"))
    pawn, rook = "(cell a 3 black pawn)", "(cell b 1 white rook)"

    def last_of(shares: dict[str, float], before: Json | None) -> tuple[Json, str | None]:
        picture = artist.certain(shares, before)
        (board,) = picture["boards"]
        (cell,) = (cell for cell in board["cells"] if cell["id"].endswith("a,3"))
        lasts = (item["last"]["title"] for item in cell["items"] if "last" in item)
        return picture, next(lasts, None)

    seen, last = last_of({pawn: 1.0, rook: 1.0}, None)
    assert last is None
    hidden, last = last_of({pawn: 0.5, rook: 1.0}, seen)
    assert last == pawn
    assert last_of({pawn: 0.2, rook: 1.0}, hidden)[1] == pawn
    assert last_of({"(cell a 3 black queen)": 0.2}, hidden)[1] is None
    empty, last = last_of({rook: 1.0}, hidden)
    assert last is None
    assert last_of({pawn: 0.2}, empty)[1] is None
