"""All matches a lobby knows: by the id the server gave them, and by a number of our own.

They are live, or without a place, or over. All but the live ones are only remembered, and of those
as many as is said here and in `places`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from ggp.protocol.places import forgotten_first, overdue
from ggp.protocol.session import Session
from ggp.protocol.transitions import MatchState

MAX_REMEMBERED = 32
"""Matches that are over and still remembered, for messages that come twice or late."""


class Sessions:
    """Matches, oldest first. Ids are as they were sent; no number is ever used again."""

    def __init__(self) -> None:
        self._serials = count(1)
        self._by_id: dict[str, Session] = {}
        self._by_serial: dict[int, Session] = {}

    @property
    def live(self) -> tuple[Session, ...]:
        """Those that need a worker."""
        return tuple(each for each in self._by_serial.values() if each.is_live)

    def of(self, match_id: str) -> Session | None:
        """The match of an id."""
        return self._by_id.get(match_id)

    def numbered(self, serial: int) -> Session | None:
        """The match of a number."""
        return self._by_serial.get(serial)

    def add(self, make: Callable[[int], Session]) -> Session:
        """A match with a new number, in the place of any other with its id."""
        session = make(next(self._serials))
        before = self.of(session.start.match_id)
        if before is not None:
            self._drop(before)
        self._by_id[session.start.match_id] = self._by_serial[session.serial] = session
        return session

    def give_place(self, session: Session) -> None:
        """Let a match that has no place be live, with a new number."""
        del self._by_serial[session.serial]
        session.serial, session.has_place = next(self._serials), True
        self._by_serial[session.serial] = session

    def take_place(self, session: Session) -> int:
        """Have a match without a place be remembered only; the number it has."""
        session.give_up()
        while True:
            waiting = [s for s in self._by_serial.values() if not s.has_place]
            forgotten = forgotten_first(sorted(waiting, key=lambda each: each.heard_at_s))
            if forgotten is None:
                return session.serial
            self._drop(forgotten)

    def forget(self, now: float) -> tuple[int, ...]:
        """Forget matches gone silent; gives those that need their worker no longer."""
        ended = [
            self.take_place(session)
            for session in self.live
            if session.resumed_at_s is not None and overdue(session, now)
        ]
        silent = [each for each in self._by_serial.values() if each.silent_at_s < now]
        over = [
            s for s in self._by_serial.values() if s.state is MatchState.OVER and s not in silent
        ]
        ended += [each.serial for each in silent if each.is_live]
        for each in (*silent, *over[: max(0, len(over) - MAX_REMEMBERED)]):
            self._drop(each)
        return tuple(ended)

    def _drop(self, session: Session) -> None:
        del self._by_serial[session.serial]
        if self._by_id.get(session.start.match_id) is session:
            del self._by_id[session.start.match_id]
