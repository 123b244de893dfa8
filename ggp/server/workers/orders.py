"""Messages between the server and a worker process, as values and as JSON.

Orders go to the worker, answers come back. For example, in a match of two turns:

    Setup(rules, role, ...)              Up(rights), Foreseen(...), MachineBuilt(...), PlayerReady()
    Think(1, keep=0, turns=())           MoveReport(1, final=False), ..., MoveReport(1, final=True)
    Think(2, keep=0, turns=(first,))     MoveReport(2, final=True), Believed(1, snapshot)
    AreYouThere()                        Here()
    Conclude(keep=1, turns=(second,))    FinalGoal(goal)

`Think` contains only the turns that the worker does not have yet.

On the pipe, messages are JSON rather than pickles: a worker handles input of strangers, so the
server does not trust it. A message is malformed unless every field has the type that its class
declares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar, get_args
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
"""Maximum length of a message; rules are sent in a single one."""

MAX_MOVE_CHARS = 100_000
"""Maximum length of a move that is passed on."""

MAX_SNAPSHOT_CHARS = 1 << 19
"""Maximum length of a belief that is kept."""

MAX_QUALITY_CHARS = 80
"""Maximum length of a text in the quality of a decision."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The first order: the match to play.

    Attributes:
        rules: text of the rulesheet, as sent.
        role: the role to play, canonical KIF.
        player: a player spec.
        backend: of the machine.
        seed: of all random choices.
        grounding_s: time limit of grounding.
        memory_bytes: limit of the process; reasoners get less, and give up sooner.
        threads: processors for a decision.
        settled: whether the match has begun on this backend, so that the worker must wait for it.
        snapshots: beliefs of earlier workers of the match, the best first: see `Believed`.
    """

    rules: str
    role: str
    player: str
    backend: str
    seed: int
    grounding_s: float
    memory_bytes: int
    threads: int = 1
    settled: bool = False
    snapshots: tuple[str, ...] = ()

    def for_stand_in(self, backend: str = "") -> Setup:
        """The same match for a player that only looks for a legal move.

        It plays beside the real player (`WorkerPair`), or instead of it after an exception
        (`worker_match`) or if its processes keep dying (`WorkerSlot`).
        """
        return replace(self, player="random", backend=backend or self.backend, snapshots=())


def num_shared(old: Sequence[PathTurn], new: Sequence[PathTurn]) -> int:
    """Number of turns that two histories share at the beginning."""
    for index, (a, b) in enumerate(zip(old, new, strict=False)):
        if a != b:
            return index
    return min(len(old), len(new))


FIRST_LOOK = -1
"""Number of the order before all questions. The player may use its time, except for the last
`FIRST_LOOK_S`, in which a first decision does everything that is slow once."""

FIRST_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Think:
    """Find a move. The newest order counts: older ones are interrupted.

    Attributes:
        number: returned with every report; see `FIRST_LOOK`.
        keep: number of turns at the beginning of the worker's history that are still right.
        turns: the turns after those.
        deadline_s: on `time.monotonic`, which is the same in all processes.
        is_doubt: whether the turns are another reading of the messages, since no particle fits the
            first one.
    """

    number: int
    keep: int
    turns: History
    deadline_s: float
    is_doubt: bool = False


@dataclass(frozen=True, slots=True)
class Conclude:
    """Find out the goal value at the end of the match; it is the last order.

    Attributes:
        keep, turns, deadline_s: see `Think`.
    """

    keep: int
    turns: History
    deadline_s: float


@dataclass(frozen=True, slots=True)
class AreYouThere:
    """A question that is answered immediately, whatever the worker is doing."""


@dataclass(frozen=True, slots=True)
class Here:
    """The answer to `AreYouThere`: the process is alive."""


@dataclass(frozen=True, slots=True)
class Up:
    """The process runs and has imported everything that it needs.

    Attributes:
        rights: the rights that it gave up, see `sandbox.restrict`.
    """

    rights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """The forecast for building the fast machine.

    Attributes:
        is_hopeless: whether the build is not even tried.
        text: one line.
    """

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

    backend: str
    roles: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class PlayerReady:
    """The player's constructor has returned; it may look into the game for a long time."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The rules are unplayable, or lack the role; another attempt would not help."""

    error: str


@dataclass(frozen=True, slots=True)
class MoveReport:
    """The best move so far, or the decision.

    Attributes:
        number: of the order.
        final: whether no better move will follow.
        decision: the move, its value and the effort.
    """

    number: int
    final: bool
    decision: Decision


@dataclass(frozen=True, slots=True)
class Believed:
    """The belief of the worker after a turn, for workers that replace it.

    Attributes:
        turn: number of turns.
        snapshot: one word of ASCII, which only workers read: `ggp.players.player.Believing`.
    """

    turn: int
    snapshot: str


@dataclass(frozen=True, slots=True)
class FinalGoal:
    """The answer to `Conclude`.

    Attributes:
        goal: goal value of our role; None if unknown.
    """

    goal: float | None


@dataclass(frozen=True, slots=True)
class GaveUp:
    """The answer to an order to think that ends without a move.

    Attributes:
        number: of the order.
        error: the reason.
    """

    number: int
    error: str


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the worker for the log.

    Attributes:
        level: a level of `logging`, in lower case.
        text: one line.
    """

    level: str
    text: str


Order = Setup | Think | Conclude | AreYouThere
Outcome = MoveReport | GaveUp | FinalGoal
Answer = Up | Here | Foreseen | MachineBuilt | PlayerReady | Failed | Outcome | Believed | Said

# ---------------------------------------------------------------- as JSON

_ORDERS: Mapping[str, type[Order]] = {each.__name__: each for each in get_args(Order)}
_ANSWERS: Mapping[str, type[Answer]] = {each.__name__: each for each in get_args(Answer)}

_written: WeakKeyDictionary[PathTurn, str] = WeakKeyDictionary()
"""Cached JSON of turns: a worker that replaces another gets all turns, which may be megabytes, and
writing them delays everybody else."""


def to_json(message: Order | Answer) -> bytes:
    """A message as JSON."""
    content = {field.name: getattr(message, field.name) for field in fields(message)}
    if isinstance(message, MoveReport):
        content["decision"] = decision_json(message.decision)
    turns = ""
    if isinstance(message, Think | Conclude):
        turns = f', "turns": [{", ".join(map(_turn_json, content.pop("turns")))}]'
    return f"{json.dumps({'kind': type(message).__name__, **content})[:-1]}{turns}}}".encode()


def read_order(message: bytes) -> Order:
    """An order to a worker.

    Raises:
        LocalProtocolError: it is malformed.
    """
    return _read(message, _ORDERS)


def read_answer(message: bytes) -> Answer:
    """A message of a worker, which is not trusted.

    Raises:
        LocalProtocolError: it is malformed.
    """
    answer = _read(message, _ANSWERS)
    if isinstance(answer, MoveReport):
        return replace(answer, decision=_checked(answer.decision))
    if isinstance(answer, Believed) and len(answer.snapshot) > MAX_SNAPSHOT_CHARS:
        raise LocalProtocolError(f"a belief of {len(answer.snapshot)} characters")
    return answer


def _checked(decision: Decision) -> Decision:
    """The decision, with long texts in its quality shortened.

    Raises:
        LocalProtocolError: its move is not one line of text.
    """
    move, quality = decision.move, decision.quality
    if len(move) > MAX_MOVE_CHARS or not move.isprintable():
        raise LocalProtocolError(f"a move that is not one line of text: {move[:80]!r}")
    if quality is None:
        return decision
    shortened = {
        name: value[:MAX_QUALITY_CHARS] if isinstance(value, str) else value
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
