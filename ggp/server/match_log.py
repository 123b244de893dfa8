"""Logs of matches, written as JSON lines, and matches restored from them after a restart.

`ggp.protocol.retelling` describes the lines. The last line is incomplete if the server was killed.
Match ids come from strangers, so file names consist of letters, digits, `-` and `_` only.

Beside the log of a match that is going on, another file has the latest beliefs of its workers.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from ggp.errors import ConfigError, GGPError
from ggp.players.elsewhere.from_json import read
from ggp.protocol.lobby import Lobby
from ggp.protocol.retelling import FORMAT, GAVE_WAY, LOG_FULL, SUFFIX, Retelling
from ggp.protocol.session import Ask, Opening
from ggp.run.whole_files import write_whole
from ggp.server.settings import DEFAULT_LOG_BYTES
from ggp.server.workers.orders import Believed

# ------------------------------------------------------------------------
# Restoring the matches of an earlier server from their logs.
#
# The state of the lobby is a function of its messages and answers with their times, and the log
# contains them all.

SERVER_ENDED = "server ended"
"""Reason for the end of a log whose match resumes with its place; after `GAVE_WAY` it needs
room."""

MAX_AGE_S = 24 * 60 * 60.0
"""Maximum age of a log that is restored."""

_EDGE_BYTES = 64 << 10
"""Number of bytes at either end of a file that are read to see whether its match may go on."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A match that is back in the lobby.

    Attributes:
        opening: the original beginning.
        path: of its log.
        began_s: when the log began, on `time.monotonic`; negative if before the system started.
        alive_s: when the earlier server was surely alive for the last time.
        ask: the latest question; None if there was none.
        has_place: whether it needs workers; otherwise it is remembered, and may find room.
        backend: the backend on which it began; None before that.
    """

    opening: Opening
    path: Path
    began_s: float
    alive_s: float
    ask: Ask | None
    has_place: bool = True
    backend: str | None = None


def restore(
    folder: Path, lobby: Lobby, now: float, listens_since_s: float | None = None
) -> tuple[Restored, ...]:
    """Put unfinished matches back into a new lobby; silent ones are forgotten, and the beliefs of
    all that do not go on.

    Args:
        folder: of logs.
        now: of `time.monotonic`.
        listens_since_s: since when messages arrive here, on the same clock; default: now.
    """
    replayed, zero_s = [], now - time.time()
    for _, path in sorted(_unfinished(folder)):
        try:
            restored = _replay(path, _events(path), lobby, now, zero_s)
        except (GGPError, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
            _log.warning("the match of %s is not resumed: %r", path, error)
            continue
        if restored is not None:
            replayed.append(restored)
    lobby.resume(now, listens_since_s, {m.opening.match: m.alive_s for m in replayed})
    lobby.forget(now)
    going_on = []
    for match in replayed:
        session = lobby.session(match.opening.match)
        if session is not None and (session.is_live or not session.has_place):
            going_on.append(replace(match, has_place=session.has_place))
    resumed = {match.path.with_suffix(BELIEFS_SUFFIX) for match in going_on}
    for beliefs in {*folder.glob(f"*{BELIEFS_SUFFIX}")} - resumed:
        with contextlib.suppress(OSError):
            beliefs.unlink()
    return tuple(going_on)


def _unfinished(folder: Path) -> Iterator[tuple[str, Path]]:
    """Time and path of every log whose match may still be going on.

    Reads only the ends of files: strangers can make the logs of a day very large.
    """
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            if time.time() - path.stat().st_mtime > MAX_AGE_S:
                continue
            with path.open("rb") as file:
                first = _object(file.readline(_EDGE_BYTES))
                file.seek(max(0, file.seek(0, os.SEEK_END) - _EDGE_BYTES))
                last = _object(file.read().rstrip().rpartition(b"\n")[2])
        except OSError as error:
            _log.info("%s is not a log that can be resumed: %s", path, error)
            continue
        is_over = last.get("event") == "end" and last.get("why") not in (SERVER_ENDED, GAVE_WAY)
        if first.get("event") == "begin" and first.get("format") == FORMAT and not is_over:
            yield str(first.get("time")), path


def _object(line: bytes) -> Mapping[str, Any]:
    """The object in a line; empty if the line is incomplete."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _events(path: Path) -> list[Mapping[str, Any]]:
    """All complete lines of a log."""
    lines = path.read_text(encoding="ascii").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def _replay(
    path: Path, events: list[Mapping[str, Any]], lobby: Lobby, now: float, zero_s: float
) -> Restored | None:
    # Logs have the time of day, since the clock of the lobby restarts with the system.
    began_s = datetime.fromisoformat(events[0]["time"]).timestamp() + zero_s
    alive_s = min(path.stat().st_mtime + zero_s, now)
    retold = Retelling(lobby)
    for event in events:
        # The system's clock may have been changed: no event may seem later than now.
        retold.tell(event, min(began_s + float(event["t"]), now))
    opening = retold.opening
    if opening is None:
        return None
    return Restored(opening, path, began_s, alive_s, retold.ask, backend=retold.backend)


MAX_BYTES = 256 << 20
"""Maximum length of a file; a log that reaches it ends, and its match is not resumed."""

FILE_BYTES = 4 << 10
"""Size of a file in addition to its length: on a disk even a short file takes a block."""

BELIEFS_SUFFIX, MAX_BELIEFS_BYTES = ".beliefs", 2 << 20
"""Suffix of the file of beliefs, and how much of it is read."""

_LONGEST_NAME = 80
_log = logging.getLogger(__name__)


class MatchLog:
    """The log of one match. A failing disk costs the log, never the match.

    Args:
        folder: where to create the file; None for no file.
        match_id: as the server sent it.
        resumes: an existing file to continue instead.
        began_s: when that file began, on `time.monotonic`.
        count: receives the number of bytes added to the folder.

    Attributes:
        beliefs: the latest belief of each worker, by its name.
    """

    def __init__(
        self,
        folder: Path | None,
        match_id: str,
        *,
        resumes: Path | None = None,
        began_s: float | None = None,
        count: Callable[[int], None] = lambda num_bytes: None,
    ) -> None:
        self._began_s = time.monotonic() if began_s is None else began_s
        self._bytes_left = MAX_BYTES
        self._count = count
        self._file: TextIO | None = None
        self.path = resumes
        self.beliefs: dict[str, Believed] = {} if resumes is None else _beliefs_beside(resumes)
        self._beliefs_bytes = (
            0 if resumes is None else _bytes_of(resumes.with_suffix(BELIEFS_SUFFIX))
        )
        try:
            if resumes is not None:
                _cut_torn_line(resumes)
                self._bytes_left -= resumes.stat().st_size
                self._file = resumes.open("a", encoding="ascii")
            elif folder is not None:
                self.path, self._file = _create(folder, match_id)
                count(FILE_BYTES)
        except OSError as error:
            _log.warning("no log of the match %s: %s", ascii(match_id), error)

    def begin(self, **fields: Any) -> None:
        """Write the first line."""
        self.write("begin", format=FORMAT, time=datetime.now(UTC).isoformat(), **fields)

    def write(self, event: str, **fields: Any) -> None:
        """Add a line."""
        if self._file is None:
            return
        t = self.seconds_at(time.monotonic())
        line = json.dumps({"t": t, "event": event, **fields}) + "\n"
        self._bytes_left -= len(line)
        is_full = self._bytes_left < 0
        if is_full:
            line = json.dumps({"t": t, "event": "end", "why": LOG_FULL}) + "\n"
        try:
            self._file.write(line)
            self._file.flush()
            self._count(len(line))
            if is_full:
                raise OSError(f"it would have more than {MAX_BYTES} bytes")
        except OSError as error:
            _log.warning("the log %s ends here: %s", self.path, error)
            self.close()

    def keep(self, worker: str, belief: Believed) -> None:
        """Replace the belief of a worker by a later one; others of the match may begin with it."""
        if belief.turn < self.beliefs.get(worker, belief).turn:
            return  # two understudies may follow the match, one behind the other
        self.beliefs[worker] = belief
        if self._file is None or self.path is None:
            return
        text = json.dumps({name: asdict(latest) for name, latest in self.beliefs.items()})
        try:
            write_whole(self.path.with_suffix(BELIEFS_SUFFIX), text)
            self._count(FILE_BYTES + len(text) - self._beliefs_bytes)
            self._beliefs_bytes = FILE_BYTES + len(text)
        except GGPError as error:
            _log.warning("the beliefs of the match are not stored: %s", error)

    def end(self, why: str) -> None:
        """Write the last line, and close the file; the beliefs go unless the match may go on."""
        self.write("end", why=why)
        self.close()
        if self.path is not None and why not in (SERVER_ENDED, GAVE_WAY):
            with contextlib.suppress(OSError):
                self.path.with_suffix(BELIEFS_SUFFIX).unlink(missing_ok=True)
                self._count(-self._beliefs_bytes)
                self._beliefs_bytes = 0

    def beat(self) -> None:
        """Let the time of the file tell that the server is alive."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.utime(self._file.fileno())

    def seconds_at(self, time_s: float) -> float:
        """The value of `t` at a time of `time.monotonic`."""
        return round(time_s - self._began_s, 4)

    def reopen(self) -> None:
        """Continue the file after `close`."""
        if self.path is not None and self._bytes_left > 0:
            try:
                self._file = self.path.open("a", encoding="ascii")
            except OSError as error:
                _log.warning("the log %s is not continued: %s", self.path, error)

    def close(self) -> None:
        """Close the file; later lines are dropped."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                _log.warning("the log %s may be incomplete: %s", self.path, error)


class LogFolder:
    """A folder of logs with a limit, so that strangers cannot fill the disk.

    A match that begins after the limit is reached has no log. No log is ever deleted.

    Args:
        path: of the folder; None for no logs at all.
        limit_bytes: limit for all files in it, including older ones.

    Attributes:
        num_bytes: of all files in it.
    """

    def __init__(self, path: Path | None, limit_bytes: float = DEFAULT_LOG_BYTES) -> None:
        self._path, self._limit_bytes = path, limit_bytes
        self.num_bytes = 0 if path is None else _bytes_in(path)
        self._has_warned = False

    def begin(self, match_id: str) -> MatchLog:
        """The log of a new match, if there is room for it."""
        if self._path is None or self.num_bytes < self._limit_bytes:
            return MatchLog(self._path, match_id, count=self._add)
        if not self._has_warned:
            self._has_warned = True
            _log.warning(
                "the logs in %s take %d MB: new matches are not logged; "
                "start the server with another folder or a larger --log-limit",
                self._path,
                self.num_bytes >> 20,
            )
        return MatchLog(None, match_id)

    def resume(self, path: Path, match_id: str, began_s: float) -> MatchLog:
        """The log of a match that continues."""
        return MatchLog(None, match_id, resumes=path, began_s=began_s, count=self._add)

    def _add(self, num_bytes: int) -> None:
        self.num_bytes += num_bytes


def check_folder(folder: Path) -> None:
    """Create the folder of logs if necessary.

    Raises:
        ConfigError: it cannot be created or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{time.time_ns()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError(f"cannot write logs to {folder}: {error.strerror or error}") from error


def _bytes_in(folder: Path) -> int:
    """Total size of the files of a folder; unreadable ones count as nothing."""
    try:
        return sum(map(_bytes_of, folder.iterdir()))
    except OSError as error:
        _log.warning("cannot read the folder %s: %s", folder, error)
        return 0


def _bytes_of(path: Path) -> int:
    """The size of a file on a disk; 0 if there is none."""
    try:
        return FILE_BYTES + path.stat().st_size
    except OSError:
        return 0


def _beliefs_beside(path: Path) -> dict[str, Believed]:
    """The beliefs of the workers of a match, by the path of its log; none if they are damaged."""
    try:
        with path.with_suffix(BELIEFS_SUFFIX).open("rb") as file:
            stored = json.loads(file.read(MAX_BELIEFS_BYTES))
        return {name: read(Believed, stored[name], name, ValueError) for name in stored}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, RecursionError) as error:
        _log.warning("the beliefs of %s are not used: %r", path, error)
        return {}


def _cut_torn_line(path: Path) -> None:
    """Remove an incomplete last line, which a server was writing when it was killed."""
    with path.open("r+b") as file:
        file.truncate(file.read().rfind(b"\n") + 1)


def _create(folder: Path, match_id: str) -> tuple[Path, TextIO]:
    """A new file with a safe name, whatever the id of the match."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", match_id)[:_LONGEST_NAME].strip("_-") or "match"
    when = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for index in range(1000):
        path = folder / f"{name}.{when}{f'-{index}' if index else ''}{SUFFIX}"
        try:
            return path, path.open("x", encoding="ascii")
        except FileExistsError:
            continue
    raise OSError(f"too many logs of {name} in {folder}")
