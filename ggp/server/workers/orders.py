"""Messages between the server and a worker process, as values and as JSON.

An order goes to the worker, an answer comes back. For example, in a match of two turns:

    Setup(rules, role, ...)              Up(rights), Foreseen(...), MachineBuilt(...)
    Think(1, keep=0, turns=())           MoveReport(1, final=False), ..., MoveReport(1, final=True)
    Think(2, keep=0, turns=(first,))     MoveReport(2, final=True)
    AreYouThere()                        Here()
    Conclude(keep=1, turns=(second,))    FinalGoal(goal)

`Think` contains only the turns that the worker does not have yet.

On the pipe they are JSON and not pickles: a worker handles input of strangers, and the server
trusts nothing that comes from it. So every field must have the type that its class declares, or the
message is malformed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, TypeVar, get_args
from weakref import WeakKeyDictionary

from ggp.errors import LocalProtocolError
from ggp.players.elsewhere.from_json import decision_json, read
from ggp.players.player import Decision
from ggp.protocol.path import History, PathTurn

_T = TypeVar("_T")

EXIT_ENDED = 0
EXIT_CRASHED = 70
EXIT_OUT_OF_MEMORY = 71
"""Exit statuses of a worker."""

MAX_MESSAGE_BYTES = 64 << 20
"""Longest message; rules come in a single one."""

MAX_MOVE_CHARS = 100_000
"""Longest move that is passed on."""

MAX_TOLD_CHARS = 80


@dataclass(frozen=True, slots=True)
class Setup:
    """The first order: the match to play.

    Attributes:
        rules: text of the rulesheet as it was sent.
        role: the role to play, canonical KIF.
        player: a player spec.
        backend: of the machine.
        seed: of all random choices.
        grounding_s: time limit of grounding.
        memory_bytes: limit of the process; reasoners get less, and give up sooner.
        threads: processors for a decision.
        settled: whether the match has begun on this backend, so that it is waited for.
    """

    kind: ClassVar[str] = "setup"
    rules: str
    role: str
    player: str
    backend: str
    seed: int
    grounding_s: float
    memory_bytes: int
    threads: int = 1
    settled: bool = False

    def for_stand_in(self, backend: str = "") -> Setup:
        """The same match for the player that only looks for a legal move: it plays beside the
        player that was asked for (`pair`), or instead of it where that raised (`worker_match`) or
        its processes kept dying (`slot`)."""
        return replace(self, player="random", backend=backend or self.backend)


FIRST_LOOK = -1
"""Number of the order before all questions: the player may use the time but for the last
`FIRST_LOOK_S`, which are for an evaluation that does everything that is slow at first."""

FIRST_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Think:
    """Find a move. The newest order counts: older ones are interrupted.

    Attributes:
        number: returned with every report; see `FIRST_LOOK`.
        keep: number of turns at the beginning of the worker's history that are still right.
        turns: those that follow them.
        deadline_s: on `time.monotonic`, which is the same in all processes.
    """

    kind: ClassVar[str] = "think"
    number: int
    keep: int
    turns: History
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Conclude:
    """Find out what the end of the match is worth; nothing else is asked any more.

    Attributes:
        keep, turns, deadline_s: see `Think`.
    """

    kind: ClassVar[str] = "conclude"
    keep: int
    turns: History
    deadline_s: float


@dataclass(frozen=True, slots=True)
class AreYouThere:
    """A question that is answered at once, whatever the worker is doing."""

    kind: ClassVar[str] = "are you there"


@dataclass(frozen=True, slots=True)
class Here:
    """The answer that the process is not stopped."""

    kind: ClassVar[str] = "here"


@dataclass(frozen=True, slots=True)
class Up:
    """The process runs and has imported all it needs.

    Attributes:
        rights: those it gave up, see `sandbox.restrict`.
    """

    kind: ClassVar[str] = "up"
    rights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The forecast for building the fast machine.

    Attributes:
        is_hopeless: whether it is not even tried.
        text: one line.
    """

    kind: ClassVar[str] = "foreseen"
    is_hopeless: bool
    text: str


@dataclass(frozen=True, slots=True)
class MachineBuilt:
    """The machine is ready.

    Attributes:
        backend: of the machine.
        roles: of the game.
        seconds: time to read, check and build.
    """

    kind: ClassVar[str] = "built"
    backend: str
    roles: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """The rules cannot be played, or lack the role; trying again will not help."""

    kind: ClassVar[str] = "failed"
    error: str


@dataclass(frozen=True, slots=True)
class MoveReport:
    """The best move so far, or the decision.

    Attributes:
        number: of the order it answers.
        final: whether no better one will follow.
        decision: the move, its value and the resources spent.
    """

    kind: ClassVar[str] = "report"
    number: int
    final: bool
    decision: Decision


@dataclass(frozen=True, slots=True)
class FinalGoal:
    """The answer to `Conclude`.

    Attributes:
        goal: goal value of our role; None if it is not known.
    """

    kind: ClassVar[str] = "score"
    goal: float | None


@dataclass(frozen=True, slots=True)
class GaveUp:
    """An order to think ends without a move.

    Attributes:
        number: of the order.
        error: the reason.
    """

    kind: ClassVar[str] = "gave up"
    number: int
    error: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message for the log.

    Attributes:
        level: a level of `logging`, in lower case.
        text: one line.
    """

    kind: ClassVar[str] = "said"
    level: str
    text: str


Order = Setup | Think | Conclude | AreYouThere
Answer = Up | Here | Foreseen | MachineBuilt | Failed | MoveReport | FinalGoal | GaveUp | Said

# ---------------------------------------------------------------- as JSON

_ORDERS: Mapping[str, type[Order]] = {each.kind: each for each in get_args(Order)}
_ANSWERS: Mapping[str, type[Answer]] = {each.kind: each for each in get_args(Answer)}

_written: WeakKeyDictionary[PathTurn, str] = WeakKeyDictionary()
"""JSON of turns that are alive: workers that replace others get all turns, which may be megabytes,
and nobody else is answered while they are written."""


def to_json(message: Order | Answer) -> bytes:
    """A message as it is sent."""
    content = {field.name: getattr(message, field.name) for field in fields(message)}
    if isinstance(message, MoveReport):
        content["decision"] = decision_json(message.decision)
    turns = ""
    if isinstance(message, Think | Conclude):
        turns = f', "turns": [{", ".join(map(_turn_json, content.pop("turns")))}]'
    return f"{json.dumps({'kind': message.kind, **content})[:-1]}{turns}}}".encode()


def read_order(message: bytes) -> Order:
    """An order to a worker.

    Raises:
        LocalProtocolError: it is malformed.
    """
    return _read(message, _ORDERS)


def read_answer(message: bytes) -> Answer:
    """A message of a worker; nothing in it is trusted.

    Raises:
        LocalProtocolError: it is malformed.
    """
    answer = _read(message, _ANSWERS)
    if isinstance(answer, MoveReport):
        return replace(answer, decision=_checked(answer.decision))
    return answer


def _checked(decision: Decision) -> Decision:
    """The decision, if it may be passed on.

    Raises:
        LocalProtocolError: its move is not one line of text.
    """
    move, quality = decision.move, decision.quality
    if len(move) > MAX_MOVE_CHARS or not move.isprintable():
        raise LocalProtocolError(f"a move that is not one line of text: {move[:80]!r}")
    if quality is None:
        return decision
    shortened = {
        name: value[:MAX_TOLD_CHARS] if isinstance(value, str) else value
        for name, value in quality.items()
    }
    return replace(decision, quality=shortened)


def _turn_json(turn: PathTurn) -> str:
    text = _written.get(turn)
    if text is None:
        names = PathTurn.__dataclass_fields__
        text = _written[turn] = json.dumps({name: getattr(turn, name) for name in names})
    return text


def _read(message: bytes, kinds: Mapping[str, type[_T]]) -> _T:
    try:
        content = json.loads(message)
        return read(kinds[content["kind"]], content, "a message", ValueError)
    except (TypeError, KeyError, ValueError, RecursionError) as error:
        raise LocalProtocolError(f"a malformed message: {message[:80]!r}: {error!r}") from error
