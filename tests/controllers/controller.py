"""A game controller that treats players as the real ones do, and not as they should be.

It shares nothing with `ggp.protocol` or the match runner: it splits texts itself, talks over raw
sockets, and referees by `tests.support.plain.reference`. One connection a message, and no second
try: an answer that is illegal, late or cannot be had is replaced, and the match goes on.
"""

from __future__ import annotations

import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from ggp.gdl.terms import Rule
from tests.support.plain.reference import Reference

KEYWORDS = frozenset(
    [
        "role",
        "init",
        "true",
        "does",
        "next",
        "legal",
        "goal",
        "terminal",
        "not",
        "or",
        "and",
        "distinct",
        "<=",
    ]
)
"""What no controller renames."""

FORGOTTEN = frozenset({"sees", "random"})
"""What older controllers rename, because their list lacks it."""

GRACE_S = 1.0
"""All of them wait so much longer than the play clock."""

_TOKEN = re.compile(r"[()]|[^\s()]+")
_COMMENT = re.compile(r";[^\n]*")


class Kind(Enum):
    """A controller, and the dialect it speaks."""

    GGP_BASE = "ggp-base"
    DRESDEN_2011 = "dresden-2011"
    DRESDEN_2013 = "dresden-2013"


class Renaming(Enum):
    """How a controller renames the words of a rulesheet."""

    NONE = "none"
    NAMES = "names"
    SEES_TOO = "names, sees and random"


class End(Enum):
    """How a match ends for the player."""

    STOP = "stop"
    LOST = "no stop"
    KILLED = "killed in the middle"


@dataclass(frozen=True)
class Sheet:
    """A rulesheet: its text, and the reference that evaluates it."""

    name: str
    text: str
    rules: Sequence[Rule]

    @property
    def tokens(self) -> list[str]:
        """Parentheses and words, in lower case."""
        return _TOKEN.findall(_COMMENT.sub("", self.text).lower())


@dataclass(frozen=True)
class Plan:
    """A match to be played.

    Attributes:
        kind: of controller.
        role: the player's.
        clocks: start clock and play clock in seconds.
        turns: the controller lets it go after so many.
    """

    match: str
    sheet: Sheet
    role: str
    kind: Kind
    renaming: Renaming = Renaming.NONE
    end: End = End.STOP
    clocks: tuple[int, int] = (10, 2)
    turns: int = 1000
    seed: int = 0


@dataclass
class Result:
    """The answers of a player, judged.

    Attributes:
        faults: number of faults by kind.
        said: each fault in words.
        seconds: how long each answer took.
        goal: the player's at the end; None if the match did not come there.
    """

    plan: Plan
    moves: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    said: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    goal: float | None = None

    def fault(self, kind: str, words: str) -> None:
        """Count a fault."""
        self.faults[kind] += 1
        self.said.append(f"{self.plan.match} turn {self.moves}: {kind}: {words}")


def play(plan: Plan, port: int, after_turn: Callable[[int], None] = lambda turn: None) -> Result:
    """Play a match with the player at this port; the other roles move at random."""
    return _Match(plan, port).play(after_turn)


class _Match:
    def __init__(self, plan: Plan, port: int) -> None:
        self._plan, self._port = plan, port
        self._game = Reference(plan.sheet.rules)
        self._rng = np.random.default_rng(plan.seed)
        words = dict.fromkeys(t for t in plan.sheet.tokens if t not in "()")
        self._sent = {word: self._renamed(word) for word in words}
        self._meant = {text.lower(): word for word, text in self._sent.items()}
        self._is_gdl2 = "sees" in words or "random" in words
        self._result = Result(plan)

    def play(self, after_turn: Callable[[int], None]) -> Result:
        plan, game = self._plan, self._game
        state = game.initial()
        rules = self._spelled(plan.sheet.tokens)
        start_clock, play_clock = plan.clocks
        head = f"START {plan.match} {self._spelled([plan.role])} ({rules})"
        self._send(f"({head} {start_clock} {play_clock})", start_clock + GRACE_S)
        percepts, last, turn = "NIL", "NIL", 0
        while not game.terminal(state) and turn < plan.turns:
            moves = {}
            for role in game.roles:
                legal = game.legal(state, role)
                if role == plan.role:
                    last = moves[role] = self._reply(turn, last, percepts, legal)
                else:
                    moves[role] = str(self._rng.choice(legal))
            moved = game.step(state, moves)
            state, percepts, turn = (
                moved.state,
                self._news(moves, moved.percepts[plan.role]),
                turn + 1,
            )
            after_turn(turn)
            if plan.end is End.KILLED and turn >= 2:
                return self._result
        if game.terminal(state):
            self._result.goal = game.goal(state, plan.role)
        if plan.end is End.STOP:
            self._send(self._message("STOP", turn, last, percepts), play_clock + GRACE_S)
        return self._result

    def _reply(self, turn: int, last: str, percepts: str, legal: Sequence[str]) -> str:
        """The player's move, or what this controller puts in its place."""
        result, play_clock = self._result, self._plan.clocks[1]
        result.moves += 1
        began_s = time.monotonic()
        reply = self._send(self._message("PLAY", turn, last, percepts), play_clock + GRACE_S)
        result.seconds.append(time.monotonic() - began_s)
        if reply is not None:
            move = self._read(reply)
            if move in legal:
                return move
            result.fault("illegal", f"{reply[:200]!r}, of {len(legal)} legal moves")
        if self._plan.kind is Kind.GGP_BASE:
            return str(self._rng.choice(legal))
        return legal[0]

    def _message(self, word: str, turn: int, last: str, percepts: str) -> str:
        with_turn = self._is_gdl2 and self._plan.kind is Kind.DRESDEN_2013
        if not with_turn:
            return f"({word} {self._plan.match} {percepts})"
        executed = "NIL" if last == "NIL" else self._spelled(_TOKEN.findall(last))
        return f"({word} {self._plan.match} {turn} {executed} {percepts})"

    def _news(self, moves: Mapping[str, str], percepts: Sequence[str]) -> str:
        """The news of a turn for the player: its percepts, or the joint move in plain GDL."""
        terms = percepts if self._is_gdl2 else tuple(moves.values())
        return f"({' '.join(self._spelled(_TOKEN.findall(term)) for term in terms)} )"

    # ---------------------------------------------------------------- words

    def _renamed(self, word: str) -> str:
        plan = self._plan
        unchanged = KEYWORDS | FORGOTTEN if plan.renaming is Renaming.NAMES else KEYWORDS
        if plan.renaming is not Renaming.NONE and word not in unchanged and not word.isdigit():
            letters = "".join(self._rng.choice(list("bdfgklmnprst"), 9))
            word = f"?{letters}" if word.startswith("?") else letters
        return word if plan.kind is Kind.GGP_BASE else word.upper()

    def _spelled(self, tokens: Sequence[str]) -> str:
        text = " ".join(self._sent.get(token, token) for token in tokens)
        return text.replace("( ", "(").replace(" )", ")")

    def _read(self, reply: str) -> str:
        """The move as the reference spells it; ggp-base wants the words it has sent."""
        tokens = _TOKEN.findall(reply)
        if self._plan.kind is Kind.GGP_BASE:
            tokens = [t if t in self._sent.values() or t in "()" else f"{t}!" for t in tokens]
        text = " ".join(self._meant.get(token.lower(), token) for token in tokens)
        return text.replace("( ", "(").replace(" )", ")")

    # ---------------------------------------------------------------- the wire

    def _send(self, body: str, patience_s: float) -> str | None:
        """The body of the reply; None if there was none in time, which is a fault."""
        try:
            with socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
                end_s = time.monotonic() + patience_s
                connection.sendall(self._head(body) + body.encode())
                data = b""
                while not self._is_whole(data):
                    connection.settimeout(max(end_s - time.monotonic(), 1e-3))
                    chunk = connection.recv(1 << 16)
                    if not chunk:
                        break
                    data += chunk
        except TimeoutError:
            self._result.fault("late", body[:40])
            return None
        except OSError as error:
            self._result.fault("no connection", f"{body[:40]}: {error}")
            return None
        return data.partition(b"\r\n\r\n")[2].decode()

    def _head(self, body: str) -> bytes:
        if self._plan.kind is Kind.GGP_BASE:
            head = (
                "POST / HTTP/1.0\r\nAccept: text/delim\r\nHost: 127.0.0.1\r\n"
                "Sender: GAMESERVER\r\nReceiver: PLAYER\r\nContent-Type: text/acl\r\n"
                f"Content-Length: {len(body)}\r\n\r\n"
            )
        else:
            head = (
                "POST / HTTP/1.0\r\nAccept: text/delim\r\nSender: Gamecontroller\r\n"
                f"Receiver: 127.0.0.1\r\nContent-type: text/acl\r\nContent-length: {len(body)}"
                "\r\n\r\n"
            )
        return head.encode()

    def _is_whole(self, data: bytes) -> bool:
        """Whether a reply is: Dresden's read to the end of the stream, ggp-base counts."""
        if self._plan.kind is not Kind.GGP_BASE:
            return False
        head, end, body = data.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *([0-9]+)", head)
        return bool(end) and length is not None and len(body) >= int(length.group(1))
