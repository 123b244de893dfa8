"""The link between a match in a worker process and the server: JSON objects, in both directions.

They go with the call by which the server has the match played (`ggp.run.calls`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ggp.errors import MatchError
from ggp.run import calls

Message = Mapping[str, Any]
"""An object with the field `kind`."""


class LinkBrokenError(MatchError):
    """The server is gone, or has ended the match."""


class WorkerLink:
    """The worker's end of the link.

    Args:
        hear: called with every message of the server, in a thread of its own; with None when
            there will be no more.
    """

    def __init__(self, hear: Callable[[Message | None], None] = lambda message: None) -> None:
        self._hear, self._is_broken = hear, False
        calls.listen(self._take)

    def send(self, message: Message) -> None:
        """Send the server a message.

        Raises:
            LinkBrokenError: the match was ended.
        """
        if self._is_broken:
            raise LinkBrokenError("the match was ended")
        calls.tell(json.dumps(message).encode())

    def _take(self, message: Message | None) -> None:
        self._is_broken = self._is_broken or message is None
        self._hear(message)
