"""Running the command `ggp` inside the test process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from ggp.cli import main


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
