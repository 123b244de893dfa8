"""What notebooks show of states, beliefs, decisions, records and results."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

import ggp
from ggp.players import Decision, MoveValue
from ggp.report import Table
from match_runner.match.records import MAX_BOARDS, MatchRecord

HOSTILE = """
(role <b>) (role random) (init (cell 1 1 <script>alert</script>)) (init (cell 1 2 &amp))
(<= (legal ?r a<i>) (role ?r)) (<= (next (cell 1 1 x)) (does <b> a<i>))
(<= (sees <b> "<img/src=x>") (does <b> a<i>))
(<= terminal (true (cell 1 1 x))) (<= (goal ?r 50) (role ?r))
"""
ALLOWED = {
    *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "small", "br"),
    *("details", "summary"),
}


class Reader(HTMLParser):
    """Reads HTML; texts, and tags that are still open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(table: object) -> Reader:
    """The HTML of something in a notebook: complete, with tables and texts only."""
    text = table._repr_html_()  # type: ignore[attr-defined]
    reader = Reader(text)
    assert not reader.open
    assert set(reader.tags) <= ALLOWED
    return reader


@pytest.fixture(scope="module")
def record() -> MatchRecord:
    return ggp.play_match("tic_tac_toe", {"xplayer": "hyperplay:n=1", "oplayer": "random"}, seed=1)


def test_a_state_is_a_board() -> None:
    state = ggp.load("tic_tac_toe").initial().play({"xplayer": "(mark 1 1)"}).state
    reader = read(state)
    assert reader.tags.count("td") == 9
    assert "\N{MULTIPLICATION X}" in reader.texts
    assert "(control oplayer)" in reader.texts


def test_a_belief_shows_what_is_not_certain() -> None:
    game = ggp.load("kuhn_poker")
    texts = read(game.belief("player1", [("noop", ["(dealt queen)"])])).texts
    assert "2 particles, exact" in texts
    assert "player1 holds: Q   player2 holds: J 0.50 K 0.50" in texts
    hidden = ggp.load("phantom_ttt")
    state, first = hidden.initial().play({"xplayer": "(mark 3 3)", "oplayer": "noop"})
    _, second = state.play({"xplayer": "noop", "oplayer": "(mark 1 1)"})
    history = [("(mark 3 3)", first["xplayer"]), ("noop", second["xplayer"])]
    board = "".join(read(hidden.belief("xplayer", history)).texts)
    assert board.count("0.11") == 9  # also for a mark that was refused
    assert "1.00" not in board


def test_a_decision_shows_its_candidates() -> None:
    values = tuple(MoveValue(f"(m {n})", float(n), 1.5, 10) for n in range(30))
    decision = Decision("(m 3)", values, 7, False, 1234, 0.5, probabilities={"(m 3)": 1.0})
    reader = read(decision)
    assert reader.tags.count("tr") == 1 + 12 + 1  # the best, and the chosen one
    assert "(m 3): 7 particles (sampled), 1,234 states, 0.50 s, 17 more moves" in reader.texts
    assert "probability" in reader.texts
    nothing = Decision("noop", (MoveValue("noop", None, None, 0),), 0, True, 0, 0.0, fault="late")
    assert "-" in read(nothing).texts


def test_a_record_shows_every_turn(record: MatchRecord) -> None:
    reader = read(record)
    assert reader.tags.count("details") == len(record.turns) + 1
    assert reader.tags.count("td") > 9 * len(record.turns)
    assert "hyperplay:n=1" in reader.texts


def test_a_record_that_fits_no_rules_is_shown_without_boards(record: MatchRecord) -> None:
    turns = (replace(record.turns[0], joint_move={"xplayer": "x", "oplayer": "noop"}),)
    reader = read(replace(record, turns=turns))
    assert reader.tags.count("details") == 1
    assert reader.tags.count("summary") == 1


@pytest.mark.verify
def test_long_matches_are_drawn_up_to_a_number_of_boards() -> None:
    count = "(role a) (init (n 0)) (<= (legal a go) (role a)) (<= terminal (true (n 99)))"
    steps = " ".join(f"(after {n} {n + 1})" for n in range(99))
    rules = f"{count} {steps} (<= (next (n ?y)) (true (n ?x)) (after ?x ?y)) (goal a 100)"
    record = ggp.play_match(rules, {"a": "legal"})
    reader = read(record)
    assert reader.tags.count("details") == 100
    assert sum(text.startswith("(n ") for text in reader.texts) == MAX_BOARDS


def test_names_of_strangers_are_nothing_but_text() -> None:
    game = ggp.load(HOSTILE)
    state = game.initial()
    assert "<script>alert" in "".join(read(state).texts)
    read(game.belief("<b>", []))
    read(ggp.play_match(game, {"<b>": "legal"}))
    assert Table(("<a>",), [("<b>",)], "<c>").html().count("&lt;") == 3


def test_results_are_tables() -> None:
    result = ggp.compare("monty_hall", ["legal", "random"], rounds=2)
    texts = read(result).texts
    assert "ComparisonSummary of monty_hall: 4 of 4 matches" in texts
    assert texts.count("monty_hall") == 2
    assert result.plot()._repr_png_().startswith(b"\x89PNG")
    assert "48.611111" in read(ggp.solve("kuhn_poker")).texts
    assert "player1" in read(ggp.exploit("kuhn_poker", "random", samples=5)).texts
