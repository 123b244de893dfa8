"""What lies in a file: one match, or many of them, which are read one by one.

A file of JSON holds a match or a list of matches, a file of JSON Lines a match a line, a file of
XML a match. Archives are large, so of JSON Lines one line is held at a time; and a match that
cannot be read costs no other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from string import whitespace
from typing import BinaryIO, NamedTuple

from ggp.errors import ConfigError, MatchError
from match_runner.archives.archived import Archived
from match_runner.archives.dresden_xml import read_xml
from match_runner.archives.ggp_json import from_json, parsed, read_json

MOST_MB = 100
"""Most megabytes of a match, and of a list of matches. A file of JSON Lines may have any size."""

_MOST_BYTES = MOST_MB << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_Line = tuple[int, bytes]
"""A line that is not blank, and its number from 1."""


class Unread(NamedTuple):
    """A match in a file.

    Attributes:
        where: the file, and the place in it if there are several.
        suffix: for the name of its record: empty, or `-7` for the match of line 7.
        read: gives what the file tells of it, and raises `MatchError` if it cannot be read.
    """

    where: str
    suffix: str
    read: Callable[[], Archived]


def matches_in(file: Path) -> Iterator[Unread]:
    """Yield the matches in a file, in order.

    Raises:
        ConfigError: it cannot be read, or holds no matches.
    """
    try:
        with file.open("rb") as opened:
            yield from _matches(file, opened)
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror or error}") from error
    except MatchError as error:
        raise ConfigError(f"{file}: {error}") from error


def _matches(file: Path, opened: BinaryIO) -> Iterator[Unread]:
    lines = iter(partial(opened.readline, _MOST_BYTES), b"")
    numbered = _not_blank(lines, 1)
    head = list(islice(numbered, 2))
    first = head[0][1].removeprefix(_BYTE_ORDER_MARK).lstrip() if head else b""
    if first[:1] not in (b"{", b"[", b"<"):
        raise ConfigError(f"{file} is neither JSON nor XML, so no match that can be imported")
    if len(head) > 1 and _is_object(first):
        yield from _of_lines(file, chain(head, numbered))
        return
    rest = opened.read(_MOST_BYTES)
    try:
        yield from _of_whole(file, b"".join(line for _, line in head) + rest)
    except MatchError:
        if first[:1] != b"{" or len(head) < 2 or not _is_object(head[1][1]):
            raise
        # These are JSON Lines, and the first one is damaged.
        rest += opened.readline()
        others = _not_blank(chain(BytesIO(rest), lines), head[1][0] + 1)
        yield from _of_lines(file, chain(head, others))


def _not_blank(lines: Iterable[bytes], first: int) -> Iterator[_Line]:
    blank = _BYTE_ORDER_MARK + whitespace.encode()
    return ((number, line) for number, line in enumerate(lines, first) if line.strip(blank))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _of_lines(file: Path, lines: Iterable[_Line]) -> Iterator[Unread]:
    for number, line in lines:
        yield Unread(f"{file}, line {number}", f"-{number}", partial(read_json, line))


def _of_whole(file: Path, data: bytes) -> Iterator[Unread]:
    """Yield the matches of a file that is read as a whole.

    Raises:
        MatchError: it is too large, not JSON, or an empty list; none has been yielded then.
    """
    if len(data) >= _MOST_BYTES:
        raise MatchError(f"it is larger than {MOST_MB} MB; a larger archive has a match a line")
    if data.removeprefix(_BYTE_ORDER_MARK).lstrip()[:1] == b"<":
        yield Unread(str(file), "", partial(read_xml, data))
        return
    value = parsed(data)
    if not isinstance(value, list):
        yield Unread(str(file), "", partial(from_json, value))
        return
    if not value:
        raise MatchError("it is an empty list, so it holds no match")
    for place, each in enumerate(value, start=1):
        yield Unread(f"{file}, match {place}", f"-{place}", partial(from_json, each))
