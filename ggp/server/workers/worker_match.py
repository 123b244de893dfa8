"""One match in a worker process: builds a machine and a player from rules, and finds moves.

This is the only place of the server where rules are compiled and players search. A player may be
anybody's code, and a mistake in it costs no match: its exception is reported, another player
decides in its place, and the next order finds a new player, which gets all turns from the
beginning.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ggp.errors import BackendUnavailableError, GGPError, MachineError, PlayerError
from ggp.gdl import parse
from ggp.gdl.analysis.joint_move_percepts import never_tells, told_by
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.machine import Limits, Machine, build_machine, role_index
from ggp.machine.abilities import Prover
from ggp.machine.base import FloatArray
from ggp.machine.build import build_by_the_first_clock, reveal_moves
from ggp.machine.propnet.compile.ground_rules.forecast import GroundingForecast
from ggp.players import Context, Decision, Player, make_player, parse_spec, player_of
from ggp.players.known_state import KnownStatePlayer
from ggp.players.parts.belief_player import BeliefPlayer
from ggp.players.player import Believing, Pondering, Preparing
from ggp.players.random_legal import RandomLegal
from ggp.players.sampled_states import SampledStates
from ggp.protocol.path import PathTurn
from ggp.search.anytime import Deadline, OutOfTime
from ggp.server.workers import orders
from ggp.server.workers.orders import Answer, Conclude, Setup, Think

BETWEEN_REPORTS_S = 0.05
"""Least time between two reports of the same move."""

PONDER_S = 10.0
"""Time that a player may compute after each answer, while nobody waits for it."""

OVERRUN_S = 0.3
"""CPU time beyond that of an order after which listing moves takes too long in this game: a guess
could not be sent in time while it goes on."""

_FAR_AHEAD_S = 1e15
"""Time shown to a search that is to be interrupted; finite, so that sums stay numbers."""

_LONGEST_SAID = 500

_log = logging.getLogger(__name__)


class WorkerMatch:
    """The match of a worker.

    Args:
        send: sends answers to the server.
        is_interrupted: whether there is a newer order, so that a search must end.
    """

    def __init__(self, send: Callable[[Answer], None], is_interrupted: Callable[[], bool]) -> None:
        self._send, self._is_interrupted = send, is_interrupted
        self._setup: Setup | None = None
        self._program: Program | None = None
        self._machine: Machine | None = None
        self._player: Player | None = None
        self._before: Believing | None = None  # the player that got another history
        self._is_told_moves = False
        self._other_machine: Machine | None = None  # for the other reading of the messages
        self._turns: list[PathTurn] = []
        self._followed = 0  # turns that the player knows
        self._guesser: SampledStates | None = None
        self._guessed = 0  # turns that it knows
        self._only_guesses = False
        self._only_looked = False
        self._number = -1
        self._last_report: tuple[str, float] = ("", 0.0)
        self._best: Decision | None = None  # of the player's reports for this order

    def build(self, setup: Setup) -> None:
        """Build the machine and the player; answers `MachineBuilt` or `Failed`."""
        started_s = time.monotonic()
        try:
            self._program = program = _program(setup.rules)
            self._machine = machine = self._build(program, setup)
            self._setup, self._is_told_moves = setup, told_by(program) is not None
            self._player = self._first_player(setup, machine)
        except GGPError as error:
            self._send(orders.Failed(one_line(str(error))))
            return
        self._send(
            orders.MachineBuilt(machine.backend, machine.roles, time.monotonic() - started_s)
        )

    def _build(self, program: Program, setup: Setup) -> Machine:
        """A machine on the requested backend, or on the other one if Prolog is not installed.

        If any will do, one is ready when the first clock asks for a move.
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
        """Find out what the end of the match is worth to our role; answers `FinalGoal`."""
        self._turns[order.keep :], goal = order.turns, None
        if self._setup is not None and self._machine is not None:
            self._heed_moves(self._setup)
            goal = goal_at_end(self._machine, self._setup, self._turns, order.deadline_s)
        self._send(orders.FinalGoal(goal))

    def take_note(self, order: Think) -> None:
        """Remember the turns of an order; the player gets them when it is to search."""
        self._turns[order.keep :] = order.turns
        if order.keep < self._followed:
            self._before = self._player if isinstance(self._player, Believing) else None
            self._player, self._followed = None, 0
        if order.keep < self._guessed:
            self._guesser, self._guessed = None, 0

    def think(self, order: Think) -> None:
        """Find a move; answers with reports, the last of them final, or `GaveUp`."""
        if self._machine is None or self._setup is None:
            self._send(orders.GaveUp(order.number, "there is no machine for the rules"))
            return
        self._number, self._last_report, self._best = order.number, ("", 0.0), None
        self._only_looked = order.number == orders.FIRST_LOOK
        if self._only_looked:
            order = self._prepared(order)
        deadline = Deadline(order.deadline_s, self._clock)
        self._heed_moves(self._setup)
        used_s, until_s = time.process_time(), max(order.deadline_s - time.monotonic(), 0.0)
        guess = self._guess(deadline)
        if guess is not None and self._only_guesses:
            self._send(orders.MoveReport(order.number, True, guess))
            return
        try:
            self._player = self._player or self._new_player(self._setup, self._machine)
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
            self._only_guesses, decision = True, guess
        except MemoryError:
            raise
        except Exception as error:
            self._decide_without(order, error, deadline)
            return
        if guess is not None and time.process_time() - used_s > until_s + OVERRUN_S:
            _log.warning("only guesses from now on: finding moves cannot be interrupted in time")
            self._only_guesses = True
        self._send(orders.MoveReport(order.number, True, decision))

    def _heed_moves(self, setup: Setup) -> None:
        """Change to a machine that reveals joint moves if the server sends them although the rules
        do not, and back if that reading of its messages was wrong.

        Servers of plain GDL may know `random`, so that they play games of chance, but not `sees`.
        """
        program, machine = self._program, self._machine
        if program is None or machine is None or not never_tells(program) or told_by(program):
            return
        is_told = any(turn.tells_moves(program.roles) for turn in self._turns)
        if is_told == self._is_told_moves:
            return
        if self._other_machine is None:
            _log.info("the server sends joint moves, as in plain GDL")
            try:
                self._other_machine = reveal_moves(machine, program, _limits(setup))
            except GGPError as error:
                _log.warning("joint moves are sent, but cannot be used: %s", one_line(str(error)))
                return
        self._machine, self._other_machine = self._other_machine, machine
        self._is_told_moves, self._player, self._followed = is_told, None, 0
        self._before = None
        self._guesser, self._guessed = None, 0

    def _guess(self, deadline: Deadline) -> Decision | None:
        """A probably legal move, sent at once: finding out for certain may take too long.

        Only for a player that just looks for a legal move, and does not get the joint moves.
        """
        machine, setup = self._machine, self._setup
        if machine is None or setup is None or self._is_told_moves:
            return None
        if not isinstance(machine, Prover) or parse_spec(setup.player).player is not RandomLegal:
            return None
        try:
            if self._guesser is None:
                rng = np.random.default_rng(setup.seed)
                self._guesser = SampledStates(machine, role_index(machine, setup.role), rng)
            for turn in self._turns[self._guessed :]:
                self._guessed += 1
                self._guesser.observe(turn.move, turn.percepts, deadline=deadline)
            guess = self._guesser.choose(deadline)
        except GGPError as error:
            _log.info("no move can be guessed: %s", error)
            return None
        self._report(guess)
        return guess

    def _prepared(self, order: Think) -> Think:
        """Let the player use the start clock; returns what is left of the order."""
        if not self._turns:
            self.use_start_clock(order.deadline_s - orders.FIRST_LOOK_S - time.monotonic())
        until_s = min(order.deadline_s, time.monotonic() + orders.FIRST_LOOK_S)
        return replace(order, deadline_s=until_s)

    def use_start_clock(self, seconds: float) -> None:
        """Let the player prepare, if it can, for so long."""
        if seconds > 0 and isinstance(self._player, Preparing):
            self._use_time(self._player.prepare, seconds)

    def ponder(self) -> None:
        """Let the player use the time until the next order; nothing is answered.

        Not after the first look: a player thinks on about what comes of the move that it chose, and
        nobody was told of that one. Later it would have been tried far more often than any other.
        """
        if self._only_guesses or self._only_looked or not isinstance(self._player, Pondering):
            return
        self._use_time(self._player.ponder)

    def _use_time(self, think: Callable[[Deadline], None], seconds: float = PONDER_S) -> None:
        """Have the player think while nobody waits for it."""
        try:
            think(Deadline(time.monotonic() + seconds, self._clock))
        except MemoryError:
            raise
        except Exception as error:
            _log.error("the player raised %s while nobody waited", _named(error))
            traceback.print_exception(error)
            self._player, self._before, self._followed = None, None, 0

    def _first_player(self, setup: Setup, machine: Machine) -> Player | None:
        """A player; None if its constructor raised, which is tried again when it is asked."""
        try:
            return self._new_player(setup, machine)
        except PlayerError as error:
            _log.error("%s", error)
            return None
        except (GGPError, MemoryError):
            raise
        except Exception as error:
            _log.error("making the player raised %s", _named(error))
            return None

    def _new_player(self, setup: Setup, machine: Machine, *, follow: bool = True) -> Player:
        """A player for the match, at its beginning.

        Args:
            follow: whether the server's messages may be taken for the whole joint move.
        """
        spec, role = parse_spec(setup.player), role_index(machine, setup.role)
        rng = np.random.default_rng(setup.seed)
        if follow and self._is_told_moves and spec.player is RandomLegal:
            return KnownStatePlayer(machine, role, rng)
        before, self._before = self._before, None
        context = Context(
            machine,
            role,
            rng,
            report=self._report,
            program=self._program,
            belief=None if before is None else before.belief,
        )
        return player_of(spec, context)

    def _decide_without(self, order: Think, error: Exception, deadline: Deadline) -> None:
        """Answer an order on which the player failed: by its best move so far, else by any legal
        one, else with `GaveUp`.

        At the next order there is a new player from the beginning, since the state of this one is
        unknown. The understudy could not answer instead: Prolog may list no move in time where this
        process has a circuit. Nor is the history in doubt, as it is after an order that was given
        up.
        """
        fault = _failure(error)
        _log.error("%s", fault)
        traceback.print_exception(error)
        assert self._setup is not None
        assert self._machine is not None
        decision = self._best
        if decision is None:
            try:
                simple = self._setup.for_stand_in()
                self._player, self._followed = self._new_player(simple, self._machine), 0
                self._follow(simple, deadline)
                decision = self._player.choose(deadline)
            except MemoryError:
                raise
            except Exception as another:
                _log.error("its stand-in raised %s", _named(another))
        self._player, self._before, self._followed = None, None, 0
        if decision is None:
            self._send(orders.GaveUp(order.number, fault))
        else:
            self._send(orders.MoveReport(order.number, True, replace(decision, fault=fault)))

    def _follow(self, setup: Setup, deadline: Deadline) -> None:
        """Give the player, which was made by this setup, the turns it does not have."""
        while self._followed < len(self._turns):
            turn = self._turns[self._followed]
            try:
                self._observe(turn, deadline)
                self._followed += 1
            except MachineError as error:
                if not isinstance(self._player, KnownStatePlayer):
                    raise
                _log.info("a belief is needed: %s", error)
                assert self._machine is not None
                self._player = self._new_player(setup, self._machine, follow=False)
                self._followed = 0

    def _observe(self, turn: PathTurn, deadline: Deadline) -> None:
        assert self._player is not None
        self._player.observe(
            turn.move,
            turn.percepts,
            submitted=turn.submitted,
            in_time=turn.in_time,
            deadline=deadline,
        )

    def _clock(self) -> float:
        """The time; far ahead as soon as there is a newer order, so that a search ends."""
        return _FAR_AHEAD_S if self._is_interrupted() else time.monotonic()

    def _report(self, decision: Decision) -> None:
        """Send the best move so far, unless it was sent a moment ago."""
        self._best = decision
        move, at_s = self._last_report
        now_s = time.monotonic()
        if decision.move != move or now_s - at_s >= BETWEEN_REPORTS_S:
            self._last_report = decision.move, now_s
            self._send(orders.MoveReport(self._number, False, decision))


def _program(rules: str) -> Program:
    """The playable part of the rules: a faulty rule must not cost the match."""
    program = normalize(parse(rules, "the rules", lenient=True), lenient=True)
    if program.diagnostics:
        shown = "; ".join(f"{d.message} [{d.rule}]" for d in program.diagnostics)
        _log.warning("%d warnings about the rules: %s", len(program.diagnostics), one_line(shown))
    return program


def _limits(setup: Setup) -> Limits:
    """Limits of the reasoners, from the memory and time of a worker."""
    return Limits(
        stack_bytes=min(Limits().stack_bytes, setup.memory_bytes // 4),
        table_bytes=min(Limits().table_bytes, setup.memory_bytes // 8),
        grounding_seconds=setup.grounding_s,
        grounding_wait_seconds=setup.grounding_s,
        grounding_bytes=min(Limits().grounding_bytes, setup.memory_bytes),
        threads=setup.threads,
    )


def _failure(error: Exception) -> str:
    """The fault of a player that raised, or whose constructor did."""
    if isinstance(error, PlayerError):
        return one_line(str(error))
    return f"the player raised {_named(error)}"


def _named(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}")


def one_line(text: str) -> str:
    """A text without line breaks, not too long for a log."""
    return " ".join(text.split())[:_LONGEST_SAID]


# ------------------------------------------------------------------------
# What the end of a match was worth to a role, as far as its path tells.
#
# Servers do not say the score. Where every move is told, the rules give it; elsewhere it is known
# if all states that agree with the whole path are worth the same, and all of them were found.

_DRAWN = 2_000
"""States before the last turn that are drawn to see how it may have ended the match."""


def goal_at_end(
    machine: Machine, setup: Setup, turns: Sequence[PathTurn], deadline_s: float
) -> float | None:
    """The goal value of our role after the last turn of a match.

    Args:
        machine: of the game; its percepts tell joint moves if the server does.
        setup: of the match.
        turns: all turns of the match, as our role was told.
        deadline_s: until when, on `time.monotonic`, states may be searched for.

    Returns:
        None if it is not known.
    """
    if not turns:
        return None
    role, rng = role_index(machine, setup.role), np.random.default_rng(setup.seed)
    try:
        goals = _goals_of_told(machine, role, turns, rng)
        if goals is None:
            deadline = Deadline(deadline_s, time.monotonic)
            goals = _goals_of_path(machine, role, turns, rng, deadline)
    except (GGPError, OutOfTime):
        return None
    worth = np.unique(goals)
    return float(worth[0]) if len(worth) == 1 else None


def _goals_of_told(
    machine: Machine, role: int, turns: Sequence[PathTurn], rng: np.random.Generator
) -> FloatArray | None:
    """The goal in the true state; None if not all moves are told."""
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
    """The goals in states that agree with the path; none unless all of those before the last turn
    were found."""
    player = make_player(parse_spec("random"), machine, role, rng)
    assert isinstance(player, BeliefPlayer)
    *earlier, last = turns
    for turn in earlier:
        player.observe(
            turn.move,
            turn.percepts,
            submitted=turn.submitted,
            in_time=turn.in_time,
            deadline=deadline,
        )
    tracker = player.tracker
    ended = tracker.ended(last.move, last.percepts, _DRAWN) if tracker.bag.exact[0] else None
    return np.empty(0) if ended is None else machine.goals(ended)[:, role]
