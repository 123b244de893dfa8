"""What is shown after a turn."""

from __future__ import annotations

import pytest

import ggp
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from match_runner.match.records import TurnRecord
from match_runner.pictures.frames import Artist, frames_of

FLEETS = """(role alice) (role bob) (number 1) (number 2) (number 3) (init ready)
(<= (legal ?r (place ?x ?y)) (role ?r) (number ?x) (number ?y))
(<= (legal ?r (fire ?x ?y)) (role ?r) (number ?x) (number ?y))
(<= (next (fleet ?r ?x ?y)) (does ?r (place ?x ?y)))
(<= (next (fleet ?r ?x ?y)) (true (fleet ?r ?x ?y)) (not (hit ?r ?x ?y)))
(<= (hit ?q ?x ?y) (does ?r (fire ?x ?y)) (true (fleet ?q ?x ?y)) (distinct ?q ?r))
(<= terminal (not (true ready))) (goal alice 50) (goal bob 50)"""


@pytest.fixture(scope="module")
def artist() -> Artist:
    return Artist(normalize(parse(FLEETS)))


def test_moves_name_the_cells_of_the_board_that_the_role_means(artist: Artist) -> None:
    """Who fires means the other's board, who places the own one."""
    assert artist.cells("(fire 2 3)", "alice") == ["fleet@bob:2,3"]
    assert artist.cells("(fire 2 3)", "bob") == ["fleet@alice:2,3"]
    assert artist.cells("(place 2 3)", "alice") == ["fleet@alice:2,3"]


def test_cells_of_the_last_moves_are_marked(artist: Artist) -> None:
    moves = {"alice": "(place 3 1)", "bob": "(fire 1 1)"}
    turn = TurnRecord(moves, {}, {}, {}, ())
    frame = artist.frame(1, turn, ["(fleet alice 3 1)"], over=False)
    assert frame["marks"] == ["fleet@alice:3,1", "fleet@alice:1,1"]
    assert artist.frame(0, None, [], over=False)["marks"] == []


def test_what_is_dropped_into_a_column_is_marked_where_it_came_to_rest() -> None:
    record = ggp.play_match("connect_four", {}, seed=1)
    discs: set[str] = set()
    for frame in frames_of(record, None):
        (board,) = frame["state"]["boards"]
        now = {cell["id"] for cell in board["cells"] if cell["items"]}
        assert set(frame["marks"]) == now - discs
        discs = now


def test_openspiels_own_words_are_shown_beside_the_terms() -> None:
    record = ggp.play_match("openspiel:tic_tac_toe", {"p0": "random", "p1": "random"}, seed=1)
    frames = list(frames_of(record, None))
    boards = [[fact["text"] for fact in frame["state"]["facts"]] for frame in frames]
    assert boards[0][:3] == ["...", "...", "..."]
    marks = [sum(line.count("x") + line.count("o") for line in board[:3]) for board in boards]
    assert marks == list(range(len(record.turns) + 1))
