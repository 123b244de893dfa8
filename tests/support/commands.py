"""Running commands: `ggp` inside the test process, others in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from click.testing import CliRunner, Result

from ggp.cli import main
from tests.support.games import REPOSITORY

_started: list[subprocess.Popen[str]] = []


def start(
    *args: str,
    ignores_interrupts: bool = False,
    environment: Mapping[str, str] | None = None,
    stdout: int | IO[str] = subprocess.PIPE,
    stderr: int | IO[str] = subprocess.PIPE,
) -> subprocess.Popen[str]:
    """Python with these arguments, in a session of its own that ends with the test.

    Args:
        ignores_interrupts: as what shells start in the background does; otherwise it heeds them,
            also where the tests themselves run in the background and ignore them.
        environment: variables besides those of the tests.
    """
    action = signal.SIG_IGN if ignores_interrupts else signal.SIG_DFL
    process = subprocess.Popen(
        [sys.executable, *args],
        stdout=stdout,
        stderr=stderr,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **(environment or {})},
        start_new_session=True,
        preexec_fn=lambda: _heed(action),
    )
    _started.append(process)
    return process


def _heed(interrupts: signal.Handlers) -> None:
    """What `nohup` and shells in the background have made the tests ignore is not inherited."""
    signal.signal(signal.SIGINT, interrupts)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def end_started() -> None:
    """Kill whatever `start` began that is still there."""
    for process in _started:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    _started.clear()


def run(*args: str) -> Result:
    """What `ggp ARGS` did; errors that are not foreseen are raised."""
    result = CliRunner(catch_exceptions=False).invoke(main, args, prog_name="ggp")
    assert "Traceback" not in result.output
    return result


def json_of(*args: str) -> Any:
    """What `ggp ARGS --json` printed; it must succeed and print nothing but JSON."""
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def error_line(*args: str, code: int = 2) -> str:
    """The one line on standard error with which `ggp ARGS` failed."""
    result = run(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    line, end, rest = result.stderr.partition("\n")
    assert (end, rest) == ("\n", ""), result.stderr
    return line


def json_file(folder: Path, value: object) -> str:
    """The path of a new file with a value as JSON."""
    path = folder / "input.json"
    path.write_text(json.dumps(value))
    return str(path)


def text_file(folder: Path, text: str, name: str = "game.gdl") -> str:
    """The path of a new file with a text."""
    path = folder / name
    path.write_text(text)
    return str(path)
