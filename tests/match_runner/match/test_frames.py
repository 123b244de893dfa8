"""The pictures and texts that are shown after a turn."""

from __future__ import annotations

import pytest

import ggp
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from match_runner.match.frames import MatchArtist, frames_of
from match_runner.match.records import TurnRecord

FLEETS = """(role alice) (role bob) (number 1) (number 2) (number 3) (init ready)
(<= (legal ?r (place ?x ?y)) (role ?r) (number ?x) (number ?y))
(<= (legal ?r (fire ?x ?y)) (role ?r) (number ?x) (number ?y))
(<= (next (fleet ?r ?x ?y)) (does ?r (place ?x ?y)))
(<= (next (fleet ?r ?x ?y)) (true (fleet ?r ?x ?y)) (not (hit ?r ?x ?y)))
(<= (hit ?q ?x ?y) (does ?r (fire ?x ?y)) (true (fleet ?q ?x ?y)) (distinct ?q ?r))
(<= terminal (not (true ready))) (goal alice 50) (goal bob 50)"""


@pytest.fixture(scope="module")
def artist() -> MatchArtist:
    return MatchArtist(normalize(parse(FLEETS)))


def test_moves_name_the_cells_of_the_board_that_the_role_means(artist: MatchArtist) -> None:
    """Who fires means the other's board, who places the own one."""
    assert artist.cells("(fire 2 3)", "alice") == ["fleet@bob:2,3"]
    assert artist.cells("(fire 2 3)", "bob") == ["fleet@alice:2,3"]
    assert artist.cells("(place 2 3)", "alice") == ["fleet@alice:2,3"]


def test_cells_of_the_last_moves_are_marked(artist: MatchArtist) -> None:
    moves = {"alice": "(place 3 1)", "bob": "(fire 1 1)"}
    turn = TurnRecord(moves, {}, {}, {}, ())
    frame = artist.frame(1, turn, ["(fleet alice 3 1)"], over=False)
    assert frame["marks"] == ["fleet@alice:3,1", "fleet@alice:1,1"]
    assert artist.frame(0, None, [], over=False)["marks"] == []


def test_a_dropped_disc_is_marked_where_it_came_to_rest() -> None:
    artist = MatchArtist(ggp.load("connect_four", backend="prolog").program)
    discs = ["(disc 3 1 first)", "(disc 3 2 second)", "(disc 5 1 first)"]
    moves = ["(drop 3)", "(drop 3)", "(drop 5)"]
    marks = []
    for number in range(4):
        joint = {"first": moves[number - 1], "second": "noop"}
        turn = TurnRecord(joint, {}, {}, {}, ()) if number else None
        marks.append(artist.frame(number, turn, discs[:number], over=False)["marks"])
    assert marks == [[], ["disc:3,1"], ["disc:3,2"], ["disc:5,1"]]
    # Of a move that changed nothing, only the column is known.
    refused = TurnRecord({"first": "(drop 3)", "second": "noop"}, {}, {}, {}, ())
    assert artist.frame(4, refused, discs, over=False)["marks"] == ["disc:3,6"]


def test_at_a_seat_the_mark_is_where_the_role_knows_that_it_came_to_rest() -> None:
    artist = MatchArtist(ggp.load("phantom_connect_four", backend="prolog").program)
    mine, others_pieces = {"(disc 3 1 first)": 1.0}, {"(disc 4 1 second)": 0.5}
    before_move, after_move = (
        artist.certain(others_pieces),
        artist.certain({**others_pieces, **mine}),
    )
    unsure = artist.certain({**others_pieces, "(disc 3 1 first)": 0.5, "(disc 3 2 first)": 0.5})
    move = {"first": "(drop 3)"}
    assert artist.marks(move, before_move, after_move) == ["disc:3,1"]
    assert artist.marks(move, before_move, unsure) == artist.cells("(drop 3)", "first")


def test_openspiels_own_words_are_shown_beside_the_terms() -> None:
    record = ggp.play_match("openspiel:tic_tac_toe", {"p0": "random", "p1": "random"}, seed=1)
    frames = list(frames_of(record, None))
    boards = [[fact["text"] for fact in frame["state"]["facts"]] for frame in frames]
    assert boards[0][:3] == ["...", "...", "..."]
    marks = [sum(line.count("x") + line.count("o") for line in board[:3]) for board in boards]
    assert marks == list(range(len(record.turns) + 1))
