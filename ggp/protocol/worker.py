"""The process that a match thinks in: orders on standard input, answers on standard output.

It is the only place where rules become a machine, it has one match in its life, and whatever
happens to it, the server has another one. It dies with its parent, and when its input ends.
"""

from __future__ import annotations

import logging
import os
import queue
import shutil
import sys
import threading
import time
import traceback
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np

# What takes long to import is imported before there is a match.
import ggp.machine.prolog.machine  # noqa: F401
from ggp.errors import BackendUnavailableError, GGPError, MachineError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.gdl.telling import told_by
from ggp.machine import Limits, Machine, build_machine, role_index
from ggp.machine.prolog.engine import engine
from ggp.players import Decision, Player, make_player, parse_spec
from ggp.players.follower import Follower
from ggp.players.random_legal import RandomLegal
from ggp.protocol.orders import (
    EXIT_CRASHED,
    EXIT_ENDED,
    EXIT_OUT_OF_MEMORY,
    Answer,
    AreYouThere,
    Built,
    Failed,
    GaveUp,
    Here,
    Report,
    Said,
    Setup,
    Think,
    Up,
    read_order,
    to_line,
)
from ggp.protocol.sandbox import die_with, restrict
from ggp.protocol.turns import Turn
from ggp.search.anytime import Deadline

BETWEEN_REPORTS_S = 0.05
"""Reports of the same move come no faster than this."""

_FAR_AHEAD_S = 1e15
"""What the clock shows to a search that is to be broken off; finite, so that sums stay numbers."""

_STAND_IN = "random"
"""The player that looks for a legal move where ours failed."""

_MOST_SAID = 500
_LONGEST_SAID = 500

_log = logging.getLogger(__name__)


def main() -> NoReturn:
    """Be a worker until the input ends.

    The command line holds the parent's process id, the bytes of memory that may be used (0 to
    give up no right), 1 for a light worker that has no propositional network, how many folders
    may be written, these folders, and the module path.
    """
    parent, memory, light, number = (int(argument) for argument in sys.argv[1:5])
    folders = [Path(folder) for folder in sys.argv[5 : 5 + number]]
    # All is imported before rights are given up, while there is one thread: numba wants to
    # write to its cache, or would not even read it.
    if not (light and _may_have_prolog()):
        import_module("ggp.machine.propnet.play.machine")
    rights = restrict(memory, folders) if memory else ()
    die_with(parent)  # after any change of credentials, which would undo it
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anybody prints goes to standard error
    status = EXIT_CRASHED
    try:
        _Worker(sys.stdin.buffer, answers).run(rights)
    except MemoryError:
        status = EXIT_OUT_OF_MEMORY
    except BaseException as error:
        _log.error("%s: %s", type(error).__name__, error)
        traceback.print_exc()
    os._exit(status)


class _Worker:
    """One match in this process."""

    def __init__(self, orders: BinaryIO, answers: BinaryIO) -> None:
        self._input, self._answers = orders, answers
        self._lock = threading.Lock()
        self._orders: queue.SimpleQueue[Setup | Think] = queue.SimpleQueue()
        self._setup: Setup | None = None
        self._machine: Machine | None = None
        self._player: Player | None = None
        self._is_told_moves = False
        self._turns: list[Turn] = []
        self._followed = 0  # turns that the player knows
        self._number = -1
        self._last_report: tuple[str, float] = ("", 0.0)
        self._best: Decision | None = None  # of what the player reported for this order

    def run(self, rights: tuple[str, ...]) -> NoReturn:
        """Obey; ends with the process."""
        _tell_logs(self)
        _start_prolog()
        self.send(Up(rights))
        threading.Thread(target=self._read, name="ggp-orders", daemon=True).start()
        while True:
            order = self._orders.get()
            if isinstance(order, Setup):
                self._build(order)
            else:
                self._take_note(order)
                if self._orders.empty():  # else there is a newer one
                    self._think(order)

    def send(self, answer: Answer) -> None:
        """Tell the server; from any thread."""
        line = to_line(answer)
        with self._lock:
            try:
                self._answers.write(line)
                self._answers.flush()
            except (OSError, ValueError):
                os._exit(EXIT_ENDED)  # nobody listens

    # ---------------------------------------------------------------- orders

    def _read(self) -> None:
        """Collect orders as they come, so that a newer one can break an older one off."""
        try:
            for line in self._input:
                order = read_order(line)
                if isinstance(order, AreYouThere):
                    self.send(Here())
                else:
                    self._orders.put(order)
        finally:
            os._exit(EXIT_ENDED)

    def _build(self, setup: Setup) -> None:
        started_s = time.monotonic()
        try:
            program = normalize(parse(setup.rules, "the rules"))
            self._machine = machine = _build(program, setup)
            self._setup, self._is_told_moves = setup, told_by(program) is not None
        except GGPError as error:
            self.send(Failed(_one_line(str(error))))
            return
        try:
            self._player = self._new_player(setup, machine)
        except GGPError as error:
            self.send(Failed(_one_line(str(error))))
            return
        except MemoryError:
            raise
        except Exception as error:
            _log.error("making the player raised %s", _named(error))  # tried again when asked
        self.send(Built(machine.backend, machine.roles, time.monotonic() - started_s))

    def _new_player(self, setup: Setup, machine: Machine, *, follow: bool = True) -> Player:
        """A player for the match, at its beginning.

        Args:
            follow: whether what the server tells may be taken for the whole joint move.
        """
        spec, role = parse_spec(setup.player), role_index(machine, setup.role)
        rng = np.random.default_rng(setup.seed)
        if follow and self._is_told_moves and spec.player is RandomLegal:
            return Follower(machine, role, rng)
        return make_player(spec, machine, role, rng, report=self._report)

    def _take_note(self, order: Think) -> None:
        """Remember the turns of an order; the player hears of them when it is to think."""
        self._turns[order.keep :] = order.turns
        if order.keep < self._followed:
            self._player, self._followed = None, 0

    def _think(self, order: Think) -> None:
        if self._machine is None or self._setup is None:
            self.send(GaveUp(order.number, "there is no machine for the rules"))
            return
        self._number, self._last_report, self._best = order.number, ("", 0.0), None
        deadline = Deadline(order.deadline_s, self._clock)
        try:
            self._player = self._player or self._new_player(self._setup, self._machine)
            self._follow(self._setup, deadline)
            decision = self._player.choose(deadline)
        except GGPError as error:
            self.send(GaveUp(order.number, _one_line(str(error))))
            return
        except MemoryError:
            raise
        except Exception as error:
            found = self._stand_in(error, deadline)
            if found is None:
                self.send(GaveUp(order.number, f"the player raised {_named(error)}"))
                return
            decision = found
        self.send(Report(order.number, True, decision))

    def _stand_in(self, error: Exception, deadline: Deadline) -> Decision | None:
        """What is decided where the player failed: its best so far, else any legal move.

        A player may be anybody's code, and a mistake in it costs no match. At the next order there
        is a new one from the beginning: what state this one is in nobody knows.

        Returns:
            None if there is no such decision either.
        """
        _log.error("the player raised %s", _named(error))
        traceback.print_exception(error)
        assert self._setup is not None
        assert self._machine is not None
        decision = self._best
        if decision is None:
            try:
                simple = replace(self._setup, player=_STAND_IN)
                self._player, self._followed = self._new_player(simple, self._machine), 0
                self._follow(simple, deadline)
                decision = self._player.choose(deadline)
            except MemoryError:
                raise
            except Exception as another:
                _log.error("the one that stands in for it raised %s", _named(another))
        self._player, self._followed = None, 0
        if decision is None:
            return None
        return replace(decision, fault=f"the player raised {_named(error)}")

    def _follow(self, setup: Setup, deadline: Deadline) -> None:
        """Tell the player, which was made by this setup, the turns it does not know."""
        while self._followed < len(self._turns):
            turn = self._turns[self._followed]
            try:
                self._observe(turn, deadline)
                self._followed += 1
            except MachineError as error:
                if not isinstance(self._player, Follower):
                    raise
                _log.info("a belief is needed: %s", error)
                assert self._machine is not None
                self._player = self._new_player(setup, self._machine, follow=False)
                self._followed = 0

    def _observe(self, turn: Turn, deadline: Deadline) -> None:
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
        return time.monotonic() if self._orders.empty() else _FAR_AHEAD_S

    def _report(self, decision: Decision) -> None:
        """Tell the best move so far, unless it was told a moment ago."""
        self._best = decision
        move, at_s = self._last_report
        now_s = time.monotonic()
        if decision.move != move or now_s - at_s >= BETWEEN_REPORTS_S:
            self._last_report = decision.move, now_s
            self.send(Report(self._number, False, decision))


class _Teller(logging.Handler):
    """Sends what our loggers say to the server, up to a number of lines."""

    def __init__(self, worker: _Worker) -> None:
        super().__init__()
        self._worker = worker
        self._left = _MOST_SAID

    def emit(self, record: logging.LogRecord) -> None:
        self._left -= 1
        if self._left >= 0:
            text = _one_line(record.getMessage())
            self._worker.send(Said(record.levelname.lower(), text))


def _tell_logs(worker: _Worker) -> None:
    logger = logging.getLogger("ggp")
    logger.handlers = [_Teller(worker)]
    logger.propagate = False


def _build(program: Program, setup: Setup) -> Machine:
    """A machine on the backend that is wanted, on the other one if Prolog is not installed."""
    limits = Limits(
        stack_bytes=min(Limits().stack_bytes, setup.memory_bytes // 4),
        table_bytes=min(Limits().table_bytes, setup.memory_bytes // 8),
        grounding_seconds=setup.grounding_s,
        grounding_bytes=min(Limits().grounding_bytes, setup.memory_bytes),
    )
    try:
        return build_machine(program, setup.backend, limits)
    except BackendUnavailableError:
        if setup.backend != "prolog":
            raise
        return build_machine(program, "propnet", limits)


def _may_have_prolog() -> bool:
    return find_spec("pyswip") is not None and shutil.which("swipl") is not None


def _start_prolog() -> None:
    """Start SWI-Prolog if it is installed: that takes a while."""
    try:
        engine()
    except BackendUnavailableError as error:
        _log.info("%s", error)


def _named(error: Exception) -> str:
    return _one_line(f"{type(error).__name__}: {error}")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST_SAID]
