"""The script that rehearses a season plays a short one against a real server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.games import REPOSITORY

MAX_S = 550


@pytest.mark.verify
def test_a_short_season_is_played_without_a_fault(tmp_path: Path) -> None:
    command = [sys.executable, str(REPOSITORY / "scripts" / "endurance.py")]
    command += ["--out", str(tmp_path), "--matches", "1", "--jobs", "2", "--play-clock", "2"]
    command += ["--game", "kuhn_poker", "--scramble"]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=MAX_S, cwd=REPOSITORY, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    for text in ("matches with the served player", "2 stop", "2 matches"):
        assert text in result.stdout
    assert (tmp_path / "series.sqlite").exists()
    assert len(list((tmp_path / "logs").iterdir())) == 2
