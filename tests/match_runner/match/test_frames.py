"""The pictures and texts that are shown after a turn."""

from __future__ import annotations

import random

import pytest

import ggp
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine.games import read_program
from match_runner.match.frames import MAX_PIECES, MatchArtist, frames_of
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


# ---------------------------------------------------------------- what decided a match


def ended(game: str, seed: int) -> list[str]:
    """The cells that decided a random match."""
    loaded = ggp.load(game, backend="prolog")
    players = {role: "random" for role in loaded.roles if role != "random"}
    record = ggp.play_match(loaded, players, seed=seed)
    *before, last = frames_of(record, None)
    assert not any(frame["ended"] for frame in before)
    return list(last["ended"])


def test_the_line_that_decided_a_match_is_marked() -> None:
    assert ended("krieg_tic_tac_toe", 0) == ["marked:1,1", "marked:2,2", "marked:3,3"]
    artist = MatchArtist(ggp.load("connect_four", backend="prolog").program)
    first = ["1 1", "2 2", "3 3", "4 4", "8 1"]
    second = ["2 1", "3 1", "3 2", "4 1", "4 2", "4 3"]
    turn = TurnRecord({"first": "(drop 4)", "second": "noop"}, {}, {}, {}, ())
    discs = [f"(disc {at} first)" for at in first] + [f"(disc {at} second)" for at in second]
    frame = artist.frame(11, turn, [*discs, "(control second)"], over=True)
    assert frame["ended"] == ["disc:1,1", "disc:2,2", "disc:3,3", "disc:4,4"]


MATE = """
    . . R . .
    . p . . k
    . r . . p
    P . P q P
    R . . . K
"""


def test_the_pieces_of_a_mate_are_marked() -> None:
    """The queen, the king and the pawn that guards the queen: without one there is no mate."""
    names = {"p": "pawn", "r": "rook", "q": "queen", "k": "king"}
    board = [
        f"(cell {file} {5 - row} {'white' if piece.isupper() else 'black'} {names[piece.lower()]})"
        for row, line in enumerate(MATE.split("\n")[1:6])
        for file, piece in zip("abcde", line.split(), strict=True)
        if piece != "."
    ]
    artist = MatchArtist(ggp.load("kriegspiel_5x5", backend="prolog").program)
    turn = TurnRecord({"white": "noop", "black": "(move d 4 d 2)"}, {}, {}, {}, ())
    fluents = [*board, "(control white)", "(plies 20)", "(quiet 1)"]
    frame = artist.frame(38, turn, fluents, over=True)
    assert frame["ended"] == ["cell:d,2", "cell:e,1", "cell:e,3"]


def test_nothing_is_marked_where_pieces_are_counted_or_nobody_is_ahead() -> None:
    othello = ggp.load("othello", backend="prolog")
    rng, state = random.Random(0), othello.initial()
    while not state.terminal:
        joint = {role: rng.choice(state.legal(role)) for role in othello.roles}
        state = state.play(joint).state
    artist = MatchArtist(othello.program)
    turn = TurnRecord(joint, {}, {}, {}, ())
    assert artist.frame(60, turn, state.fluents, over=True)["ended"] == []
    assert ended("kuhn_poker", 0) == []
    artist = MatchArtist(ggp.load("tic_tac_toe", backend="prolog").program)
    xs, os = ["1 1", "1 2", "2 3", "3 1", "3 2"], ["2 1", "2 2", "1 3", "3 3"]
    board = [f"(marked {at} {who})" for who, cells in (("x", xs), ("o", os)) for at in cells]
    turn = TurnRecord({"xplayer": "(mark 3 2)", "oplayer": "noop"}, {}, {}, {}, ())
    full = artist.frame(9, turn, [text.replace(" x)", " xplayer)") for text in board], over=True)
    assert full["ended"] == []


def test_of_two_lines_one_is_marked_that_has_the_last_move() -> None:
    artist = MatchArtist(ggp.load("tic_tac_toe", backend="prolog").program)
    cells = ["1 1", "2 1", "3 1", "1 2", "1 3"]
    board = [f"(marked {cell} xplayer)" for cell in cells]
    turn = TurnRecord({"xplayer": "(mark 1 1)", "oplayer": "noop"}, {}, {}, {}, ())
    marked = artist.frame(9, turn, board, over=True)["ended"]
    assert "marked:1,1" in marked
    assert len(marked) == 3


def test_a_king_that_is_still_there_does_not_decide_a_match() -> None:
    """Without the other king the rest of the board does not matter, and shows nothing."""
    artist = MatchArtist(ggp.load("dark_chess", backend="prolog").program)
    board = ["(cell a 3 white queen)", "(cell e 1 white king)", "(cell e 2 white pawn)"]
    turn = TurnRecord({"white": "(move a 5 a 3)", "black": "noop"}, {}, {}, {}, ())
    frame = artist.frame(9, turn, [*board, "(control black)", "(quiet 0)"], over=True)
    assert frame["marks"]
    assert frame["ended"] == []


def test_large_boards_are_not_searched_for_what_decided_a_match() -> None:
    chain = " ".join(f"(succ {i} {i + 1})" for i in range(1, 15))
    rules = f"""
        (role a) (role b) {chain} (index 1) (<= (index ?y) (succ ?x ?y))
        (init (cell 1 1 a)) (<= (next (cell ?x ?y a)) (does a (mark ?x ?y)))
        (<= (legal a (mark ?x ?y)) (index ?x) (index ?y)) (legal b noop)
        (<= terminal (true (cell 1 1 a))) (goal a 100) (goal b 0)
    """
    artist = MatchArtist(read_program(rules, "large"))
    turn = TurnRecord({"a": "(mark 1 1)", "b": "noop"}, {}, {}, {}, ())
    cells = [f"(cell {x} {y} a)" for x in range(1, 16) for y in range(1, 16)]
    assert len(cells) > MAX_PIECES
    few, many = (artist.frame(1, turn, some, over=True)["ended"] for some in (cells[:9], cells))
    assert (few, many) == (["cell:1,1"], [])
