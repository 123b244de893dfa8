"""`ggp validate`, `ggp info` and `ggp convert`."""

from __future__ import annotations

import json
import os
import re
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from ggp.cli.arguments import DEFAULT_GROUNDING_S
from ggp.errors import ReasonerLimitError
from ggp.gdl import list_games, parse, read_rulesheet
from ggp.gdl.program import Program
from ggp.machine import Limits
from ggp.machine.propnet.compile.circuit_file import Built
from tests.support.commands import error_line, json_of, run, text_file
from tests.support.games import SHARED
from tests.support.sheets.hopeless import poker

pytestmark = pytest.mark.usefixtures("compiled")

FAULTY = """(role agent)
(init (p 1))
(<= (legal ?who go) (true (p ?x)))
(<= q (not r))
(<= r (not q))
(<= terminal q)
(goal agent 100)
"""
SLOPPY = FAULTY.replace("(<= q (not r))\n(<= r (not q))\n", "(<= q (true (p 2)))\n")
FIELDS = ["severity", "rule", "message", "line", "column", "context"]
INFO_FIELDS = {
    "game",
    "roles",
    "language",
    "rules",
    "facts",
    "relations",
    "static_relations",
    "recursive_relations",
    "warnings",
    "initial_fluents",
    "legal_moves",
    "digest",
    "backend",
    "build_s",
    "ground_rules",
    "expected_to_ground",
    "ground_rules_by_relation",
    "costly_rules",
}
RULE_FIELDS = {
    "language",
    "rules",
    "facts",
    "relations",
    "static_relations",
    "recursive_relations",
    "initial_fluents",
}


def test_validate_accepts_our_games_strictly() -> None:
    games = list_games()
    result = run("validate", "--strict", *games)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [f"{game}: ok" for game in games]
    assert json_of("validate", "--strict", *games[:2]) == [
        {"file": game, "ok": True, "diagnostics": []} for game in games[:2]
    ]


def test_validate_shows_line_and_caret_of_everything(tmp_path: Path) -> None:
    game = text_file(tmp_path, FAULTY)
    result = run("validate", game)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == (
        f"{game}:3:12: warning: nothing binds ?who: it ranges over the roles [unsafe-head]"
    )
    assert lines[1:3] == ["(<= (legal ?who go) (true (p ?x)))", "           ^"]
    assert f"{game}:4:1: error: " in result.stdout
    assert f"{game}:5:1: error: " in result.stdout
    assert lines[-1] == f"{game}: 2 errors, 1 warning"
    assert result.stderr == ""


def test_validate_prints_the_agreed_json(tmp_path: Path) -> None:
    game = text_file(tmp_path, FAULTY)
    result = run("validate", game, "exploding_bomb", "--json")
    assert result.exit_code == 1
    faulty, bomb = json.loads(result.stdout)
    assert bomb == {"file": "exploding_bomb", "ok": True, "diagnostics": []}
    assert list(faulty) == ["file", "ok", "diagnostics"]
    assert (faulty["file"], faulty["ok"]) == (game, False)
    assert all(list(diagnostic) == FIELDS for diagnostic in faulty["diagnostics"])
    assert faulty["diagnostics"][0] == {
        "severity": "warning",
        "rule": "unsafe-head",
        "message": "nothing binds ?who: it ranges over the roles",
        "line": 3,
        "column": 12,
        "context": "(<= (legal ?who go) (true (p ?x)))",
    }


def test_validate_repairs_unless_strict(tmp_path: Path) -> None:
    game = text_file(tmp_path, SLOPPY)
    lenient, strict = run("validate", game), run("validate", "--strict", game)
    assert (lenient.exit_code, strict.exit_code) == (0, 1)
    assert "3:12: warning: " in lenient.stdout
    assert "3:12: error: " in strict.stdout


def test_validate_reports_the_other_files_if_one_is_missing(tmp_path: Path) -> None:
    game = text_file(tmp_path, FAULTY)
    result = run("validate", "nosuchgame", game, "exploding_bomb")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: unknown game 'nosuchgame'; games that come with ggp: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout.endswith(f"{game}: 2 errors, 1 warning\nexploding_bomb: ok\n")
    reports = json.loads(run("validate", "nosuchgame", game, "--json").stdout)
    assert [entry["ok"] for entry in reports] == [False, False]
    assert reports[0]["diagnostics"][0]["rule"] == "unreadable"


def test_validate_reports_text_that_is_not_gdl(tmp_path: Path) -> None:
    game = text_file(tmp_path, "this is no rulesheet!")
    result = run("validate", game)
    assert result.exit_code == 1
    assert "error" in result.stdout
    assert not json.loads(run("validate", game, "--json").stdout)[0]["ok"]


def test_validate_warns_of_the_rule_that_explodes(tmp_path: Path) -> None:
    game = text_file(tmp_path, poker())
    result = run("validate", game)
    line = 1 + poker()[: poker().index("(<= sorted")].count("\n")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{game}:{line}:1: warning: this rule is expected to become ")
    assert "(<= sorted (true (hand 0 ?c0))" in result.stdout
    assert "[too-many-ground-rules]" in result.stdout
    (entry,) = json_of("validate", game)
    (warning,) = entry["diagnostics"]
    assert (entry["ok"], warning["severity"], warning["line"]) == (True, "warning", line)
    fewer = text_file(tmp_path, poker(8, 3))
    assert run("validate", "--strict", fewer).stdout == f"{fewer}: ok\n"


def test_info_names_the_rules_that_cannot_be_ground(tmp_path: Path) -> None:
    game = text_file(tmp_path, poker())
    report = json_of("info", game)
    assert (report["backend"], report["expected_to_ground"]) == ("relational", "no")
    worst = report["costly_rules"][0]
    assert worst["rule"].startswith("(<= sorted ")
    assert poker().splitlines()[worst["line"] - 1].startswith("(<= sorted ")
    assert worst["ground_rules"] > 500_000_000
    assert report["ground_rules_by_relation"]["sorted/0"] == worst["ground_rules"]
    table = run("info", game).stdout
    assert f"{worst['ground_rules']:,}" in table
    assert f":{worst['line']}:{worst['column']}" in table


def test_info_of_a_game_of_openspiel_expects_no_ground_rules() -> None:
    pytest.importorskip("pyspiel")
    report = json_of("info", "openspiel:tic_tac_toe")
    assert {report[name] for name in ("ground_rules", "expected_to_ground", "costly_rules")} == {
        None
    }


@pytest.mark.parametrize(
    ("game", "first", "choose", "chance", "information"),
    [
        ("chess", "p1", "in turns", "none", "perfect"),
        ("kuhn_poker", "p0", "in turns", "2 of the first 5 turns", "imperfect"),
        ("goofspiel(num_cards=3)", "p0 and p1", "at once", "2 of the first 4 turns", "perfect"),
        ("pig(winscore=6)", "p0", "in turns", None, "perfect"),
    ],
)
def test_info_of_a_game_without_rules_says_how_it_is_played(
    game: str, first: str, choose: str, chance: str | None, information: str
) -> None:
    pytest.importorskip("pyspiel")
    report = json_of("info", f"openspiel:{game}")
    assert (report["chooses_first"], report["players_choose"]) == (first, choose)
    assert report["information"] == information
    assert chance is None or report["chance"] == chance
    assert ("p0 is Black" in report["about"]) == (game == "chess")
    assert not INFO_FIELDS - report.keys() - RULE_FIELDS
    table = run("info", f"openspiel:{game}").stdout
    assert "chooses first" in table
    assert "None" not in table
    assert "facts" not in table


@pytest.mark.verify
def test_validate_accepts_every_shared_rulesheet() -> None:
    files = sorted(map(str, SHARED.glob("gdl*/*")))
    if not files:
        pytest.skip("there is no folder of shared rulesheets")
    entries = json_of("validate", *files)
    assert all(entry["ok"] for entry in entries)
    rules = {diagnostic["rule"] for entry in entries for diagnostic in entry["diagnostics"]}
    assert "too-many-ground-rules" not in rules  # all of them can be ground


def test_info_describes_the_bomb() -> None:
    report = json_of("info", "exploding_bomb")
    assert set(report) == INFO_FIELDS
    assert report["roles"] == ["agent", "random"]
    assert report["language"] == "GDL-II"
    assert report["legal_moves"] == {"agent": 1, "random": 2}
    assert report["initial_fluents"] == 1
    assert (report["warnings"], report["backend"]) == (0, "propnet")
    assert len(report["digest"]) == 32
    assert report["build_s"] > 0
    assert report["expected_to_ground"] == "yes"
    assert report["ground_rules"] >= sum(report["ground_rules_by_relation"].values()) > 0
    assert len(report["costly_rules"]) == 3


@pytest.mark.parametrize("game", list_games()[::3])
def test_info_shows_every_role(game: str) -> None:
    report = json_of("info", game)
    table = run("info", game).stdout
    plain = {"breakthrough", "connect_four", "othello", "tic_tac_toe"}
    assert report["language"] == ("GDL" if game in plain else "GDL-II")
    assert list(report["legal_moves"]) == report["roles"]
    assert all(role in table for role in report["roles"])
    assert report["digest"] in table


@pytest.mark.parametrize("game", list_games())
def test_convert_keeps_the_rules(game: str) -> None:
    sheet = read_rulesheet(game)
    for syntax in ("kif", "infix"):
        result = run("convert", game, "--to", syntax)
        assert result.exit_code == 0
        assert parse(result.stdout).rules == sheet.rules


def test_convert_goes_back_and_forth(tmp_path: Path) -> None:
    game = text_file(tmp_path, run("convert", "kuhn_poker", "--to", "infix", "--comments").stdout)
    assert run("convert", game, "--to", "kif").stdout == (
        run("convert", "kuhn_poker", "--to", "kif").stdout
    )


def test_convert_writes_comments_where_all_programs_can_read_them(tmp_path: Path) -> None:
    bare = run("convert", "kuhn_poker", "--to", "infix").stdout
    commented = run("convert", "kuhn_poker", "--to", "infix", "--comments").stdout
    assert "%" not in bare
    assert bare.split() == re.sub("%.*", "", commented).split()
    assert ";" in run("convert", "kuhn_poker", "--to", "kif").stdout
    assert ";" not in run("convert", "kuhn_poker", "--to", "kif", "--no-comments").stdout


def test_convert_mentions_what_was_repaired(tmp_path: Path) -> None:
    game = text_file(tmp_path, "(role agent")
    result = run("convert", game, "--to", "infix")
    assert result.exit_code == 0
    assert result.stdout == "role(agent).\n"
    assert result.stderr == f"warning: {game} has 1 warning; `ggp validate {game}` shows them\n"


def test_convert_lists_the_syntaxes() -> None:
    result = run("convert", "exploding_bomb", "--to", "latin")
    assert result.exit_code == 2
    assert "'kif', 'infix'" in result.stderr


def test_info_says_how_the_circuit_became_smaller_when_asked() -> None:
    assert "circuit" not in json_of("info", "kuhn_poker")
    circuit = json_of("info", "kuhn_poker", "--verbose")["circuit"]
    assert circuit["gates"] > 0
    passes = circuit["passes"]
    for previous, following in pairwise(passes):
        assert previous["gates_after"] == following["gates_before"]
        assert previous["literals_after"] == following["literals_before"]
    assert passes[-1]["gates_after"] == circuit["gates"]
    assert passes[-1]["literals_after"] == circuit["literals"]
    table = run("info", "kuhn_poker", "--verbose").stdout
    assert "playout, every step: next" in table
    assert "pass" in table


def test_grounding_that_took_too_long_may_be_given_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long(program: Program, limits: Limits, **_: object) -> Built:
        raise ReasonerLimitError("seconds", limits.grounding_seconds, "grounding the rules")

    monkeypatch.setattr("ggp.machine.propnet.compile.circuits.build", too_long)
    result = run("info", "monty_hall", "--grounding-seconds", "1.5", "--json")
    assert json.loads(result.stdout)["backend"] == "relational"
    assert "passed the limit of 2 seconds" in result.stderr
    assert "`--grounding-seconds 6` tries for longer" in result.stderr
    assert "`--backend relational`" in result.stderr


@pytest.mark.parametrize("command", ["info", "trace", "evaluate", "bench"])
def test_commands_that_take_a_backend_take_seconds_for_grounding(command: str) -> None:
    assert "--grounding-seconds SECONDS" in run(command, "--help").stdout
    for wrong in ("0", "nan", "-1", "soon"):
        result = run(command, "monty_hall", "--grounding-seconds", wrong)
        assert result.exit_code == 2
        assert "--grounding-seconds" in result.stderr


def test_grounding_takes_as_long_as_the_library_lets_it_if_nothing_is_said() -> None:
    assert Limits().grounding_seconds == DEFAULT_GROUNDING_S


def test_info_on_prolog_has_no_circuit_to_show() -> None:
    report = json_of("info", "kuhn_poker", "--verbose", "--backend", "prolog")
    assert report["backend"] == "prolog"
    assert report["circuit"] is None


@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        ("bench", "--seconds", "0.1"),
        ("belief", "--role", "a"),
        ("convert", "--to", "jax"),
        ("learn", "--updates", "1"),
    ],
    ids=lambda words: words[0],
)
def test_no_command_takes_rules_by_which_a_role_cannot_begin(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    stuck = "(role a) (role b) (legal a m) (<= (legal b m) (true x)) (<= terminal (true x))"
    path = text_file(tmp_path, stuck + "(init y) (<= (next x) (true y)) (goal a 1) (goal b 1)")
    name, *options = words
    assert "b has no legal move in a state that is not terminal: y" in error_line(
        name, path, *options
    )


def test_rules_come_through_a_pipe(tmp_path: Path) -> None:
    """A pipe can be read once, and the rules are needed several times."""
    pipe, text = tmp_path / "pipe.gdl", read_rulesheet("monty_hall").source.text
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    (report,) = json_of("validate", str(pipe), "--strict", "--play", "5")
    writer.join()
    assert report["ok"]
    assert report["play"]["matches"] == 5
