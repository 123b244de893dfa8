"""Finds matches that a server left behind in their logs, when it is restarted.

The lobby is a function of the messages and answers it was given, with their times; the log contains
them all.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ggp.errors import GGPError
from ggp.protocol.lobby import Lobby
from ggp.protocol.questions import Ask, Opening
from ggp.protocol.retelling import FORMAT, GAVE_WAY, SUFFIX, Retelling

SERVER_ENDED = "server ended"
"""Why a log ends if its match resumes with a place at once. One that `GAVE_WAY` may find room."""

MAX_AGE_S = 24 * 60 * 60.0
"""Oldest files that are looked at."""

_EDGE_BYTES = 64 << 10
"""Bytes read at the beginning and at the end of a file to see whether its match may go on."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """A match that is back in the lobby.

    Attributes:
        opening: the original beginning.
        path: of its log.
        began_s: when the log began, on `time.monotonic`; negative if before the system started.
        ask: the latest question.
        has_place: whether it needs workers; otherwise it is remembered, and may find room.
        backend: the backend on which it began; None if it has not.
    """

    opening: Opening
    path: Path
    began_s: float
    ask: Ask | None
    has_place: bool = True
    backend: str | None = None


def restore(
    folder: Path, lobby: Lobby, now: float, listens_since_s: float | None = None
) -> tuple[Restored, ...]:
    """Put unfinished matches back into a new lobby; silent ones are forgotten.

    Args:
        folder: of logs.
        now: of `time.monotonic`.
        listens_since_s: since when messages arrive here, on the same clock; default: now.
    """
    found = []
    for _, path in sorted(_unfinished(folder)):
        try:
            restored = _replay(path, _events(path), lobby, now)
        except (GGPError, OSError, LookupError, TypeError, ValueError, AttributeError) as error:
            _log.warning("the match of %s is not resumed: %r", path, error)
            continue
        if restored is not None:
            found.append(restored)
    lobby.resume(now, listens_since_s)
    lobby.forget(now)
    return tuple(_with_its_place(found, lobby))


def _with_its_place(found: Iterable[Restored], lobby: Lobby) -> Iterator[Restored]:
    """The matches that are not over or forgotten."""
    for each in found:
        session = lobby.session(each.opening.match)
        if session is not None and session.is_live:
            yield each
        elif session is not None and not session.has_place:
            yield replace(each, has_place=False)


def _unfinished(folder: Path) -> Iterator[tuple[str, Path]]:
    """Time and path of every log whose match may still be going on.

    Only the ends of files are read: strangers can make the logs of a day very large.
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
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _events(path: Path) -> list[Mapping[str, Any]]:
    """All complete lines of a log."""
    lines = path.read_text(encoding="ascii").splitlines()
    return [json.loads(line) for line in lines if line.endswith("}")]


def _replay(
    path: Path, events: list[Mapping[str, Any]], lobby: Lobby, now: float
) -> Restored | None:
    # Logs have the time of day. After a restart of the system the clock of the lobby is another
    # one.
    began_s = datetime.fromisoformat(events[0]["time"]).timestamp() - time.time() + now
    retold = Retelling(lobby)
    for event in events:
        # The clock may have been set: nothing may seem to happen later than now.
        retold.tell(event, min(began_s + float(event["t"]), now))
    opening = retold.opening
    if opening is None:
        return None
    return Restored(opening, path, began_s, retold.ask, backend=retold.backend)
