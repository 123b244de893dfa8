"""Files beside rulesheets that improve the pictures of a game."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggp.errors import ConfigError
from ggp.gdl import parse, parse_term
from ggp.gdl.normalize import normalize
from match_runner.pictures import Layout

RULES = """
(role white) (role black) (init (pebble n 4 grey)) (init (pebble w 6 grey)) (init (score 1 2))
(init (score 1 3)) (init (score 2 1)) (next (pebble e 9 grey)) (next (pebble n 4 brown))
(legal white noop) (legal black noop) (goal white 50) (goal black 50) (<= terminal (true over))
"""


def side_file_layout(tmp_path: Path, text: str) -> Layout:
    path = tmp_path / "game.picture.toml"
    path.write_text(text, encoding="utf-8")
    return Layout.of(normalize(parse(RULES)), path)


def test_a_side_file_names_boards_symbols_and_owners(tmp_path: Path) -> None:
    layout = side_file_layout(
        tmp_path,
        """
        [[boards]]
        title = "Pebbles"
        fluents = ["(pebble ?wind ?place ?what)"]
        columns = "?place"
        rows = "?wind"
        first_row = "top"
        [symbols]
        grey = "•"
        [owners]
        grey = "black"
        """,
    )
    board = layout.picture([parse_term("(pebble w 6 grey)")]).to_json()["boards"][0]
    assert (board["title"], board["columns"]) == ("Pebbles", ["4", "6", "9"])
    assert board["rows"] == ["e", "n", "w"]
    ((item, place),) = [(i, (c["column"], c["row"])) for c in board["cells"] for i in c["items"]]
    assert (item["text"], item["symbol"], item["owner"], place) == ("grey", "•", "black", (1, 2))


def test_layers_and_rows_of_one_line_can_be_asked_for(tmp_path: Path) -> None:
    layout = side_file_layout(
        tmp_path,
        '[[boards]]\nfluents = ["(pebble ?w ?x ?c)"]\nrows = ""\nlayer = "?c"\n',
    )
    boards = layout.picture([]).to_json()["boards"]
    assert [(b["title"], b["columns"], b["rows"]) for b in boards[:2]] == [
        ("pebble brown", ["4", "6", "9"], [""]),
        ("pebble grey", ["4", "6", "9"], [""]),
    ]


def test_fluents_can_be_kept_off_boards(tmp_path: Path) -> None:
    facts = [parse_term("(score 1 2)")]
    assert side_file_layout(tmp_path, "").picture(facts).to_json()["boards"]
    side_layout = side_file_layout(
        tmp_path, '[plain]\nfluents = ["(score ?a ?b)", "(pebble ?a ?b ?c)"]\n'
    )
    assert not side_layout.picture(facts).to_json()["boards"]
    assert [fact["text"] for fact in side_layout.picture(facts).to_json()["facts"]] == [
        "(score 1 2)"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "is not TOML"),
        ("colour = 1", "colour: unknown; possible: boards, symbols, owners, plain"),
        ("boards = 1", "boards: must be tables [[boards]]"),
        ("[[boards]]\n", "boards[1].fluents: name the fluents"),
        ("[[boards]]\nfluents = [1]", "boards[1].fluents: must be a list of texts"),
        ('[[boards]]\nfluents = ["(a"]', "boards[1].fluents: '(a' is not a fluent"),
        ('[[boards]]\nfluents = ["(pebble n ?x ?y)"]', "must have variables for arguments"),
        ('[[boards]]\nfluents = ["(pebble ?a ?b ?c)"]', "columns: ?x must be in each fluent"),
        ('[[boards]]\nfluents = ["(rock ?x ?y)"]', "the game has no fluents (rock ...) with 2"),
        (
            '[[boards]]\nfluents = ["(score ?x ?y)"]\nfirst_row = "left"',
            "boards[1].first_row: must",
        ),
        ('[[boards]]\nfluents = ["(score ?x ?y)"]\ncolumns = "x"', "boards[1].columns: must be a"),
        ("[symbols]\nx = 1", "symbols.x: must be a text"),
        ('[owners]\nrook = "red"', "owners.rook: 'red' is not a role; roles: white, black"),
    ],
)
def test_mistakes_in_a_side_file_are_told_with_file_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        side_file_layout(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'game.picture.toml'}")
    assert message in str(caught.value)


def test_a_missing_side_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Layout.of(normalize(parse(RULES)), tmp_path / "none.picture.toml")
