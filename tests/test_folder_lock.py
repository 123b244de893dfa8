"""Folders in which one process at a time works."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from ggp.errors import ConfigError
from ggp.run.whole_files import LOCK_FILE, locked

ASKED = ("works in", "use another")


def test_a_second_process_learns_which_process_holds_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with locked(folder, *ASKED):
        with pytest.raises(ConfigError) as caught, locked(folder, *ASKED):
            pass
        start_time = json.loads((folder / LOCK_FILE).read_text())["since"]
    holder = f": process {os.getpid()} on {socket.gethostname()}, since {start_time}; use another"
    assert str(caught.value) == f"another process works in {folder}{holder}"
    with locked(folder, *ASKED):  # and what is left behind keeps nobody out
        pass


def test_a_damaged_note_of_the_holder_is_no_error(tmp_path: Path) -> None:
    with locked(tmp_path, *ASKED):
        (tmp_path / LOCK_FILE).write_text("{")
        with (
            pytest.raises(ConfigError, match=f"works in {tmp_path}; use"),
            locked(tmp_path, *ASKED),
        ):
            pass


def test_nothing_is_written_where_a_link_leads(tmp_path: Path) -> None:
    target = tmp_path / "kept"
    target.write_text("mine")
    (tmp_path / LOCK_FILE).symlink_to(target)
    with pytest.raises(ConfigError, match="cannot use the folder"), locked(tmp_path, *ASKED):
        pass
    assert target.read_text() == "mine"
