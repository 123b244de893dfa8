"""Manages all matches of a table: creates them, has workers play them, and keeps them on disk.

Checked requests come from `app`; messages of workers become events for browsers. A match with
people has its own worker, which mostly waits. Other matches wait for one of `jobs` workers. Two
more workers do the other work: one reads rulesheets, one replays matches and looks into minds.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from ggp.errors import ConfigError, GGPError, MatchError
from match_runner.match.conditions import Conditions
from match_runner.match.records import MatchRecord
from match_runner.pictures.kinds import Json
from match_runner.remote.remote_players import RemoteConditions, is_address
from match_runner.table import worker_tasks
from match_runner.table.held_match import ALL, EventLog, HeldMatch, seat_of
from match_runner.table.match_folder import MatchFolder, MatchSetup, StoredFiles
from match_runner.table.mind import MindTask, look_into
from match_runner.table.options import MatchRequest, TableOptions
from match_runner.table.seating import HUMAN, Message, TableTask, play_at_table
from match_runner.workers.executor import LocalPool, WorkerFailedError

MAX_WITH_PEOPLE = 24
"""Most matches with people at a time: each has a process."""

MAX_WAITING = 1_000
"""Most matches that may wait for a worker."""

READING_S, THINKING_S = 30.0, 60.0
"""Seconds that a worker may take to read rules, and to replay or think."""

LINGER_S = 60.0
"""Seconds after its end for which a match keeps its events, for slow readers."""

LOBBY, NOBODY = "lobby", "nobody"
"""Audiences of the manager's log; the second never gets an event."""

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class MatchManager:
    """All state of the server. Every method but `__init__` needs a running event loop.

    Attributes:
        token: token of the table's link; None to let everybody in.
        replays: frames of finished matches.
        seats: the match, the role and the token of every seat, by the seat's name.
        private: a folder that only this user may enter; `close` removes it.

    Raises:
        ConfigError: the folder cannot be used, or another process uses it.
    """

    def __init__(self, options: TableOptions) -> None:
        self.options = options
        self.folder = MatchFolder(options.folder)
        self.token = self.folder.token() if options.has_token else None
        self.stored = StoredFiles(options.folder, options.logs)
        self.matches: dict[str, HeldMatch] = {}
        self.seats: dict[str, tuple[HeldMatch, str, str]] = {}
        self.log = EventLog()
        self.private = Path(tempfile.mkdtemp(prefix="ggp-table-"))
        self._players = LocalPool(options.jobs)
        self._reader = LocalPool(1, READING_S)
        self._thinker = LocalPool(1, THINKING_S)
        self._compiler = LocalPool(1)
        self._people: dict[str, LocalPool] = {}
        self._previews: dict[bytes, asyncio.Future[Json]] = {}  # errors too
        self._calls: dict[str, tuple[LocalPool, Future[MatchRecord]]] = {}  # of matches, by id
        self._tasks: set[asyncio.Task[Any]] = set()
        self.replays = Replays(self.folder, self.stored, partial(self._ask, self._thinker))

    async def open(self) -> None:
        """Read the matches on disk, and continue the unfinished ones."""
        for setup in self.folder.setups():
            is_over = setup.goals is not None or setup.error is not None
            match = self._hold(setup, "over" if is_over else "waiting")
            if not is_over:
                self._begin(match)
        # Otherwise the first request would wait for a process to start.
        self._spawn(self._warm_up())

    async def close(self) -> None:
        """End everything; a new server will continue the unfinished matches."""
        for task in self._tasks:
            task.cancel()
        for match in self.matches.values():
            match.log.close()
        self.log.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        pools = [self._players, self._reader, self._thinker, self._compiler, *self._people.values()]
        await asyncio.gather(*(asyncio.to_thread(pool.close) for pool in pools))
        shutil.rmtree(self.private, ignore_errors=True)
        self.folder.close()

    # ---------------------------------------------------------------- matches

    async def create(
        self, request: MatchRequest, source: tuple[str, Path | None] | None = None
    ) -> list[HeldMatch]:
        """Make new matches, which begin as soon as there is a worker for them.

        Args:
            source: rules and side file of a match to play again; None to use the request's.

        Raises:
            GGPError: the matches cannot be played; says why.
        """
        with_people = HUMAN in request.players.values()
        if with_people and len(self._people) >= MAX_WITH_PEOPLE:
            raise ConfigError(
                f"there are {len(self._people)} matches with people already; end one of them first"
            )
        waiting = sum(match.status == "waiting" for match in self.matches.values())
        if waiting + request.matches > MAX_WAITING:
            raise ConfigError(f"{waiting} matches are waiting already")
        rules, side_file = source or self.options.offers.rules_of(request.game, request.rules)
        specs = self._specs_of(request.players)
        conditions = Conditions(request.play_clock_s, pause_s=request.pause_s)
        roles, is_told, shares_goals = await self._ask(
            self._reader, worker_tasks.check_match, request.game, rules, specs, conditions
        )
        matches = []
        for number in range(request.matches):
            setup = MatchSetup(
                id=secrets.token_hex(5),
                game=request.game,
                rules=rules,
                side_file=side_file,
                roles=roles,
                players=dict(request.players),
                is_told=is_told,
                shares_goals=shares_goals,
                play_clock_s=request.play_clock_s,
                human_clock_s=request.human_clock_s,
                pause_s=request.pause_s,
                seed=request.seed + number,
                created_s=time.time(),
                seats={
                    role: secrets.token_urlsafe(16)
                    for role, player in request.players.items()
                    if player == HUMAN
                },
                key=secrets.token_urlsafe(16),
            )
            self.folder.keep(setup)
            match = self._hold(setup)
            self._begin(match)
            matches.append(match)
        return matches

    def seat_token(self, seat: str) -> str | None:
        """Token of a seat; None if there is no such seat."""
        return self.seats[seat][2] if seat in self.seats else None

    def move(self, seat: str, turn: int, move: str) -> None:
        """Pass a person's move on to the match.

        Raises:
            ConfigError: the person has no such question, or the move is not legal.
        """
        match, role, _ = self.seats[seat]
        question = match.questions.get(role)
        if question is None or question["turn"] != turn:
            raise ConfigError("it is not your move in that turn")
        if move not in [option["move"] for option in question["moves"]]:
            raise ConfigError("that move is not legal")
        self._send(match, {"kind": "move", "role": role, "turn": turn, "move": move})
        match.moved(role)

    def take_back(self, seat: str) -> None:
        """Have a match go back to before a person's last choice, as if it had not been made.

        Raises:
            ConfigError: the person is not to move, has made no choice yet, or does not play
                against programs on this machine.
        """
        match, role, _ = self.seats[seat]
        if not self.can_take_back(match):
            raise ConfigError("moves can be taken back only against programs on this machine")
        turn = match.last_choice(role)
        if turn is None or match.question(role) is None:
            raise ConfigError("there is no move to take back at the moment")
        match.take_back(role, turn)
        self.folder.take_back(match.setup, turn)
        self._send(match, {"kind": "back", "role": role, "turn": turn})

    def can_take_back(self, match: HeldMatch) -> bool:
        """Whether a person may take moves back: it plays alone, or against programs here."""
        try:
            specs = self._specs_of(match.setup.players)
        except ConfigError:  # a player that is no longer offered
            return False
        return len(match.people) == 1 and not any(map(is_address, specs.values()))

    async def end(self, match: HeldMatch, why: str = "the match was ended") -> None:
        """End a match early."""
        if not match.is_over:
            # First, so that the interruption of the worker does not become the match's error.
            self._finish(match, self.folder.broken_off(match.setup, why))
            if match.setup.id in self._calls:
                plays, call = self._calls[match.setup.id]
                call.cancel()
                plays.send(call, None)
            pool = self._people.get(match.setup.id)
            if pool is not None:
                await asyncio.to_thread(pool.close)

    # ---------------------------------------------------------------- other work of workers

    async def look_at_rules(self, name: str, text: str) -> Json:
        """Diagnostics of a rulesheet, see `read_rules`."""
        try:
            text, _ = self.options.offers.rules_of(name, text)
            return await self._ask(self._reader, worker_tasks.read_rules, name, text)
        except GGPError as error:
            return {"ok": False, "diagnostics": [], "num_diagnostics": 1, "error": str(error)}

    async def preview(self, game: str) -> Json:
        """What the lobby shows of a game, see `worker_tasks.preview`.

        Raises:
            GGPError: there is no such game, or it cannot be played.
        """
        text, side_file = self.options.offers.rules_of(game, None)
        key = blake2b(repr((game, text, side_file)).encode()).digest()
        if key not in self._previews:
            work = self._ask(self._thinker, worker_tasks.preview, game, text, side_file)
            self._previews[key] = self._spawn(work)
        # One visitor may leave while others wait.
        return await asyncio.shield(self._previews[key])

    async def last_picture(self, match: HeldMatch, audience: str) -> Json:
        """Picture of the last state of a match that an audience may see.

        Raises:
            GGPError: its record cannot be replayed.
        """
        if match.is_over and (kept := self.folder.picture(match.setup.id)) is not None:
            return kept
        frames = await self.replays.frames(match, audience)
        picture: Json = json.loads(frames[-1])["state"] if frames else {}
        if match.is_over:
            self.folder.keep_picture(match.setup.id, picture)
        return picture

    async def look_into(self, task: MindTask) -> AsyncIterator[Message]:
        """Yield a worker's messages about a mind as they come, then `done`, or `failed` with a
        text."""
        messages: asyncio.Queue[Message] = asyncio.Queue()
        call = self._thinker.submit(look_into, (task,), _hearing(messages.put_nowait))

        def end(answer: asyncio.Future[None]) -> None:  # after the worker's last message
            failed = "it was given up" if answer.cancelled() else answer.exception()
            text = {} if failed is None else {"text": str(failed)}
            messages.put_nowait({"kind": "failed" if text else "done", **text})

        asyncio.wrap_future(call).add_done_callback(end)
        try:
            kind = ""
            while kind not in ("done", "failed"):
                message = await messages.get()
                kind = message["kind"]
                yield message
        finally:
            call.cancel()
            self._thinker.send(call, None)  # the worker stops when it sends its next message

    # ---------------------------------------------------------------- private

    def _send(self, match: HeldMatch, message: Message) -> None:
        pool, call = self._calls.get(match.setup.id, (self._players, Future()))
        if not pool.send(call, message):
            raise ConfigError("the match is not being played at the moment")

    def _hold(self, setup: MatchSetup, status: str = "waiting") -> HeldMatch:
        match = HeldMatch(setup, status)
        self.matches[setup.id] = match
        for role, token in setup.seats.items():
            self.seats[match.seat_name(role)] = match, role, token
        self._announce(match)
        return match

    def _begin(self, match: HeldMatch) -> None:
        self._spawn(self._play(match))

    async def _play(self, match: HeldMatch) -> None:
        setup = match.setup
        earlier = self.folder.turns(setup.id)
        try:
            specs = self._specs_of(setup.players)
        except ConfigError as error:  # the player was offered when the match was made
            self._finish(match, self.folder.broken_off(match.setup, str(error)))
            return
        if earlier and any(map(is_address, specs.values())):
            text = "the server was stopped, and remote players cannot continue a match"
            self._finish(match, self.folder.broken_off(match.setup, text))
            return
        pool = self._players
        if match.people:
            pool = self._people[setup.id] = LocalPool(1)
        task = TableTask(
            game=setup.game,
            rules=setup.rules,
            side_file=setup.side_file,
            players=specs,
            seed=setup.seed,
            conditions=Conditions(
                setup.play_clock_s, pause_s=setup.pause_s, remote=RemoteConditions()
            ),
            human_clock_s=setup.human_clock_s,
            earlier=earlier,
        )
        try:
            call = pool.submit(play_at_table, (task,), _hearing(partial(self._receive, match)))
            self._calls[setup.id] = pool, call
            record = await self._result(call)
        except GGPError as error:
            record = self.folder.broken_off(match.setup, str(error))
        finally:
            self._calls.pop(setup.id, None)
            self._people.pop(setup.id, None)
            if match.people:
                await asyncio.to_thread(pool.close)
        if match.setup.taken_back and len(record.turns) > match.turns and not match.is_over:
            self._begin(match)  # it ended there before it heard that a move was taken back
        else:
            self._finish(match, record)

    def _receive(self, match: HeldMatch, message: Message) -> None:
        if match.is_over:
            return
        turn = match.receive(message)
        if turn is not None:
            self.folder.add_turn(match.setup.id, turn)
        self._announce(match)

    def _finish(self, match: HeldMatch, record: MatchRecord) -> None:
        if match.is_over:
            return
        setup = match.setup
        self.replays.keep(match, len(record.turns))
        if match.turns == len(record.turns) and (frames := match.frames.get(ALL)):
            self.folder.keep_picture(setup.id, json.loads(frames[-1])["state"])
        match.ended(self.folder.finish(setup, record))
        self._announce(match)
        asyncio.get_running_loop().call_later(LINGER_S, match.forget)

    def _specs_of(self, players: Mapping[str, str]) -> dict[str, str]:
        """Specs or addresses, by role, of players that a page named."""
        spec_of = self.options.offers.spec_of
        return {r: name if name == HUMAN else spec_of(name) for r, name in players.items()}

    def _announce(self, match: HeldMatch) -> None:
        self.log.show(LOBBY, match.setup.id, "match", match.summary())

    async def _ask(self, pool: LocalPool, function: Callable[..., _T], *args: Any) -> _T:
        return await self._result(pool.submit(function, args))

    async def _result(self, call: Future[_T]) -> _T:
        try:
            return await asyncio.wrap_future(call)
        except WorkerFailedError as error:
            text = str(error).strip()
            if "\n" in text:  # a bug of ours, with its traceback
                _log.error("a worker failed: %s", text)
                text = text.splitlines()[-1]
            raise MatchError(text) from error

    async def _warm_up(self) -> None:
        await self.look_at_rules("nothing", "")
        if self.options.compiles_ahead:
            await self._ask(self._compiler, worker_tasks.compile_ahead)

    def _spawn(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _hearing(hear: Callable[[Message], None]) -> Callable[[bytes], None]:
    """Make a function that passes a worker's JSON messages to the running event loop."""
    loop = asyncio.get_running_loop()

    def take(message: bytes) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(hear, json.loads(message))

    return take


# ------------------------------------------------------------------------
# Finished matches, turn by turn: the table's own, and records and series in its folder.
#
# A worker replays them; we keep the last few.

MAX_REPLAYS = 16
"""Most matches whose frames we keep in memory."""


class Replays:
    """Frames of finished matches.

    Args:
        folder: the matches of the table.
        stored: other files in its folder.
        ask: has a worker call a function, and returns its value.
    """

    def __init__(
        self, folder: MatchFolder, stored: StoredFiles, ask: Callable[..., Awaitable[Any]]
    ) -> None:
        self._folder, self._stored, self._ask = folder, stored, ask
        self._replays: OrderedDict[str, Any] = OrderedDict()

    def keep(self, match: HeldMatch, turns: int) -> None:
        """Keep the frames of a match that ends after so many turns."""
        texts = match.frames.get(ALL, [])
        if len(texts) == turns + 1:
            self._keep(match.setup.id, texts)
        if match.people:
            seats = map(seat_of, match.people)
            self._keep(_seats_of(match), {seat: match.frames.get(seat, []) for seat in seats})

    async def frames(self, match: HeldMatch, audience: str) -> list[str]:
        """Frames that an audience may see, one a turn, as JSON texts; if the match is over, all.

        Raises:
            GGPError: the record cannot be replayed.
        """
        if not match.is_over:
            return match.frames.get(audience, [])
        key = match.setup.id
        if key not in self._replays:
            record = self._folder.record(key)
            frames = await self._ask(worker_tasks.replay, record, match.setup.side_file)
            self._keep(key, _texts(frames))
        texts: list[str] = self._recall(key)
        return texts

    def seen(self, match: HeldMatch, role: str) -> list[str]:
        """Frames that a person in a seat saw; some time after the end, none are left."""
        by_seat = self._replays.get(_seats_of(match), match.frames)
        texts: list[str] = by_seat.get(seat_of(role), [])
        return texts

    async def replay_file(self, name: str) -> tuple[worker_tasks.ReplayedMatch, list[str]]:
        """A record or a log of the folder, and its frames as JSON texts.

        Raises:
            GGPError: there is no file of that name, or it cannot be replayed.
        """
        path = self._stored.path(name)
        key = f"{path}:{path.stat().st_size}"  # the time of a running match's log changes often
        if key not in self._replays:
            match, frames = await self._ask(worker_tasks.replay_file, path)
            self._keep(key, (match, _texts(frames)))
        replay: tuple[worker_tasks.ReplayedMatch, list[str]] = self._recall(key)
        return replay

    async def series(self) -> list[Json]:
        """Standings of all series in the folder."""
        rows = []
        for name, path, stamp in self._stored.series():
            key = f"series {path}:{stamp}"
            if key not in self._replays:
                try:
                    standings = await self._ask(worker_tasks.standings, path)
                except GGPError as error:
                    standings = {"error": str(error)}
                self._keep(key, standings)
            rows.append({"name": name, **self._replays[key]})
        return rows

    # ---------------------------------------------------------------- private

    def _keep(self, key: str, value: object) -> None:
        self._replays[key] = value
        while len(self._replays) > MAX_REPLAYS:
            self._replays.popitem(last=False)

    def _recall(self, key: str) -> Any:
        self._replays.move_to_end(key)
        return self._replays[key]


def _seats_of(match: HeldMatch) -> str:
    return f"seats {match.setup.id}"


def _texts(frames: list[Json]) -> list[str]:
    return [json.dumps(frame) for frame in frames]
