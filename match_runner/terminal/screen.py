"""A screen: shows texts to a person, and reads the lines that the person types.

Lines are read from the file itself, not through Python's buffers: only then can a clock run out
while nobody types.
"""

from __future__ import annotations

import io
import os
import select
import sys
import time
from typing import TextIO

from rich.console import Console, RenderableType

from ggp.console import console_on
from match_runner.match.guests import LeftError

_MOST_BYTES = 65_536
"""Most bytes of a line; longer ones are cut."""


class TimeIsUpError(Exception):
    """No line came in time."""


class Screen:
    """A console for output, and a source of lines.

    Args:
        out: where everything is shown.
        source: where lines come from.

    Attributes:
        left: who left the current match, and why; None while everybody plays on.
    """

    def __init__(self, out: TextIO, source: TextIO | None = None) -> None:
        self.console: Console = console_on(out)
        self._source = sys.stdin if source is None else source
        self._buffer = b""
        self.left: LeftError | None = None
        try:
            self._file: int | None = self._source.fileno()
        except (OSError, ValueError, io.UnsupportedOperation):
            self._file = None

    def show(self, *parts: RenderableType) -> None:
        """Print anything that rich can print."""
        for part in parts:
            self.console.print(part)

    def ask(self, prompt: str, until_s: float | None = None) -> str:
        """Ask for a line, and return it without its end.

        Args:
            until_s: moment on `time.monotonic` at which time is up; None for no limit.

        Raises:
            TimeIsUpError: no line came in time.
            EOFError: there are no more lines.
        """
        self.console.print(prompt, end=" ", soft_wrap=True)
        self.console.file.flush()
        if self._file is None:
            line = self._source.readline()
            if not line:
                raise EOFError
            return line.strip()
        while b"\n" not in self._buffer:
            if until_s is not None:
                left_s = max(until_s - time.monotonic(), 0.0)
                if not select.select([self._file], [], [], left_s)[0]:
                    self.console.print()
                    raise TimeIsUpError
            read = os.read(self._file, _MOST_BYTES)
            self._buffer = (self._buffer + read)[-_MOST_BYTES:]
            if not read:
                if not self._buffer:
                    raise EOFError
                break
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()
