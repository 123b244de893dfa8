"""`ggp evaluate`: histories, and the values of the HyperPlay-II paper (tables 1 and 2)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from ggp import play_match
from ggp.cli.histories import first_choice
from ggp.players import PLAYERS
from tests.support.commands import error_line, json_file, json_of, run, text_file
from tests.support.games import MODEST_GAMES, machine_of_game

pytestmark = pytest.mark.usefixtures("compiled")

HYPERPLAY = "hyperplay:particles=100,playouts=200"
NOOP: dict[str, object] = {"move": "noop", "percepts": []}
WAITED: list[object] = [NOOP, {"move": "wait", "percepts": []}]
BOMB = ("exploding_bomb", "--role", "agent")


def history_with(colour: str) -> list[object]:
    return [NOOP, {"move": "ask", "percepts": [colour]}]


def evaluate(*args: str) -> dict[str, Any]:
    report: dict[str, Any] = json_of("evaluate", *args)
    return report


def values(report: dict[str, Any]) -> dict[str, float]:
    return {entry["move"]: entry["value"] for entry in report["moves"]}


def history_error(folder: Path, history: object, *args: str) -> str:
    path = json_file(folder, history)
    return error_line(
        "evaluate", *(args or (*BOMB, "--player", "hyperplay:n=2")), "--history", path
    )


# ---------------------------------------------------------------- table 1


def test_hyperplay_waits_at_the_bomb() -> None:
    report = evaluate(*BOMB, "--player", HYPERPLAY)
    assert values(report) == {"ask": pytest.approx(45, abs=2), "wait": pytest.approx(50, abs=2)}
    assert report["choice"] == "wait"
    assert all(entry["visits"] >= 20_000 for entry in report["moves"])


@pytest.mark.parametrize("seed", range(3))
def test_hyperplay2_asks_at_the_bomb(seed: int) -> None:
    report = evaluate(*BOMB, "--player", "hyperplay2:n=8", "--seed", str(seed))
    assert values(report) == {"ask": 90, "wait": pytest.approx(50, abs=25)}
    assert report["choice"] == "ask"


@pytest.mark.parametrize("player", ["hyperplay:n=8", "hyperplay2:n=8", "hyperplay2:n=4,exact=0"])
@pytest.mark.parametrize(("colour", "other_colour"), [("red", "blue"), ("blue", "red")])
def test_colour_seen_is_the_wire_cut(
    player: str, colour: str, other_colour: str, tmp_path: Path
) -> None:
    history = json_file(tmp_path, history_with(colour))
    report = evaluate(*BOMB, "--player", player, "--history", history)
    assert values(report) == {f"(cut {colour})": 90, f"(cut {other_colour})": 0}
    assert report["choice"] == f"(cut {colour})"


def test_both_wires_are_equal_for_hyperplay_that_waited(tmp_path: Path) -> None:
    report = evaluate(*BOMB, "--player", HYPERPLAY, "--history", json_file(tmp_path, WAITED))
    assert values(report) == {"(cut blue)": 50, "(cut red)": 50}
    assert report["exact"]
    assert report["particles"] == 2


# ---------------------------------------------------------------- table 2


def test_hyperplay_tells_where_to_arm() -> None:
    report = evaluate("spy_vs_spy", "--role", "spy1", "--player", HYPERPLAY)
    told_values = {move: value for move, value in values(report).items() if "tell" in move}
    hidden = {move: value for move, value in values(report).items() if "hide" in move}
    assert list(told_values.values()) == [pytest.approx(60, abs=2.5)] * 2
    assert list(hidden.values()) == [pytest.approx(40, abs=2.5)] * 2
    assert "tell" in report["choice"]


@pytest.mark.parametrize("seed", range(20))
def test_hyperplay2_hides_where_it_armed(seed: int) -> None:
    report = evaluate(
        "spy_vs_spy", "--role", "spy1", "--player", "hyperplay2:n=8", "--seed", str(seed)
    )
    for move, value in values(report).items():
        assert value == (20 if "tell" in move else pytest.approx(40, abs=20))
    assert "hide" in report["choice"]


@pytest.mark.parametrize("player", ["hyperplay:n=8", "hyperplay2:n=4"])
def test_candidate_switches(player: str, tmp_path: Path) -> None:
    history = json_file(
        tmp_path,
        [{"move": "(choose 1)", "percepts": []}, {"move": "noop", "percepts": ["(opened 3)"]}],
    )
    report = evaluate("monty_hall", "--role", "candidate", "--player", player, "--history", history)
    assert report["choice"] == "switch"
    assert values(report) == {
        "stay": pytest.approx(100 / 3, abs=1e-9),
        "switch": pytest.approx(200 / 3, abs=1e-9),
    }


# ---------------------------------------------------------------- form


# A puzzle has one role, and no chance.
@pytest.mark.parametrize("player", [name for name in PLAYERS if name != "puzzle"])
def test_every_player_gives_the_agreed_fields(player: str) -> None:
    report = evaluate(*BOMB, "--player", player)
    assert list(report) == [
        "role",
        "player",
        "history",
        "moves",
        "choice",
        "particles",
        "exact",
        "quality",
        "states_visited",
        "seconds",
        "seed",
        "backend",
    ]
    assert (report["seed"], report["backend"]) == (0, "propnet")
    assert (report["role"], report["player"]) == ("agent", player)
    assert [entry["move"] for entry in report["moves"]] == ["ask", "wait"]
    fields = ["move", "value", "stderr", "visits"]
    draws = "probability" in report["moves"][0]
    if draws:
        assert sum(e["probability"] for e in report["moves"]) == pytest.approx(1)
    assert all(list(e) == fields + ["probability"] * draws for e in report["moves"])
    assert draws or player not in ("policy", "learned", "resolve")
    # `auto` solves this game.
    is_valued = player not in ("legal", "random", "policy", "learned", "auto")
    assert all((e["value"] is not None) == is_valued for e in report["moves"])
    assert all((e["stderr"] is not None) == is_valued for e in report["moves"])
    assert report["choice"] in ("ask", "wait")
    assert report["exact"] is (player not in ("los", "aos", "aosp", "hs"))  # these never are
    assert report["states_visited"] > 0
    assert report["seconds"] >= 0


def test_sampled_set_is_not_exact(tmp_path: Path) -> None:
    assert not evaluate(*BOMB, "--player", "hyperplay:n=2,exact=0")["exact"]


def test_same_seed_gives_the_same_values() -> None:
    args = ("krieg_tic_tac_toe", "--role", "xplayer", "--player", "hyperplay:n=2", "--seed")
    first, repeated, reseeded = (evaluate(*args, seed) for seed in ("5", "5", "6"))
    assert first["moves"] == repeated["moves"]
    assert first["choice"] == repeated["choice"]
    assert first["moves"] != reseeded["moves"]


def test_play_clock_bounds_the_time() -> None:
    report = evaluate(*BOMB, "--player", "hyperplay2:n=8", "--play-clock", "0.5")
    assert 0.3 < report["seconds"] < 1.5
    assert report["choice"] == "ask"


def test_table_can_be_read() -> None:
    table = run("evaluate", *BOMB, "--player", "hyperplay2:n=4").stdout
    assert "move of agent" in table
    assert any(line.split()[:3] == [">", "ask", "90.00"] for line in table.splitlines())
    assert "hyperplay2:n=4 plays ask: " in table
    assert "exact: 2 states, which are all there can be" in table
    assert " - " in run("evaluate", *BOMB, "--player", "legal").stdout


# ---------------------------------------------------------------- histories


def test_history_is_followed_to_the_first_choice_by_default(tmp_path: Path) -> None:
    explicit = evaluate(*BOMB, "--player", "hyperplay", "--history", json_file(tmp_path, [NOOP]))
    assert values(evaluate(*BOMB, "--player", "hyperplay")) == values(explicit)


def test_only_move_after_a_given_history_is_evaluated(tmp_path: Path) -> None:
    report = evaluate(*BOMB, "--player", "hyperplay", "--history", json_file(tmp_path, []))
    assert [entry["move"] for entry in report["moves"]] == ["noop"]


def test_history_may_be_spelled_otherwise_and_unknown_in_part(tmp_path: Path) -> None:
    history = [
        {"percepts": None, "move": None},
        {"move": " ASK", "percepts": ["RED"]},
    ]
    report = evaluate(*BOMB, "--player", "hyperplay", "--history", json_file(tmp_path, history))
    assert values(report) == {"(cut red)": 90, "(cut blue)": 0}


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param([NOOP, {"move": "wait", "percepts": ["red"]}],
                     "turn 1: no complete path agrees", id="impossible percept"),
        pytest.param([{"move": "ask", "percepts": []}],
                     "turn 0: no complete path agrees", id="illegal move"),
        pytest.param([*WAITED, {"move": "(cut red)", "percepts": []}],
                     "the game is over", id="after the end"),
        pytest.param([{"move": "jump", "percepts": []}],
                     "turn 0: jump is not a move of this game", id="unknown move"),
        pytest.param([NOOP, {"move": "ask", "percepts": ["green"]}],
                     "turn 1: green is not a percept of this game", id="unknown percept"),
        pytest.param([{"move": "(noop", "percepts": []}],
                     'turn 0: "(noop" is not a KIF term', id="unparsable move"),
        pytest.param([{"move": "noop", "percepts": ["a b"]}],
                     'turn 0: "a b" is not a KIF term', id="unparsable percept"),
        pytest.param([{"move": 1, "percepts": []}],
                     "turn 0: 1 is not a KIF term in a string", id="number"),
        pytest.param([{"move": "noop", "percepts": "red"}],
                     "turn 0: percepts must be a list", id="percepts no list"),
        pytest.param([{"move": "noop"}], "turn 0: a turn must be an object", id="no percepts"),
        pytest.param([{**NOOP, "x": 1}], "turn 0: a turn must be an object", id="unknown field"),
        pytest.param(["noop"], "turn 0: a turn must be an object", id="no object"),
        pytest.param(NOOP, "must be a list of turns", id="no list"),
    ],
)  # fmt: skip
def test_bad_history_says_what_and_where(history: object, expected: str, tmp_path: Path) -> None:
    assert expected in history_error(tmp_path, history)


@pytest.mark.parametrize("player", ["hyperplay2:n=2", "hyperplay:n=2,exact=0", "legal"])
def test_impossible_history_is_an_error_for_every_player(player: str, tmp_path: Path) -> None:
    line = history_error(
        tmp_path, [NOOP, {"move": "ask", "percepts": []}], *BOMB, "--player", player
    )
    assert "no complete path" in line
    assert logging.getLogger("ggp.players").level == logging.NOTSET


def test_missing_history_file_is_one_line(tmp_path: Path) -> None:
    path = str(tmp_path / "none.json")
    line = error_line("evaluate", *BOMB, "--player", "legal", "--history", path)
    assert line == f"error: cannot read {path}: No such file or directory"


@pytest.mark.parametrize("game", MODEST_GAMES)
def test_every_game_is_evaluated_at_the_first_choice_of_a_role(game: str) -> None:
    role = [role for role in machine_of_game(game).roles if role != "random"][-1]
    assert len(evaluate(game, "--role", role, "--player", "random", "--seed", "3")["moves"]) > 1


def test_a_random_match_leads_to_the_first_choice_by_its_seed() -> None:
    machine = machine_of_game("kuhn_poker")
    histories = [first_choice(machine, 0, seed) for seed in range(20)]
    assert {(turn.move, *(turn.percepts or ())) for (turn,) in histories} == {
        ("noop", f"(dealt {card})") for card in ("jack", "queen", "king")
    }
    assert histories == [first_choice(machine, 0, seed) for seed in range(20)]


def test_role_without_any_choice_needs_a_history(tmp_path: Path) -> None:
    game = text_file(
        tmp_path,
        "(role a) (role random) (init start) (legal a m) (legal random m)"
        "(<= (next on) (true start)) (<= (sees a (say it)) (true start))"
        "(<= terminal (true on)) (goal a 50)",
    )
    line = error_line("evaluate", game, "--role", "a", "--player", "legal")
    assert "a had no choice in 20 random matches; give --history" in line
    assert 'for example [{"move": "m", "percepts": ["(say it)"]}]' in line


def test_a_decision_of_a_recorded_match_is_evaluated_again(tmp_path: Path) -> None:
    record = play_match("exploding_bomb", {"agent": "hyperplay2:n=8"}, seed=1)
    path = json_file(tmp_path, record.to_json())
    for turn in (2, 3):
        report = evaluate(
            *BOMB, "--player", "hyperplay2:n=8", "--record", path, "--turn", str(turn)
        )
        assert report["choice"] == record.turns[turn - 1].joint_move["agent"]
    for args, expected in (
        (("--record", path), "give --record FILE and --turn N together"),
        (("--record", path, "--turn", "9"), "has the turns 1 to 3, not 9"),
        (("--record", path, "--turn", "1", "--history", path), "or --history FILE"),
    ):
        assert expected in error_line("evaluate", *BOMB, "--player", "legal", *args)
    poker = ("kuhn_poker", "--role", "player1", "--player", "legal")
    line = error_line("evaluate", *poker, "--record", path, "--turn", "1")
    assert "is the record of a game with other rules" in line
    nonsense = json_file(tmp_path, {"turns": 3})
    line = error_line("evaluate", *BOMB, "--player", "legal", "--record", nonsense, "--turn", "1")
    assert "must be a record of match-runner" in line


# ---------------------------------------------------------------- roles and players


def test_random_has_no_values() -> None:
    line = error_line("evaluate", "exploding_bomb", "--role", "random", "--player", "legal")
    assert "random plays by chance" in line
    assert line.endswith("roles: agent")


def test_unknown_role_lists_the_roles() -> None:
    line = error_line("evaluate", "exploding_bomb", "--role", "bob", "--player", "legal")
    assert line == "error: unknown role 'bob'; roles of this game: agent, random"


@pytest.mark.parametrize(
    ("player", "expected"),
    [
        ("oracle", "players: legal, random, hyperplay, hyperplay2"),
        ("hyperplay:m=1", "options: n, particles, playouts, exact"),
        ("hyperplay:n=many", "whole number"),
        ("hyperplay2:n=0", "from 1 to"),
        ("legal:n=1", "options: risk"),
    ],
)
def test_bad_player_says_what_is_possible(player: str, expected: str) -> None:
    assert expected in error_line("evaluate", *BOMB, "--player", player)


def test_percepts_of_a_randomly_drawn_match_are_part_of_the_history() -> None:
    args = ("kuhn_poker", "--role", "player1", "--player", "hyperplay:n=1")
    report = evaluate(*args)
    (turn,) = report["history"]
    assert turn["move"] == "noop"
    (dealt,) = turn["percepts"]
    assert dealt.startswith("(dealt ")
    first, *_ = run("evaluate", *args).stdout.splitlines()
    assert first == f"player1 did / saw: noop / {dealt}"
    seeds = {evaluate(*args, "--seed", str(seed))["history"][0]["percepts"][0] for seed in range(9)}
    assert len(seeds) > 1
    assert "did / saw" not in run("evaluate", *BOMB, "--player", "hyperplay:n=1").stdout
