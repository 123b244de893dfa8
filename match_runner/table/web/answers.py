"""Parts of the answers to requests that several of them have in common."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from ggp.errors import GGPError
from ggp.gdl.syntax.descriptions import describe
from match_runner.table.held_match import ALL
from match_runner.table.requests import number_of
from match_runner.table.worker_tasks import Shown

Answer = Callable[[Request], Awaitable[Response]]


def snapshot_of(name: str, shown: Shown, frames: list[str]) -> dict[str, Any]:
    """A recorded match as if it had been played here."""
    brief = ("turn", "over", "moves", "percepts", "faults", "words", "values")
    told = [json.loads(text) for text in frames]
    return {
        "about": asdict(describe(shown.rules)),
        "match": {"id": name, "status": "over", **shown.match},
        "turns": [{k: frame[k] for k in brief if k in frame} for frame in told],
        "frame": told[-1],
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
    """Headers by which a browser keeps an answer as a file."""
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name)}"}


def stream_of(texts: AsyncIterator[str]) -> Response:
    return StreamingResponse(texts, media_type="text/event-stream")


async def json_of(request: Request) -> object:
    try:
        found: object = await request.json()
    except (ValueError, RecursionError):
        raise HTTPException(400, "what was posted is not JSON") from None
    return found


def answered(answer: Answer) -> Answer:
    """An answer that turns errors of ours into status 400 with one line of text."""

    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except GGPError as error:
            return JSONResponse({"error": str(error)}, 400)

    return answered
