"""Rules that cannot be used: every command says so at once, in few words, and ends with 2."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from match_runner.cli import main
from tests.support.commands import run, text_file

FRAME = (
    "(role a) (role b) (legal b go) (init (step 1)) (succ 1 2) (succ 2 3) (goal a 50) (goal b 50)"
)
PLAY = "(<= (next (step ?m)) (true (step ?n)) (succ ?n ?m)) (<= terminal (true (step 3)))"
STUCK = FRAME + PLAY + "(<= (legal a go) (true (step 2)))"
ENDLESS = FRAME + PLAY + "(nat 0) (<= (nat (s ?x)) (nat ?x)) (<= (legal a (go ?n)) (nat ?n))"

COMMANDS = (
    "trace",
    "solve",
    "advise",
    "evaluate --role a --player random",
    "match-runner play --player a=random",
    "match-runner play --player a=random --jobs 2",
)


def ended(command: str, file: str) -> tuple[int, str]:
    """Exit code and standard error of a command on a file."""
    words = command.split()
    if words[0] != "match-runner":
        result = run(words[0], file, *words[1:])
    else:
        arguments = [words[1], file, *words[2:]]
        result = CliRunner(catch_exceptions=False).invoke(main, arguments, prog_name="match-runner")
    return result.exit_code, result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_role_without_a_first_move_is_wrong_input(command: str, tmp_path: Path) -> None:
    code, message = ended(command, text_file(tmp_path, STUCK))
    assert code == 2
    assert "a has no legal move in a state that is not terminal: (step 1)" in message


@pytest.mark.parametrize("command", [*COMMANDS, "info", "bench", "belief --role a"])
def test_infinitely_many_terms_are_wrong_input(command: str, tmp_path: Path) -> None:
    file = text_file(tmp_path, ENDLESS)
    code, message = ended(command, file)
    assert code == 2
    assert f"{file}:1:" in message
    assert "`nat` holds of infinitely many terms" in message


TEXTS = {
    "a name of two million characters": b"(role " + b"a" * 2_000_000 + b")",
    "a variable of two million characters": b"(init ?" + b"a" * 2_000_000 + b")",
    "random bytes": random.Random(1).randbytes(5_000),
    "nothing but errors": b"(p ?x\n) (?y z)\n" * 1_000,
    "many warnings": b"(role a) (legal a go) " + b"(p (c))\n" * 1_000,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("command", ["validate", "info"])
def test_messages_are_bounded(command: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "game.gdl"
    file.write_bytes(TEXTS[name])
    result = run(command, str(file))
    output = result.stdout + result.stderr
    assert len(output) < 10_000
    assert output.count("error: ") + output.count("warning: ") <= 21
    if name != "many warnings":
        assert result.exit_code == {"validate": 1, "info": 2}[command]


def test_all_messages_are_shown_when_they_are_asked_for(tmp_path: Path) -> None:
    file = text_file(tmp_path, "(role a) (legal a go) " + "(p (c))\n" * 50)
    assert "more; --verbose shows them" in run("validate", file).stdout
    assert run("validate", file, "--verbose").stdout.count("[empty-arguments]") == 50


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named_and_read(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "game.gdl"
    file.write_bytes((FRAME + PLAY + "(legal a go)").encode(encoding))
    result = run("validate", str(file))
    assert result.exit_code == 0
    assert "warning: this is UTF-16" in result.stdout
    assert run("solve", str(file)).exit_code == 0
