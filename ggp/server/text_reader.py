"""Reads long texts in a thread, a few at a time, so that others need not wait.

A start message may have 400 KB of rules, and splitting them takes half a second. Turns of unknown
matches are not even read.
"""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

from ggp.protocol.lobby import Lobby
from ggp.protocol.texts.reading import Text, read_text
from ggp.server.settings import ServerLimits

LARGE_CHARS = 20_000
"""Longer texts are read in a thread."""

_BEGINNING = re.compile(r"[\s(]*(start|play|stop|abort)\s+([^\s()]+)[\s()]", re.IGNORECASE)


class TextReader:
    """Reads the texts of requests.

    Args:
        lobby: knows which matches are played.
        limits: on texts.
    """

    def __init__(self, lobby: Lobby, limits: ServerLimits) -> None:
        self._lobby, self._limits = lobby, limits
        self._thread = ThreadPoolExecutor(1)
        self._num_reading = 0

    async def read(self, text: str) -> Text | None:
        """The content of a text; None if it is too long to be read now."""
        limits = self._limits.messages
        if len(text) <= LARGE_CHARS:
            return read_text(text, limits)
        if self._is_hopeless(text) or self._num_reading >= self._limits.long_texts:
            return None
        self._num_reading += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, read_text, text, limits)
        finally:
            self._num_reading -= 1

    def close(self) -> None:
        """Give up texts that are not read yet."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _is_hopeless(self, text: str) -> bool:
        """Whether a text is a turn of an unknown match."""
        found = _BEGINNING.match(text, 0, 2000)
        if found is None:
            return False
        kind, match_id = found.groups()
        return kind.lower() != "start" and not self._lobby.knows(match_id)
