"""`ggp trace`: given and random joint moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import error_line, json_file, json_of, run, text_file
from tests.support.games import MODEST_GAMES

pytestmark = pytest.mark.usefixtures("compiled")

BOMB: list[dict[str, str]] = [
    {"agent": "noop", "random": "(arm red)"},
    {"agent": "ask", "random": "noop"},
    {"agent": "(cut red)", "random": "noop"},
]


def trace(folder: Path, joint_moves: object, game: str = "exploding_bomb") -> Any:
    return json_of("trace", game, "--moves", json_file(folder, joint_moves))


def trace_error(folder: Path, joint_moves: object) -> str:
    return error_line("trace", "exploding_bomb", "--moves", json_file(folder, joint_moves))


def test_given_moves_make_the_agreed_trace(tmp_path: Path) -> None:
    nothing: dict[str, list[str]] = {"agent": [], "random": []}
    assert trace(tmp_path, BOMB) == {
        "roles": ["agent", "random"],
        "steps": [
            {
                "state": ["(round 0)"],
                "terminal": False,
                "legal": {"agent": ["noop"], "random": ["(arm blue)", "(arm red)"]},
                "joint_move": BOMB[0],
                "percepts": nothing,
            },
            {
                "state": ["(armed red)", "(round 1)"],
                "terminal": False,
                "legal": {"agent": ["ask", "wait"], "random": ["noop"]},
                "joint_move": BOMB[1],
                "percepts": {"agent": ["red"], "random": []},
            },
            {
                "state": ["(armed red)", "(round 2)", "(score 90)"],
                "terminal": False,
                "legal": {"agent": ["(cut blue)", "(cut red)"], "random": ["noop"]},
                "joint_move": BOMB[2],
                "percepts": nothing,
            },
            {
                "state": ["(armed red)", "(round 3)", "(score 90)"],
                "terminal": True,
                "legal": nothing,
                "joint_move": None,
                "percepts": nothing,
            },
        ],
        "goals": {"agent": 90, "random": 0},
    }


@pytest.mark.parametrize("num", [0, 1, 2])
def test_trace_stops_after_the_last_given_move(tmp_path: Path, num: int) -> None:
    report = trace(tmp_path, BOMB[:num])
    assert len(report["steps"]) == num + 1
    assert report["goals"] is None
    assert report["steps"][-1]["joint_move"] is None
    assert report["steps"][-1]["percepts"] == {"agent": [], "random": []}
    assert report["steps"][-1]["legal"]["agent"]


def test_moves_may_be_spelled_otherwise(tmp_path: Path) -> None:
    spelled = [{role.upper(): f" {move.upper()} " for role, move in row.items()} for row in BOMB]
    assert trace(tmp_path, spelled) == trace(tmp_path, BOMB)


def test_plain_gdl_shows_every_role_the_joint_move(tmp_path: Path) -> None:
    first = {"xplayer": "(mark 2 2)", "oplayer": "noop"}
    step = trace(tmp_path, [first], "tic_tac_toe")["steps"][0]
    seen = ["(did oplayer noop)", "(did xplayer (mark 2 2))"]
    assert step["percepts"] == {"xplayer": seen, "oplayer": seen}


@pytest.mark.parametrize("game", MODEST_GAMES)
def test_random_trace_is_whole_and_can_be_given_again(game: str, tmp_path: Path) -> None:
    report = json_of("trace", game, "--seed", "7")
    roles, last = report["roles"], report["steps"][-1]
    assert last["terminal"]
    assert last["joint_move"] is None
    assert list(report["goals"]) == roles
    assert all(isinstance(value, int) for value in report["goals"].values())
    for step in report["steps"]:
        assert list(step) == ["state", "terminal", "legal", "joint_move", "percepts"]
        assert list(step["legal"]) == list(step["percepts"]) == roles
        for listed in (step["state"], *step["legal"].values(), *step["percepts"].values()):
            assert listed == sorted(listed)
    for step in report["steps"][:-1]:
        assert not step["terminal"]
        assert all(step["joint_move"][role] in step["legal"][role] for role in roles)
    moves = [step["joint_move"] for step in report["steps"][:-1]]
    assert json_of("trace", game, "--seed", "7") == report
    assert (report.pop("seed"), report.pop("backend")) == (7, "propnet")
    assert trace(tmp_path, moves, game) == report


def test_seed_changes_random_play() -> None:
    traces = [json_of("trace", "tic_tac_toe", "--seed", str(seed)) for seed in range(3)]
    assert traces[0] != traces[1] or traces[1] != traces[2]


def test_random_play_stops_at_the_limit() -> None:
    report = json_of("trace", "tic_tac_toe", "--max-steps", "2")
    assert len(report["steps"]) == 3
    assert report["goals"] is None


def test_trace_can_be_read(tmp_path: Path) -> None:
    output = run("trace", "exploding_bomb", "--moves", json_file(tmp_path, BOMB)).stdout
    assert "step 1\n  state: (armed red) (round 1)\n  legal agent: ask wait\n" in output
    assert "  agent plays ask\n  random plays noop\n  agent sees red\n" in output
    assert output.endswith("step 3 (terminal)\n  state: (armed red) (round 3) (score 90)\n\n"
                          "goals: agent 90, random 0\n")  # fmt: skip
    assert run("trace", "exploding_bomb", "--max-steps", "0").stdout.endswith("not over\n")


def test_goal_that_is_no_whole_number_stays_as_it_is(tmp_path: Path) -> None:
    game = text_file(tmp_path, "(role a) (legal a m) (<= terminal (role a)) (goal a 2.5)")
    assert json_of("trace", game)["goals"] == {"a": 2.5}


def test_illegal_move_says_where_and_what_is_legal(tmp_path: Path) -> None:
    line = trace_error(tmp_path, [BOMB[0], {"agent": "noop", "random": "noop"}])
    assert line.endswith(": step 1: noop is not legal for agent; legal moves: ask, wait")


@pytest.mark.parametrize(
    ("joint_moves", "expected"),
    [
        pytest.param([{"agent": "noop"}], "step 0: no move for random; legal moves: (arm blue), "
                     "(arm red)", id="missing role"),
        pytest.param([{**BOMB[0], "bob": "noop"}], "step 0: unknown role 'bob'; roles of this "
                     "game: agent, random", id="unknown role"),
        pytest.param([BOMB[0], {"agent": "(ask", "random": "noop"}], 'step 1: move of agent: '
                     '"(ask" is not a KIF term; legal moves: ask, wait', id="unparsable"),
        pytest.param([{"agent": 1, "random": "noop"}], "step 0: move of agent: 1 is not a KIF "
                     "term in a string; legal moves: noop", id="number"),
        pytest.param([{"agent": "?x", "random": "noop"}], "legal moves: noop", id="variable"),
        pytest.param([{"agent": "noop noop", "random": "noop"}], "legal moves: noop", id="two"),
        pytest.param([["noop", "noop"]], "step 0: a joint move must be an object", id="list"),
        pytest.param([*BOMB, BOMB[0]], "step 3: the game is over", id="after the end"),
        pytest.param({"agent": "noop"}, "must be a list of joint moves", id="object"),
    ],
)  # fmt: skip
def test_bad_joint_move_says_what_and_where(
    joint_moves: object, expected: str, tmp_path: Path
) -> None:
    assert expected in trace_error(tmp_path, joint_moves)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[\xff", "agent noop"])
def test_file_that_is_not_json_is_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "moves.json"
    path.write_bytes(text.encode("latin-1"))
    line = error_line("trace", "exploding_bomb", "--moves", str(path))
    assert "moves.json is not JSON" in line
    assert "list of joint moves like {role: move}" in line


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    line = error_line("trace", "exploding_bomb", "--moves", str(tmp_path / "none"))
    assert line.endswith("none: No such file or directory")
    assert "is a directory" in error_line("trace", "exploding_bomb", "--moves", str(tmp_path))


def test_role_without_a_move_is_named(tmp_path: Path) -> None:
    game = text_file(
        tmp_path,
        "(role a) (role b) (init s) (legal a m) (<= (legal b m) (true s))"
        "(<= (next t) (true s)) (<= terminal (true u)) (<= (next u) (true u))"
        "(goal a 0) (goal b 0)",
    )
    line = error_line("trace", game, "--json")  # else there are the steps before
    assert "b has no legal move in a state that is not terminal: t;" in line
    last = json_of("trace", game, "--max-steps", "1")["steps"][-1]
    assert last["legal"] == {"a": ["m"], "b": []}


@pytest.mark.verify
def test_goal_that_is_no_number_is_one_line(tmp_path: Path) -> None:
    for value in ("many", "inf", "nan", "(f 1)"):
        rules = f"(role a) (legal a m) (<= terminal (role a)) (init (s {value}))"
        rules += "(<= (next (s 5)) (does a m)) (<= (goal a ?v) (true (s ?v)))"
        line = error_line("trace", text_file(tmp_path, rules), "--json")
        assert f"the goal value {value} is not a number" in line
