"""Plays a match of the table in a worker process, with the people at the table as guests.

It sends events to the server as they happen (`frame`, `ask`, `thought`); people's moves come back
the same way. A frame has one part for visitors who may see everything, and one part for each
person. A person's part comes from the role's own moves and percepts and the knowledge that follows
from them (`knowledge`); from the state only if every role sees every move by the rules.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ggp.errors import NOTE, GGPError, MatchError
from ggp.gdl.analysis.told_moves import move_percept
from ggp.machine import Limits, Machine
from ggp.machine.build import make_ready
from ggp.machine.definition import GameDefinition
from ggp.players import Decision
from ggp.players.elsewhere.from_json import decision_json
from ggp.run import calls
from ggp.search.anytime import Deadline
from match_runner.match.apart import NoAnswerError
from match_runner.match.conditions import Conditions
from match_runner.match.frames import MatchArtist
from match_runner.match.knowledge import Knowledge
from match_runner.match.records import MatchRecord, TurnRecord
from match_runner.match.referee import LeftError, play_match
from match_runner.match.seats import HUMAN as HUMAN
from match_runner.match.seats import Arena, Seat, set_up
from match_runner.pictures.kinds import Json, fact
from match_runner.series.match_task import machines_of, order_of, rehearse

_log = logging.getLogger(__name__)

REPORT_EVERY_S = 0.1
"""Least seconds between two reports of a player's values: people read no faster."""


@dataclass(frozen=True, slots=True)
class TableTask:
    """A match of the table for a worker to play.

    Attributes:
        game: name of the game in the record.
        rules: text of the rules.
        side_file: file that says how to draw the game, or None.
        players: spec, address or `HUMAN` for every role but `random`.
        seed: seed of the match.
        conditions: conditions of the match for players that are not people.
        human_clock_s: seconds for each decision of a person; None for no limit.
        earlier: turns that were played before the server restarted.
    """

    game: str
    rules: str
    side_file: Path | None
    players: Mapping[str, str]
    seed: int
    conditions: Conditions
    human_clock_s: float | None
    earlier: tuple[TurnRecord, ...] = ()


def play_at_table(task: TableTask) -> MatchRecord:
    """Play a match, and report it to the server.

    Raises:
        GGPError: the match could not begin.
    """
    mail = _Mail()
    link = WorkerLink(mail.deliver)
    with StepReports(link) as preparing:
        while True:
            arena, reporter = _prepare(task, link, mail, preparing)
            record = play_match(
                arena, task.seed, task.conditions, watcher=reporter, earlier=task.earlier
            )
            if reporter.back_to is None:
                return record
            # A move was taken back: everybody begins anew, and sees the turns that still count.
            task = replace(task, earlier=record.turns[: reporter.back_to])


def _prepare(
    task: TableTask, link: WorkerLink, mail: _Mail, preparing: StepReports
) -> tuple[Arena, _Reporter]:
    """Make machines and players, and report the steps, since compilation may take long.

    People see the first state and can choose their moves meanwhile.
    """
    preparing.begin("Reading the rules and building a machine", 0.05, 0.4)
    has_clock = task.conditions.play_clock_s is not None
    people = [role for role, player in task.players.items() if player == HUMAN]
    programs = {role: player for role, player in task.players.items() if player != HUMAN}
    # Machines are made ready when people see the first state.
    is_ready = has_clock and not people
    program, machines = machines_of(task.game, task.rules, "auto", Limits(), is_ready)
    reporter = _Reporter(task, program, machines, link, mail)
    preparing.begin("Getting the players ready", 0.4, 1.0)
    if people and not task.earlier and task.human_clock_s is None:
        try:
            reporter.show_first(machines[0])
        except LinkBrokenError:
            raise
        except GGPError as error:  # the match will come to it
            _log.info("the first state cannot be shown: %s", error)
    order = order_of(task.conditions, program, machines, Limits())
    if has_clock:  # a player that has not played before takes longer for its first move
        for machine in machines:
            make_ready(machine)
        stand_ins = {**programs, **dict.fromkeys(people, "random")}
        rehearse(
            set_up(task.game, program, stand_ins, machines, order=order),
            task.rules,
            task.conditions.remote.start_clock_s,
            own_process=True,
        )
    preparing.begin("Beginning the match", 1.0, 1.0)
    arena = set_up(
        task.game,
        program,
        {**programs, **{role: Seat(HUMAN, partial(_Person, role, reporter)) for role in people}},
        machines,
        report=reporter.report,
        order=order,
    )
    return arena, reporter


class _Mail:
    """Mailboxes for people's moves, by role; the end of the match wakes everybody who waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._boxes: dict[str, queue.SimpleQueue[Message | None]] = {}
        self.ended = False

    def box(self, role: str) -> queue.SimpleQueue[Message | None]:
        """Queue in which the moves of a role arrive."""
        with self._lock:
            return self._boxes.setdefault(role, queue.SimpleQueue())

    def deliver(self, message: Message | None) -> None:
        """Deliver a message; None means that the link is broken."""
        if message is not None and message["kind"] in ("move", "back"):
            self.box(message["role"]).put(message)
            return
        self.ended = True
        with self._lock:
            boxes = list(self._boxes.values())
        for box in boxes:
            box.put(None)


class _Reporter:
    """A `Watcher` of the match that reports it to the server.

    Attributes:
        back_to: number of turns that still count once a person takes a move back; else None.
    """

    def __init__(
        self,
        task: TableTask,
        program: GameDefinition,
        machines: Sequence[Machine],
        link: WorkerLink,
        mail: _Mail,
    ) -> None:
        self._task, self._link, self._mail = task, link, mail
        self._artist = MatchArtist(program, task.side_file)
        self._turn = 0
        self._is_told = move_percept(program.as_program()) is not None
        self._knowledge: dict[str, Knowledge] = {}
        self._may: dict[str, Json] = {}  # picture of each role's belief
        self._last_seen: dict[str, Json] = {}  # last picture that each role saw
        self._reported_s: dict[str, float] = {}
        self._num_legal: dict[str, int] = {}  # moves among which each person chooses
        self.back_to: int | None = None
        self._is_shown = False
        self._asked: set[str] = set()  # people who have been asked for their first move already
        for index, role in enumerate(program.roles):
            if task.players.get(role) == HUMAN and not self._is_told:
                self._knowledge[role] = Knowledge(machines[1 + index], index, task.seed)

    def show_first(self, machine: Machine) -> None:
        """Show the first state and ask people for moves, before the match begins."""
        state = machine.initial(1)
        if machine.terminal(state)[0]:
            return
        self.reached(None, machine.fluents(state)[0], over=False)
        self._is_shown = True
        for index, role in enumerate(machine.roles):
            if self._task.players.get(role) == HUMAN:
                legal = machine.legal(state, index)[0].tolist()
                self.ask(role, tuple(sorted(map(machine.move_text, legal))))
                self._asked.add(role)

    def reached(self, turn: TurnRecord | None, fluents: tuple[str, ...], *, over: bool) -> None:
        if self._mail.ended:
            raise LinkBrokenError("the match was ended")
        if turn is None and self._is_shown:
            return
        self._turn += turn is not None
        is_old = 0 < self._turn <= len(self._task.earlier)
        frame = self._artist.frame(self._turn, turn, fluents, over=over)
        people = [role for role, player in self._task.players.items() if player == HUMAN]
        self._link.send(
            {
                "kind": "frame",
                "number": self._turn,
                "all": frame,
                "seats": {role: self._seat_frame(role, frame, turn) for role in people},
                "may": dict(self._may),
                "record": None if turn is None or is_old else asdict(turn),
            }
        )

    def report(self, role: str, decision: Decision) -> None:
        """Report a player's best decision so far; see `set_up`."""
        now_s = time.monotonic()
        if now_s - self._reported_s.get(role, 0.0) >= REPORT_EVERY_S:
            self._reported_s[role] = now_s
            thought = decision_json(decision)
            self._link.send(
                {
                    "kind": "thought",
                    "role": role,
                    "turn": self._turn,
                    "decision": thought,
                    "words": self._artist.words_of([(role, v["move"]) for v in thought["values"]]),
                }
            )

    def ask(self, role: str, legal: Sequence[str]) -> None:
        """Have the server ask a person for a move."""
        self._num_legal[role] = len(legal)
        if role in self._asked:
            self._asked.remove(role)
            return
        sure = self._knowledge[role].facts().legal if role in self._knowledge else set(legal)
        words = self._artist.words_of([(role, move) for move in legal])["moves"]
        moves = [
            {
                "move": move,
                "words": words[move],
                "cells": self._artist.cells(move, role),
                "drops": self._artist.drops_in(move),
                "sure": move in sure,
            }
            for move in legal
        ]
        clock_s = self._task.human_clock_s
        self._link.send(
            {"kind": "ask", "role": role, "turn": self._turn, "moves": moves, "clock_s": clock_s}
        )

    def answer(self, role: str, legal: Sequence[str], began_s: float) -> str:
        """Wait for the move of a person, and return it.

        Args:
            began_s: when its clock started, on `time.monotonic`.

        Raises:
            NoAnswerError: the clock ran out.
            LeftError: a move is taken back, see `back_to`.
            LinkBrokenError: the match was ended.
        """
        box, clock_s = self._mail.box(role), self._task.human_clock_s
        while not self._mail.ended:
            left_s = None if clock_s is None else max(began_s + clock_s - time.monotonic(), 0.0)
            try:
                message = box.get(timeout=left_s)
            except queue.Empty:
                raise NoAnswerError(f"gave no answer within {clock_s:g} s") from None
            if message is not None and message["kind"] == "back":
                self.back_to = message["turn"]
                raise LeftError(role)
            if message is not None and message["turn"] == self._turn and message["move"] in legal:
                return str(message["move"])
        raise LinkBrokenError("the match was ended")

    def _seat_frame(self, role: str, frame: Json, turn: TurnRecord | None) -> Json:
        """The part of a frame for one role: it may contain nothing that the role must not see."""
        seat_frame: Json = {"turn": frame["turn"], "over": frame["over"], "move": None}
        seat_frame |= {"percepts": [], "view": None, "known": None, "marks": [], "faults": []}
        seat_frame |= {"words": {}, "chose": False}
        if turn is not None:
            move = turn.joint_move[role]
            moved = turn.joint_move if self._is_told else {role: move}
            waited = self._artist.words_of([(role, move)])["moves"][move] == "wait"
            others = [name for name in self._task.players if name != role]
            mover = (others[0] if len(others) == 1 else None) if waited else role
            seat_frame |= {
                "words": self._artist.words_of(
                    moved.items(), turn.percepts[role], seer=role, mover=mover
                ),
                "move": move,
                # Of turns before a restart we do not know how many moves there were.
                "chose": self._num_legal[role] > 1 if role in self._num_legal else not waited,
                "percepts": list(turn.percepts[role]),
                "view": frame["views"][role],
                "faults": [fault["text"] for fault in frame["faults"] if fault["role"] == role],
            }
        if self._is_told:
            open_ = {name: frame[name] for name in ("state", "moves", "marks")}
            return {**seat_frame, **open_}
        knowledge = self._knowledge[role]
        if turn is not None and not frame["over"]:
            late = any(f.role == role and f.kind == "late" for f in turn.faults)
            knowledge.observe(
                turn.joint_move[role],
                turn.percepts[role],
                turn.submitted.get(role),
                in_time=not late,
            )
        facts = knowledge.facts()
        about = {"states": facts.states, "exact": facts.exact}
        state = self._artist.certain(facts.shares, self._last_seen.get(role))
        state["facts"] += map(fact, facts.lines())
        self._may[role] = self._artist.heat(facts.likely)
        if turn is not None:
            moves = {role: turn.joint_move[role]}
            if not frame["over"]:  # what it knew before its last move does not show that move
                last_seen = self._last_seen.get(role, {})
                seat_frame["marks"] = self._artist.marks(moves, last_seen, state)
        self._last_seen[role] = state
        return {**seat_frame, "state": state, "known": about}


class _Person:
    """A person in the match; a `Guest`."""

    states_visited = 0

    def __init__(self, role: str, reporter: _Reporter, _: np.random.Generator) -> None:
        self._role, self._reporter = role, reporter
        self._legal: Sequence[str] = ()
        self._began_s = 0.0

    def observe(self, move: str | None, percepts: Sequence[str] | None, **_: Any) -> None:
        """Do nothing: the seat has already seen the turn, in the frame."""

    def invite(self, legal: Sequence[str]) -> None:
        self._legal = legal
        self._began_s = time.monotonic()
        self._reporter.ask(self._role, legal)

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        move = self._reporter.answer(self._role, self._legal, self._began_s)
        return Decision(move, (), 0, False, 0, time.monotonic() - self._began_s)


# ------------------------------------------------------------------------
# Reports the steps before the first turn to the server, since they take long for a new game.
#
# A step has the finished shares of the whole at its beginning and its end; in between the page can
# only guess. Notes of our modules, such as that machine code is compiled, are reported too.


class StepReports(logging.Handler):
    """Reports the steps before a match; as a context manager, also the notes of our modules."""

    def __init__(self, link: WorkerLink) -> None:
        super().__init__(NOTE)
        self._link = link
        self._step = ("", 0.0, 0.0)

    def __enter__(self) -> StepReports:
        logger = logging.getLogger("ggp")
        self._level = logger.level
        if logger.getEffectiveLevel() > NOTE:
            logger.setLevel(NOTE)
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("ggp")
        logger.removeHandler(self)
        logger.setLevel(self._level)

    def begin(self, text: str, share: float, until: float) -> None:
        """Begin a step.

        Args:
            share, until: finished shares of the whole when the step begins and when it ends.
        """
        self._step = text, share, until
        self._tell("")

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == NOTE:
            try:
                self._tell(record.getMessage())
            except LinkBrokenError:  # the match will notice
                return

    def _tell(self, note: str) -> None:
        text, share, until = self._step
        step = {"text": text, "note": note, "share": share, "until": until}
        self._link.send({"kind": "preparing", **step})


# ------------------------------------------------------------------------
# The link between a match in a worker process and the server: JSON objects, in both directions.
#
# They travel with the call that plays the match (`ggp.run.calls`).

Message = Mapping[str, Any]
"""An object with the field `kind`."""


class LinkBrokenError(MatchError):
    """The server is gone, or has ended the match."""


class WorkerLink:
    """The worker's end of the link.

    Args:
        hear: called with every message of the server, in another thread; with None after the last
            one.
    """

    def __init__(self, hear: Callable[[Message | None], None] = lambda message: None) -> None:
        self._hear, self._is_broken = hear, False
        calls.listen(self._take)

    def send(self, message: Message) -> None:
        """Send the server a message.

        Raises:
            LinkBrokenError: the match was ended.
        """
        if self._is_broken:
            raise LinkBrokenError("the match was ended")
        calls.tell(json.dumps(message).encode())

    def _take(self, message: Message | None) -> None:
        self._is_broken = self._is_broken or message is None
        self._hear(message)
