"""The referee: plays one match, and is the only one who knows the true state.

Seeds: match number `i` of a series with seed S has the seed S + i, and is the first match of
a series with that seed. Of a match's seed the referee gets one generator and every role its
own, by role index, so that a player's random choices do not depend on who the others are.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

import numpy as np

from ggp.errors import GGPError
from ggp.gdl import canonical_term
from ggp.gdl.source import printable
from ggp.machine.base import Machine, States
from ggp.players import Decision, Player
from ggp.players.player import Learning
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal, random_moves
from match_runner.match.records import Fault, MatchRecord, TurnRecord, as_number
from match_runner.match.seats import Arena
from match_runner.remote.remote_players import (
    MOST_SHOWN,
    RemoteAnswer,
    RemoteConditions,
    RemotePlayers,
    check_clocks,
    new_match_id,
)
from match_runner.remote.servers import Replacement
from match_runner.remote.wire import LastTurn

_log = logging.getLogger(__name__)

MAX_TURNS = 1000
"""Turns after which a match is cut off; strangers' games may not terminate."""

MARGIN_SHARE = 0.2
MAX_MARGIN_S = 0.5
"""Players are told a deadline this much before the referee's: they stop within one batch of
playouts after theirs, measured at up to 0.1 s on kriegTTT and mastermind."""

_REFEREE_STREAM = 0
_FIRST_ROLE_STREAM = 1
_SCRAMBLER_STREAM = 1_000_000


@dataclass(frozen=True, slots=True)
class Conditions:
    """How matches are held, whatever the game.

    Attributes:
        play_clock_s: time for each decision; None lets the players' counts decide.
        max_turns: turns after which a match is cut off.
        replacement: what is played instead of a late or illegal move.
        pause_s: waited before each turn.
        remote: how remote players are spoken to.
    """

    play_clock_s: float | None = None
    max_turns: int = MAX_TURNS
    replacement: Replacement = Replacement.RANDOM
    pause_s: float = 0.0
    remote: RemoteConditions = field(default_factory=RemoteConditions)

    @property
    def thinking_s(self) -> float:
        """The part of the play clock that a player is told of."""
        clock_s = self.play_clock_s or 0.0
        return clock_s - min(MARGIN_SHARE * clock_s, MAX_MARGIN_S)


def play_match(
    arena: Arena, seed: int, conditions: Conditions | None = None, *, counts: bool = True
) -> MatchRecord:
    """Play one match to its end.

    If it does not count, players are not told of its end: they learn nothing from it.

    What players do wrong is recorded as a fault and costs them their move. What is wrong with
    the game (a role without a legal move, no end within the limit of turns, a reasoner's
    limit) ends the match: `MatchRecord.error` says so, and the goals are those of the last
    state, None where the rules cannot tell.

    Raises:
        ConfigError: remote players cannot be spoken to under these conditions.
    """
    return _Match(arena, seed, conditions or Conditions(), counts=counts).play()


def seed_of_match(series_seed: int, number: int) -> int:
    """The seed of one match of a series, counted from 0."""
    return series_seed + number


def stream(seed: int, number: int) -> np.random.Generator:
    """One of the independent generators of a match."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of asking a player.

    Attributes:
        submitted: as canonical KIF where it is a term; None without an answer.
        decision: None without an answer.
        may_count: false for an answer that is late or no move at all, whatever it says.
    """

    submitted: str | None
    decision: Decision | None
    may_count: bool = True


@dataclass(frozen=True, slots=True)
class _News:
    """What a player in this process is told of the turn before."""

    move: str
    percepts: tuple[str, ...]
    submitted: str | None
    in_time: bool


class _Match:
    """One match while it is played."""

    def __init__(self, arena: Arena, seed: int, conditions: Conditions, *, counts: bool) -> None:
        self._arena, self._seed, self._conditions = arena, seed, conditions
        self._counts = counts
        self._machine: Machine = arena.machine
        self._rng = stream(seed, _REFEREE_STREAM)
        self._state: States = self._machine.initial(1)
        self._players: dict[int, Player] = {}
        self._news: dict[int, _News] = {}
        self._told: dict[int, LastTurn] = {}
        self._turns: list[TurnRecord] = []
        self._times_s: list[float] = []
        self._faults: list[Fault] = []
        self._error: str | None = None
        self._remote: RemotePlayers | None = None
        if arena.remotes is not None:
            self._remote = RemotePlayers(
                arena.remotes,
                conditions.remote,
                check_clocks(conditions.play_clock_s),
                new_match_id(arena.game, conditions.remote),
                stream(seed, _SCRAMBLER_STREAM),
            )

    def play(self) -> MatchRecord:
        _log.info("match with seed %d begins", self._seed)
        whole = False
        try:
            for role, seat in self._arena.seats.items():
                self._players[role] = seat.make(stream(self._seed, _FIRST_ROLE_STREAM + role))
            if self._remote is not None:
                for role, trouble in self._remote.start().items():
                    self._fault(role, trouble.kind, trouble.text)
            self._times_s.append(time.time())
            while not self._machine.terminal(self._state)[0]:
                if len(self._turns) == self._conditions.max_turns:
                    self._error = f"the game did not end within {len(self._turns)} turns"
                    break
                self._play_turn()
            whole = self._error is None
            if whole and self._counts:
                self._tell_the_end()
        except GGPError as error:
            _log.warning("match with seed %d ends: %s", self._seed, error)
            self._error = str(error)
        finally:
            if self._remote is not None:
                end = self._remote.stop if whole else self._remote.abort
                end(len(self._turns), self._told)
        return self._record()

    def _play_turn(self) -> None:
        machine, roles = self._machine, range(len(self._machine.roles))
        for role in roles:
            machine.legal(self._state, role)  # raises where a role is stuck
        time.sleep(self._conditions.pause_s)
        # Remote players first, then ours one by one: nobody's clock runs while another thinks
        # in this process.
        answers = self._ask_remote()
        answers |= {role: self._ask(role, player) for role, player in self._players.items()}
        moves = [self._executed(role, answers.get(role)) for role in roles]
        stepped = machine.step(self._state, np.array([moves], dtype=np.int64))
        texts = tuple(machine.move_text(move) for move in moves)
        percepts = [machine.percept_texts(int(p)) for p in stepped.percepts[0]]
        self._state = stepped.states
        for role in answers:
            self._told[role] = LastTurn(texts[role], percepts[role], texts)
        for role in self._players:
            answer = answers[role]
            self._news[role] = _News(
                texts[role], percepts[role], answer.submitted, answer.may_count
            )
        self._times_s.append(time.time())
        answers = dict(sorted(answers.items()))
        self._turns.append(
            TurnRecord(
                joint_move=dict(zip(machine.roles, texts, strict=True)),
                submitted={machine.roles[r]: a.submitted for r, a in answers.items()},
                percepts=dict(zip(machine.roles, percepts, strict=True)),
                decisions={
                    machine.roles[r]: a.decision
                    for r, a in answers.items()
                    if a.decision is not None
                },
                faults=tuple(sorted(self._faults, key=lambda f: machine.roles.index(f.role))),
            )
        )
        self._faults = []

    def _ask_remote(self) -> dict[int, _Answer]:
        """The answers of all remote players, asked together."""
        if self._remote is None:
            return {}
        answers = {}
        for role, answer in self._remote.ask(len(self._turns), self._told).items():
            if answer.trouble is not None:
                self._fault(role, answer.trouble.kind, answer.trouble.text)
            answers[role] = _Answer(answer.submitted, _decision(answer), answer.move is not None)
        return answers

    def _ask(self, role: int, player: Player) -> _Answer:
        """A player's move, having told it of the turn before within the same play clock."""
        clock = self._arena.clock
        play_clock_s = self._conditions.play_clock_s
        started = clock()
        deadline = None
        if play_clock_s is not None:
            deadline = Deadline(started + self._conditions.thinking_s, clock)
        news = self._news.get(role)
        # A player may be anybody's code: whatever it raises costs it its move, and no more.
        try:
            if news is not None:
                player.observe(
                    news.move,
                    news.percepts,
                    submitted=news.submitted,
                    in_time=news.in_time,
                    deadline=deadline,
                )
        except Exception as error:
            self._fault(role, "raised", f"raised {_shown(error)} when told of the last turn", error)
        try:
            decision = player.choose(deadline)
            submitted = canonical_term(decision.move)
        except Exception as error:
            self._fault(role, "raised", f"raised {_shown(error)} when asked to move", error)
            return _Answer(None, None, may_count=False)
        if decision.fault is not None:
            self._fault(role, "fallback", f"played a fallback: {_one_line(decision.fault)}")
        took_s = clock() - started
        in_time = play_clock_s is None or took_s <= play_clock_s
        if not in_time:
            self._fault(
                role,
                "late",
                f"answered {submitted} after {took_s:.2f} s, later than the play clock of "
                f"{play_clock_s:g} s",
            )
        return _Answer(submitted, decision, in_time)

    def _tell_the_end(self) -> None:
        """Tell players that want to know how the match ended; what they do is not the match's."""
        goals = self._goals()
        for role, player in self._players.items():
            news = self._news.get(role)
            if news is None or not isinstance(player, Learning):
                continue
            try:
                player.ended(news.move, news.percepts, goals[self._machine.roles[role]])
            except Exception as error:
                name = self._machine.roles[role]
                _log.warning("%s raised %s when told of the end", name, _shown(error))

    def _executed(self, role: int, answer: _Answer | None) -> int:
        """The move that is played: the one submitted, if it may be, else another legal one."""
        machine = self._machine
        if answer is not None and answer.may_count and answer.submitted is not None:
            move = machine.move_id(answer.submitted)
            if move is not None and is_legal(machine, self._state, role, np.array([move]))[0]:
                return move
            self._fault(
                role, "illegal", f"submitted {_clipped(answer.submitted)}, which is not legal"
            )
        if answer is not None and self._conditions.replacement is Replacement.FIRST:
            return int(machine.legal(self._state, role)[0][0])
        return int(random_moves(machine, self._state, role, self._rng)[0])

    def _fault(self, role: int, kind: str, text: str, error: Exception | None = None) -> None:
        fault = Fault(len(self._turns), self._machine.roles[role], kind, text)
        self._faults.append(fault)
        _log.info("match with seed %d, %s", self._seed, fault)
        if error is not None:
            _log.debug("raised by the player of %s", fault.role, exc_info=error)

    def _record(self) -> MatchRecord:
        machine, arena = self._machine, self._arena
        goals = self._goals()
        visited = dict.fromkeys(machine.roles, 0)
        for role, player in self._players.items():
            visited[machine.roles[role]] = player.states_visited
        return MatchRecord(
            game=arena.game,
            digest=arena.program.digest,
            backend=machine.backend,
            seed=self._seed,
            play_clock_s=self._conditions.play_clock_s,
            roles=machine.roles,
            players=arena.players,
            turns=tuple(self._turns),
            goals=goals,
            states_visited=visited,
            error=None if self._error is None else _one_line(self._error),
            remote=None if self._remote is None else self._remote.side,
            times_s=tuple(self._times_s),
            rules=arena.program.source.text,
        )

    def _goals(self) -> dict[str, float | None]:
        roles = self._machine.roles
        try:
            values = self._machine.goals(self._state)[0].tolist()
        except GGPError as error:
            self._error = self._error or str(error)
            return dict.fromkeys(roles)
        return dict(zip(roles, map(as_number, values), strict=True))


def _decision(answer: RemoteAnswer) -> Decision | None:
    """What is known of how a remote player decided: the time it took."""
    if answer.submitted is None:
        return None
    return Decision(answer.submitted, (), 0, False, 0, answer.seconds)


def _clipped(move: str) -> str:
    """A move that may come from anybody, on one line of bounded length."""
    line = printable(move)
    return line if len(line) <= MOST_SHOWN else f"{line[:MOST_SHOWN]}..."


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {_one_line(str(error))}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
