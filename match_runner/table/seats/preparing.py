"""Tells the server what is done before the first turn, which takes long when a game is new.

A step says how much of it all is done when it begins and when it ends; between these the page can
only guess. What our modules note meanwhile, such as that machine code is compiled, is told too.
"""

from __future__ import annotations

import logging
from types import TracebackType

from ggp.errors import NOTE
from match_runner.table.seats.link import LinkBrokenError, WorkerLink


class Preparing(logging.Handler):
    """Reports the steps before a match; a context, in which notes are reported as well."""

    def __init__(self, link: WorkerLink) -> None:
        super().__init__(NOTE)
        self._link = link
        self._step = ("", 0.0, 0.0)

    def __enter__(self) -> Preparing:
        logger = logging.getLogger("ggp")
        self._level = logger.level
        if logger.getEffectiveLevel() > NOTE:
            logger.setLevel(NOTE)
        logger.addHandler(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        logger = logging.getLogger("ggp")
        logger.removeHandler(self)
        logger.setLevel(self._level)

    def begin(self, text: str, share: float, until: float) -> None:
        """Begin a step.

        Args:
            share, until: shares of the whole that are done when it begins and when it ends.
        """
        self._step = text, share, until
        self._tell("")

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == NOTE:
            try:
                self._tell(record.getMessage())
            except LinkBrokenError:  # the match notices it itself
                return

    def _tell(self, note: str) -> None:
        text, share, until = self._step
        told = {"text": text, "note": note, "share": share, "until": until}
        self._link.send({"kind": "preparing", **told})
