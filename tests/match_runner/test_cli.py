"""The command line: what others rely on."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from ggp.gdl.normalize import load
from match_runner.cli import COMMANDS, main
from match_runner.match.records import MatchRecord
from match_runner.series.match_task import MatchTask, play
from tests.match_runner.remote.http_player import free_port
from tests.support.commands import start
from tests.support.games import MODEST_GAMES, REPOSITORY

pytestmark = pytest.mark.usefixtures("compiled")

BOMB = ("play", "exploding_bomb")
PLAYER = ("--player", "agent=hyperplay:n=2")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="match-runner")


def by_lot(game: str) -> list[str]:
    """That every role of a game plays random."""
    roles = [role for role in load(game).roles if role != "random"]
    return [text for role in roles for text in ("--player", f"{role}=random")]


def json_of(*args: str) -> Any:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout)


# ---------------------------------------------------------------- play


def test_json_has_exactly_the_fields_promised() -> None:
    report = json_of(*BOMB, *PLAYER, "--matches", "3", "--seed", "5")
    assert list(report) == [
        *("game", "matches", "mean", "states_visited", "seed", "backend", "play_clock", "clock")
    ]
    assert (report["seed"], report["backend"]) == (5, "propnet")
    assert (report["play_clock"], report["clock"]) == (None, "wall")
    assert report["game"] == "exploding_bomb"
    assert [match["seed"] for match in report["matches"]] == [5, 6, 7]
    for match in report["matches"]:
        assert list(match) == ["seed", "goals", "turns", "errors"]
        assert set(match["goals"]) == {"agent", "random"}
        assert all(type(goal) is int for goal in match["goals"].values())
        assert match["turns"] == 3
        assert match["errors"] == []
    for role in ("agent", "random"):
        assert list(report["mean"][role]) == ["mean", "ci99", "low", "high", "method"]
    goals = [match["goals"]["agent"] for match in report["matches"]]
    assert report["mean"]["agent"]["mean"] == pytest.approx(sum(goals) / 3)
    assert report["mean"]["random"]["mean"] == 0
    assert report["states_visited"]["agent"] > 0
    assert report["states_visited"]["random"] == 0


def test_a_single_match_has_no_interval() -> None:
    assert json_of(*BOMB)["mean"]["agent"]["ci99"] is None


def test_match_of_a_series_is_reproduced_by_its_seed() -> None:
    series = json_of("play", "kuhn_poker", "--matches", "4", "--seed", "10")["matches"]
    for match in series:
        single = json_of("play", "kuhn_poker", "--seed", str(match["seed"]))["matches"]
        assert single == [match]


@pytest.mark.parametrize("game", MODEST_GAMES)
def test_every_game_is_played_to_its_end_by_random_players(game: str) -> None:
    report = json_of("play", game, *by_lot(game), "--matches", "3")
    assert [match["errors"] for match in report["matches"]] == [[], [], []]


def test_a_rulesheet_is_played_by_its_path() -> None:
    path = str(REPOSITORY / "games" / "monty_hall.gdl")
    assert json_of("play", path)["game"] == path


@pytest.mark.timed
def test_a_play_clock_is_kept() -> None:
    started = time.monotonic()
    report = json_of(*BOMB, "--player", "agent=hyperplay2", "--play-clock", "0.4")
    assert report["matches"][0]["errors"] == []
    assert time.monotonic() - started < 3 * 0.4 + 2.0


def test_the_table_names_roles_players_and_scores() -> None:
    result = run(*BOMB, *PLAYER, "--matches", "2")
    assert result.exit_code == 0
    assert "exploding_bomb: 2 matches, seeds 0 to 1" in result.stdout
    for word in ("agent", "hyperplay:n=2", "by chance", "mean score [99 %]", "states visited"):
        assert word in result.stdout
    assert result.stderr == ""


def test_warnings_of_a_rulesheet_are_shown_once_unless_json(tmp_path: Path) -> None:
    path = tmp_path / "odd.gdl"
    path.write_text(
        "(role white) (init (step 0)) (legal white go) (<= (next (step 1)) (does white go))\n"
        "(<= terminal (true (step 1))) (<= (goal white 50) (not unheard))\n"
        "(goal white 50) (goal white 50)\n"
    )
    result = run("play", str(path), "--matches", "2")
    assert result.exit_code == 0
    assert result.stderr.count("[duplicate]") == 1
    assert "warning: relation `unheard`" in result.stderr
    assert json_of("play", str(path))["matches"][0]["goals"] == {"white": 50}


def test_warnings_of_several_machines_are_shown_once(tmp_path: Path) -> None:
    path = tmp_path / "goalless.gdl"
    path.write_text(
        "(role white) (role black) (init (step 0)) (<= (legal ?r go) (role ?r))\n"
        "(<= (legal white stop) (true (step 0))) (<= (next (step 1)) (true (step 0)))\n"
        "(<= terminal (true (step 1))) (goal white 50) (<= (goal black 1) (true (step 0)))\n"
    )
    players = ("--player", "white=hyperplay:n=2", "--player", "black=hyperplay:n=2")
    result = run("play", str(path), *players, "--matches", "2")
    assert result.exit_code == 0
    assert result.stderr == "warning: black has no goal value: it counts as 0\n"


# ---------------------------------------------------------------- record and replay


def test_recorded_matches_are_shown_again(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "records"
    json_of(*BOMB, "--player", "agent=hyperplay2:n=2", "--matches", "2", "--record", str(folder))
    files = sorted(folder.iterdir())
    assert [path.name.rsplit("-", 1)[0] for path in files] == [
        "exploding_bomb-seed0",
        "exploding_bomb-seed1",
    ]
    output = run("replay", str(files[0]))
    assert output.exit_code == 0
    assert output.stderr == ""
    for word in ("Turn 1", "Turn 3", "> ask", "90.0 ±", "(arm ", "Scores", "agent: 90"):
        assert word in output.stdout
    printed = run("replay", str(files[0]), "--json")
    assert json.loads(printed.stdout) == json.loads(files[0].read_text())


def test_replay_reports_what_the_rules_do_not_allow(tmp_path: Path) -> None:
    json_of(*BOMB, "--record", str(tmp_path))
    (path,) = tmp_path.iterdir()
    data = json.loads(path.read_text())
    data["goals"]["agent"] = 1
    path.write_text(json.dumps(data))
    result = run("replay", str(path))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: the rules give agent ")
    data |= {"game": "gone", "rules": ""}
    path.write_text(json.dumps(data))
    result = run("replay", str(path))
    assert result.exit_code == 0
    assert result.stderr.startswith("not checked against the rules: unknown game 'gone'")


@pytest.mark.parametrize(
    ("game", "num", "jobs"),
    [
        (str(REPOSITORY / "games" / "exploding_bomb.gdl"), 1, ()),
        ("exploding_bomb", 2, ()),
        pytest.param("exploding_bomb", 2, ("--jobs", "2"), marks=pytest.mark.verify),
    ],
    ids=["path", "name", "jobs"],
)
def test_a_record_holds_its_rules(
    game: str, num: int, jobs: tuple[str, ...], tmp_path: Path
) -> None:
    series = ("play", game, *by_lot("exploding_bomb"), "--matches", str(num), *jobs)
    assert run(*series, "--record", str(tmp_path / "first")).exit_code == 0
    records = sorted((tmp_path / "first").iterdir())
    assert len(records) == num
    exports = [tmp_path / f"match{number}.json" for number in range(num)]
    for record, export in zip(records, exports, strict=True):
        assert json.loads(record.read_text())["rules"]
        exported = run("export", str(record), "--to", "tiltyard-json", "--out", str(export))
        assert exported.exit_code == 0, exported.output
    arguments = ("--game", game, "--out", str(tmp_path / "again"))
    assert run("import", *map(str, exports), *arguments).exit_code == 0
    imported = sorted((tmp_path / "again").iterdir())
    assert len(imported) == num
    replayed = run("replay", *map(str, records + imported))
    assert (replayed.exit_code, replayed.stderr) == (0, "")  # all were checked


def test_replay_takes_several_files(tmp_path: Path) -> None:
    assert run(*BOMB, "--matches", "2", "--record", str(tmp_path)).exit_code == 0
    files = sorted(map(str, tmp_path.glob("*.json")))
    assert len(files) == 2
    output = run("replay", *files)
    assert output.exit_code == 0
    assert output.stdout.count("Scores") == 2
    report = json.loads(run("replay", *files, "--json").stdout)
    assert [record["seed"] for record in report] == [0, 1]


def test_replay_takes_no_markup_or_escapes_from_a_record(tmp_path: Path) -> None:
    json_of(*BOMB, "--record", str(tmp_path))
    (path,) = tmp_path.iterdir()
    data = json.loads(path.read_text())
    data["turns"][0]["joint_move"]["agent"] = "[red]\x1b[31m"
    data["game"] = "\x1b]0;gone\x07"
    path.write_text(json.dumps(data))
    result = run("replay", str(path))
    assert "[red]" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ("play", "nowhere"),
            "unknown game 'nowhere'; games that come with ggp: banker_and_thief,",
        ),
        ((*BOMB, "--player", "spy=legal"), "unknown role 'spy'; roles of this game: agent"),
        ((*BOMB, "--player", "agent=god"), "unknown player 'god'; players: legal, random,"),
        ((*BOMB, "--player", "agent=hyperplay:x=1"), "unknown option 'x' of player hyperplay;"),
        ((*BOMB, "--player", "random=legal"), "the role random is played by chance; roles: agent"),
        ((*BOMB, "--player", "agent"), "player 'agent' must be ROLE=SPEC"),
        ((*BOMB, "--fast"), "unknown option --fast; options: --player, --matches,"),
        ((*BOMB, "--matches", "0"), "Invalid value for '--matches': 0 is not in the range"),
        ((*BOMB, "--play-clock", "0"), "Invalid value for '--play-clock': 0.0 is not"),
        ((*BOMB, "--play-clock", "nan"), "Invalid value for '--play-clock': nan is not a finite"),
        ((*BOMB, "--seed", "-1"), "Invalid value for '--seed': -1 is not in the range 0<=x<="),
        ((*BOMB, "--seed", str(2**63)), "is not in the range 0<=x<=9223372036854775807"),
        (
            (*BOMB, "--seed", str(2**63 - 2), "--matches", "3"),
            "the seed of the last match must be a whole number from 0 to 9223372036854775807",
        ),
        (
            (*BOMB, "--record", ""),
            "Invalid value for '--record': the path is empty",
        ),
        ((*BOMB, "--out", ""), "Invalid value for '--out': the path is empty"),
        (("compare", "kuhn_poker", "--out", ""), "the path is empty"),
        (("replay", ""), "the path is empty; give the path of a file"),
        (
            (*BOMB, "--backend", "x"),
            "unknown backend 'x'; backends: auto, propnet, relational, prolog",
        ),
        (("play",), "Missing argument 'GAME'; see `match-runner play --help`"),
        (
            ("watch",),
            "unknown command 'watch'; commands: compare, export, import, picture, play, replay",
        ),
        (("replay", "none.json"), "cannot read none.json: No such file or directory"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(args: tuple[str, ...], message: str) -> None:
    for extra in ((), ("--json",)):
        result = run(*args, *extra)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert message in result.stderr
        if args == ("watch",) or "--fast" in args:
            break


def test_a_rulesheet_that_cannot_be_played_is_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.gdl"
    path.write_text("(role white")
    result = run("play", str(path))
    assert result.exit_code == 2
    assert "bad.gdl: error: there is no rule for `terminal`" in result.stderr
    assert not result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("bad.json", "{}", "bad.json: field format is missing"),
        ("bad.json", '{"format": 99}', "bad.json: format 99 is not known"),
        ("bad.json", "nonsense", "bad.json is not JSON"),
        ("bad.json", "\x00\x01", "bad.json is not JSON"),
        ("bad.jsonl", "nonsense\n", "bad.jsonl, line 1 is not JSON"),
        ("bad.jsonl", "", "bad.jsonl does not begin like the log of a match"),
    ],
)
def test_a_bad_file_is_exit_code_2_whatever_is_bad(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert run(*BOMB, "--record", str(tmp_path / "good")).exit_code == 0
    (good,) = map(str, (tmp_path / "good").iterdir())
    for files in ((str(path),), (str(path), good), (good, str(path))):
        result = run("replay", *files)
        assert result.exit_code == 2
        assert f"{message}" in result.stderr
        assert result.stderr.count("\n") == 1
        assert result.stdout.count("Scores") == (good in files)


def test_errors_of_matches_are_listed_and_the_others_go_on(tmp_path: Path) -> None:
    path = tmp_path / "stuck.gdl"
    path.write_text(
        "(role white) (role random) (init (step 0))\n"
        "(<= (legal random (toss ?x)) (true (step 0)) (or (side ?x)))\n"
        "(side 1) (side 2) (<= (legal random noop) (not (true (step 0))))\n"
        "(<= (legal white go) (not (true (side 2))))\n"
        "(<= (next (side ?x)) (does random (toss ?x)))\n"
        "(<= (next (step 1)) (true (step 0))) (<= (next (step 2)) (true (step 1)))\n"
        "(<= terminal (true (step 2))) (goal white 100) (goal random 0)\n"
    )
    result = run("play", str(path), "--player", "white=random", "--matches", "12", "--json")
    matches = json.loads(result.stdout)["matches"]
    failed = [match for match in matches if match["turns"] == 1]
    assert result.exit_code == 1
    assert (
        f"error: {len(failed)} of 12 matches failed and score nothing; the first: seed "
        f"{failed[0]['seed']}, after turn 1: white has no legal move" in result.stderr
    )
    assert json.loads(result.stdout)["mean"]["white"]["mean"] == 100
    assert {match["turns"] for match in matches} == {1, 2}
    for match in matches:
        if match["turns"] == 2:
            assert match["errors"] == []
        else:
            assert "white has no legal move" in match["errors"][0]


def test_a_player_at_fault_in_every_match_is_exit_code_1() -> None:
    nobody = f"player1=http://127.0.0.1:{free_port()}"
    clocks = ("--start-clock", "1", "--play-clock", "1", "--matches", "2")
    result = run("play", "kuhn_poker", "--player", nobody, *clocks)
    assert result.exit_code == 1
    assert "player1 committed faults in every match; the first: turn 1, player1:" in result.stderr
    assert result.stderr.count("\n") == 1
    assert "2 of 2 matches with errors" in result.stdout


def test_goals_that_are_no_numbers_are_not_scored(tmp_path: Path) -> None:
    path = tmp_path / "won.gdl"
    path.write_text(
        "(role white) (init (step 0)) (legal white go) (<= (next (step 1)) (does white go))\n"
        "(<= terminal (true (step 1))) (goal white win)\n"
    )
    result = run("play", str(path), "--matches", "2", "--json")
    assert result.exit_code == 1
    assert "2 of 2 matches failed and score nothing" in result.stderr
    report = json.loads(result.stdout)
    assert report["matches"][0]["goals"] == {"white": None}
    assert "win" in report["matches"][0]["errors"][0]
    assert report["mean"]["white"]["mean"] is None


def test_records_that_cannot_be_written_do_not_cost_the_result(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    folder = tmp_path / "records"
    command = [sys.executable, "-m", "match_runner", *BOMB, "--matches", "2", "--json"]
    result = subprocess.run(
        [*command, "--record", str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        # As on a disk with room for 100 bytes; Python ignores the signal that comes with it.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
        timeout=120,
    )
    assert result.returncode == 1
    assert len(json.loads(result.stdout)["matches"]) == 2
    assert "error: cannot write" in result.stderr
    assert "not all records were written" in result.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.verify
def test_matches_side_by_side_and_one_by_one_are_the_same(tmp_path: Path) -> None:
    players = ("--player", "player1=hyperplay:n=2", "--player", "player2=random")
    series = ("play", "kuhn_poker", *players, "--matches", "6")
    assert json_of(*series, "--jobs", "2") == json_of(*series)
    out = ("--out", str(tmp_path))
    assert json_of(*series, *out) == json_of(*series)
    assert run(*series, *out, "--seed", "1").exit_code == 2
    assert len(json_of(*series[:-1], "8", *out)["matches"]) == 8


# ---------------------------------------------------------------- interrupts


def test_an_interrupt_prints_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(task: MatchTask, own_process: bool = False) -> MatchRecord:
        if task.seed == 2:
            raise KeyboardInterrupt
        return play(task, own_process)

    monkeypatch.setattr("match_runner.series.holding.play", interrupted)
    result = run(*BOMB, "--matches", "5", "--json")
    assert result.exit_code == 130
    assert len(json.loads(result.stdout)["matches"]) == 2
    assert result.stderr == "interrupted after 2 of 5 matches\n"


@pytest.mark.verify
def test_a_signal_while_prolog_works_is_heeded() -> None:
    process = start(
        "-m",
        "match_runner",
        "play",
        "kuhn_poker",
        "-v",
        "--json",
        "--backend",
        "prolog",
        "--player",
        "player1=hyperplay2:n=40",
    )
    assert process.stderr is not None
    assert "match with seed 0 begins" in process.stderr.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert json.loads(out)["matches"] == []
    assert err == "interrupted after 0 of 1 matches\n"


def test_listed_commands_are_those_that_run() -> None:
    for name, later in COMMANDS.items():
        command = getattr(import_module(later.module), later.name or name)
        assert isinstance(command, click.Command)
        assert command.name == name
        assert inspect.cleandoc(command.help or "").splitlines()[0] == later.summary
