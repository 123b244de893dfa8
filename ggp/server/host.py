"""The matches of a server: requests come in, replies go out.

A `Host` connects the lobby, which knows the protocol, with the pairs of workers, which find the
moves. Nothing here searches, so a reply that needs no search is immediate.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ggp.gdl.source import printable
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import BUSY, Abort, Start
from ggp.protocol.path import NO_FIT, History
from ggp.protocol.reading import Request, read_request
from ggp.protocol.retelling import GAVE_WAY
from ggp.protocol.session import Ask, Opening, Receipt
from ggp.server.hosted_match import HostedMatch
from ggp.server.latency import Latencies
from ggp.server.match_log import SERVER_ENDED, LogFolder, MatchLog, Restored, restore
from ggp.server.settings import HostOptions, ServerLimits, margin_of
from ggp.server.workers.nursery import Connect, Nursery, template_for
from ggp.server.workers.pool import Background, WorkerPool

AT_ONCE_S = 0.25
"""Delay within which a client closes its writing side if that only marks the end of its message."""

FORGET_EVERY_S = 5.0
"""Seconds between two searches for silent matches."""

BEAT_S = 0.1
"""Seconds between two signs in a match's log that the server is alive."""

SHOW_S = 0.05
"""Time from a start or an answer to the snapshot for the operator."""

ROOM_EVERY_S = 0.1
"""Seconds between two attempts of a waiting message to find room."""

_NO_LOG = MatchLog(None, "")
_log = logging.getLogger(__name__)


class _GaveWay(NamedTuple):
    """The log and the backend of a match that gave way and may go on."""

    log: MatchLog
    backend: str | None


@dataclass(frozen=True, slots=True)
class HostReply:
    """A reply to send.

    Attributes:
        text: one line.
        refused: whether it is the reason for a refusal.
        on_sent: receives the time when its last byte left, on `time.monotonic`.
        on_lost: called if the client has not received it.
        on_taken: called if the client has certainly received it.
    """

    text: str
    refused: bool = False
    on_sent: Callable[[float], None] | None = None
    on_lost: Callable[[], None] | None = None
    on_taken: Callable[[], None] | None = None


class Host:
    """All matches, with their workers. Everything but `__init__` needs a running loop.

    Args:
        options: settings of the server.
        connect: passes a channel to the template of the workers, which belongs to another process;
            if None, the host has its own template.
        listens_since_s: since when messages arrive at this host or its predecessor, on
            `time.monotonic`; default: now.
        prepare: compiles the kernels of the player; None if they are compiled. Meanwhile we are
            `busy`, and understudies play the matches that begin.

    Raises:
        ConfigError: the name is not a symbol.
    """

    def __init__(
        self,
        options: HostOptions,
        connect: Connect | None = None,
        listens_since_s: float | None = None,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.options = options
        self._prepare = prepare
        self._listens_since_s = time.monotonic() if listens_since_s is None else listens_since_s
        self.lobby = Lobby(
            options.name,
            matches=options.matches,
            limits=options.limits.messages,
            margin_s=margin_of(options.margin_s),
        )
        self.lobby.is_preparing = prepare is not None
        self._template = template_for(options)  # started only if it is used
        self._template.waits = prepare is not None
        self._nursery = Nursery(connect or self._template.connect, is_compiled=prepare is None)
        self.pool = WorkerPool(self._nursery, options.memory_bytes, confined=options.confined)
        self._logs: LogFolder  # counted when matches are restored, which removes beliefs
        self._matches: dict[int, HostedMatch] = {}
        self._answers: dict[int, asyncio.Task[str]] = {}
        self._waiting: Counter[int] = Counter()  # connections of each question
        self._hung_up: dict[int, set[asyncio.Future[bool]]] = {}
        self._stay_open: set[int] = set()  # matches whose clients keep connections open
        self._num_replies: dict[int, tuple[int, int]] = {}
        self._gave_way: dict[tuple[str, str], _GaveWay] = {}  # by id and role
        self._background = Background()
        self._latencies = Latencies()
        self._texts = TextReader(self.lobby, options.limits)

    async def open(self) -> None:
        """Get ready for matches, and continue the matches of an earlier server."""
        self.pool.open()
        options, matches = self.options, []
        if options.log_folder is not None:
            now_s = time.monotonic()
            matches = list(restore(options.log_folder, self.lobby, now_s, self._listens_since_s))
        self._logs = LogFolder(options.log_folder, options.log_limit_bytes)
        for restored in matches:
            self._go_on(restored)
        self._show()
        self._background.start(self._forget())
        self._background.start(self._beat())
        if self._prepare is not None:
            self._background.start(self._get_ready(self._prepare))

    def hurry(self) -> None:
        """Answer all open questions immediately."""
        for number in self._answers:
            for match in self._matches.values():
                match.pair.hurry(number)

    async def close(self) -> None:
        """End all matches; a server restarted with the same logs continues them."""
        await self._background.cancel()
        answers = list(self._answers.values())
        for answer in answers:
            answer.cancel()
        await asyncio.gather(*answers, return_exceptions=True)
        for serial in list(self._matches):
            await self._end(serial, SERVER_ENDED)
        await self.pool.close()
        self._template.close()
        self._texts.close()

    async def reply(
        self,
        request: Request,
        trip_s: float | None = None,
        hung_up: asyncio.Future[bool] | None = None,
    ) -> HostReply:
        """The reply to a request, as soon as it must be sent.

        Cancelling this means that the connection broke; the answer is still computed.

        Args:
            request: not read yet; `came_s` is on `time.monotonic`.
            trip_s: the system's estimate of the round trip to that peer, if it has one.
            hung_up: done when the client has closed its writing side: true if the client seems to
                be gone, false if that may only mark the end of its message.
        """
        read, peer = await self._texts.read(request), request.peer
        if read is None:
            return HostReply(BUSY, refused=True)
        receipt = await self._receive(read)
        if receipt.refusal is not None:
            _log.warning("%s: refused: %s", peer, printable(receipt.refusal))
            return HostReply(receipt.refusal, refused=True)
        (match, log), ask = self._match_of(receipt), receipt.ask
        times = None if match is None else match.times
        if times is not None and ask is not None:
            times.question_came(ask, trip_s)
        reply = receipt.reply or "" if ask is None else await self._wait(ask, hung_up)
        turn = {"turn": ask.turn} if ask is not None and ask.wants_move else {}
        log.write("sent", text=reply, seconds=round(time.monotonic() - request.came_s, 4), **turn)
        _log.debug("%s > %s", peer, reply)
        if receipt.match in receipt.ended:
            why = "abort" if isinstance(receipt.message, Abort) else "stop"
            self._background.start(self._end(receipt.match, why, receipt.path))
        if ask is None:
            return HostReply(reply)
        number, num_sent = self._num_replies.get(ask.match, (0, 0))
        if ask.match in self._matches:
            self._num_replies[ask.match] = ask.number, num_sent * (number == ask.number) + 1
        on_sent = None if times is None else partial(times.answer_left, ask)
        on_taken = partial(self.lobby.delivered, ask)
        return HostReply(reply, False, on_sent, partial(self._lost, ask), on_taken)

    # ---------------------------------------------------------------- private

    async def _receive(self, request: Request) -> Receipt:
        """Handle a request, after waiting for room if there will be some soon."""
        try:
            while self.lobby.may_find_room(request, time.monotonic()):
                await asyncio.sleep(ROOM_EVERY_S)
        except asyncio.CancelledError:  # the connection broke, but the match must be known
            ask = self._receive_now(request).ask
            if ask is not None:
                self._background.start(self._wait(ask))
            raise
        return self._receive_now(request)

    def _receive_now(self, request: Request) -> Receipt:
        """Pass a request to the lobby, and carry out its receipt, except for the reply."""
        receipt, peer = self.lobby.receive(request, time.monotonic()), request.peer
        _log.debug("%s < %s", peer, printable(request.text[:1000]))
        if receipt.began is not None:
            self._begin(receipt.began, receipt, peer)
        match, log = self._match_of(receipt)
        named = {"receiver": request.receiver} if request.receiver else {}
        log.write("received", text=request.text, peer=peer, **named)
        for note in receipt.notes:
            _log.warning("%s: %s", peer, printable(note))
            log.write("note", text=note)
        if match is not None:
            for number in receipt.released:
                match.pair.hurry(number)
        for serial in receipt.ended:
            leaving = self._matches.get(serial)
            if leaving is not None and serial != receipt.match:
                start = receipt.message if isinstance(receipt.message, Start) else None
                is_replaced = start is not None and start.match_id == leaving.match_id
                why = "replaced" if is_replaced else "silent"
                self._background.start(self._end(serial, why))
        return receipt

    def _begin(self, opening: Opening, receipt: Receipt, peer: str) -> None:
        match_id = opening.start.match_id
        waiting = self._gave_way.pop((match_id, opening.role), None)
        if waiting is not None:
            waiting.log.reopen()
            self._new_match(opening, waiting.log, peer).resume(receipt.ask, backend=waiting.backend)
            self._show_soon()
            return
        match = self._new_match(opening, self._logs.begin(match_id), peer)
        match.begin()
        if not isinstance(receipt.message, Start):  # it found no room when it started
            match.begin_late(peer)
        self._show_soon()

    def _show_soon(self) -> None:
        """Show the operator all matches after a moment: what goes to the server goes first."""
        asyncio.get_running_loop().call_later(SHOW_S, self._show)

    def _show(self) -> None:
        """Show the operator all matches as they are now."""
        self.options.show([match.snapshot() for match in self._matches.values()])

    def _go_on(self, restored: Restored) -> None:
        """Continue a match of an earlier server; without a place, once there is room for it."""
        opening, backend = restored.opening, restored.backend
        match_id = opening.start.match_id
        log = self._logs.resume(restored.path, match_id, restored.began_s)
        if restored.has_place:
            match = self._new_match(opening, log)
            match.resume(restored.ask, self._listens_since_s, restored.alive_s, backend)
        else:
            log.close()
            self._gave_way[match_id, opening.role] = _GaveWay(log, backend)

    def _new_match(self, opening: Opening, log: MatchLog, peer: str = "") -> HostedMatch:
        latency = self._latencies.of(peer) if self.options.margin_s is None else None
        session = self.lobby.session(opening.match)
        address = "" if session is None else session.sender
        match = HostedMatch(opening, self.options, self.pool, log, latency, address)
        self._matches[opening.match] = match
        return match

    def _match_of(self, receipt: Receipt) -> tuple[HostedMatch | None, MatchLog]:
        """The match of a receipt, and its log."""
        match = self._matches.get(receipt.match or 0)  # serial numbers begin with 1
        return match, _NO_LOG if match is None else match.log

    async def _wait(self, ask: Ask, hung_up: asyncio.Future[bool] | None = None) -> str:
        """The answer to a question, possibly for several connections."""
        task = self._answers.get(ask.number)
        if task is None:
            task = self._answers[ask.number] = asyncio.ensure_future(self._answer(ask))
            task.add_done_callback(lambda _: self._answers.pop(ask.number, None))
        if self._waiting[ask.number] >= self.options.limits.waiting:
            return BUSY
        self._waiting[ask.number] += 1
        began_s, on_hung_up = time.monotonic(), partial(self._hang_up, ask)
        if hung_up is not None:
            hung_up.add_done_callback(on_hung_up)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._waiting[ask.number] == 1:
                self._undelivered(ask)
            raise
        finally:
            self._waiting[ask.number] -= 1
            self._waiting += Counter()  # which drops zeros
            if hung_up is not None:
                hung_up.remove_done_callback(on_hung_up)
                hung_up_clients = self._hung_up.pop(ask.number, set()) - {hung_up}
                if hung_up_clients:
                    self._hung_up[ask.number] = hung_up_clients
                stayed = not hung_up.done() and time.monotonic() - began_s > AT_ONCE_S
                if stayed and ask.match in self._matches:
                    self._stay_open.add(ask.match)

    def _hang_up(self, ask: Ask, hung_up: asyncio.Future[bool]) -> None:
        """Handle a client that has closed its writing side while it waits for an answer.

        Some clients always close it at the end of their message. But if another connection of the
        match stayed open until its answer, a client that closes it is gone.
        """
        if ask.number not in self._waiting:
            return  # it was answered at that moment
        if hung_up.result() or ask.match in self._stay_open:
            clients = self._hung_up.setdefault(ask.number, set())
            clients.add(hung_up)
            if len(clients) >= self._waiting[ask.number]:
                self.lobby.abandoned(ask)

    def _lost(self, ask: Ask) -> None:
        """Record that a client did not receive the answer that it was sent."""
        number, num_sent = self._num_replies.get(ask.match, (0, 0))
        if number == ask.number:
            self._num_replies[ask.match] = number, num_sent - 1
            if num_sent == 1:
                self._undelivered(ask)

    def _undelivered(self, ask: Ask) -> None:
        """Record that no client got the answer to a question, and none will."""
        self.lobby.undelivered(ask)
        match = self._matches.get(ask.match)
        if match is not None:
            match.log.write("undelivered", **({"turn": ask.turn} if ask.wants_move else {}))
            if ask.wants_move:
                match.fault(ask.turn)

    async def _answer(self, ask: Ask) -> str:
        match = self._matches.get(ask.match)
        move, fit = (None, NO_FIT) if match is None else await match.answer(ask)
        self._show_soon()
        return self.lobby.answer(ask, move, time.monotonic(), fit)

    async def _end(self, serial: int, why: str = "silent", path: History = ()) -> None:
        self._num_replies.pop(serial, None)
        self._stay_open.discard(serial)
        match = self._matches.pop(serial, None)
        if match is None:
            return
        self._gave_way = {k: v for k, v in self._gave_way.items() if self.lobby.is_waiting(*k)}
        key = match.match_id, match.role
        if why == "silent" and self.lobby.is_waiting(*key):
            why = GAVE_WAY
            self._gave_way[key] = _GaveWay(match.log, match.pair.backend)
        self._show()
        await match.end(why, path)

    async def _get_ready(self, prepare: Callable[[], Awaitable[None]]) -> None:
        await prepare()
        await self._nursery.load()
        self.lobby.is_preparing = False

    async def _beat(self) -> None:
        """Let the logs tell when the server died: how many turns it misses depends on it."""
        while True:
            await asyncio.sleep(BEAT_S)
            for match in self._matches.values():
                match.log.beat()

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(FORGET_EVERY_S)
            for serial in self.lobby.forget(time.monotonic()):
                await self._end(serial)


# ------------------------------------------------------------------------
# Reading of long texts in a thread, a few at a time, so that other messages need not wait.
#
# A start message may have 400 KB of rules, and splitting them takes half a second. Long turns of
# unknown matches are not read at all.

LARGE_CHARS = 20_000
"""Longer texts are read in a thread."""

_BEGINNING = re.compile(r"[\s(]*(start|play|stop|abort)\s+([^\s()]+)[\s()]", re.IGNORECASE)


class TextReader:
    """Reads the texts of requests.

    Args:
        lobby: knows the ids of the current matches.
        limits: on texts.
    """

    def __init__(self, lobby: Lobby, limits: ServerLimits) -> None:
        self._lobby, self._limits = lobby, limits
        self._thread = ThreadPoolExecutor(1)
        self._num_reading = 0

    async def read(self, request: Request) -> Request | None:
        """The request with its message; None if its text is too long to be read now."""
        limits = self._limits.messages
        if len(request.text) <= LARGE_CHARS:
            return read_request(request, limits)
        if self._is_hopeless(request.text) or self._num_reading >= self._limits.long_texts:
            return None
        self._num_reading += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, read_request, request, limits)
        finally:
            self._num_reading -= 1

    def close(self) -> None:
        """Give up texts that are not read yet."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _is_hopeless(self, text: str) -> bool:
        """Whether a text is a turn of an unknown match."""
        beginning = _BEGINNING.match(text, 0, 2000)
        if beginning is None:
            return False
        kind, match_id = beginning.groups()
        return kind.lower() != "start" and not self._lobby.knows(match_id)
