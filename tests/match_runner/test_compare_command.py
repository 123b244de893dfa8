"""`match-runner compare`, with worker processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from match_runner.cli import main
from tests.match_runner.comparisons import compared, num_matches, options_of, rows_of
from tests.match_runner.test_executor import is_alive
from tests.support.games import REPOSITORY

PLAYERS = ("hyperplay:n=2", "random")
KUHN = ("compare", "kuhn_poker", "--players", *PLAYERS)


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="match-runner")


def start(folder: Path, matches: int) -> subprocess.Popen[str]:
    """The command in a process of its own, once some matches have been played."""
    command = [sys.executable, "-m", "match_runner", *KUHN, "--out", str(folder)]
    process = subprocess.Popen(
        [*command, "--matches", str(matches)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while num_matches(folder, writing=True) < 3 and time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return process


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def gone(pids: list[int]) -> bool:
    until = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


def test_a_killed_run_goes_on_and_gives_the_same_rows(tmp_path: Path) -> None:
    process = start(tmp_path / "killed", 80)
    workers = children(process.pid)
    process.kill()
    process.communicate()
    assert len(workers) == 1
    assert gone(workers)
    before = num_matches(tmp_path / "killed")
    assert 2 <= before < 80  # the third may not have been finished
    args = (*KUHN, "--matches", "80", "--jobs", "2", "--out", str(tmp_path / "killed"))
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    compared(options_of("kuhn_poker", *PLAYERS, matches=80), tmp_path / "whole")
    assert rows_of(tmp_path / "killed") == rows_of(tmp_path / "whole")
    # The finished run only prints.
    began = time.monotonic()
    assert run(*args).stdout == result.stdout
    assert time.monotonic() - began < 5


def test_an_interrupt_leaves_a_file_that_can_be_continued(tmp_path: Path) -> None:
    process = start(tmp_path, 5000)
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert gone(workers)
    played = num_matches(tmp_path)
    assert err == f"interrupted after {played} of 5000 matches; the same command continues\n"
    assert f"kuhn_poker: {played} of 5000 matches, roles rotate, seed 0" in out


def test_the_table_and_the_json_say_the_same(tmp_path: Path) -> None:
    args = [
        *("compare", "kuhn_poker", "--player", "hyperplay:n=3", "--player=hyperplay:n=2"),
        *("--matches", "10", "--seed", "4", "--equal-states", "--out", str(tmp_path)),
    ]
    shown = run(*args)
    assert shown.exit_code == 0, shown.output
    assert shown.stderr == ""
    printed = run(*args, "--json")
    found = json.loads(printed.stdout)
    assert list(found) == [
        *("options", "played", "backend", "players", "differences", "equal_states", "faulty")
    ]
    assert found["options"]["players"] == ["hyperplay:n=3", "hyperplay:n=2"]
    assert found["played"] == 10
    assert "kuhn_poker: 10 matches, roles rotate, seed 4" in shown.stdout
    for player in found["players"]:
        assert list(player) == [
            *("player", "score", "wins", "draws", "losses", "win_share", "effort", "by_role")
        ]
        assert player["wins"] + player["draws"] + player["losses"] == 10
        assert f"{player['score']['value']:.2f} [{player['score']['low']:.2f}, " in shown.stdout
        assert f"{player['effort']['states']:,.0f}" in shown.stdout
        assert set(player["by_role"]) == {"player1", "player2"}
    assert "against hyperplay:n=2 on the same 5 seeds" in shown.stdout
    assert "States visited a decision, by role and turn" in shown.stdout
    assert {row["role"] for row in found["equal_states"]} == {"player1", "player2"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((*KUHN, "--matches", "3"), "--matches 3 leaves a round unfinished"),
        ((*KUHN, "god", "--matches", "3"), "unknown player 'god'"),
        ((*KUHN, "--matches", "2", "--equal-states"), "cannot give random a budget of states"),
        (("compare", "kuhn_poker", "--matches", "2"), "give at least two players"),
        (("compare", "nowhere", "--matches", "2"), "unknown game 'nowhere'"),
        (KUHN, "Missing option '--matches'"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(
    tmp_path: Path, args: tuple[str, ...], message: str
) -> None:
    result = run(*args, "--out", str(tmp_path / "new"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not (tmp_path / "new").exists()


def test_other_options_are_refused(tmp_path: Path) -> None:
    out = ("--matches", "2", "--out", str(tmp_path))
    assert run("compare", "kuhn_poker", "--players", "legal", "random", *out).exit_code == 0
    result = run("compare", "kuhn_poker", "--players", "random", "legal", *out)
    assert result.exit_code == 2
    assert "--players was legal random and is now random legal; continue" in result.stderr
