"""One match of a server: its workers, its log, and the handling of its questions.

The host passes each question in and gets a move. The operator gets two lines for each match, when
it is ready and when it ends:

    14:03:12 match m: kuhn_poker, we are player1, clocks 30 and 10 s, from 10.0.0.7, propnet
    14:04:03 match m, player1: stop after 3 turns, no faults, score 50, propnet; 3 moves
      (3 search), 3 with particles, slowest 9.12 s, no kills
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any

from ggp.console import installed_version
from ggp.errors import GGPError
from ggp.gdl.games import find_game, list_games
from ggp.gdl.source import printable
from ggp.players.elsewhere.from_json import decision_json
from ggp.protocol.messages import WIRE_STYLES, MessageLimits, print_message, split_items, squeezed
from ggp.protocol.path import NO_FIT, Fit, History, was_replaced
from ggp.protocol.session import Ask, Opening
from ggp.server.latency import Latency, TurnTimes
from ggp.server.match_log import MatchLog
from ggp.server.operator import MoveTally
from ggp.server.settings import HostOptions
from ggp.server.workers.orders import Setup
from ggp.server.workers.pair import MoveToSend, WorkerPair
from ggp.server.workers.pool import WorkerPool

MIN_GROUNDING_S = 20.0
GROUNDING_SHARE = 0.5
MAX_GROUNDING_S = 120.0
"""Grounding may take half of the start clock, or longer if that is short: it then continues during
the first turns, which the understudy plays."""

_MAX_CHARS = 80

_log = logging.getLogger(__name__)


class HostedMatch:
    """A match that has workers.

    Args:
        opening: the beginning of the match.
        options: of the server.
        pool: source of its workers.
        log: receives the events.
        latency: of its server; None to reserve a fixed part of every clock.
        address: of its server; empty if unknown.

    Attributes:
        match_id: as the server sent it.
        role: ours, canonical.
        pair: its workers.
        times: of its messages; None if no latency is learned.
    """

    def __init__(
        self,
        opening: Opening,
        options: HostOptions,
        pool: WorkerPool,
        log: MatchLog,
        latency: Latency | None = None,
        address: str = "",
    ) -> None:
        start = opening.start
        self.match_id, self.role = start.match_id, opening.role
        self.log, self._opening, self._options = log, opening, options
        self._name = _safe(start.match_id)
        self._address, self._is_announced = address, False
        self._history: History = ()
        self._faults: set[int] = set()  # turns
        self._tally = MoveTally()
        self._seed = _seed_of(options.seed, start.match_id, opening.role)
        grounding_s = max(MIN_GROUNDING_S, GROUNDING_SHARE * start.start_clock_s)
        setup = Setup(
            rules=opening.rules,
            role=opening.role,
            player=options.player,
            backend=options.backend,
            threads=options.threads,
            seed=self._seed,
            grounding_s=min(grounding_s, MAX_GROUNDING_S),
            memory_bytes=options.memory_bytes,
        )
        self.pair = WorkerPair(pool, setup, log)
        self.times = None if latency is None else TurnTimes(latency)

    def begin(self) -> None:
        """Log the beginning; the workers start with the question to get ready."""
        start = self._opening.start
        self.log.begin(
            match=start.match_id,
            role=self._opening.role,
            player=self._options.player,
            seed=self._seed,
            start_clock_s=start.start_clock_s,
            play_clock_s=start.play_clock_s,
            version=installed_version(),
        )

    def begin_late(self, peer: str) -> None:
        """Begin with a turn, since there was no room when the start message arrived.

        The log needs the start message all the same.

        Args:
            peer: the sender of the turn.
        """
        start = self._opening.start
        self.log.write("received", text=print_message(start, WIRE_STYLES["newest"]), peer=peer)
        self.pair.start(time.monotonic() + start.play_clock_s)

    def resume(
        self,
        ask: Ask | None,
        listens_since_s: float | None = None,
        alive_s: float | None = None,
        backend: str | None = None,
    ) -> None:
        """Continue after the latest question of a match that had workers before.

        Args:
            ask: that question.
            listens_since_s: since when messages arrive here, on `time.monotonic`; None if always.
            alive_s: see `Session.resume`.
            backend: the backend on which it began; None if unknown.
        """
        times = {"listens_at": listens_since_s, "alive_at": alive_s}
        seconds = {k: None if t is None else self.log.seconds_at(t) for k, t in times.items()}
        self.log.write("resumed", **seconds)
        _log.warning("match %s goes on: we are %s", self._name, _safe(self.role))
        if backend is not None:
            self.pair.settle(backend)
        self.pair.start(time.monotonic() + self._opening.start.play_clock_s)
        self._is_announced = True  # at its beginning
        if ask is not None:
            self._history = ask.history
            self.pair.catch_up(ask.history)

    async def answer(self, ask: Ask) -> tuple[str | None, Fit]:
        """A move, if one is known and wanted, and which reading of the question fits."""
        self._history = ask.history
        try:
            if ask.wants_move:
                clock_s = self._opening.start.play_clock_s
                if self.times is not None:
                    ask = replace(ask, deadline_s=self.times.deadline_s(ask, clock_s))
                choice = await self.pair.choose(ask, ask.asked_at_s + clock_s)
                _log_choice(self.log, ask.turn, choice)
                self._tally.add(choice, time.monotonic() - ask.asked_at_s)
                if choice.decision is None or choice.decision.fault is not None:
                    self.fault(ask.turn)
                return choice.move, choice.fit
            await self.pair.get_ready(ask.number, ask.deadline_s)
            self._tell_beginning()
        except Exception as error:  # a bug of ggp must not cost the match
            _log.exception("match %s", self._name)
            self.log.write("note", text=f"{type(error).__name__}: {error}")
        return None, NO_FIT

    def fault(self, turn: int) -> None:
        """Count a fault in the move of a turn, at most one for each turn."""
        self._faults.add(turn)

    async def end(self, why: str, path: History = ()) -> None:
        """End the workers, and the log.

        Args:
            why: the reason, as in the log.
            path: our whole path, if the game was played to its end.
        """
        self.log.end(why)
        score = None
        try:
            if path:
                score = await self.pair.score(path)
        finally:
            self._tell_end(why, path or self._history, score)
            await self.pair.close()

    def _tell_beginning(self) -> None:
        """Announce the match to the operator, once."""
        if self._is_announced:
            return
        self._is_announced = True
        start, rules = self._opening.start, self._opening.rules
        self._tell(
            f"match {self._name}: {self._game or f'other rules ({len(rules):,} characters)'}",
            f"we are {_safe(self.role)}",
            f"clocks {start.start_clock_s} and {start.play_clock_s} s",
            f"from {self._address or 'an unknown address'}",
        )

    def _tell_end(self, why: str, path: History, score: float | None) -> None:
        """Report the end of the match to the operator."""
        self._tell_beginning()
        replaced = (index for index, turn in enumerate(path) if was_replaced(turn))
        num_faults = len(self._faults.union(replaced))
        self._tell(
            f"match {self._name}, {_safe(self.role)}: {why} after {_number(len(path), 'turn')}",
            _number(num_faults, "fault"),
            "score unknown" if score is None else f"score {score:g}",
            end=f"; {self._tally.text(self.pair.kills)}",
        )

    def snapshot(self) -> dict[str, Any]:
        """The match as `ggp status` shows it, as JSON values."""
        return {
            "match": self._name,
            "game": self._game,
            "role": _safe(self.role),
            "turns": len(self._history),
            "backend": self._backend,
            "kills": self.pair.kills,
            **self._tally.to_json(),
        }

    @cached_property
    def _game(self) -> str:
        """See `game_of`, which reads all rules: once is enough."""
        return game_of(self._opening.rules)

    @property
    def _backend(self) -> str | None:
        """The backend on which the match is played; None while nobody knows."""
        option = self._options.backend
        return self.pair.backend or (None if option == "auto" else option)

    def _tell(self, *parts: str, end: str = "") -> None:
        text = ", ".join((*parts, self._backend or "no machine yet"))
        self._options.tell(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}{end}")


def _number(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _safe(text: str) -> str:
    """A stranger's word in printable form, shortened."""
    return printable(text)[:_MAX_CHARS]


def _seed_of(seed: int, match_id: str, role: str) -> int:
    """A seed for a match: the same for the same match, another for every other match."""
    text = f"{seed} {role} {match_id}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


def _log_choice(log: MatchLog, turn: int, choice: MoveToSend) -> None:
    """Log a choice."""
    fields: dict[str, object] = dict.fromkeys(
        ("values", "particles", "exact", "states_visited", "seconds", "fault")
    )
    if choice.decision is not None:
        fields = decision_json(choice.decision)
    log.write(
        "decision",
        **fields
        | {"turn": turn, "move": choice.move, "source": choice.source, "final": choice.final}
        | {"reading": choice.fit.reading, "failed_readings": choice.fit.num_failed},
    )


# ------------------------------------------------------------------------
# Recognising the games that come with ggp by the rules that a server sends.

_LIMITS = MessageLimits()


def game_of(rules: str) -> str:
    """The name of the game with these rules; empty if it is unknown, or its symbols are renamed.

    Order of rules, letter case and white space do not matter.
    """
    longest = max(map(len, _texts().values()), default=0)
    return "" if len(rules) > 2 * longest else _names().get(_canonical(rules), "")


def _canonical(rules: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(squeezed(rule).lower() for rule in split_items(rules, _LIMITS)))
    except GGPError:  # too long, or too deep
        return ()


@cache
def _names() -> dict[tuple[str, ...], str]:
    """Names of games by their canonical rules; takes some hundredths of a second."""
    return {_canonical(text): name for name, text in _texts().items()}


@cache
def _texts() -> dict[str, str]:
    return {name: find_game(name).read_text(encoding="utf-8") for name in list_games()}
