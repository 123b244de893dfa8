"""Records as files: one JSON file for each match."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from ggp.errors import ConfigError, MatchError
from ggp.run.clocks import Clock
from ggp.run.whole_files import write_whole
from match_runner.match.records import MatchRecord, record_from_json


def record_name(record: MatchRecord) -> str:
    """File name of a record: the same if the same match is played again, else a different one."""
    setting = [record.digest, dict(record.players), record.play_clock_s]
    if record.clock is not Clock.WALL:
        setting.append(record.clock)
    digest = hashlib.blake2b(json.dumps(setting).encode(), digest_size=3).hexdigest()
    return f"{Path(record.game).stem}-seed{record.seed}-{digest}.json"


def make_folder(folder: Path) -> None:
    """Make sure that there is a folder for records.

    Raises:
        ConfigError: it cannot be made, or cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot make {folder}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"cannot write into {folder}: permission denied")


def write_record(record: MatchRecord, folder: Path) -> Path:
    """Write one file into a folder and return its path; a file of that name is replaced.

    Raises:
        GGPError: the file cannot be written; see `write_whole`.
    """
    path = folder / record_name(record)
    write_whole(path, record_text(record))
    return path


def record_text(record: MatchRecord) -> str:
    """What a record's file holds."""
    return json.dumps(record.to_json(), indent=1) + "\n"


def read_record(path: Path) -> MatchRecord:
    """Read the record in a file.

    Raises:
        ConfigError: there is no such file, it cannot be read, or it holds no match record.
    """
    if path.is_dir():
        names = ", ".join(sorted(p.name for p in path.glob("*.json"))[:5]) or "none"
        raise ConfigError(f"{path} is a folder; give one of its records: {names}")
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {error}") from error
    try:
        return record_from_json(data)
    except MatchError as error:
        raise ConfigError(f"{path}: {error}") from error
