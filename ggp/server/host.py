"""The matches of a server: texts of requests in, texts of replies out.

Joins the lobby, which knows what to say, with the pairs of workers, which know what to play.
Nothing here thinks, so a reply that needs no thought comes at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass

from ggp.console import installed_version
from ggp.gdl.source import printable
from ggp.protocol.lobby import Lobby, Opening, Receipt
from ggp.protocol.messages import BUSY, Abort, Message, Start, Stop
from ggp.protocol.session import Ask
from ggp.server.background import Background
from ggp.server.match_log import LogFolder, MatchLog
from ggp.server.options import HostOptions, margin_of
from ggp.server.orders import Setup
from ggp.server.pair import WorkerPair, grounding_s, log_choice, seed_of
from ggp.server.pool import WorkerPool
from ggp.server.restore import SERVER_ENDED, Restored, reading_of, restore
from ggp.server.text_reader import TextReader

FORGET_EVERY_S = 5.0
"""How often matches gone silent are looked for."""

_EXAMPLE = """
(role xplayer) (role random) (init (step 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal xplayer (guess ?x)) (succ ?x ?y)) (<= (legal random (pick ?x)) (succ ?x ?y))
(<= (sees xplayer (told ?x)) (does random (pick ?x)) (true (step 0)))
(<= (next (step ?y)) (true (step ?x)) (succ ?x ?y))
(<= (next right) (does xplayer (guess ?x)) (does random (pick ?x)))
(<= terminal (true (step 3))) (<= (goal xplayer 100) (true right))
(<= (goal xplayer 0) (not (true right))) (goal random 0)
"""
"""A game for which every kernel is needed."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostReply:
    """What is sent back.

    Attributes:
        text: one line.
        refused: whether it says why a message was refused.
    """

    text: str
    refused: bool = False


@dataclass(slots=True)
class _HostedMatch:
    """A match that has workers."""

    opening: Opening
    pair: WorkerPair
    log: MatchLog
    seed: int


class Host:
    """All matches, with their workers. Everything but `__init__` needs a running loop.

    Raises:
        ConfigError: the name is no symbol.
    """

    def __init__(self, options: HostOptions) -> None:
        self.options = options
        self.lobby = Lobby(
            options.name,
            matches=options.matches,
            limits=options.limits.messages,
            margin_s=margin_of(options.margin_s),
        )
        self.pool = WorkerPool(
            options.memory_bytes,
            spares=options.matches,
            confined=options.confined,
            quiet=options.quiet,
        )
        self._logs = LogFolder(options.log_folder, options.log_limit_bytes)
        self._matches: dict[int, _HostedMatch] = {}
        self._answers: dict[int, asyncio.Task[str]] = {}
        self._waiting: dict[int, int] = {}
        self._background = Background()
        self._texts = TextReader(self.lobby, options.limits)

    async def open(self) -> None:
        """Get ready for matches, and go on with those a server before this one left."""
        self.pool.open()
        if self.options.warm_kernels:
            self._background.start(self.pool.warm_kernels(self._setup(_EXAMPLE, "xplayer", 0, 0)))
        if self.options.log_folder is not None:
            for restored in restore(self.options.log_folder, self.lobby, time.monotonic()):
                self._resume(restored)
        self._background.start(self._forget())

    def hurry(self) -> None:
        """Answer all open questions at once."""
        for number in self._answers:
            for match in self._matches.values():
                match.pair.hurry(number)

    async def close(self) -> None:
        """End all matches; a server that is started with the same logs goes on with them."""
        await self._background.cancel()
        answers = list(self._answers.values())
        for answer in answers:
            answer.cancel()
        await asyncio.gather(*answers, return_exceptions=True)
        for serial in list(self._matches):
            await self._end(serial, SERVER_ENDED)
        await self.pool.close()
        self._texts.close()

    async def reply(self, text: str, peer: str = "", came_s: float | None = None) -> HostReply:
        """The reply to a text, as soon as it must be given.

        If it is cancelled, the connection broke; the answer is found all the same.

        Args:
            text: the body of a request.
            peer: from where, for logs.
            came_s: when it began to come, on `time.monotonic`; now if None.
        """
        came_s = time.monotonic() if came_s is None else came_s
        read = await self._texts.read(text)
        if read is None:
            return HostReply(BUSY, refused=True)
        receipt = self.lobby.receive(read, came_s)
        self._follow(receipt, text, peer)
        if receipt.refusal is not None:
            _log.warning("%s: refused: %s", peer, printable(receipt.refusal))
            return HostReply(receipt.refusal, refused=True)
        match = None if receipt.match is None else self._matches.get(receipt.match)
        if receipt.ask is None:
            reply = receipt.reply or ""
            if match is not None:
                _log_sent(match.log, reply, came_s)
        else:
            reply = await self._wait(receipt.ask)
            if match is not None:
                turn = receipt.ask.turn if receipt.ask.wants_move else None
                _log_sent(match.log, reply, came_s, turn)
        _log.debug("%s > %s", peer, reply)
        for serial in receipt.ended:
            self._background.start(self._end(serial, _why_ended(receipt.message)))
        return HostReply(reply)

    # ---------------------------------------------------------------- private

    def _follow(self, receipt: Receipt, text: str, peer: str) -> None:
        """Do what a receipt asks for besides the reply."""
        _log.debug("%s < %s", peer, printable(text[:1000]))
        if receipt.began is not None:
            self._begin(receipt.began)
        match = None if receipt.match is None else self._matches.get(receipt.match)
        if match is not None:
            match.log.write("received", text=text, peer=peer)
        for note in receipt.notes:
            _log.warning("%s: %s", peer, printable(note))
            if match is not None:
                match.log.write("note", text=note)
        for number in receipt.released:
            if match is not None:
                match.pair.hurry(number)
        for serial in receipt.ended:
            if serial != receipt.match:
                self._background.start(self._end(serial, "silent"))

    def _begin(self, opening: Opening) -> None:
        start = opening.start
        log = self._logs.begin(start.match_id)
        match = self._matches[opening.match] = self._new_match(opening, log)
        log.begin(
            match=start.match_id,
            role=opening.role,
            player=self.options.player,
            seed=match.seed,
            start_clock_s=start.start_clock_s,
            play_clock_s=start.play_clock_s,
            version=installed_version(),
        )
        _log.info("match %s begins: we are %s", printable(start.match_id), opening.role)

    def _resume(self, restored: Restored) -> None:
        opening = restored.opening
        match_id = opening.start.match_id
        log = self._logs.resume(restored.path, match_id, restored.began_s)
        match = self._matches[opening.match] = self._new_match(opening, log)
        log.write("resumed")
        _log.warning("match %s goes on: we are %s", printable(match_id), opening.role)
        match.pair.start(time.monotonic() + opening.start.play_clock_s)
        ask = restored.ask
        if ask is not None:
            match.pair.catch_up(ask.history)

    def _new_match(self, opening: Opening, log: MatchLog) -> _HostedMatch:
        start = opening.start
        seed = seed_of(self.options.seed, start.match_id, opening.role)
        setup = self._setup(start.rules, opening.role, start.start_clock_s, seed)
        return _HostedMatch(opening, WorkerPair(self.pool, setup, log), log, seed)

    def _setup(self, rules: str, role: str, start_clock_s: float, seed: int) -> Setup:
        options = self.options
        return Setup(
            rules=rules,
            role=role,
            player=options.player,
            backend=options.backend,
            seed=seed,
            grounding_s=grounding_s(start_clock_s),
            memory_bytes=options.memory_bytes,
        )

    async def _wait(self, ask: Ask) -> str:
        """The answer to a question, which may come for several connections."""
        task = self._answers.get(ask.number)
        if task is None:
            task = self._answers[ask.number] = asyncio.ensure_future(self._answer(ask))
            task.add_done_callback(lambda _: self._answers.pop(ask.number, None))
        if self._waiting.get(ask.number, 0) >= self.options.limits.waiting:
            return BUSY
        self._waiting[ask.number] = self._waiting.get(ask.number, 0) + 1
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._waiting[ask.number] == 1:
                self.lobby.undelivered(ask)
            raise
        finally:
            self._waiting[ask.number] -= 1
            if not self._waiting[ask.number]:
                del self._waiting[ask.number]

    async def _answer(self, ask: Ask) -> str:
        match = self._matches.get(ask.match)
        if match is None:
            return self.lobby.answer(ask, None, time.monotonic())
        move, believed = None, None
        try:
            if ask.wants_move:
                clock_s = match.opening.start.play_clock_s
                choice = await match.pair.choose(ask, ask.asked_at_s + clock_s)
                move, believed = choice.move, reading_of(ask, choice.reading)
                log_choice(match.log, ask.turn, choice)
            else:
                await match.pair.get_ready(ask.number, ask.deadline_s)
        except Exception as error:  # a bug of ours must not cost the match
            _log.exception("match %s", printable(match.opening.start.match_id))
            match.log.write("note", text=f"{type(error).__name__}: {error}")
        return self.lobby.answer(ask, move, time.monotonic(), believed)

    async def _end(self, serial: int, why: str) -> None:
        match = self._matches.pop(serial, None)
        if match is not None:
            _log.info("match %s ends: %s", printable(match.opening.start.match_id), why)
            match.log.write("end", why=why)
            match.log.close()
            await match.pair.close()

    async def _forget(self) -> None:
        while True:
            await asyncio.sleep(FORGET_EVERY_S)
            for serial in self.lobby.forget(time.monotonic()):
                await self._end(serial, "silent")


def _log_sent(log: MatchLog, reply: str, came_s: float, turn: int | None = None) -> None:
    fields = {} if turn is None else {"turn": turn}
    log.write("sent", text=reply, seconds=round(time.monotonic() - came_s, 4), **fields)


def _why_ended(message: Message | None) -> str:
    match message:
        case Stop():
            return "stop"
        case Abort():
            return "abort"
        case Start():
            return "replaced"
    return "silent"
