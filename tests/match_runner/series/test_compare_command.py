"""`match-runner compare`, with worker processes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ggp.gdl.normalize import load
from match_runner.cli import main
from match_runner.cli.series import _default_folder
from tests.match_runner.series.comparisons import compared, num_matches, rows_of, series_of
from tests.match_runner.workers.test_executor import is_alive
from tests.support import commands

PLAYERS = ("hyperplay:n=2", "random")
KUHN = ("compare", "kuhn_poker", "--players", *PLAYERS)


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="match-runner")


def start(*args: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    return commands.start("-m", "match_runner", *args)


def wait_for_matches(process: subprocess.Popen[str], folder: Path, matches: int) -> None:
    """Wait until the command has stored some matches."""
    until = time.monotonic() + 120  # kernels may have to be compiled
    while num_matches(folder, writing=True) < matches:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until, f"fewer than {matches} matches in two minutes"
        time.sleep(0.01)


def start_kuhn(folder: Path, matches: int) -> subprocess.Popen[str]:
    """A comparison once some matches have been played."""
    process = start(*KUHN, "--matches", str(matches), "--out", str(folder))
    wait_for_matches(process, folder, 3)
    return process


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    pids: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has ended
            pids += map(int, path.read_text().split())
    return pids


def are_gone(pids: list[int]) -> bool:
    until = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


@pytest.mark.parametrize(
    ("game", "start"),
    [
        ("kuhn_poker", "kuhn_poker-"),
        ("sheets/my game.gdl", "my-game-"),
        ("poker(p=0.5,file=a/b)", "poker-p-0.5-file-a-b-"),
    ],
)
def test_the_usual_folder_has_the_name_of_the_game(game: str, start: str) -> None:
    series = series_of("kuhn_poker", *PLAYERS, rounds=1)
    named = replace(series, games=(replace(series.games[0], name=game),))
    folder = _default_folder(named)
    assert folder.parent == Path("runs")
    assert re.fullmatch(re.escape(start) + "[0-9a-f]{8}", folder.name)


def test_a_killed_run_goes_on_and_gives_the_same_rows(tmp_path: Path) -> None:
    process = start_kuhn(tmp_path / "killed", 80)
    workers = children(process.pid)
    process.kill()
    process.communicate(timeout=30)
    assert len(workers) == 1
    assert are_gone(workers)
    num_before = num_matches(tmp_path / "killed")
    assert 2 <= num_before < 80  # the third may not have been finished
    args = (*KUHN, "--matches", "80", "--jobs", "2", "--out", str(tmp_path / "killed"))
    result = run(*args)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    compared(series_of("kuhn_poker", *PLAYERS, rounds=40), tmp_path / "whole")
    assert rows_of(tmp_path / "killed") == rows_of(tmp_path / "whole")
    # The finished run only prints.
    began = time.monotonic()
    assert run(*args).stdout == result.stdout
    assert time.monotonic() - began < 5


@pytest.mark.verify
def test_three_kills_at_random_moments_change_nothing(tmp_path: Path) -> None:
    players = ("hyperplay:n=3", "hyperplay:n=2")
    args = (
        *("compare", "kuhn_poker", "--players", *players, "--equal-states", "--jobs", "2"),
        *("--matches", "60", "--out", str(tmp_path / "killed")),
    )
    moments = random.Random(20)
    num_before = 0
    for _ in range(3):
        process = start(*args)
        wait_for_matches(process, tmp_path / "killed", num_before + moments.randint(1, 12))
        time.sleep(moments.uniform(0, 0.05))
        workers = children(process.pid)
        process.kill()
        process.communicate(timeout=30)
        assert process.returncode == -signal.SIGKILL
        assert len(workers) == 2
        assert are_gone(workers)
        num_before = num_matches(tmp_path / "killed")
    assert num_before < 60
    result = run(*args)
    assert result.exit_code == 0, result.output
    series = series_of("kuhn_poker", *players, rounds=30, equal_states=True)
    compared(series, tmp_path / "whole")
    assert rows_of(tmp_path / "killed") == rows_of(tmp_path / "whole")


@pytest.mark.verify
def test_a_match_that_takes_too_long_is_given_up_after_three_tries(tmp_path: Path) -> None:
    players = ("hyperplay:n=100", "legal")
    result = run(
        "compare",
        "kuhn_poker",
        "--players",
        *players,
        "--matches",
        "2",
        "--jobs",
        "2",
        "--match-seconds",
        "1",
        "--out",
        str(tmp_path),
    )
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 2
    assert "was tried 3 times: it took longer than 1 seconds and was stopped" in result.stderr
    assert "the same command tries again" in result.stderr
    assert num_matches(tmp_path) == 0


@pytest.mark.verify
def test_an_interrupt_leaves_a_file_that_can_be_continued(tmp_path: Path) -> None:
    process = start_kuhn(tmp_path, 5000)
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert are_gone(workers)
    num_played = num_matches(tmp_path)
    assert err == f"interrupted after {num_played} of 5000 matches; the same command continues\n"
    assert f"kuhn_poker: {num_played} of 5000 matches, roles rotate, seed 0" in out


@pytest.mark.verify
def test_the_table_and_the_json_say_the_same(tmp_path: Path) -> None:
    args = [
        *("compare", "kuhn_poker", "--player", "hyperplay:n=3", "--player=hyperplay:n=2"),
        *("--matches", "10", "--seed", "4", "--equal-states", "--out", str(tmp_path)),
    ]
    output = run(*args)
    assert output.exit_code == 0, output.output
    assert output.stderr == ""
    printed = run(*args, "--json")
    report = json.loads(printed.stdout)
    assert list(report) == [
        *("options", "played", "backend", "players", "differences", "methods", "verdict"),
        *("until", "equal_states", "faulty"),
    ]
    assert report["methods"][0] in output.stdout
    assert "undecided: " in output.stdout
    assert report["until"] is None
    assert report["options"]["players"] == ["hyperplay:n=3", "hyperplay:n=2"]
    assert report["played"] == 10
    assert "kuhn_poker: 10 matches, roles rotate, seed 4" in output.stdout
    for player in report["players"]:
        assert list(player) == [
            *("player", "score", "wins", "draws", "losses", "win_share", "effort", "by_role")
        ]
        assert player["wins"] + player["draws"] + player["losses"] == 10
        assert f"{player['score']['value']:.2f} [{player['score']['low']:.2f}, " in output.stdout
        assert f"{player['effort']['states']:,.0f}" in output.stdout
        assert set(player["by_role"]) == {"player1", "player2"}
    assert "against hyperplay:n=2 on the same 5 seeds" in output.stdout
    assert "States visited a decision, by role and turn" in output.stdout
    assert {row["role"] for row in report["equal_states"]} == {"player1", "player2"}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((*KUHN, "--matches", "3"), "--matches 3 leaves a round unfinished"),
        ((*KUHN, "god", "--matches", "3"), "unknown player 'god'"),
        ((*KUHN, "--matches", "2", "--equal-states"), "random takes no budget of states"),
        (("compare", "kuhn_poker", "--matches", "2"), "give at least two players"),
        (("compare", "nowhere", "--matches", "2"), "unknown game 'nowhere'"),
        (KUHN, "give the number of matches: --matches N, --rounds N, or --until decided"),
        ((*KUHN, "--matches", "2", "--jobs", "2", "--scheduler", "a:1"), "leave one of them out"),
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
    assert "players was legal random and is now random legal; continue" in result.stderr


def test_without_a_folder_the_same_settings_lead_to_the_same_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outputs = []
    for options in ((), (), ("--seed", "1")):
        args = ("kuhn_poker", "--players", "legal", "random", "--matches", "2", *options)
        result = run("compare", *args)
        assert result.exit_code == 0, result.output
        folder = result.stderr.removeprefix("the series is kept in ").partition(";")[0]
        assert num_matches(tmp_path / folder) == 2
        outputs.append((folder, result.stdout))
    assert outputs[0] == outputs[1]
    assert outputs[0][0] != outputs[2][0]
    assert run("show", outputs[0][0]).stdout == outputs[0][1]


def test_a_number_of_rounds_is_a_number_of_matches(tmp_path: Path) -> None:
    args = ("compare", "kuhn_poker", "--players", "legal", "random", "--out", str(tmp_path))
    by_rounds = run(*args, "--rounds", "3")
    assert "kuhn_poker: 6 matches" in by_rounds.stdout
    assert run(*args, "--matches", "6").stdout == by_rounds.stdout
    for wrong in (("--matches", "6"), ("--until", "decided")):
        result = run(*args, "--rounds", "3", *wrong)
        assert result.exit_code == 2
        assert "--rounds" in result.stderr


def test_titles_name_the_file_of_the_game_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "my_poker.gdl"
    path.write_text(load("kuhn_poker").source.text)
    out = ("--out", str(tmp_path / "out"), "--csv", str(tmp_path / "course.csv"))
    args = ("compare", str(path), "--players", "legal", "random", "--matches", "2", *out)
    result = run(*args)
    assert result.stdout.startswith("my_poker: 2 matches")
    assert (tmp_path / "course.csv").read_text().splitlines()[1].startswith("my_poker,legal,")
    assert json.loads(run(*args, "--json").stdout)["options"]["game"] == str(path)
    assert str(tmp_path) not in run("play", str(path), "--player", "player1=legal").stdout
