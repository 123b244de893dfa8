"""Results of handling a text: what a match (`session`) and the server (`lobby`) want done."""

from __future__ import annotations

from dataclasses import dataclass

from ggp.protocol.messages import Message, Start
from ggp.protocol.questions import Ask
from ggp.protocol.transitions import Event
from ggp.protocol.turns import History


@dataclass(frozen=True, slots=True)
class Opening:
    """A match that begins and needs a worker.

    Attributes:
        match: its serial number, never reused, as in `Ask.match`.
        start: the message. Its match id is any text without white space and parentheses.
        role: ours, canonical.
        is_gdl2: whether the rules look like GDL-II.
        rules: text of the rules, with the keywords restored if the server has renamed them.
    """

    match: int
    start: Start
    role: str
    is_gdl2: bool
    rules: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """Instructions for a text: exactly one of `reply`, `ask` and `refusal` is given.

    Attributes:
        message: the message in the text; None if it was refused.
        match: serial number of its match, None if there is none.
        reply: text to send at once.
        ask: question for the worker of `ask.match`.
        refusal: why it is refused, for the log and the answer.
        began: a match that needs a worker from now on.
        ended: serial numbers of matches whose workers are no longer needed.
        released: numbers of questions to answer at once: the server has moved on.
        notes: oddities, for the log.
        event: the meaning of the message in its match.
        path: our whole path, if the message ends a match after its last turn.
    """

    message: Message | None = None
    match: int | None = None
    reply: str | None = None
    ask: Ask | None = None
    refusal: str | None = None
    began: Opening | None = None
    ended: tuple[int, ...] = ()
    released: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    event: Event | None = None
    path: History = ()
