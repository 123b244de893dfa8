"""Asks the remote players of a match for moves, over HTTP, all at the same time, on their own
clocks.

The referee calls it in every turn, and gets moves and faults. The event loop here only waits for
sockets; it calls no reasoner. An error of a player costs it its move, and costs the others only the
time on its clock.
"""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl.source import printable
from ggp.machine.definition import GameDefinition
from ggp.protocol.messages import BUSY, Dialect
from match_runner.remote.post import Address, HostNames, PostReply, PostResult, post
from match_runner.remote.wire import (
    DRESDEN,
    ConnectingTime,
    LastTurn,
    NotAMoveError,
    RemoteSide,
    Server,
    Wire,
)

DEFAULT_START_CLOCK_S = 30

MAX_SHOWN = 200
"""Most characters of a player's message that we show."""

_ABORT_S = 1.0
_BUSY_S = 1.0
_MAX_OF_NAME = 40
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RemoteConditions:
    """How to address remote players.

    Attributes:
        server: the server to imitate.
        dialect: dialect of the messages; None for the newest that suits the rules.
        start_clock_s: time before the first turn.
        scramble: whether to change names, by the match's seed.
        patience_s: seconds for which we repeat the start message to a busy player; servers in the
            field do not repeat it.
    """

    server: Server = DRESDEN
    dialect: Dialect | None = None
    start_clock_s: int = DEFAULT_START_CLOCK_S
    scramble: bool = False
    patience_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Remotes:
    """The remote players of a game.

    Attributes:
        program: the rules to send them.
        addresses: by role index.
    """

    program: GameDefinition
    addresses: Mapping[int, Address]


@dataclass(frozen=True, slots=True)
class RemoteFault:
    """Something that a remote player did wrong.

    Attributes:
        kind: one of `match_runner.match.records.FAULTS`.
        text: the details, on one line.
    """

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class RemoteAnswer:
    """Answer of a remote player to a request for a move.

    Attributes:
        submitted: a move in canonical KIF, or a text that is no move; None if nothing came in time.
        seconds: time that the answer took.
        trouble: why there is no move; None if there is one.
    """

    submitted: str | None
    seconds: float
    trouble: RemoteFault | None = None


def new_match_id(game: str, conditions: RemoteConditions) -> str:
    """A new, unique match id: players take a known id for a repeated message.

    If names are scrambled, the id does not give away the game.
    """
    game_name = "" if conditions.scramble else Path(game).stem[:_MAX_OF_NAME]
    letters = "".join(c if c.isascii() and c.isalnum() else "_" for c in game_name)
    return f"{letters or 'match'}.{uuid.uuid4().hex[:12]}"


def check_clocks(play_clock_s: float | None) -> int:
    """The play clock for messages to remote players, in whole seconds.

    Raises:
        ConfigError: there is no play clock, or it is not a whole number.
    """
    if play_clock_s is None:
        raise ConfigError("remote players need a clock; give --play-clock SECONDS")
    if play_clock_s != math.floor(play_clock_s) or play_clock_s < 1:
        raise ConfigError(
            f"remote players need whole seconds, so --play-clock cannot be {play_clock_s:g}"
        )
    return int(play_clock_s)


class RemotePlayers:
    """All remote players of one match.

    Args:
        remotes: the rules and the players' addresses.
        conditions: how to address the players.
        play_clock_s: see `check_clocks`.
        match_id: a new id, see `new_match_id`.
        rng: draws the scrambled names.

    Raises:
        ConfigError: the dialect does not suit the rules or the server.
    """

    def __init__(
        self,
        remotes: Remotes,
        conditions: RemoteConditions,
        play_clock_s: int,
        match_id: str,
        rng: np.random.Generator,
    ) -> None:
        self._conditions, self._server = conditions, conditions.server
        self._addresses = remotes.addresses
        self._roles = remotes.program.roles
        self._play_clock_s = play_clock_s
        self._wire = Wire(
            remotes.program,
            conditions.server,
            conditions.dialect,
            rng if conditions.scramble else None,
        )
        self._match_id = match_id
        shared = Counter(remotes.addresses.values())
        # One address may play several roles: then its player sees several matches.
        self._ids = {
            role: match_id if shared[address] == 1 else f"{match_id}.{role}"
            for role, address in remotes.addresses.items()
        }
        self._names = HostNames()
        self._connecting = {role: ConnectingTime(self._server) for role in remotes.addresses}

    @property
    def side(self) -> RemoteSide:
        """How these players were addressed, for the record of the match."""
        return RemoteSide(
            self._match_id,
            str(self._wire.dialect),
            self._conditions.start_clock_s,
            self._conditions.scramble,
        )

    def start(self) -> dict[int, RemoteFault]:
        """Send all players the start message, and wait until all are ready or time is up.

        Their answers do not matter; the match goes on in any case. But for up to `patience_s`, send
        the message to all again while a player is busy with another match.
        """
        start_s = self._conditions.start_clock_s
        bodies = {
            role: self._wire.start(self._ids[role], self._roles[role], start_s, self._play_clock_s)
            for role in self._addresses
        }
        until_s = time.monotonic() + self._conditions.patience_s
        while True:
            replies = self._send(bodies, start_s + self._server.start_grace_s)
            is_busy = any(reply.text.strip().lower() == BUSY for _, reply in replies)
            if not is_busy or time.monotonic() >= until_s:
                break
            _log.info("a player is busy: the match waits")
            time.sleep(_BUSY_S)
        return {
            role: _trouble(reply, "when told of the match")
            for role, reply in replies
            if reply.outcome in (PostResult.LATE, PostResult.UNREACHABLE)
        }

    def ask(self, turn: int, last_turns: Mapping[int, LastTurn]) -> dict[int, RemoteAnswer]:
        """Ask all players for their moves; the answers are in role order.

        Args:
            turn: from 0.
            last_turns: the last turn as each role sees it; empty in the first turn.
        """
        bodies = {
            role: self._wire.play(id_, turn, last_turns.get(role))
            for role, id_ in self._ids.items()
        }
        replies = self._send(bodies, self._play_clock_s + self._server.play_grace_s)
        return {role: self._answer(reply) for role, reply in replies}

    def stop(self, turns: int, last_turns: Mapping[int, LastTurn]) -> None:
        """Send all players the message that the match is over, after `turns` turns."""
        ids = self._ids.items()
        bodies = {role: self._wire.stop(name, turns, last_turns.get(role)) for role, name in ids}
        self._tell(bodies, self._play_clock_s + self._server.play_grace_s)

    def abort(self, turns: int, last_turns: Mapping[int, LastTurn]) -> None:
        """Send all players the message that the match ends early, if the dialect has one."""
        ids = self._ids.items()
        bodies = {
            role: self._wire.abort(name) or self._wire.stop(name, turns, last_turns.get(role))
            for role, name in ids
        }
        self._tell(bodies, _ABORT_S)

    def _tell(self, bodies: Mapping[int, str], limit_s: float) -> None:
        for role, reply in self._send(bodies, limit_s):
            if reply.outcome is not PostResult.ANSWERED:
                _log.info("%s %s at the end", self._roles[role], reply.text)

    def _send(self, bodies: Mapping[int, str], limit_s: float) -> list[tuple[int, PostReply]]:
        """Send all messages at the same time; return the replies in role order."""
        import asyncio

        async def send_all() -> list[PostReply]:
            return await asyncio.gather(
                *(
                    post(
                        bodies[role],
                        self._addresses[role],
                        self._server,
                        self._connecting[role],
                        limit_s,
                        self._names,
                    )
                    for role in roles
                )
            )

        roles = sorted(bodies)
        for role in roles:
            _log.debug("to %s: %s", self._addresses[role], bodies[role])
        replies = asyncio.run(send_all())
        for role, reply in zip(roles, replies, strict=True):
            _log.debug("from %s: %s %s", self._addresses[role], reply.outcome, _cut(reply.text))
        return list(zip(roles, replies, strict=True))

    def _answer(self, reply: PostReply) -> RemoteAnswer:
        if reply.outcome is not PostResult.ANSWERED:
            return RemoteAnswer(None, reply.seconds, _trouble(reply, "when asked to move"))
        try:
            move = self._wire.read_move(reply.text)
        except NotAMoveError as error:
            text = _cut(str(error))
            trouble = RemoteFault("illegal", f"answered {text or 'nothing'}, which is not a move")
            return RemoteAnswer(text, reply.seconds, trouble)
        return RemoteAnswer(move, reply.seconds)


_KINDS: Mapping[PostResult, str] = {
    PostResult.MALFORMED: "illegal",
    PostResult.LATE: "late",
    PostResult.UNREACHABLE: "unreachable",
}


def _trouble(reply: PostReply, when: str) -> RemoteFault:
    return RemoteFault(_KINDS[reply.outcome], f"{_cut(reply.text)} {when}")


def _cut(text: str) -> str:
    """A text from outside on one line of bounded length."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= MAX_SHOWN else line[:MAX_SHOWN] + "..."
