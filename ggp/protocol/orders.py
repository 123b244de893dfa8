"""What the server and a worker process say to each other: one JSON object a line.

JSON and not pickles: a worker handles what strangers send, and the server trusts nothing that
comes from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from ggp.errors import LocalProtocolError
from ggp.players.base import Decision, MoveValue
from ggp.protocol.turns import History, Turn

EXIT_ENDED = 0
EXIT_CRASHED = 70
EXIT_OUT_OF_MEMORY = 71
"""Exit statuses of a worker."""

MAX_LINE_BYTES = 64 << 20
"""Longest line; rules come in one."""

MAX_MOVE_CHARS = 100_000
"""Longest move that is sent on."""

MAX_SHOWN_VALUES = 500
"""Moves of a value table that are passed on, the best first."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The first order: which match.

    Attributes:
        rules: text of the rulesheet as it was sent.
        role: whom to play, canonical KIF.
        player: a player spec.
        backend: of the machine.
        seed: of all random choices.
        grounding_s: what grounding may take.
        memory_bytes: what the process may use; reasoners get less, and give up sooner.
    """

    kind: ClassVar[str] = "setup"
    rules: str
    role: str
    player: str
    backend: str
    seed: int
    grounding_s: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Think:
    """Find a move. The newest order counts: an older one is broken off.

    Attributes:
        number: comes back with every report.
        keep: turns at the beginning of the history the worker has that are still right.
        turns: those that follow them.
        deadline_s: until when, on `time.monotonic`, which is the same in all processes.
    """

    kind: ClassVar[str] = "think"
    number: int
    keep: int
    turns: History
    deadline_s: float


@dataclass(frozen=True, slots=True)
class AreYouThere:
    """Answered at once, whatever the worker does."""

    kind: ClassVar[str] = "are you there"


@dataclass(frozen=True, slots=True)
class Here:
    """The process is not stopped."""

    kind: ClassVar[str] = "here"


@dataclass(frozen=True, slots=True)
class Up:
    """The process runs and has imported all it needs.

    Attributes:
        rights: what it gave up, see `sandbox.restrict`.
    """

    kind: ClassVar[str] = "up"
    rights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Built:
    """The machine is there.

    Attributes:
        backend: of the machine.
        roles: of the game.
        seconds: it took to read, check and build.
    """

    kind: ClassVar[str] = "built"
    backend: str
    roles: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """The rules cannot be played, or the role is not theirs; trying again will not help."""

    kind: ClassVar[str] = "failed"
    error: str


@dataclass(frozen=True, slots=True)
class Report:
    """The best move so far, or the decision.

    Attributes:
        number: of the order it answers.
        final: whether no better one will follow.
        decision: the move, its value and what was spent.
    """

    kind: ClassVar[str] = "report"
    number: int
    final: bool
    decision: Decision


@dataclass(frozen=True, slots=True)
class GaveUp:
    """An order to think ends without a move.

    Attributes:
        number: of the order.
        error: why.
    """

    kind: ClassVar[str] = "gave up"
    number: int
    error: str


@dataclass(frozen=True, slots=True)
class Said:
    """Something for the log.

    Attributes:
        level: a level of `logging`, in lower case.
        text: one line.
    """

    kind: ClassVar[str] = "said"
    level: str
    text: str


_written: WeakKeyDictionary[Turn, str] = WeakKeyDictionary()
"""JSON of turns that are alive: workers that take the place of others hear all turns, which may be
megabytes, and nobody else is answered while they are written."""

Order = Setup | Think | AreYouThere
Answer = Up | Here | Built | Failed | Report | GaveUp | Said


def to_line(message: Order | Answer) -> bytes:
    """A message as a line."""
    fields = {name: getattr(message, name) for name in type(message).__dataclass_fields__}
    if isinstance(message, Report):
        fields["decision"] = decision_json(message.decision)
    elif isinstance(message, Think):
        del fields["turns"]
        turns = ", ".join(_turn_json(turn) for turn in message.turns)
        head = json.dumps({"kind": message.kind, **fields})
        return f'{head[:-1]}, "turns": [{turns}]}}\n'.encode()
    return json.dumps({"kind": message.kind, **fields}).encode() + b"\n"


def read_order(line: bytes) -> Order:
    """An order to a worker.

    Raises:
        LocalProtocolError: it is none.
    """
    fields = _fields(line)
    kind = fields.pop("kind", None)
    try:
        if kind == Setup.kind:
            return Setup(**fields)
        if kind == Think.kind:
            turns = tuple(_turn(turn) for turn in fields.pop("turns"))
            return Think(turns=turns, **fields)
        if kind == AreYouThere.kind:
            return AreYouThere()
    except (TypeError, KeyError, AttributeError) as error:
        raise LocalProtocolError(f"a malformed order: {error}") from error
    raise LocalProtocolError(f"an unknown order: {kind!r}")


def read_answer(line: bytes) -> Answer:
    """What a worker says; nothing in it is trusted.

    Raises:
        LocalProtocolError: it is malformed.
    """
    fields = _fields(line)
    kind = fields.get("kind")
    try:
        if kind == Report.kind:
            decision = read_decision(fields["decision"])
            return Report(int(fields["number"]), bool(fields["final"]), decision)
        if kind == Said.kind:
            return Said(str(fields["level"]), str(fields["text"]))
        if kind == Here.kind:
            return Here()
        if kind == Up.kind:
            return Up(_texts(fields["rights"]))
        if kind == Built.kind:
            roles, seconds = _texts(fields["roles"]), float(fields["seconds"])
            return Built(str(fields["backend"]), roles, seconds)
        if kind == GaveUp.kind:
            return GaveUp(int(fields["number"]), str(fields["error"]))
        if kind == Failed.kind:
            return Failed(str(fields["error"]))
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise LocalProtocolError(f"a malformed answer of a worker: {error!r}") from error
    raise LocalProtocolError(f"an unknown answer of a worker: {kind!r}")


def decision_json(decision: Decision) -> dict[str, Any]:
    """A decision for JSON; of very many candidates only the best are kept."""
    values = decision.values
    if len(values) > MAX_SHOWN_VALUES:
        best = sorted(values, key=lambda v: -1e300 if v.value is None else v.value)
        values = tuple(sorted(best[-MAX_SHOWN_VALUES:], key=lambda v: v.move))
    return {**asdict(decision), "values": [asdict(value) for value in values]}


def read_decision(fields: Mapping[str, Any]) -> Decision:
    """A decision out of JSON.

    Raises:
        TypeError, KeyError, ValueError: it is malformed.
    """
    fault, move = fields["fault"], str(fields["move"])
    if len(move) > MAX_MOVE_CHARS or not move.isprintable():
        raise ValueError(f"a move that is not one line of text: {move[:80]!r}")
    return Decision(
        move=move,
        values=tuple(_value(each) for each in fields["values"]),
        particles=int(fields["particles"]),
        exact=bool(fields["exact"]),
        states_visited=int(fields["states_visited"]),
        seconds=float(fields["seconds"]),
        fault=None if fault is None else str(fault),
    )


def _turn_json(turn: Turn) -> str:
    text = _written.get(turn)
    if text is None:
        names = Turn.__dataclass_fields__
        text = _written[turn] = json.dumps({name: getattr(turn, name) for name in names})
    return text


def _fields(line: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LocalProtocolError(f"a line that is not JSON: {line[:80]!r}") from error
    if not isinstance(fields, dict):
        raise LocalProtocolError(f"a line that is not a JSON object: {line[:80]!r}")
    return fields


def _turn(fields: Mapping[str, Any]) -> Turn:
    percepts = fields["percepts"]
    return Turn(**{**fields, "percepts": None if percepts is None else tuple(percepts)})


def _value(fields: Mapping[str, Any]) -> MoveValue:
    value, stderr = fields["value"], fields["stderr"]
    return MoveValue(
        str(fields["move"]),
        None if value is None else float(value),
        None if stderr is None else float(stderr),
        int(fields["visits"]),
    )


def _texts(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
