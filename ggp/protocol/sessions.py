"""All matches a lobby knows: by the id the server gave them, and by our own number.

Where we play several roles of one match, each is a session, with the same id. They are live, or
without a place, or over. All but the live ones are only remembered, within the limits here and in
`places`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from ggp.protocol.places import forgotten_first, overdue
from ggp.protocol.session import Session
from ggp.protocol.transitions import MatchState

MAX_REMEMBERED = 32
"""Finished matches that are still remembered, for duplicate and late messages."""


class Sessions:
    """Roles of matches, oldest first. Ids are as sent; no number is ever reused."""

    def __init__(self) -> None:
        self._serials = count(1)
        self._by_id: dict[str, list[Session]] = {}
        self._by_serial: dict[int, Session] = {}

    @property
    def live(self) -> tuple[Session, ...]:
        """The matches that need a worker."""
        return tuple(each for each in self._by_serial.values() if each.is_live)

    def of(self, match_id: str) -> tuple[Session, ...]:
        """The roles of the match with an id that we play, in the order of its rules."""
        return tuple(self._by_id.get(match_id, ()))

    def numbered(self, serial: int) -> Session | None:
        """The match with a number."""
        return self._by_serial.get(serial)

    def add(self, make: Callable[[int], Session]) -> Session:
        """Add a role of a match with a new number, in place of itself, and of any match with its
        id that is over."""
        session = make(next(self._serials))
        for before in self.of(session.start.match_id):
            if before.state is MatchState.OVER or before.role == session.role:
                self._drop(before)
        roles = session.outline.roles
        seats = self._by_id.setdefault(session.start.match_id, [])
        seats.append(session)
        seats.sort(key=lambda each: roles.index(each.role) if each.role in roles else len(roles))
        self._by_serial[session.serial] = session
        return session

    def give_place(self, session: Session) -> None:
        """Make a match without a place live, with a new number."""
        del self._by_serial[session.serial]
        session.serial, session.has_place = next(self._serials), True
        self._by_serial[session.serial] = session

    def take_place(self, session: Session) -> int:
        """Make a live match only remembered, without a place; returns the number it had."""
        session.give_up()
        while True:
            waiting = [s for s in self._by_serial.values() if not s.has_place]
            forgotten = forgotten_first(sorted(waiting, key=lambda each: each.heard_at_s))
            if forgotten is None:
                return session.serial
            self._drop(forgotten)

    def forget(self, now: float) -> tuple[int, ...]:
        """Forget silent matches; returns those that no longer need their worker."""
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
        seats = self._by_id[session.start.match_id]
        seats.remove(session)
        if not seats:
            del self._by_id[session.start.match_id]
