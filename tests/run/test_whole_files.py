"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ggp.errors import ConfigError, GGPError
from ggp.run.whole_files import write_new, write_whole
from tests.support.disks import full_disk


def test_file_on_a_full_disk_is_not_there(tmp_path: Path) -> None:
    for write in (write_new, write_whole):
        with full_disk(), pytest.raises(GGPError, match=r"cannot write .*/file: ") as caught:
            write(tmp_path / "file", "x" * 1000)
        assert not isinstance(caught.value, ConfigError)
        assert list(tmp_path.iterdir()) == []


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(path, "before")
    with full_disk(), pytest.raises(GGPError):
        write_whole(path, "x" * 1000)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["before"]
    with pytest.raises(ConfigError, match="already exists"):
        write_new(path, "after")
    assert path.read_text() == "before"


def test_file_keeps_its_mode_and_a_link_its_place(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, b"after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert path.stat().st_mode & 0o777 == 0o640


def test_output_may_go_to_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "said")
    assert os.read(reader, 10) == b"said"
    os.close(reader)
    assert pipe.is_fifo()
