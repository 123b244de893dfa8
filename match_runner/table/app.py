"""The web application of the table: the page, its files, and the JSON that it reads.

    GET  /                              the page; also /match/ID, /seat/SEAT and /record/NAME
    GET  /static/FILE                   files of the page
    GET  /api/lobby, /api/series        the lobby, all series; /api/events streams changes
    GET  /api/alive                     heartbeats, which show that the server runs
    POST /api/player                    {player}: checks a player that somebody typed
    GET  /api/preview?game=             what the lobby shows of a game
    POST /api/rules                     {game} or {name, rules}: diagnostics of a rulesheet
    POST /api/matches                   see `options`; answers with the links of all seats
    GET  /api/matches/ID[?key=]         a match; /turns/N, /events; POST /end, /again
    GET  /api/matches/ID/picture        the last state that the visitor may see
    GET  /api/matches/ID/record         the record of a match that is over
    GET  /api/matches/ID/mind?role=&turn=&move=    belief and values of a role
    GET  /api/records/NAME              a record or a log of the folder; /turns/N, /mind, /file
    GET  /api/seats/SEAT                a seat; /turns/N, /may/N, /events; POST /move, /back,
                                        /resign; /truth/N when the match is over

`guard` decides who may request which of these. Errors are `{"error": text}`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ggp.console import installed_version
from ggp.errors import GGPError
from ggp.gdl.games import list_games
from ggp.gdl.source import describe
from ggp.players import describe_player
from ggp.players.spec import PLAYERS
from match_runner.table.guard import Door, Guard
from match_runner.table.held_match import ALL, HeldMatch, seat_of
from match_runner.table.match_folder import MatchSetup
from match_runner.table.match_manager import LOBBY, NOBODY, MatchManager
from match_runner.table.mind import MindTask, known_turns
from match_runner.table.options import (
    MAX_TEXT,
    fields_of,
    number_of,
    read_again,
    read_match,
    read_move,
    read_player,
    rules_text,
)
from match_runner.table.worker_tasks import ReplayedMatch

STATIC = Path(__file__).parent / "static"


def make_app(manager: MatchManager) -> Guard:
    """Make the application, with its guard."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await manager.open()
        try:
            yield
        finally:
            await manager.close()

    page = answered(_page)
    table = TableAnswers(manager)
    routes = [
        Route("/", page),
        Route("/match/{id}", page),
        Route("/seat/{seat}", page),
        Route("/record/{name:path}", page),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    gets: dict[str, Answer] = {
        "/lobby": table.lobby,
        "/events": table.lobby_events,
        "/alive": table.alive,
        "/preview": table.preview,
        "/series": table.series,
        "/matches/{id}": table.match,
        "/matches/{id}/events": table.match_events,
        "/matches/{id}/turns/{turn}": table.match_turn,
        "/matches/{id}/mind": table.match_mind,
        "/matches/{id}/picture": table.match_picture,
        "/matches/{id}/record": table.download,
        "/records/{name:path}/turns/{turn}": table.record_turn,
        "/records/{name:path}/mind": table.record_mind,
        "/records/{name:path}/file": table.record_file,
        "/records/{name:path}": table.record,
        "/seats/{seat}": table.seat,
        "/seats/{seat}/events": table.seat_events,
        "/seats/{seat}/turns/{turn}": table.seat_turn,
        "/seats/{seat}/may/{turn}": table.seat_belief,
        "/seats/{seat}/truth/{turn}": table.truth,
    }
    posts: dict[str, Answer] = {
        "/rules": table.rules,
        "/player": table.player,
        "/matches": table.create,
        "/matches/{id}/end": table.end,
        "/matches/{id}/again": table.play_again,
        "/seats/{seat}/move": table.move,
        "/seats/{seat}/back": table.take_back,
        "/seats/{seat}/resign": table.resign,
    }
    routes += [Route(f"/api{path}", answered(answer)) for path, answer in gets.items()]
    routes += [
        Route(f"/api{path}", answered(answer), methods=["POST"]) for path, answer in posts.items()
    ]
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _failed})
    options = manager.options
    is_secure = options.names.origin.startswith("https:")
    door = Door(manager.token, manager.seat_token, is_secure=is_secure)
    return Guard(app, door, options.names, options.limits)


class TableAnswers:
    """Answers to requests below `/api`."""

    def __init__(self, manager: MatchManager) -> None:
        self._manager = manager

    # ---------------------------------------------------------------- lobby

    async def lobby(self, request: Request) -> Response:
        """Games, players, and all present and past matches."""
        manager = self._manager
        offers = manager.options.offers
        names = offers.game_names()
        players = [{"name": n, "about": describe_player(n).summary} for n in PLAYERS]
        players += [{"name": name, "about": spec} for name, spec in offers.players.items()]
        matches = [match.summary() for match in reversed(manager.matches.values())]
        return JSONResponse(
            {
                "version": installed_version(),
                "folder": str(manager.options.folder),
                "open_minds": manager.options.open_minds,
                "game": offers.game or list_games()[0],
                "games": [{"name": name, "title": self._title(name)} for name in names],
                "players": players,
                "matches": matches,
                "records": manager.stored.records(),
                "logs": manager.stored.logs(),
                "last": manager.log.last,
            }
        )

    async def lobby_events(self, request: Request) -> Response:
        """Stream of changes in the lobby."""
        return stream_of(self._manager.log.follow(LOBBY, after_of(request)))

    async def series(self, request: Request) -> Response:
        """Standings of all series."""
        return JSONResponse({"series": await self._manager.replays.series()})

    async def rules(self, request: Request) -> Response:
        """Diagnostics of a rulesheet."""
        fields = fields_of(await json_of(request))
        rules = fields.get("rules")
        if rules is None:
            name = str(fields.get("game"))[:MAX_TEXT]
            text = self._manager.options.offers.rules_of(name, None)[0]
        else:
            name, text = str(fields.get("name", "rules"))[:MAX_TEXT], rules_text(rules)
        report = await self._manager.look_at_rules(name, text)
        return JSONResponse({**report, "rules": text} if rules is None else report)

    async def preview(self, request: Request) -> Response:
        """What the lobby shows of a game."""
        game = request.query_params.get("game", "")[:MAX_TEXT]
        return JSONResponse(await self._manager.preview(game))

    async def player(self, request: Request) -> Response:
        """Whether a player that somebody typed is usable, with the error if not."""
        player = read_player(await json_of(request))
        try:
            self._manager.options.offers.spec_of(player)
        except GGPError as error:
            return JSONResponse({"ok": False, "error": str(error)})
        return JSONResponse({"ok": True})

    async def alive(self, request: Request) -> Response:
        """Stream of heartbeats, which show that the server runs."""
        return stream_of(self._manager.log.follow(NOBODY, ""))

    async def create(self, request: Request) -> Response:
        """Make new matches."""
        return _links_of(await self._manager.create(read_match(await json_of(request))))

    # ---------------------------------------------------------------- matches

    async def match(self, request: Request) -> Response:
        """The part of a match that the visitor may see."""
        match, audience = self._watched(request)
        frames = await self._manager.replays.frames(match, audience)
        return JSONResponse(match.snapshot(audience, frames))

    async def match_events(self, request: Request) -> Response:
        """Stream of the events of a match."""
        match, audience = self._watched(request)
        return stream_of(match.log.follow(audience, after_of(request)))

    async def match_turn(self, request: Request) -> Response:
        """The part of the frame after a turn that the visitor may see."""
        match, audience = self._watched(request)
        return turn_of(request, await self._manager.replays.frames(match, audience))

    async def match_picture(self, request: Request) -> Response:
        """Picture of the last state that the visitor may see."""
        match, audience = self._watched(request)
        return JSONResponse(await self._manager.last_picture(match, audience))

    async def match_mind(self, request: Request) -> Response:
        """Belief and values of a role before a turn."""
        match, audience = self._watched(request)
        if audience != ALL:
            raise HTTPException(403, "minds are open when the match is over")
        frames = await self._manager.replays.frames(match, audience)
        return self._mind(request, frames, match.setup, match.setup.roles)

    async def download(self, request: Request) -> Response:
        """The record of a match that is over, as a file."""
        match, audience = self._watched(request)
        if not match.is_over or audience != ALL:
            raise HTTPException(403, "the match is not over")
        record = self._manager.folder.record(match.setup.id)
        name = f"{Path(match.setup.game).stem}-{match.setup.id}.json".replace('"', "")
        return JSONResponse(record.to_json(), headers=as_file(name))

    async def end(self, request: Request) -> Response:
        """End a match early."""
        match = self._match(request)
        key = str(fields_of(await json_of(request)).get("key", ""))
        if match.people and match.audience(key, open_minds=False) != ALL:
            raise HTTPException(403, "only those who began a match with people may end it")
        await self._manager.end(match)
        return JSONResponse({})

    async def play_again(self, request: Request) -> Response:
        """Make another match of the same game, with the players and the clock of the request."""
        setup = self._match(request).setup
        match_request = read_again(await json_of(request), setup)
        return _links_of(await self._manager.create(match_request, (setup.rules, setup.side_file)))

    async def record(self, request: Request) -> Response:
        """A recorded match."""
        name = request.path_params["name"]
        return JSONResponse(snapshot_of(name, *await self._manager.replays.replay_file(name)))

    async def record_turn(self, request: Request) -> Response:
        """Frame of a recorded match after a turn."""
        return turn_of(
            request, (await self._manager.replays.replay_file(request.path_params["name"]))[1]
        )

    async def record_file(self, request: Request) -> Response:
        """A record or a log of the folder, as a file."""
        path = self._manager.stored.path(request.path_params["name"])
        return FileResponse(path, headers=as_file(path.name))

    async def record_mind(self, request: Request) -> Response:
        """Belief and values of a role in a recorded match before a turn."""
        match, frames = await self._manager.replays.replay_file(request.path_params["name"])
        return self._mind(request, frames, match, match.minds)

    # ---------------------------------------------------------------- seats
    #
    # People in their seats see only what their roles see.

    async def seat(self, request: Request) -> Response:
        """A match as a person in a seat sees it."""
        match, role = self._seat(request)
        frames = self._manager.replays.seen(match, role)
        snapshot = match.snapshot(seat_of(role), frames)
        # A visitor with only the seat's link gets no further.
        is_host = request.scope["visitor"].is_host
        minds = is_host and self._manager.options.open_minds
        num_turns = None if frames else await self._num_turns(match)
        more = {"open_minds": minds, "more": is_host, "played": num_turns}
        more["can_take_back"] = self._manager.can_take_back(match)
        return JSONResponse({**snapshot, **more})

    async def seat_events(self, request: Request) -> Response:
        """Stream of the events at a seat."""
        match, role = self._seat(request)
        return stream_of(match.log.follow(seat_of(role), after_of(request)))

    async def seat_turn(self, request: Request) -> Response:
        """The frame that a person saw after a turn."""
        return turn_of(request, self._manager.replays.seen(*self._seat(request)))

    async def truth(self, request: Request) -> Response:
        """The complete frame after a turn, which people see when the match is over."""
        match, _ = self._seat(request)
        if not match.is_over:
            raise HTTPException(403, "the match is not over")
        return turn_of(request, await self._manager.replays.frames(match, ALL))

    async def seat_belief(self, request: Request) -> Response:
        """Picture of the role's belief after a turn, from its own moves and percepts."""
        match, role = self._seat(request)
        picture = match.beliefs.get(role, {}).get(number_of(request.path_params["turn"], "turn"))
        if picture is None:
            raise HTTPException(404, "there is no belief for that turn")
        return Response(picture, media_type="application/json")

    async def move(self, request: Request) -> Response:
        """Make a person's move."""
        self._seat(request)
        turn, move = read_move(await json_of(request))
        self._manager.move(request.path_params["seat"], turn, move)
        return JSONResponse({})

    async def take_back(self, request: Request) -> Response:
        """Take back a person's last choice."""
        self._seat(request)
        self._manager.take_back(request.path_params["seat"])
        return JSONResponse({})

    async def resign(self, request: Request) -> Response:
        """End the match: the person gives up."""
        match, role = self._seat(request)
        await self._manager.end(match, f"{role} resigned")
        return JSONResponse({})

    # ---------------------------------------------------------------- private

    def _match(self, request: Request) -> HeldMatch:
        match = self._manager.matches.get(request.path_params["id"])
        if match is None:
            raise HTTPException(404, "there is no such match")
        return match

    def _watched(self, request: Request) -> tuple[HeldMatch, str]:
        match = self._match(request)
        key = request.query_params.get("key", "")
        audience = match.audience(key, open_minds=self._manager.options.open_minds)
        if audience is None:
            raise HTTPException(403, "people play this match, so it is closed until it is over")
        return match, audience

    def _title(self, name: str) -> str:
        try:
            return describe(self._manager.options.offers.rules_of(name, None)[0]).title
        except GGPError:
            return ""

    def _mind(
        self,
        request: Request,
        frames: list[str],
        match: MatchSetup | ReplayedMatch,
        roles: tuple[str, ...],
    ) -> Response:
        query = request.query_params
        role, turn = query.get("role", ""), number_of(query.get("turn", "0"), "turn")
        if role not in roles or turn >= len(frames):
            raise HTTPException(404, "there is no such role or turn")
        # After the last turn, the mind is as it was before it: nobody thinks any more.
        is_over = json.loads(frames[turn])["over"]
        task = MindTask(
            game=match.game,
            rules=match.rules,
            side_file=match.side_file,
            role=role,
            turns=known_turns(frames, role, max(0, turn - is_over)),
            seed=number_of(query.get("seed", "0"), "seed"),
            move=query.get("move"),
            line=number_of(query.get("line", "0"), "line"),
            thinks=not is_over,
        )

        async def events() -> AsyncIterator[str]:
            async for message in self._manager.look_into(task):
                yield f"event: {message['kind']}\ndata: {json.dumps(message)}\n\n"

        return stream_of(events())

    async def _num_turns(self, match: HeldMatch) -> int | None:
        """Number of turns of a match that is over; None if it is not, or cannot be replayed."""
        if not match.is_over:
            return None
        try:
            return len(await self._manager.replays.frames(match, ALL)) - 1
        except GGPError:
            return None

    def _seat(self, request: Request) -> tuple[HeldMatch, str]:
        seat = self._manager.seats.get(request.path_params["seat"])
        if seat is None:
            raise HTTPException(404, "there is no such seat")
        match, role, _ = seat
        return match, role


def _links_of(matches: list[HeldMatch]) -> Response:
    """The links of new matches."""
    return JSONResponse(
        {
            "matches": [
                {
                    "id": m.setup.id,
                    "seats": dict(m.setup.seats),
                    "links": m.seat_links(),
                    "key": m.setup.key,
                }
                for m in matches
            ]
        }
    )


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html")


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    if error.status_code == 404 and not path.startswith(("/api/", "/static/")):
        return FileResponse(STATIC / "index.html", 404)  # the page itself says so
    return JSONResponse({"error": error.detail}, error.status_code)


# ------------------------------------------------------------------------
# Common parts of answers.

Answer = Callable[[Request], Awaitable[Response]]


def snapshot_of(name: str, match: ReplayedMatch, frames: list[str]) -> dict[str, Any]:
    """A recorded match in the form of a match that was played here."""
    brief = ("turn", "over", "moves", "percepts", "faults", "words", "values")
    parsed = [json.loads(text) for text in frames]
    return {
        "about": asdict(describe(match.rules)),
        "match": {"id": name, "status": "over", **match.match},
        "turns": [{k: frame[k] for k in brief if k in frame} for frame in parsed],
        "frame": parsed[-1],
        "sees": ALL,
    }


def turn_of(request: Request, frames: list[str]) -> Response:
    number = number_of(request.path_params["turn"], "turn")
    if number >= len(frames):
        raise HTTPException(404, "there is no such turn")
    return Response(frames[number], media_type="application/json")


def after_of(request: Request) -> str:
    return request.headers.get("last-event-id") or request.query_params.get("after", "")


def as_file(name: str) -> dict[str, str]:
    """Headers that make a browser save an answer as a file."""
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}


def stream_of(texts: AsyncIterator[str]) -> Response:
    return StreamingResponse(texts, media_type="text/event-stream")


async def json_of(request: Request) -> object:
    try:
        value: object = await request.json()
    except (ValueError, RecursionError):
        raise HTTPException(400, "the body of the request is not JSON") from None
    return value


def answered(answer: Answer) -> Answer:
    """An answer that turns errors of ours into status 400 with one line of text."""

    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except GGPError as error:
            return JSONResponse({"error": str(error)}, 400)

    return answered
