"""Answers to people in their seats, who see what their roles see."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ggp.errors import GGPError
from match_runner.table.held_match import ALL, HeldMatch, seat_of
from match_runner.table.match_manager import MatchManager
from match_runner.table.requests import number_of, read_move
from match_runner.table.web.answers import after_of, json_of, stream_of, turn_of


class AtSeats:
    """Answers to requests below `/api/seats`."""

    def __init__(self, manager: MatchManager) -> None:
        self._manager = manager

    async def seat(self, request: Request) -> Response:
        """A match as a person in a seat sees it."""
        match, role = self._seat(request)
        own = self._manager.replays.seen(match, role)
        told = match.snapshot(seat_of(role), own)
        # Whoever has only the seat's link gets no further.
        more = request.scope["visitor"].is_host
        minds = more and self._manager.options.open_minds
        played = None if own else await self._played(match)
        return JSONResponse({**told, "open_minds": minds, "more": more, "played": played})

    async def seat_events(self, request: Request) -> Response:
        """Stream of what happens at a seat."""
        match, role = self._seat(request)
        return stream_of(match.log.follow(seat_of(role), after_of(request)))

    async def seat_turn(self, request: Request) -> Response:
        """Frame that a person saw after a turn."""
        return turn_of(request, self._manager.replays.seen(*self._seat(request)))

    async def truth(self, request: Request) -> Response:
        """All that there was after a turn, which people see when the match is over."""
        match, _ = self._seat(request)
        if not match.is_over:
            raise HTTPException(403, "the match is not over")
        return turn_of(request, await self._manager.replays.frames(match, ALL))

    async def seat_belief(self, request: Request) -> Response:
        """What may be where after a turn, as the role's own moves and percepts tell it."""
        match, role = self._seat(request)
        found = match.beliefs.get(role, {}).get(number_of(request.path_params["turn"], "turn"))
        if found is None:
            raise HTTPException(404, "nothing is kept of that turn")
        return Response(found, media_type="application/json")

    async def move(self, request: Request) -> Response:
        """Make a person's move."""
        self._seat(request)
        turn, move = read_move(await json_of(request))
        self._manager.move(request.path_params["seat"], turn, move)
        return JSONResponse({})

    async def _played(self, match: HeldMatch) -> int | None:
        """Number of turns of a match that is over; None if it is not, or cannot be replayed."""
        if not match.is_over:
            return None
        try:
            return len(await self._manager.replays.frames(match, ALL)) - 1
        except GGPError:
            return None

    def _seat(self, request: Request) -> tuple[HeldMatch, str]:
        found = self._manager.seats.get(request.path_params["seat"])
        if found is None:
            raise HTTPException(404, "there is no such seat")
        match, role, _ = found
        return match, role
