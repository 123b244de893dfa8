"""One match in a worker process: builds a machine and a player from rules, and finds moves.

Orders come in, and answers go out by a callback. This is the only place of the server where rules
are compiled and players search. A player may be third-party code, and a mistake in it must not cost
the match: its exception is reported, another player decides in its place, and for the next order
there is a new player, which gets all turns from the beginning.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ggp.errors import (
    BackendUnavailableError,
    GGPError,
    MachineError,
    PlayerError,
    SnapshotError,
)
from ggp.gdl import parse
from ggp.gdl.analysis.told_moves import move_percept, never_tells
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.machine import Limits, Machine, build_machine, role_index
from ggp.machine.abilities import Prover
from ggp.machine.base import FloatArray
from ggp.machine.build import build_by_the_first_clock, reveal_moves
from ggp.machine.propnet.compile.ground_rules.forecast import GroundingForecast
from ggp.players import Context, Decision, Player, make_player, parse_spec, player_of
from ggp.players.parts.belief_player import BeliefPlayer
from ggp.players.parts.tracker import move_of, percepts_of, refused_of
from ggp.players.parts.without_belief import GuessedStates, KnownStatePlayer, drawn_decision
from ggp.players.player import Believing, Pondering, Preparing
from ggp.players.random_legal import RandomLegal
from ggp.protocol.path import PathTurn
from ggp.search.anytime import Deadline, OutOfTime
from ggp.server.workers import orders
from ggp.server.workers.orders import Answer, Conclude, Setup, Think

BETWEEN_REPORTS_S = 0.05
"""Minimum time between two reports of the same move."""

PONDER_S = 10.0
"""Time for which a player may compute after each answer, while nobody waits for it."""

CONSTRUCTOR_S, CONSTRUCTOR_SHARE = 5.0, 0.1
"""Time that a player's constructor may take before the first order, unless that comes sooner; and
share of an order's time later."""

OVERRUN_S = 0.3
"""CPU time beyond that of an order after which listing moves counts as too slow in this game: it
would keep a guess from being sent in time."""

GUESS_SHARE = 0.3
"""Share of the time for playing guesses on."""

_FAR_AHEAD_S = 1e15
"""The time that an interrupted search sees on its clock; finite, so that sums stay numbers."""

_LONGEST_SAID = 500

_log = logging.getLogger(__name__)


class _Follower(NamedTuple):
    """A player, and what it follows.

    Attributes:
        turns: a history.
        player: None if it is not made yet.
        followed: number of these turns that it knows.
        sees_moves: whether it is on a machine that reveals joint moves.
    """

    turns: tuple[PathTurn, ...]
    player: Player | None
    followed: int
    sees_moves: bool


class WorkerMatch:
    """The match of a worker.

    Args:
        send: sends answers to the server.
        is_interrupted: returns whether there is a newer order, so that a search must end.
    """

    def __init__(self, send: Callable[[Answer], None], is_interrupted: Callable[[], bool]) -> None:
        self._send, self._is_interrupted = send, is_interrupted
        self._setup: Setup | None = None
        self._program: Program | None = None
        self._machine: Machine | None = None
        self._player: Player | None = None
        self._replaced: Believing | None = None  # the player of another history
        self._sees_moves = False
        self._other_machine: Machine | None = None  # for the other reading of the messages
        self._turns: list[PathTurn] = []
        self._followed = 0  # number of turns that the player knows
        # Beliefs with which a new player may begin: the latest, and those of earlier workers, since
        # later turns may have been read wrongly.
        self._snapshots: tuple[str, ...] = ()
        self._first: _Follower | None = None  # of the first reading, while another one is tried
        self._guesses: GuessedStates | None = None
        self._guessed = 0  # number of turns of the first reading that these have played on
        self._only_guesses = False
        self._only_looked = False
        self._number = -1
        self._last_report: tuple[str, float] = ("", 0.0)
        self._best: Decision | None = None  # of the player's reports for this order

    def build(self, setup: Setup) -> None:
        """Build the machine and the player; answers `MachineBuilt` and `PlayerReady`, or
        `Failed`."""
        started_s = time.monotonic()
        try:
            self._program = program = _program(setup.rules)
            self._machine = machine = self._build(program, setup)
            took_s = time.monotonic() - started_s
            role_index(machine, setup.role)
            self._setup, self._sees_moves = setup, move_percept(program) is not None
            self._snapshots = setup.snapshots
            self._send(orders.MachineBuilt(machine.backend, machine.roles, took_s))
            self._player = self._first_player(setup, machine)
        except GGPError as error:
            self._send(orders.Failed(one_line(str(error))))
            return
        self._send(orders.PlayerReady())

    def _build(self, program: Program, setup: Setup) -> Machine:
        """A machine on the requested backend, or on the fast one if Prolog is not installed.

        For `auto`, a machine is ready by the time the first move is due.
        """
        limits = _limits(setup)
        if setup.backend == "auto" and not setup.settled:

            def foreseen(expected: GroundingForecast) -> None:
                text = one_line(expected.summary(program, limits))
                self._send(orders.Foreseen(expected.verdict(limits) == "no", text))

            return build_by_the_first_clock(program, limits, self._is_interrupted, foreseen)
        try:
            return build_machine(program, setup.backend, limits, ready=True)
        except BackendUnavailableError:
            if setup.backend != "prolog":
                raise
            return build_machine(program, "propnet", limits, ready=True)

    def conclude(self, order: Conclude) -> None:
        """Find out our role's goal value at the end of the match; answers `FinalGoal`."""
        self._turns[order.keep :], goal = order.turns, None
        if self._setup is not None and self._machine is not None:
            self._heed_moves(self._setup)
            goal = goal_at_end(self._machine, self._setup, self._turns, order.deadline_s)
        self._send(orders.FinalGoal(goal))

    def take_note(self, order: Think) -> None:
        """Remember the turns of an order; the player gets them before its next search.

        The player of the first reading stays while other readings are tried.
        """
        first = self._first
        if order.is_doubt and first is None:
            follows = self._player, self._followed
            self._first = _Follower(tuple(self._turns), *follows, self._sees_moves)
            self._player, self._followed = None, 0
        self._turns[order.keep :] = order.turns
        if order.keep < self._followed:
            self._replaced = self._player if isinstance(self._player, Believing) else None
            self._player, self._followed = None, 0
        if order.is_doubt:
            return
        keep = order.keep if first is None else orders.num_shared(first.turns, self._turns)
        if keep < self._guessed:
            self._guesses, self._guessed = None, 0
        if first is not None and self._followed <= first.followed <= keep:
            self._replaced = self._player if isinstance(self._player, Believing) else self._replaced
            self._player, self._followed = first.player, first.followed
            if first.sees_moves != self._sees_moves:
                self._machine, self._other_machine = self._other_machine, self._machine
                self._sees_moves = first.sees_moves
        self._first = None

    def think(self, order: Think) -> None:
        """Find a move; answers with reports, of which the last is final, or with `GaveUp`."""
        if self._machine is None or self._setup is None:
            self._send(orders.GaveUp(order.number, "the rules have no machine"))
            return
        self._number, self._last_report, self._best = order.number, ("", 0.0), None
        self._only_looked = order.number == orders.FIRST_LOOK
        if self._only_looked:
            order = self._prepared(order)
        deadline = Deadline(order.deadline_s, self._clock)
        self._heed_moves(self._setup)
        used_s, until_s = time.process_time(), max(order.deadline_s - time.monotonic(), 0.0)
        guess = None if order.is_doubt else self._guess(deadline.part(GUESS_SHARE))
        if self._only_guesses:
            report = orders.MoveReport(order.number, True, guess) if guess is not None else None
            self._send(report or orders.GaveUp(order.number, "only guesses are made"))
            return
        try:
            self._player = self._player or self._new_player(
                self._setup, self._machine, deadline.part(CONSTRUCTOR_SHARE)
            )
            self._follow(self._setup, deadline)
            decision = self._player.choose(deadline)
        except PlayerError as error:
            self._decide_without(order, error, deadline)
            return
        except GGPError as error:
            if guess is None:
                self._send(orders.GaveUp(order.number, one_line(str(error))))
                return
            _log.warning("only guesses from now on: %s", one_line(str(error)))
            self._only_guesses, decision = isinstance(self._machine, Prover), guess
        except MemoryError:
            raise
        except Exception as error:
            self._decide_without(order, error, deadline)
            return
        is_late = time.process_time() - used_s > until_s + OVERRUN_S
        if guess is not None and isinstance(self._machine, Prover) and is_late:
            _log.warning("only guesses from now on: finding moves cannot be interrupted in time")
            self._only_guesses = True
        if guess is not None and not decision.is_sound:
            decision = guess
        self._send(orders.MoveReport(order.number, True, decision))

    def _heed_moves(self, setup: Setup) -> None:
        """Change to a machine that reveals joint moves if the server sends them against the rules.

        Changes back if that reading of the messages was wrong. Servers of plain GDL may support
        `random`, so that they play games of chance, but not `sees`.
        """
        program, machine = self._program, self._machine
        if program is None or machine is None or not never_tells(program) or move_percept(program):
            return
        sees_moves = any(turn.shows_moves(program.roles) for turn in self._turns)
        if sees_moves == self._sees_moves:
            return
        if self._other_machine is None:
            _log.info("the server sends joint moves, as in plain GDL")
            try:
                self._other_machine = reveal_moves(machine, program, _limits(setup))
            except GGPError as error:
                _log.warning("joint moves are sent, but cannot be used: %s", one_line(str(error)))
                return
        self._machine, self._other_machine = self._other_machine, machine
        self._sees_moves, self._player, self._followed = sees_moves, None, 0
        self._replaced = None
        self._guesses, self._guessed = None, 0

    def _guess(self, deadline: Deadline) -> Decision | None:
        """A probably legal move, reported immediately: to be certain may take too long.

        Only for a player that just looks for a legal move and does not get joint moves. It begins
        in particles of the player, if that has some.
        """
        machine, setup, player = self._machine, self._setup, self._player
        if machine is None or setup is None or self._sees_moves:
            return None
        if parse_spec(setup.player).player is not RandomLegal:
            return None
        began_s, role = time.monotonic(), role_index(machine, setup.role)
        rng = np.random.default_rng((setup.seed, len(self._turns)))
        try:
            if not self._followed:
                self._resume()
            guesses = self._guesses or GuessedStates(machine, role, rng, machine.initial(1))
            tracker = player.tracker if isinstance(player, BeliefPlayer) else None
            is_ahead = self._followed >= self._guessed
            if tracker is not None and is_ahead and not tracker.bag.depleted[0]:
                guesses = GuessedStates(machine, role, rng, tracker.guesses().states)
                self._guessed = self._followed
            self._guesses = guesses
            for turn in self._turns[self._guessed :]:
                self._guessed += 1
                move = move_of(machine, None if turn.assumed else turn.move)
                refused = refused_of(machine, move, turn.submitted, turn.in_time)
                seen = percepts_of(machine, turn.percepts)
                guesses.play_on((move, seen, refused), deadline)
            fault = f"guessed in {len(guesses.states)} states"
            particles, moves = len(guesses.states) if guesses.agree else 0, guesses.moves()
            guess = drawn_decision(machine, moves, rng, began_s, particles=particles, fault=fault)
        except GGPError as error:
            _log.info("no move can be guessed: %s", error)
            return None
        self._report(guess)
        return guess

    def _prepared(self, order: Think) -> Think:
        """Let the player use the start clock; returns the rest of the order."""
        if not self._turns:
            self.use_start_clock(order.deadline_s - orders.FIRST_LOOK_S - time.monotonic())
        until_s = min(order.deadline_s, time.monotonic() + orders.FIRST_LOOK_S)
        return replace(order, deadline_s=until_s)

    def use_start_clock(self, seconds: float) -> None:
        """Let the player prepare for some seconds, if it can."""
        if seconds > 0 and isinstance(self._player, Preparing):
            self._use_time(self._player.prepare, seconds)

    def ponder(self) -> None:
        """Let the player use the time until the next order, after its belief is sent.

        Not after the first look: a player continues from the move that it chose, but the first look
        sends no move. Its tree would later have far more visits for that move than for any other.
        """
        self._use_time(self._send_belief)
        if self._only_guesses or self._only_looked or not isinstance(self._player, Pondering):
            return
        self._use_time(self._player.ponder)

    def _use_time(self, think: Callable[[Deadline], None], seconds: float = PONDER_S) -> None:
        """Let the player think while nobody waits for it."""
        try:
            think(Deadline(time.monotonic() + seconds, self._clock))
        except MemoryError:
            raise
        except Exception as error:
            _log.error("the player raised %s while nobody waited", _error_text(error))
            traceback.print_exception(error)
            self._player, self._replaced, self._followed = None, None, 0

    def _send_belief(self, _: Deadline) -> None:
        """Send what the player believes after all turns, for players that replace it."""
        if self._first is None and self._turns and self._followed == len(self._turns):
            snapshot = self._player.snapshot() if isinstance(self._player, Believing) else ""
            if snapshot:
                earlier = () if self._setup is None else self._setup.snapshots
                self._snapshots = (snapshot, *earlier)
                self._send(orders.Believed(self._followed, snapshot))

    def _first_player(self, setup: Setup, machine: Machine) -> Player | None:
        """A player; None if its constructor raised: the first order tries again."""
        ready_by = Deadline(time.monotonic() + CONSTRUCTOR_S, self._clock)
        try:
            return self._new_player(setup, machine, ready_by)
        except PlayerError as error:
            _log.error("%s", error)
            return None
        except (GGPError, MemoryError):
            raise
        except Exception as error:
            _log.error("creating the player raised %s", _error_text(error))
            return None

    def _new_player(
        self, setup: Setup, machine: Machine, ready_by: Deadline, *, follow: bool = True
    ) -> Player:
        """A player for the match, at its beginning.

        Args:
            ready_by: see `Context`.
            follow: whether to trust the server's messages as complete joint moves.
        """
        spec, role = parse_spec(setup.player), role_index(machine, setup.role)
        rng = np.random.default_rng(setup.seed)
        if follow and self._sees_moves and spec.player is RandomLegal:
            return KnownStatePlayer(machine, role, rng)
        replaced, self._replaced = self._replaced, None
        context = Context(
            machine,
            role,
            rng,
            report=self._report,
            program=self._program,
            belief=None if replaced is None else replaced.belief,
            ready_by=ready_by,
        )
        return player_of(spec, context)

    def _decide_without(self, order: Think, error: Exception, deadline: Deadline) -> None:
        """Answer an order after the player failed: its best move so far, a legal one, or `GaveUp`.

        The next order gets a new player, since the state of this one is unknown. The understudy
        cannot answer instead: Prolog may be too slow to list a move where this process has a
        circuit. Nor does the failure cast doubt on the history, as giving up would.
        """
        is_told = isinstance(error, PlayerError)
        fault = one_line(str(error)) if is_told else f"the player raised {_error_text(error)}"
        _log.error("%s", fault)
        traceback.print_exception(error)
        assert self._setup is not None
        assert self._machine is not None
        decision = self._best
        # Whatever it was: begin with the first turn.
        self._setup, self._snapshots = replace(self._setup, snapshots=()), ()
        if decision is None:
            try:
                simple = self._setup.for_stand_in()
                self._player, self._followed = self._new_player(simple, self._machine, deadline), 0
                self._follow(simple, deadline)
                decision = self._player.choose(deadline)
            except MemoryError:
                raise
            except Exception as another:
                _log.error("the substitute player raised %s", _error_text(another))
        self._player, self._replaced, self._followed = None, None, 0
        if decision is None:
            self._send(orders.GaveUp(order.number, fault))
        else:
            self._send(orders.MoveReport(order.number, True, replace(decision, fault=fault)))

    def _follow(self, setup: Setup, deadline: Deadline) -> None:
        """Give the player of this setup the turns that it does not have."""
        if not self._followed:
            self._resume()
        while self._followed < len(self._turns):
            turn = self._turns[self._followed]
            assert self._player is not None
            try:
                # One turn of a long history must not take the whole time.
                _observe(self._player, turn, deadline.part(1 / (len(self._turns) - self._followed)))
                self._followed += 1
            except MachineError as error:
                if not isinstance(self._player, KnownStatePlayer):
                    raise
                _log.info("a belief is needed: %s", error)
                assert self._machine is not None
                self._player = self._new_player(setup, self._machine, deadline, follow=False)
                self._followed = 0

    def _resume(self) -> None:
        """Let a new player begin with the first snapshot that is of its path."""
        turns = [(turn.move, turn.percepts, turn.submitted, turn.in_time) for turn in self._turns]
        for snapshot in self._snapshots:
            if not self._followed and isinstance(self._player, Believing):
                try:
                    self._followed = self._player.resume(snapshot, turns)
                    _log.info("%d turns need not be followed again", self._followed)
                except SnapshotError as error:
                    self._snapshots = tuple(text for text in self._snapshots if text != snapshot)
                    _log.warning("%s: the match is followed from its first turn", error)

    def _clock(self) -> float:
        """The time; far in the future once there is a newer order, so that a search ends."""
        return _FAR_AHEAD_S if self._is_interrupted() else time.monotonic()

    def _report(self, decision: Decision) -> None:
        """Send the best move so far, unless the same move was sent a moment ago."""
        self._best = decision
        move, at_s = self._last_report
        now_s = time.monotonic()
        if decision.move != move or now_s - at_s >= BETWEEN_REPORTS_S:
            self._last_report = decision.move, now_s
            self._send(orders.MoveReport(self._number, False, decision))


def _observe(player: Player, turn: PathTurn, deadline: Deadline) -> None:
    """Give a player a turn.

    Where the server does not say which move was executed, it was ours if it was legal: one of which
    that is not certain counts as unknown.
    """
    move = turn.move
    if move and turn.assumed and isinstance(player, Believing) and not player.is_sure(move):
        move = None
    player.observe(
        move,
        turn.percepts,
        submitted=turn.submitted,
        in_time=turn.in_time,
        deadline=deadline,
    )


def _program(rules: str) -> Program:
    """The playable part of the rules: a faulty rule must not cost the match."""
    program = normalize(parse(rules, "the rules", lenient=True), lenient=True)
    if program.diagnostics:
        texts = "; ".join(f"{d.message} [{d.rule}]" for d in program.diagnostics)
        _log.warning("%d warnings about the rules: %s", len(program.diagnostics), one_line(texts))
    return program


def _limits(setup: Setup) -> Limits:
    """Limits of the reasoners, derived from the memory and time of a worker."""
    return Limits(
        stack_bytes=min(Limits().stack_bytes, setup.memory_bytes // 4),
        table_bytes=min(Limits().table_bytes, setup.memory_bytes // 8),
        grounding_seconds=setup.grounding_s,
        grounding_wait_seconds=setup.grounding_s,
        grounding_bytes=min(Limits().grounding_bytes, setup.memory_bytes),
        threads=setup.threads,
    )


def _error_text(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}")


def one_line(text: str) -> str:
    """A text without line breaks, shortened for a log."""
    return " ".join(text.split())[:_LONGEST_SAID]


# ------------------------------------------------------------------------
# A role's goal value at the end of a match, computed from its path.
#
# Servers do not send the score. If the path has all moves, the rules give the score. Otherwise it
# is known only if the whole information set at the end was found, and all its states have the same
# goal value.

_DRAWN = 2_000
"""Number of states before the last turn that are drawn to find possible ends of the match."""


def goal_at_end(
    machine: Machine, setup: Setup, turns: Sequence[PathTurn], deadline_s: float
) -> float | None:
    """The goal value of our role after the last turn of a match.

    Args:
        machine: of the game; its percepts include joint moves if the server sends them.
        setup: of the match.
        turns: all turns of the match, as our role received them.
        deadline_s: the end of the search for states, on `time.monotonic`.

    Returns:
        None if it is unknown.
    """
    if not turns:
        return None
    role, rng = role_index(machine, setup.role), np.random.default_rng(setup.seed)
    try:
        goals = _goals_of_moves(machine, role, turns, rng)
        if goals is None:
            deadline = Deadline(deadline_s, time.monotonic)
            goals = _goals_of_path(machine, role, turns, rng, deadline)
    except (GGPError, OutOfTime):
        return None
    worth = np.unique(goals)
    return float(worth[0]) if len(worth) == 1 else None


def _goals_of_moves(
    machine: Machine, role: int, turns: Sequence[PathTurn], rng: np.random.Generator
) -> FloatArray | None:
    """The goal in the true state; None if the turns do not show all moves."""
    player = KnownStatePlayer(machine, role, rng)
    try:
        for turn in turns:
            player.observe(turn.move, turn.percepts)
    except MachineError:
        return None
    goals: FloatArray = machine.goals(player.state)[machine.terminal(player.state), role]
    return goals


def _goals_of_path(
    machine: Machine,
    role: int,
    turns: Sequence[PathTurn],
    rng: np.random.Generator,
    deadline: Deadline,
) -> FloatArray:
    """The goals in states that agree with the path; empty unless the information set before the
    last turn is complete."""
    player = make_player(parse_spec("random"), machine, role, rng)
    assert isinstance(player, BeliefPlayer)
    *earlier, last = turns
    for turn in earlier:
        _observe(player, turn, deadline)
    tracker = player.tracker
    ended = tracker.ended(last.move, last.percepts, _DRAWN) if tracker.bag.exact[0] else None
    return np.empty(0) if ended is None else machine.goals(ended)[:, role]
