"""Both ends of a match without sockets: a referee that writes as servers do, and a worker."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine import Machine
from ggp.players import Player, make_player, parse_spec
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import Dialect, Message, Play, Start, Stop, WireStyle, print_message
from ggp.protocol.path import Fit, History
from ggp.protocol.reading import Request, parse_reply
from ggp.protocol.session import Ask, Opening, Receipt
from tests.support.games import build_here

_SYMBOL = re.compile(r"[^\s()?;<][^\s();]*")
_COMMENT = re.compile(r";[^\r\n]*")


def respelled(text: str, spelling: Callable[[str], str]) -> str:
    """A text of KIF with every symbol except variables and arrows respelled."""
    return re.sub(r"[^\s()]+", lambda m: spelling(m[0]) if _SYMBOL.fullmatch(m[0]) else m[0], text)


def on_one_line(rules: str) -> str:
    """A rulesheet without comments and line ends, as servers send it."""
    return " ".join(_COMMENT.sub(" ", rules).split())


def receive(
    lobby: Lobby,
    text: str,
    now: float,
    sender: str = "",
    came_s: float | None = None,
    *,
    receiver: str = "",
) -> Receipt:
    """Have a lobby receive a text, by default as soon as it has come."""
    peer = f"{sender}:4000" if sender else ""
    return lobby.receive(Request(text, now if came_s is None else came_s, peer, receiver), now)


class LocalWorker:
    """Plays the matches of one lobby in this process, without a clock.

    Args:
        lobby: the lobby that it answers for.
        spec: of the player.
        seed: of all random choices.
    """

    def __init__(self, lobby: Lobby, spec: str = "random", seed: int = 1) -> None:
        self.lobby, self._spec, self._seed = lobby, spec, seed
        self._machines: dict[int, tuple[Machine, int]] = {}
        self._players: dict[int, tuple[Player, History]] = {}
        self.restarts = 0

    def serve(self, text: str, now: float = 0.0) -> str:
        """The answer to the body of a request, at once."""
        receipt = receive(self.lobby, text, now)
        assert [receipt.reply, receipt.ask, receipt.refusal].count(None) == 2
        if receipt.began is not None:
            self.begin(receipt.began)
        if receipt.ask is not None:
            move, index = self.decide(receipt.ask)
            return self.lobby.answer(receipt.ask, move, now, Fit(index))
        return receipt.reply or "refused"

    def begin(self, opening: Opening) -> None:
        """Build the machine of a match."""
        program = normalize(parse(opening.rules))
        assert program.is_gdl2 == opening.is_gdl2
        machine = build_here(program, "prolog")
        self._machines[opening.match] = machine, machine.roles.index(opening.role)

    def decide(self, ask: Ask) -> tuple[str | None, int]:
        """A move, and the index of the reading of the question that it fits."""
        if not ask.wants_move:
            return None, 0
        for index, history in enumerate(ask.readings):
            decision = self._player(ask.match, history).choose()
            if decision.fault is None or index == len(ask.doubts):
                return decision.move, index
        raise AssertionError("a question has a history")

    def _player(self, match: int, history: History) -> Player:
        """A player that has observed a history."""
        follower = self._players.get(match)
        if follower is None or follower[1] != history[: len(follower[1])]:
            self.restarts += follower is not None
            machine, role = self._machines[match]
            rng = np.random.default_rng(self._seed)
            follower = make_player(parse_spec(self._spec), machine, role, rng, lambda: 0.0), ()
        player, seen = follower
        for turn in history[len(seen) :]:
            player.observe(turn.move, turn.percepts, submitted=turn.submitted, in_time=turn.in_time)
        self._players[match] = player, history
        return player


@dataclass
class Referee:
    """Referees a match of one remote player; the other roles move at random.

    Attributes:
        rules: sent to the player, spelled by `spelling`.
        role: of the remote player.
        style: of the messages.
        spelling: of each symbol.
        seed: of random moves.
        clocks: the start clock and the play clock, in seconds.
        transcript: lines `> sent` and `< received`.
    """

    rules: str
    role: str
    style: WireStyle
    spelling: Callable[[str], str] = str
    seed: int = 1
    match_id: str = "m.1"
    clocks: tuple[int, int] = (30, 10)
    transcript: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.machine = build_here(normalize(parse(self.rules)), "prolog")
        self._index = self.machine.roles.index(self.role)
        self._rng = np.random.default_rng(self.seed)
        self._states = self.machine.initial(1)
        self._joint: tuple[str, ...] = ()
        self._percepts: tuple[str, ...] = ()
        self.turn = 0

    @property
    def start(self) -> Start:
        """The start message."""
        rules = respelled(on_one_line(self.rules), self.spelling)
        return Start(self.match_id, self.spelling(self.role), rules, *self.clocks)

    @property
    def is_over(self) -> bool:
        return bool(self.machine.terminal(self._states)[0])

    @property
    def goal(self) -> float:
        return float(self.machine.goals(self._states)[0, self._index])

    def play(self) -> Play:
        """The play message of this turn."""
        return Play(self.match_id, *self._news())

    def stop(self) -> Stop:
        """The stop message, after the last turn."""
        return Stop(self.match_id, *self._news())

    def legal(self) -> dict[str, int]:
        """The player's legal moves in the spelling they must be answered in."""
        return {
            self._spelled(self.machine.move_text(int(move))): int(move)
            for move in self.machine.legal(self._states, self._index)[0]
        }

    def execute(self, reply: str) -> None:
        """Play a turn with the player's answer, which must be a legal move in its spelling."""
        moves = [
            self.legal()[parse_reply(reply)]
            if role == self._index
            else int(self._rng.choice(sorted(self._moves(role), key=self.machine.move_text)))
            for role in range(len(self.machine.roles))
        ]
        stepped = self.machine.step(self._states, np.array([moves], dtype=np.int64))
        self._joint = tuple(map(self.machine.move_text, moves))
        self._percepts = self.machine.percept_texts(int(stepped.percepts[0, self._index]))
        self._states = stepped.states
        self.turn += 1

    def send(self, message: Message, serve: Callable[[str], str]) -> str:
        """Send a message; both it and the answer go into the transcript."""
        text = print_message(message, self.style)
        reply = serve(text)
        self.transcript += [f"> {text}", f"< {reply}"]
        return reply

    def referee(self, serve: Callable[[str], str]) -> None:
        """A whole match."""
        assert self.send(self.start, serve) == "ready"
        while not self.is_over:
            self.execute(self.send(self.play(), serve))
        assert self.send(self.stop(), serve) == "done"

    def _news(self) -> tuple[int | None, str | None, tuple[str, ...] | None]:
        has_turns = self.style.dialect is Dialect.GDL2
        turn = self.turn if has_turns else None
        if not self.turn:
            return turn, None, None
        percepts = self._joint if self.style.dialect is Dialect.GDL else self._percepts
        last = self._spelled(self._joint[self._index]) if has_turns else None
        return turn, last, tuple(map(self._spelled, percepts))

    def _moves(self, role: int) -> list[int]:
        return [int(move) for move in self.machine.legal(self._states, role)[0]]

    def _spelled(self, term: str) -> str:
        spelled = respelled(term, self.spelling)
        return spelled.upper() if self.style.upper else spelled
