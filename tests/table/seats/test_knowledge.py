"""The facts shown to a role that does not know the whole state."""

from __future__ import annotations

from typing import Any

from ggp.gdl.normalize import load
from ggp.machine import build_machine
from ggp.machine.games import load_program
from match_runner.match.knowledge import Knowledge
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
