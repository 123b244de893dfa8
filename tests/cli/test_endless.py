"""Games that do not end and whose terms grow: every command ends, and says what grows."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pytest

from ggp.cli.tracing import random_trace
from ggp.errors import ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Limits
from ggp.machine.prolog.prolog_machine import PrologMachine
from tests.support.commands import run, text_file

pytestmark = pytest.mark.usefixtures("compiled")

FRAME = """(role a) (role b) (legal a go) (legal b go) (goal a 50) (goal b 50)
(init (n z)) (<= terminal (true (n over)))
"""
TOWER = FRAME + "  (<= (next (n (s ?x))) (true (n ?x)))"
DOUBLE = FRAME + "  (<= (next (n (f ?x ?x))) (true (n ?x)))"
WIDE = FRAME + "(<= (next (n (s ?x))) (true (n ?x))) (<= (next (n (t ?x))) (true (n ?x)))"

GROWS = "the terms of `n` grow by (next (n (s ?x))) ({}:3:3)"
PROLOG = ("--backend", "prolog")


def test_steps_are_shown_up_to_where_a_term_becomes_too_large(tmp_path: Path) -> None:
    path = text_file(tmp_path, DOUBLE)
    result = run("trace", path, *PROLOG)
    assert result.exit_code == 2
    assert "\nstep 10\n" in result.stdout
    assert "a plays go" in result.stdout.split("step 10")[1]
    assert f"functions in one term; the terms of `n` grow by (next (n (f ?x ?x))) ({path}:3:3)" in (
        result.stderr
    )


def test_steps_are_shown_as_they_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def random_move(*_: object) -> list[int]:
        click.echo("drawn")
        return [0]

    monkeypatch.setattr("ggp.cli.tracing.random_moves", random_move)
    lines = run(
        "trace", text_file(tmp_path, TOWER), *PROLOG, "--max-turns", "2"
    ).stdout.splitlines()
    events = [line for line in lines if line == "drawn" or line.startswith("step ")]
    assert events == [*("drawn", "drawn", "step 0"), *("drawn", "drawn", "step 1"), "step 2"]


def test_trace_is_cut_off_by_turns(tmp_path: Path) -> None:
    path = text_file(tmp_path, TOWER)
    result = run("trace", path, *PROLOG, "--json", "--max-turns", "3")
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["steps"]) == 4
    assert f"is not over after 3 turns; {GROWS.format(path)}" in result.stderr
    assert run("trace", path, *PROLOG, "--json", "--max-steps", "3").stdout == result.stdout


def test_trace_is_cut_off_by_time(tmp_path: Path) -> None:
    result = run("trace", text_file(tmp_path, TOWER), *PROLOG, "--max-seconds", "1e-9")
    assert result.exit_code == 0
    assert result.stdout.endswith("\nthe game is not over\n")
    assert "not over after 0 turns, and time is up (--max-seconds); the terms" in result.stderr


def test_states_do_not_grow_for_ever_either() -> None:
    machine = PrologMachine(normalize(parse(WIDE)), Limits(answer_size=2_000))
    with pytest.raises(ReasonerLimitError, match="2,000 words of terms at once; the terms of `n`"):
        machine.playout(machine.initial(), np.random.default_rng(0))
    with pytest.raises(ReasonerLimitError, match="words of terms at once"):
        random_trace(machine, np.random.default_rng(0), 20)
    machine.close()


def test_moves_that_nobody_can_read_are_told_in_a_line(tmp_path: Path) -> None:
    legal = "(<= (legal a (take ?x)) (true (n ?x)))"
    faster = TOWER.replace("(legal a go)", "").replace("(s ?x)", "(s (s (s (s (s (s ?x))))))")
    path = text_file(tmp_path, faster + legal)
    result = run("trace", path, *PROLOG)
    assert result.exit_code == 2
    assert "passed the limit of 100 levels of functions; the terms of `n` grow" in result.stderr


@pytest.mark.parametrize("bound", [("--max-turns", "5"), ("--max-seconds", "1e-9")])
def test_random_matches_are_bounded(bound: tuple[str, str], tmp_path: Path) -> None:
    path = text_file(tmp_path, TOWER)
    result = run("validate", path, "--play", "2", *PROLOG, *bound, "--json")
    assert result.exit_code == 1
    (trouble,) = json.loads(result.stdout)[0]["play"]["troubles"]
    assert (trouble["kind"], trouble["matches"]) == ("endless", 2)
    turns = 5 if bound[0] == "--max-turns" else 0
    assert f"not over after {turns} turns; {GROWS.format(path)}" in trouble["message"]


@pytest.mark.parametrize("command", [("solve",), ("exploit", "--player", "random")])
@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (("--max-turns", "5"), "the game may not be over after 5 turns"),
        (("--max-seconds", "1e-9"), "time is up before the tree of the game is complete"),
    ],
)
def test_trees_are_bounded(
    command: tuple[str, ...], bound: tuple[str, str], message: str, tmp_path: Path
) -> None:
    path = text_file(tmp_path, TOWER)
    result = run(command[0], path, *command[1:], *PROLOG, *bound)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.endswith(f"; {GROWS.format(path)}\n")
