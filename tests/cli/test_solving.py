"""`ggp solve`, `ggp exploit` and `ggp convert --to efg`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.solve.games import BLIND_PILE, ROCK_PAPER_SCISSORS
from tests.support.commands import error_line, json_of, run, text_file

pytestmark = pytest.mark.usefixtures("compiled")

PROLOG = ("--backend", "prolog")


def test_solve_prints_values_and_certainty() -> None:
    report = json_of("solve", "kuhn_poker", *PROLOG)
    assert list(report) == [
        *("game", "method", "values", "nash_conv", "states", "information_sets", "seconds"),
        *("seed", "backend"),
    ]
    assert (report["seed"], report["backend"]) == (0, "prolog")
    assert report["game"] == "kuhn_poker"
    assert report["method"] == "sequence form LP"
    assert report["values"] == pytest.approx({"player1": 875 / 18, "player2": 925 / 18}, abs=1e-6)
    assert report["nash_conv"] == pytest.approx(0, abs=1e-6)
    assert (report["states"], report["information_sets"]) == (55, {"player1": 6, "player2": 6})
    assert report["seconds"] > 0


@pytest.mark.verify
def test_solve_goes_by_positions_where_everybody_knows_them(tmp_path: Path) -> None:
    hands = text_file(tmp_path, ROCK_PAPER_SCISSORS)
    report, tree = json_of("solve", hands), json_of("solve", hands, "--strategy")
    assert report["method"] == "backward induction over matrices"
    assert report["values"] == pytest.approx(tree["values"], abs=1e-6)
    assert report["information_sets"] == tree["information_sets"]
    assert [*report, "strategy"] == sorted(tree, key=[*report, "strategy"].index)
    table = run("solve", hands).stdout
    assert "backward induction over matrices; NashConv" in table


def test_solve_names_both_equilibria_of_the_spies() -> None:
    report = json_of("solve", "cooperative_spies", *PROLOG)
    assert report["values"] == {"spy1": 50, "spy2": 50}
    assert report["gains"] == {"spy1": 0, "spy2": 0}
    (second,) = report["equilibria"]
    assert (second["values"], second["nash_conv"]) == ({"spy1": 100, "spy2": 100}, 0)
    table = run("solve", "cooperative_spies", *PROLOG).stdout
    assert "another equilibrium: spy1 100.000000, spy2 100.000000" in table
    assert "as good as its gains are small" in table


def test_solve_shows_strategies_by_history() -> None:
    strategy = json_of("solve", "exploding_bomb", "--strategy", *PROLOG)["strategy"]
    start = {"move": "noop", "percepts": []}
    assert strategy["agent"][0] == {"history": [start], "moves": {"ask": 1.0, "wait": 0.0}}
    asked_turn = {"move": "ask", "percepts": ["red"]}
    by_history = {str(entry["history"]): entry["moves"] for entry in strategy["agent"]}
    assert by_history[str([start, asked_turn])] == {"(cut blue)": 0.0, "(cut red)": 1.0}
    lines = run("solve", "exploding_bomb", "--strategy", *PROLOG).stdout.splitlines()
    row = ["agent", "noop", "()", "|", "ask", "(red)", "(cut", "red)", "1.0000"]
    assert row in [line.split() for line in lines]


def test_solve_says_why_it_refuses(tmp_path: Path) -> None:
    line = error_line("solve", "krieg_tic_tac_toe", "--states", "1000", *PROLOG, code=1)
    assert line.startswith(
        "error: the tree of the game is too large: it has more than 1,000 states"
    )
    blind = text_file(tmp_path, BLIND_PILE)
    line = error_line("solve", blind, *PROLOG, code=1)
    assert line.startswith("error: digger cannot tell its legal moves")


def test_exploit_measures_random_play() -> None:
    report = json_of("exploit", "kuhn_poker", "--player", "random", "--samples", "2", *PROLOG)
    assert list(report) == [
        *("player", "play_clock", "clock", "answers", "samples"),
        *("roles", "nash_conv", "error", "error_asked", "seed", "backend"),
    ]
    assert (report["play_clock"], report["answers"]) == (None, None)
    assert (report["seed"], report["backend"]) == (0, "prolog")
    assert (report["player"], report["samples"]) == ("random", 2)
    assert (report["error"], report["error_asked"]) == (0, 12)
    assert report["nash_conv"] == pytest.approx(22 + 11 / 12)
    assert list(report["roles"]) == ["player1", "player2"]
    first = report["roles"]["player1"]
    assert list(first) == ["value", "best_response", "ci99", "asked"]
    assert first["asked"] == 6  # it tells its policy at each of six sets
    assert first["value"] == pytest.approx(50 - 25 / 6)
    assert first["ci99"] == [pytest.approx(50 - 25 * 5 / 12)] * 2


def test_exploit_asks_all_sets_equally_often_on_a_clock() -> None:
    arguments = ("exploit", "kuhn_poker", "--player", "ismcts", "--answers", "2")
    report = json_of(*arguments, "--play-clock", "0.01", "--clock", "cpu", *PROLOG)
    assert [role["asked"] for role in report["roles"].values()] == [12, 12]
    assert (report["play_clock"], report["clock"], report["answers"]) == (0.01, "cpu", 2)
    assert report["error_asked"] is None
    message = "give either --answers, or --error and --samples"
    assert message in error_line(*arguments, "--samples", "2")
    assert "--clock says nothing without --play-clock" in error_line(*arguments, "--clock", "cpu")


def test_exploit_shows_a_table() -> None:
    args = ("exploit", "monty_hall", "--player", "legal", "--samples", "1", *PROLOG)
    table = run(*args).stdout
    assert "against a best response" in table
    assert "legal: NashConv 33.3333; the player states its policy" in table


def test_convert_prints_the_tree_of_a_game() -> None:
    lines = run("convert", "kuhn_poker", "--to", "efg").stdout.splitlines()
    assert lines[0] == 'EFG 2 R "kuhn_poker" { "player1" "player2" }'
    deals = " ".join(
        f'"(deal {a} {b})" 1/6'
        for a in ("jack", "king", "queen")
        for b in ("jack", "king", "queen")
        if a != b
    )
    assert lines[2] == f'c "" 1 "" {{ {deals} }} 0'
    assert sum(line.startswith("t") for line in lines) == 30


@pytest.mark.verify
def test_exploit_approximates_and_checks(tmp_path: Path) -> None:
    plot = tmp_path / "bound.png"
    arguments = ("exploit", "kuhn_poker", "--player", "random", "--approximate")
    budget = ("--updates", "8", "--matches", "300")
    report = json_of(*arguments, *budget, "--check", "--plot", str(plot))
    assert list(report) == [
        *("player", "approximate", "updates", "seconds", "matches", "few", "responses", "roles"),
        *("sum_of_goals", "nash_conv", "seed", "backend"),
    ]
    exact = {role: response["exact"] for role, response in report["responses"].items()}
    assert exact == pytest.approx({"player1": 62.5, "player2": 50 + 125 / 12})
    for response in report["responses"].values():
        assert response["ci99"][0] < response["score"] < response["ci99"][1]
        assert response["by"] in {judged["by"] for judged in response["over_time"]}
    assert report["sum_of_goals"] == 100
    assert plot.read_bytes().startswith(b"\x89PNG")
    table = run(*arguments, *budget).stdout
    assert "random as player1 is left with" in table
    assert "300 fresh matches a role" in table


def test_exploit_refuses_options_of_the_other_mode() -> None:
    arguments = ("exploit", "kuhn_poker", "--player", "random")
    assert error_line(*arguments, "--updates", "3").startswith("error: unknown option --updates")
    line = error_line(*arguments, "--approximate", "--error", "3")
    assert line.startswith("error: unknown option --error")
    line = error_line(
        "exploit", "kuhn_poker", "--player", "hyperplay:n=2", "--approximate", "--check"
    )
    assert line.startswith("error: --check needs a player that tells its policy")
    line = error_line(*arguments, "--approximate", "--updates", "3", "--seconds", "3")
    assert "either --updates or --seconds" in line
    line = error_line(*arguments, "--approximate", "--max-turns", "3")
    assert line.startswith("error: --max-turns says nothing")
    check = (*arguments, "--approximate", "--updates", "1", "--check")
    assert "too large" in error_line(*check, "--states", "3", code=1)
    assert "turns" in error_line(*check, "--max-turns", "1", code=1)
