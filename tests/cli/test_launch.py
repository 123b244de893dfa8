"""How commands begin and end: interrupts at any moment, closed standard files, exit codes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ggp.cli import main
from ggp.console import EXIT_CODES
from match_runner.cli import main as match_runner
from tests.match_runner.remote.http_player import free_port
from tests.support.commands import run, start, text_file
from tests.support.effort import rarely
from tests.support.games import REPOSITORY

PROGRAMS = ("ggp", "match_runner", "match_runner.demo")

SCRIPTS = ("ggp", "match-runner")
"""Commands that pip installs."""

WAITING = "import sys, time; print('begun', flush=True); time.sleep(60)\n"


def script(name: str) -> str:
    """What pip's script of a command does."""
    text = (REPOSITORY / "pyproject.toml").read_text()
    match = re.search(rf'^{name} = "([\w.]+):(\w+)"$', text, re.MULTILINE)
    assert match is not None
    module, function = match.groups()
    return f"import sys; from {module} import {function}; sys.exit({function}())"


def wait_until_begun(process: subprocess.Popen[str]) -> None:
    """Wait until a process says that it has begun."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if line != "begun\n":
        pytest.fail(f"{line}{process.communicate()}")


def launched(folder: Path, program: str, **options: bool) -> subprocess.Popen[str]:
    """A process that launches a module of this text, once it has begun."""
    (folder / "program.py").write_text(program)
    code = "from ggp.launch import launch; launch('program')"
    path = f"{REPOSITORY}{os.pathsep}{folder}"
    process = start("-c", code, environment={"PYTHONPATH": path}, **options)
    wait_until_begun(process)
    return process


# ---------------------------------------------------------------- interrupts


@pytest.mark.parametrize("command", [*PROGRAMS, *(f"{name} script" for name in SCRIPTS)])
def test_interrupt_during_imports_is_one_line(command: str, tmp_path: Path) -> None:
    for library in ("click", "rich"):
        (tmp_path / f"{library}.py").write_text(WAITING)
    name, _, is_script = command.partition(" ")
    args = ("-c", script(name)) if is_script else ("-m", name)
    path = f"{tmp_path}{os.pathsep}{REPOSITORY}"
    process = start(*args, environment={"PYTHONPATH": path})
    wait_until_begun(process)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "error: interrupted\n")
    assert process.returncode == 130


@pytest.mark.verify
def test_interrupt_during_imports_of_a_command_is_one_line(tmp_path: Path) -> None:
    # Numba swallows exceptions, as libraries in C do.
    (tmp_path / "numba.py").write_text(
        f"try:\n    {WAITING}except BaseException as error:\n    raise ImportError from error\n"
    )
    path = f"{tmp_path}{os.pathsep}{REPOSITORY}"
    process = start("-m", "ggp", "bench", "kuhn_poker", environment={"PYTHONPATH": path})
    wait_until_begun(process)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "error: interrupted\n")
    assert process.returncode == 130


def test_interrupt_of_a_command_is_one_line() -> None:
    process = start("-m", "ggp", "bench", "tic_tac_toe", "--seconds", "60", "-v")
    assert process.stderr is not None
    while "built in" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert output == ""
    assert errors.endswith("error: interrupted\n")
    assert "Traceback" not in errors


def test_interrupt_in_a_destructor_is_not_lost(tmp_path: Path) -> None:
    program = (
        "import time\nclass Owner:\n    def __del__(self):\n        print('begun', flush=True)\n"
        "        time.sleep(1)\n"
        "def main():\n    owner = Owner()\n    del owner\n    time.sleep(60)\n"
    )
    process = launched(tmp_path, program)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "error: interrupted\n")
    assert process.returncode == 130


@pytest.mark.parametrize(
    "end",
    [
        "    import threading; threading.Thread(target=time.sleep, args=(60,)).start(); tell()\n",
        "    import atexit; atexit.register(time.sleep, 60); atexit.register(tell)\n",
    ],
    ids=["waiting for threads", "tidying up"],
)
def test_interrupt_at_the_very_end_is_one_line(end: str, tmp_path: Path) -> None:
    program = "import time\ndef tell():\n    print('begun', flush=True)\ndef main():\n" + end
    process = launched(tmp_path, program)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "error: interrupted\n")
    assert process.returncode == 130


def test_second_interrupt_ends_what_the_first_does_not(tmp_path: Path) -> None:
    program = (
        "import time\ndef main():\n    try:\n        print('begun', flush=True); time.sleep(60)\n"
        "    finally:\n        print('begun', flush=True); time.sleep(60)\n"
    )
    process = launched(tmp_path, program)
    process.send_signal(signal.SIGINT)
    wait_until_begun(process)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", "error: interrupted\n")
    assert process.returncode == 130


def test_interrupts_that_were_ignored_at_the_start_stay_so(tmp_path: Path) -> None:
    program = (
        "import time\ndef main():\n    print('begun', flush=True); time.sleep(1); print('done')\n"
    )
    process = launched(tmp_path, program, ignores_interrupts=True)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("done\n", "")
    assert process.returncode == 0


# ---------------------------------------------------------------- standard files


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """The result of a command line; `ggp` and `match-runner` are the scripts."""
    for name in SCRIPTS:
        command = command.replace(f"{name} ", f"{sys.executable} -c '{script(name)}' ")
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )


INFO = "ggp info kuhn_poker"
PLAY = "match-runner play kuhn_poker --player player1=random --player player2=random"
HAS_FULL = os.path.exists("/dev/full")
full = pytest.mark.skipif(not HAS_FULL, reason="this system has no /dev/full")


@pytest.mark.verify
@pytest.mark.parametrize(
    ("command", "files"),
    [
        *rarely([(INFO, files) for files in ("2>&-", "<&-", "2>&- <&-")], {(INFO, "<&-")}),
        pytest.param(INFO, "2>/dev/full", marks=full),
        (PLAY, "2>&- <&-"),
    ],
)
def test_results_are_printed_without_other_files(command: str, files: str) -> None:
    process = shell(f"{command} {files}")
    assert process.returncode == 0
    assert "player1" in process.stdout
    assert process.stderr == ""


@pytest.mark.verify
@pytest.mark.parametrize("command", ["ggp info nosuchgame", "match-runner play nosuchgame"])
@pytest.mark.parametrize("files", ["2>&-", pytest.param("2>/dev/full", marks=full)])
def test_exit_code_is_right_where_the_error_cannot_be_told(command: str, files: str) -> None:
    process = shell(f"{command} {files}")
    assert process.returncode == 2
    assert process.stdout == ""


@pytest.mark.verify
@pytest.mark.parametrize(
    "command", rarely([INFO, "ggp trace kuhn_poker", "ggp --help", PLAY], {INFO, "ggp --help"})
)
@pytest.mark.parametrize("files", [">&-", pytest.param(">/dev/full", marks=full)])
def test_results_are_not_lost_without_a_word(command: str, files: str) -> None:
    process = shell(f"{command} {files}")
    assert process.returncode == 1
    assert re.fullmatch(r"error: output: .+\n", process.stderr)


@pytest.mark.parametrize("command", rarely([INFO, "ggp trace kuhn_poker", "ggp --help"], {INFO}))
def test_reader_that_went_away_has_an_exit_code_of_its_own(command: str) -> None:
    process = shell(f"set -o pipefail; {command} | true")
    assert process.returncode == 141
    assert process.stderr == ""


@pytest.mark.verify
@pytest.mark.parametrize("encoding", rarely(["ascii", "latin-1"], {"latin-1"}))
def test_characters_outside_the_encoding_are_escaped(encoding: str, tmp_path: Path) -> None:
    game = text_file(
        tmp_path, "(role 日) (init x) (legal 日 go) (<= terminal (true x)) (goal 日 1)"
    )
    process = shell(f"export PYTHONIOENCODING={encoding}; ggp trace {game}; ggp info {game}")
    assert "\\u65e5" in process.stdout
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.verify
def test_server_plays_with_all_its_standard_files_closed() -> None:
    port = free_port()
    ask = "printf 'POST / HTTP/1.0\\r\\nContent-Length: 6\\r\\n\\r\\n(INFO)' >&3 && grep -q 200 <&3"
    process = shell(
        f"ggp serve --player random --port {port} >&- 2>&- <&- & "
        f"until (exec 3<>/dev/tcp/127.0.0.1/{port} && {ask}) 2>&-; do "
        "kill -0 $! || exit; sleep 0.1; done; kill $! && wait $!; echo $?"
    )
    assert process.stdout == "0\n"


# ---------------------------------------------------------------- exit codes


@pytest.mark.parametrize("command", [main, match_runner], ids=SCRIPTS)
def test_help_says_how_commands_end(command: click.Command) -> None:
    page = " ".join(CliRunner().invoke(command, ["--help"]).stdout.split())
    for code, meaning in EXIT_CODES.items():
        assert f" {code} {meaning}" in page


def test_page_says_how_commands_end() -> None:
    page = (REPOSITORY / "docs" / "reference" / "commands.md").read_text().replace("`", "")
    for code, meaning in EXIT_CODES.items():
        assert f"| {code} | {meaning} |" in page


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "args",
    [
        ("trace", "kuhn_poker", "--moves"),
        ("evaluate", "kuhn_poker", "--role", "player1", "--player", "hyperplay:n=1", "--history"),
        ("serve", "--player", "random", "--host", "nosuch.invalid", "--log"),
    ],
    ids=" ".join,
)
def test_empty_path_is_refused(
    args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*args, "")
    assert result.exit_code == 2
    assert "the path is empty; give the path of a " in result.stderr
    assert list(tmp_path.iterdir()) == []
