"""Matches of the table on disk: a folder for each, so that a new server continues earlier ones.

    FOLDER/matches/token            the secret of the table's own link
    FOLDER/matches/ID/match.json    the settings, with the secrets of its links
    FOLDER/matches/ID/turns.jsonl   the turns so far, a line each, while it is played
    FOLDER/matches/ID/record.json   the whole match, when it is over; see docs/reference/records.md
    FOLDER/matches/ID/picture.json  a picture of its last state, for the lobby

Only this user may enter the folder of matches, and one server at a time works in it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from ggp.errors import ConfigError, MatchError
from ggp.players.elsewhere.from_json import LATER_FIELDS, read
from ggp.protocol.retelling import SUFFIX
from ggp.run.whole_files import locked, read_json, unwritable, write_whole
from match_runner.match.records import (
    MatchRecord,
    TakenBack,
    TurnRecord,
    make_folder,
    read_record,
)
from match_runner.series.store import FILE

MAX_REMEMBERED = 500
"""Most matches that a server reads when it starts, the newest ones."""


_ID = re.compile(r"[0-9a-f]{10}")
_TOKEN = re.compile(r"[\w-]{43}")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MatchSetup:
    """The settings of a match, and its result.

    Attributes:
        id: id of the match.
        game: name of the game.
        rules: text of the rulesheet.
        side_file: path of the file that says how to draw it, or None.
        roles: in the order of the rulesheet.
        players: `human`, or a player that pages may name (see `Offers`), for every role but
            `random`.
        is_told: whether every role sees every move by the rules, so that everybody knows the state.
        play_clock_s: play clock of players that are not people; None for none.
        human_clock_s: play clock of people; None for none.
        pause_s: wait before each turn.
        seed: seed of the match.
        created_s: when it was requested, in seconds since 1970.
        seats: secret of each person's link, by role.
        key: secret of the link that shows everything in a match with people.
        shares_goals: whether all players want the same by the rules, see `shares_goals`.
        taken_back: see `MatchRecord`.
        goals: goal value of every role; None until the match is over.
        error: why it ended early.
    """

    id: str
    game: str
    rules: str
    side_file: Path | None
    roles: tuple[str, ...]
    players: Mapping[str, str]
    is_told: bool
    play_clock_s: float | None
    human_clock_s: float | None
    pause_s: float
    seed: int
    created_s: float
    seats: Mapping[str, str]
    key: str
    shares_goals: bool = False
    taken_back: tuple[TakenBack, ...] = ()
    goals: Mapping[str, float | None] | None = None
    error: str | None = None


class MatchFolder:
    """All matches on disk.

    Args:
        folder: folder of the table; made if need be.

    Raises:
        ConfigError: it cannot be used, belongs to another user, or another process uses it.
    """

    def __init__(self, folder: Path) -> None:
        self._matches = folder / "matches"
        make_folder(self._matches)
        if self._matches.stat().st_uid != os.geteuid():
            raise ConfigError(
                f"{self._matches} belongs to another user, who could read its secrets and change "
                "its matches; give another --folder"
            )
        with contextlib.suppress(OSError):
            self._matches.chmod(0o700)
        self._lock = contextlib.ExitStack()
        self._lock.enter_context(
            locked(self._matches, "holds the table in", "end it, or give another --folder")
        )

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.close()

    def token(self) -> str:
        """The secret of the table's link; it is kept, so that open pages work after a restart.

        Raises:
            ConfigError: it cannot be written.
        """
        path = self._matches / "token"
        try:
            token = path.read_text(encoding="ascii") if path.exists() else ""
            if _TOKEN.fullmatch(token) is None:
                token = secrets.token_urlsafe(32)
                path.unlink(missing_ok=True)
                path.touch(0o600)
                path.write_text(token, encoding="ascii")
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot keep the secret of the table in {path}: {error}") from error
        return token

    def keep(self, setup: MatchSetup) -> None:
        """Write down a match when it is requested, and when it ends.

        Raises:
            ConfigError: it cannot be written.
        """
        self._write(setup.id, "match.json", asdict(setup))

    def add_turn(self, match: str, turn: Mapping[str, Any]) -> None:
        """Write down a turn, given as JSON values."""
        try:
            with (self._matches / match / "turns.jsonl").open("ab") as file:
                file.write(json.dumps(turn).encode() + b"\n")
        except OSError as error:
            _log.warning("a turn of match %s cannot be kept: %s", match, error)

    def finish(self, setup: MatchSetup, record: MatchRecord) -> MatchSetup:
        """Write down how a match ended; return its setup with the outcome."""
        record = replace(record, taken_back=setup.taken_back)
        setup = replace(setup, goals=dict(record.goals), error=record.error)
        try:
            self._write(setup.id, "record.json", record.to_json())
            self.keep(setup)
            (self._matches / setup.id / "turns.jsonl").unlink(missing_ok=True)
        except (ConfigError, OSError) as error:
            _log.warning("the end of match %s cannot be kept: %s", setup.id, error)
        return setup

    def take_back(self, setup: MatchSetup, turns: int) -> None:
        """Write down that only so many of the turns of a match still count.

        Raises:
            ConfigError: it cannot be written.
        """
        path = self._matches / setup.id / "turns.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        write_whole(path, b"".join(lines[:turns]))
        self.keep(setup)

    def record(self, match: str) -> MatchRecord:
        """Record of a match that is over.

        Raises:
            ConfigError: there is none, or it is damaged.
        """
        return read_record(self._matches / match / "record.json")

    def keep_picture(self, match: str, picture: Mapping[str, Any]) -> None:
        """Write down the picture of the last state of a match."""
        try:
            self._write(match, "picture.json", picture)
        except ConfigError as error:
            _log.warning("a picture of match %s cannot be kept: %s", match, error)

    def picture(self, match: str) -> dict[str, Any] | None:
        """The picture of the last state of a match; None if there is none."""
        try:
            picture: dict[str, Any] = read_json(self._matches / match / "picture.json")
        except ConfigError:
            return None
        return picture

    def broken_off(self, setup: MatchSetup, why: str) -> MatchRecord:
        """Record of a match that ended before the game was over."""
        return MatchRecord(
            game=setup.game,
            digest="",
            backend="",
            seed=setup.seed,
            play_clock_s=setup.play_clock_s,
            roles=setup.roles,
            players=setup.players,
            turns=self.turns(setup.id),
            goals=dict.fromkeys(setup.roles),
            states_visited=dict.fromkeys(setup.roles, 0),
            error=why,
            rules=setup.rules,
        )

    def turns(self, match: str) -> tuple[TurnRecord, ...]:
        """Turns of an unfinished match that were written down."""
        path = self._matches / match / "turns.jsonl"
        text = b""
        played_turns: list[TurnRecord] = []
        whole = b""
        try:
            text = path.read_bytes()
            for line in text.splitlines(keepends=True):
                turn = json.loads(line)
                played_turns.append(read(TurnRecord, turn, "turn", MatchError, LATER_FIELDS))
                whole += line if line.endswith(b"\n") else line + b"\n"
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, MatchError) as error:
            _log.warning("match %s goes on after turn %d: %s", match, len(played_turns), error)
        if whole != text:  # a line that was cut off would spoil the next ones
            path.write_bytes(whole)
        return tuple(played_turns)

    def setups(self) -> Iterator[MatchSetup]:
        """Yield all readable matches, the oldest first."""
        all_setups = []
        for folder in self._matches.iterdir():
            if not _ID.fullmatch(folder.name):
                continue
            try:
                all_setups.append(_setup(folder / "match.json"))
            except ConfigError as error:
                _log.warning("a match is left out: %s", error)
        all_setups.sort(key=lambda setup: setup.created_s)
        yield from all_setups[-MAX_REMEMBERED:]

    def remove(self, match: str) -> None:
        """Delete a match."""
        shutil.rmtree(self._matches / match, ignore_errors=True)

    def _write(self, match: str, name: str, data: object) -> None:
        path = self._matches / match / name
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise unwritable(f"cannot write {path}", error) from error
        write_whole(path, json.dumps(data, default=str) + "\n")


def usual_folder() -> Path:
    """Default folder in which the table keeps matches."""
    return user_data_path("ggp") / "table"


def _setup(path: Path) -> MatchSetup:
    data = read_json(path)
    try:
        fields = {
            "roles": tuple(data["roles"]),
            "side_file": data["side_file"] and Path(data["side_file"]),
            "taken_back": tuple(TakenBack(**one) for one in data.get("taken_back", ())),
        }
        return MatchSetup(**{**data, **fields})
    except (TypeError, KeyError) as error:
        raise ConfigError(f"{path} is not a match of the table: {error}") from error


# ------------------------------------------------------------------------
# Records, logs of `ggp serve` and series that the user has put into the table's folder.

MAX_FILES = 200
"""Most records, logs and series that we list, the newest first."""

_DEPTH = 3
"""Depth of the search for series below the table's folder."""

_LONGEST_LINE = 1 << 16
"""Most bytes of a log's first line that we read to find its match: ids of matches are short."""


class StoredFiles:
    """Lists the files in the table's folder, without writing.

    Args:
        folder: the folder of the table.
        logs: another folder, searched for logs only.
    """

    def __init__(self, folder: Path, logs: Path | None = None) -> None:
        self._folder, self._logs = folder, logs

    def records(self) -> list[str]:
        """Names of the records: `*.json` in the folder and its subfolders."""
        return list(self._files(".json"))

    def logs(self) -> list[dict[str, Any]]:
        """Name of each log with the fields of its first line: `match`, `role`, `player`, `time`."""
        return [
            {"name": name, **begin}
            for name, path in self._files(SUFFIX).items()
            if (begin := _begin(path)) is not None
        ]

    def path(self, name: str) -> Path:
        """Path of a record or a log.

        Raises:
            ConfigError: there is none of that name.
        """
        files = self._files(Path(name).suffix)
        if name not in files:
            raise ConfigError(f"there is no record {name!r} in {self._folder}")
        return files[name]

    def series(self) -> Iterator[tuple[str, Path, int]]:
        """Yield name, folder and time of the last change of every series."""
        paths = [
            path
            for depth in range(_DEPTH + 1)
            for path in self._folder.glob("/".join(["*"] * depth + [FILE]))
        ]
        paths.sort(key=_changed_s, reverse=True)
        for path in paths[:MAX_FILES]:
            name = str(path.parent.relative_to(self._folder))
            yield name if name != "." else self._folder.name, path.parent, path.stat().st_mtime_ns

    def _files(self, suffix: str) -> dict[str, Path]:
        """Files with a suffix, by name, newest first, without the table's own files."""
        if suffix not in (".json", SUFFIX):
            return {}
        paths = {
            str(path.relative_to(self._folder)): path
            for pattern in (f"*{suffix}", f"*/*{suffix}")
            for path in self._folder.glob(pattern)
            if path.parent.name != "matches"
        }
        if suffix == SUFFIX and self._logs is not None:
            folder = self._logs.resolve()
            paths |= {f"{folder.name}/{path.name}": path for path in folder.glob(f"*{suffix}")}
        newest = sorted(paths, key=lambda name: _changed_s(paths[name]), reverse=True)
        return {name: paths[name] for name in newest[:MAX_FILES]}


def _begin(path: Path) -> dict[str, Any] | None:
    """Read the first line of a log; None if the file is not a log."""
    try:
        with path.open("rb") as file:
            begin = json.loads(file.readline(_LONGEST_LINE))
        if begin["event"] != "begin":
            return None
        return {key: str(begin[key]) for key in ("match", "role", "player", "time")}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _changed_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
