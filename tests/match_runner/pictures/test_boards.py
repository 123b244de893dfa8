"""Which fluents are taken for boards, which way round, and what their cells show."""

from __future__ import annotations

from typing import Any

import pytest

from ggp.gdl import parse, parse_term
from ggp.gdl.normalize import normalize
from match_runner.pictures import Layout
from match_runner.pictures.symbols import Symbols, unfilled

CHAIN = " ".join(f"(succ {i} {i + 1})" for i in range(1, 4))
LETTERS = "(after a b) (after b c) (after c d)"
MARKING = """
(<= (legal ?r (mark ?x ?y)) (role ?r) (number ?x) (number ?y))
(<= (next (cell ?x ?y ?r)) (does ?r (mark ?x ?y)))
"""
NUMBERS = "(number 1) (number 2) (number 3)"


def layout(rules: str, roles: str = "white black") -> Layout:
    """The layout of a game with a few more rules than every game has."""
    frame = "".join(f"(role {role})" for role in roles.split())
    frame += "(init ready) (<= (next ready) (true ready))"
    frame += "(<= (goal ?r 50) (role ?r)) (<= (legal ?r noop) (role ?r)) (<= terminal (true over))"
    return Layout.of(normalize(parse(frame + rules)))


def picture_of(board_layout: Layout, *facts: str) -> dict[str, Any]:
    return board_layout.picture(map(parse_term, facts)).to_json()


def board(board_layout: Layout, *facts: str) -> dict[str, Any]:
    (picture,) = picture_of(board_layout, *facts)["boards"]
    assert isinstance(picture, dict)
    return picture


def edges(board_layout: Layout) -> tuple[str, str]:
    """Names of columns from left to right, and of rows from top to bottom."""
    picture = board(board_layout)
    return " ".join(picture["columns"]), " ".join(picture["rows"])


def filled(picture: dict[str, Any]) -> dict[str, list[str]]:
    """The contents of each cell that is not empty, by id."""
    cells = [cell for drawn_board in picture["boards"] for cell in drawn_board["cells"]]
    return {c["id"]: [item["text"] for item in c["items"]] for c in cells if c["items"]}


def test_letters_go_across_and_the_highest_number_is_at_the_top() -> None:
    rules = "(init (cell a 1 wk)) (init (cell b 2 b)) (init (cell a 2 wr)) (init (cell b 1 bk))"
    board_layout = layout(rules)
    assert edges(board_layout) == ("a b", "2 1")
    assert filled(picture_of(board_layout, "(cell a 1 wk)"))["cell:a,1"] == ["white king"]
    turned = layout("(init (cell 1 a x)) (init (cell 2 b x)) (init (cell 3 c x))" + LETTERS)
    assert edges(turned) == ("a b c", "3 2 1")


def test_of_two_numbers_the_first_goes_across_and_the_second_up() -> None:
    assert edges(layout(MARKING + NUMBERS)) == ("1 2 3", "3 2 1")


def test_rows_that_are_called_rows_begin_at_the_top() -> None:
    rules = MARKING.replace("?x", "?row").replace("?y", "?col")
    assert edges(layout(rules + NUMBERS)) == ("1 2 3", "1 2 3")
    prefixed = "(init (cell r1 c1 x)) (init (cell r2 c2 x)) (init (cell r2 c3 o))"
    board_layout = layout(prefixed)
    assert edges(board_layout) == ("c1 c2 c3", "r1 r2")
    assert list(filled(picture_of(board_layout, "(cell r2 c3 o)"))) == ["cell:c3,r2"]


def test_words_that_the_rules_put_into_a_chain_are_coordinates() -> None:
    rules = """
    (next_to one two) (next_to two three) (next_to three four)
    (init (cell one one x)) (init (cell two three x)) (init (cell three two x))
    (init (cell four four x))
    (<= (next (cell ?x ?z x)) (true (cell ?x ?y x)) (next_to ?y ?z))
    """
    assert edges(layout(rules)) == ("one two three four", "four three two one")


def test_a_piece_may_come_before_its_coordinates() -> None:
    rules = f"""{NUMBERS}
    (<= (next (at ?who ?x ?y)) (does ?r (go ?who ?x ?y)))
    (<= (legal ?r (go ?who ?x ?y)) (role ?r) (animal ?who) (number ?x) (number ?y))
    (animal fox) (animal goose)
    """
    assert filled(picture_of(layout(rules), "(at fox 2 3)")) == {"at:2,3": ["fox"]}


def test_squares_with_one_name_or_inside_a_function_are_coordinates() -> None:
    named = layout("(init (cell a1 x)) (init (cell a2 o)) (init (cell b1 x)) (init (cell b3 x))")
    picture = board(named)
    assert (picture["columns"], picture["rows"]) == (["a", "b"], ["3", "2", "1"])
    assert len(picture["cells"]) == 4  # the others are no cells at all
    nested = layout("(init (cell (sq a 1) x)) (init (cell (sq b 2) x)) (init (cell (sq a 2) o))")
    assert filled(picture_of(nested, "(cell (sq b 2) x)")) == {"cell:b,2": ["x"]}


def test_sides_that_never_meet_have_a_board_each() -> None:
    rules = f"""{NUMBERS}
    (<= (legal ?r (place ?x ?y)) (role ?r) (number ?x) (number ?y))
    (<= (legal ?r (fire ?x ?y)) (role ?r) (number ?x) (number ?y))
    (<= (next (fleet ?r ?x ?y)) (does ?r (place ?x ?y)))
    (<= (next (fleet ?r ?x ?y)) (true (fleet ?r ?x ?y)) (not (hit ?r ?x ?y)))
    (<= (hit ?q ?x ?y) (does ?r (fire ?x ?y)) (true (fleet ?q ?x ?y)) (distinct ?q ?r))
    """
    board_layout = layout(rules, "alice bob")
    picture = picture_of(board_layout, "(fleet alice 3 2)")
    assert [drawn_board["title"] for drawn_board in picture["boards"]] == [
        "fleet alice",
        "fleet bob",
    ]
    assert filled(picture) == {"fleet@alice:3,2": ["fleet"]}
    assert board_layout.cells_of_move(parse_term("(place 1 2)"), "bob") == ("fleet@bob:1,2",)
    assert board_layout.cells_of_move(parse_term("(fire 1 2)"), "bob") == ("fleet@alice:1,2",)
    meeting = "(<= (next caught) (true (fleet alice ?x ?y)) (true (fleet bob ?x ?y)))"
    assert len(picture_of(layout(rules + meeting, "alice bob"))["boards"]) == 1


def test_a_third_coordinate_makes_layers() -> None:
    rules = f"""{NUMBERS}
    (<= (legal ?r (mark ?x ?y ?z)) (role ?r) (number ?x) (number ?y) (number ?z))
    (<= (next (cell ?x ?y ?z ?r)) (does ?r (mark ?x ?y ?z)))
    """
    board_layout = layout(rules)
    picture = picture_of(board_layout, "(cell 1 2 3 white)")
    assert [drawn_board["id"] for drawn_board in picture["boards"]] == [
        "cell@1",
        "cell@2",
        "cell@3",
    ]
    assert filled(picture) == {"cell@3:1,2": ["white"]}
    assert board_layout.cells_of_move(parse_term("(mark 1 2 3)"), "bob") == ("cell@3:1,2",)


def test_discs_are_dropped_into_the_highest_cell_of_their_column() -> None:
    rules = f"""{CHAIN} {NUMBERS}
    (<= (legal ?r (drop ?x)) (role ?r) (number ?x))
    (<= (next (disc ?x 1 ?r)) (does ?r (drop ?x)) (not (full ?x)))
    (<= (next (disc ?x ?z ?r)) (does ?r (drop ?x)) (true (disc ?x ?y ?q)) (succ ?y ?z))
    (<= (full ?x) (true (disc ?x ?y ?r)))
    """
    board_layout = layout(rules)
    assert edges(board_layout) == ("1 2 3", "4 3 2 1")
    assert board_layout.cells_of_move(parse_term("(drop 2)"), "bob") == ("disc:2,4",)


def test_heaps_and_tracks_are_rows() -> None:
    heaps = layout("(init (heap a 5)) (init (heap b 7)) (init (heap c 2))")
    picture = board(heaps, "(heap b 7)")
    assert (picture["columns"], picture["rows"]) == (["a", "b", "c"], [""])
    assert filled(picture_of(heaps, "(heap b 7)")) == {"heap:b": ["7"]}


def test_counters_scores_and_turns_are_no_boards() -> None:
    rules = f"""{CHAIN}
    (init (step 1)) (<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))
    (init (score white 0)) (init (score black 0)) (succ 0 1)
    (<= (next (score ?r ?n)) (true (score ?r ?m)) (succ ?m ?n))
    (init (control white)) (<= (next (control black)) (true (control white)))
    """
    picture = picture_of(
        layout(rules), "(step 2)", "(score white 1)", "(score black 2)", "(control white)"
    )
    assert picture["boards"] == []
    numbers = {
        counter["title"]: [value["text"] for value in counter["values"]]
        for counter in picture["counters"]
    }
    assert numbers == {"white: score": ["1"], "black: score": ["2"], "step": ["2"]}
    assert picture["tables"] == []
    assert [fact["text"] for fact in picture["facts"]] == ["(control white)"]


def test_fluents_over_the_same_coordinates_share_a_board() -> None:
    rules = (
        MARKING
        + NUMBERS
        + """
    (<= (next (refused ?x ?y)) (does ?r (mark ?x ?y)) (true (cell ?x ?y ?q)))
    """
    )
    picture = picture_of(layout(rules), "(cell 1 1 white)", "(refused 1 1)")
    assert filled(picture) == {"cell:1,1": ["white", "refused"]}


def test_two_fluents_that_each_fill_the_board_have_one_each() -> None:
    cells = " ".join(f"(init (cell{i} {x} {y} b))" for i in (1, 2) for x in (1, 2) for y in (1, 2))
    picture = picture_of(layout(cells, "x o"))
    assert [drawn_board["title"] for drawn_board in picture["boards"]] == ["cell1", "cell2"]


def test_coordinates_are_kept_apart_though_one_relation_steps_along_both() -> None:
    rules = f"""{LETTERS} {CHAIN}
    (<= (next_to ?x ?y) (after ?x ?y)) (<= (next_to ?x ?y) (succ ?x ?y))
    (init (cell a 1 wk)) (init (cell d 4 bk)) (init (cell b 2 wr))
    (<= (legal ?r (go ?x ?y ?u ?v)) (role ?r) (true (cell ?x ?y ?p)) (next_to ?x ?u)
        (next_to ?y ?v))
    (<= (next (cell ?u ?v ?p)) (does ?r (go ?x ?y ?u ?v)) (true (cell ?x ?y ?p)))
    """
    board_layout = layout(rules)
    assert edges(board_layout) == ("a b c d", "4 3 2 1")
    assert board_layout.cells_of_move(parse_term("(go a 1 b 2)"), "bob") == ("cell:a,1", "cell:b,2")
    assert board_layout.cells_of_move(parse_term("noop"), "bob") == ()


def test_a_board_only_grows_where_something_is_beside_it() -> None:
    steps = " ".join(f"(succ {i} {i + 1})" for i in range(1, 40))
    cells = " ".join(f"(init (cell {x} {y} x))" for x in (1, 2, 3) for y in (1, 2, 3))
    rules = f"""{steps} {cells}
    (<= (legal ?r (go ?x ?y)) (role ?r) (true (cell ?x ?y ?p)))
    (<= (next (cell ?u ?y x)) (does ?r (go ?x ?y)) (succ ?x ?u))
    """
    board_layout = layout(rules)
    assert edges(board_layout) == ("1 2 3", "3 2 1")
    assert board(board_layout, "(cell 5 1 x)")["columns"] == ["1", "2", "3", "4", "5"]


def test_likely_things_come_first_and_shares_are_kept() -> None:
    board_layout = layout(MARKING + NUMBERS)
    marginals = {"(cell 1 1 white)": 0.25, "(cell 1 1 black)": 0.75, "ready": 0.5}
    picture = board_layout.heat({parse_term(fact): share for fact, share in marginals.items()})
    (cell,) = [cell for cell in picture["boards"][0]["cells"] if cell["items"]]
    assert [(item["text"], item["share"]) for item in cell["items"]] == [
        ("black", 0.75),
        ("white", 0.25),
    ]
    assert picture["facts"] == [{"text": "ready", "share": 0.5, "words": "ready"}]


CHESS = ["wk", "wp", "bk", "bp", "wr", "b"]
DRAUGHTS = ["wk", "wp", "bk", "bp", "b"]


@pytest.mark.parametrize(
    ("roles", "values", "words", "look"),
    [
        ("white black", [CHESS], ["bp"], ("black pawn", "♟", "black")),
        ("white black", [CHESS], ["wr"], ("white rook", "♖", "white")),
        ("red black", [DRAUGHTS], ["wp"], ("red man", "⛂", "red")),
        ("red black", [DRAUGHTS], ["bk"], ("black king", "⛃", "black")),
        (
            "white black",
            [["whiteknight", "blackpawn"]],
            ["whiteknight"],
            ("white knight", "♘", "white"),
        ),
        (
            "white black",
            [["white", "black"], ["king", "rook"]],
            ["black", "king"],
            ("black king", "♚", "black"),
        ),
        ("xplayer oplayer", [["x", "o", "b"]], ["x"], ("x", "✕", "xplayer")),
        ("xplayer oplayer", [["xplayer", "oplayer"]], ["oplayer"], ("oplayer", "○", "oplayer")),
        ("red blue", [["red", "blue"]], ["red"], ("red", "●", "red")),
        ("red blue", [["red", "blue"]], ["blue"], ("blue", "◉", "blue")),
        ("black white", [["black", "white"]], ["white"], ("white", "●", "white")),
        ("one two", [["one", "two"], ["stone"]], ["two", "stone"], ("two stone", "◉", "two")),
        ("white red", [["dirt", "b", "w", "r"]], ["r"], ("r", "◉", "red")),
        ("a b", [["jack_hearts", "ace_spades"]], ["jack_hearts"], ("jack_hearts", "J♥", "")),
        ("robot", [["1", "2", "b"]], ["2"], ("2", "2", "")),
        ("robot", [["wall", "b"]], ["wall"], ("wall", "▦", "")),
        ("robot", [["east", "wall"]], ["wall", "east"], ("wall east", "▕", "")),
    ],
)
def test_well_known_pieces_have_symbols_and_owners(
    roles: str, values: list[list[str]], words: list[str], look: tuple[str, str, str]
) -> None:
    appearance = Symbols(roles.split(), values).look(words)
    assert (appearance.text, appearance.symbol, appearance.owner) == look


@pytest.mark.parametrize(
    ("roles", "values", "marks"),
    [
        ("red blue", [["red", "blue"], ["flag"]], [0, 1]),
        ("red blue green", [["red", "blue", "green"], ["sapper"]], [0, 1, 2]),
        ("white black", [["white", "black"], ["sapper"]], [0, 1]),
        ("white black", [["white", "black"], ["flag"]], [0, 0]),
        ("white black", [["white", "black"], ["king"]], [0, 0]),
        ("red black", [["red", "black"], ["king", "pawn"]], [0, 1]),
        ("red blue", [["red", "blue"], ["disc"]], [0, 0]),
        ("xplayer oplayer", [["xplayer", "oplayer"]], [0, 0]),
    ],
)
def test_pieces_that_look_alike_have_a_mark_of_their_owner(
    roles: str, values: list[list[str]], marks: list[int]
) -> None:
    symbols = Symbols(roles.split(), values)
    last = values[-1][0] if len(values) > 1 else None
    looks = [symbols.look([owner, last] if last else [owner]) for owner in values[0]]
    assert [look.mark for look in looks] == marks
    assert all(look.owner == role for look, role in zip(looks, roles.split(), strict=True))
    signs = [(unfilled(look.symbol, look.owner), look.mark) for look in looks if last != "flag"]
    assert len(set(signs)) == len(signs)


def test_colours_that_are_no_roles_have_shapes() -> None:
    symbols = Symbols(["breaker"], [["red", "green", "blue", "grey_stone"]])
    looks = [symbols.look([colour]).symbol for colour in ("blue", "green", "grey_stone", "red")]
    assert looks == ["●", "■", "▲", "◆"]
    red_and_black = Symbols(["red", "black"], [["red", "black"]])
    assert [red_and_black.look([colour]).symbol for colour in ("red", "black")] == ["●", "◉"]


@pytest.mark.parametrize(
    ("roles", "values", "empty"),
    [
        ("white black", ["white", "black", "blank"], {"blank"}),
        ("xplayer oplayer", ["x", "o", "b"], {"b"}),
        ("white black", ["w", "b"], set()),
        ("white black", ["white", "b", "black"], {"b"}),
        ("robot", ["peg", "empty"], {"empty"}),
    ],
)
def test_empty_cells_are_told_from_black_ones(
    roles: str, values: list[str], empty: set[str]
) -> None:
    symbols = Symbols(roles.split(), [values])
    assert {value for value in values if symbols.is_empty([value])} == empty
    assert all(symbols.look([value]).symbol == "" for value in empty)
