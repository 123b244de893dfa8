"""Display of the log that `ggp serve --log` keeps of a match (`ggp/protocol/retelling.py`).

Logs hold what strangers sent, so none of it is interpreted as markup, and they may end in the
middle of a line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from ggp.errors import ConfigError, MatchError
from ggp.players.elsewhere.from_json import decision_from_json
from ggp.protocol.retelling import FORMAT, LOG_FULL, SUFFIX
from match_runner.match.views import particles_text, plain, values_table

MOST_TEXT = 160
"""Most characters shown of a message; rules are longer."""

_FIRST_EVENT = "begin"

LogLine = Mapping[str, Any]
"""One line of a log."""


def is_log(path: Path) -> bool:
    """Whether a file is the log of a match, judged by its name."""
    return path.suffix == SUFFIX


def read_log(path: Path) -> list[LogLine]:
    """Read the lines of a log; a last line that was cut off is left out.

    Raises:
        ConfigError: there is no such file, it cannot be read, or it is not the log of a match;
            says which line is wrong.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    events = []
    for number, line in enumerate(lines[:-1], start=1):
        events.append(_event(line, f"{path}, line {number}"))
    if not events or events[0]["event"] != _FIRST_EVENT:
        raise ConfigError(f"{path} does not begin as the log of a match does")
    if events[0].get("format") != FORMAT:
        found = json.dumps(events[0].get("format"))
        raise ConfigError(f"{path}: format {found} is not known; this version reads {FORMAT}")
    return events


def show_log(events: Sequence[LogLine], encoding: str = "utf-8") -> Iterator[RenderableType]:
    """Yield a match as its player saw it, message by message."""
    begin = events[0]
    yield Text.assemble(
        plain(_text(begin, "match"), "bold"), plain(f", role {_text(begin, 'role')}")
    )
    yield plain(f"  player: {_text(begin, 'player')}, seed {_text(begin, 'seed')}")
    clocks = [_text(begin, name) for name in ("start_clock_s", "play_clock_s")]
    yield plain(f"  start clock {clocks[0]} s, play clock {clocks[1]} s")
    yield plain(f"  begun {_text(begin, 'time')}, ggp {_text(begin, 'version')}")
    for event in events[1:]:
        yield from _show(event, encoding)


def _event(line: bytes, where: str) -> LogLine:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {error}") from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise ConfigError(f"{where} must be an object with the field `event`")
    if not isinstance(event.get("t"), int | float):
        raise ConfigError(f"{where} must have the number `t`")
    return event


def _show(event: LogLine, encoding: str) -> Iterator[RenderableType]:
    def line(text: str, style: str = "") -> Text:
        return Text.assemble(Text(f"{event['t']:9.2f}  ", "dim"), plain(text, style))

    match event["event"]:
        case "received":
            yield Text()
            yield line(f"< {_text(event, 'text')}")
        case "sent":
            seconds = event.get("seconds")
            after = f"  (after {seconds:.2f} s)" if isinstance(seconds, int | float) else ""
            yield line(f"> {_text(event, 'text')}{after}", "bold")
        case "decision":
            yield line(_decided(event))
            yield from _values(event, encoding)
        case "worker":
            parts = [_text(event, name) for name in ("worker", "what", "text") if event.get(name)]
            yield line(" ".join(parts), "dim")
        case "said" | "foreseen":
            yield line(f"{_text(event, 'worker')}: {_text(event, 'text')}", "dim")
        case "backend":
            yield line(f"{_text(event, 'worker')} runs on {_text(event, 'backend')}", "dim")
        case "note":
            yield line(f"! {_text(event, 'text')}", "red")
        case "end":
            why = _text(event, "why")
            yield line("the log is full" if why == LOG_FULL else f"the match is over: {why}")
        case other:
            yield line(f"{other}: {json.dumps(dict(event))[:MOST_TEXT]}", "dim")


def _decided(event: LogLine) -> str:
    by = _text(event, "source") + ("" if event.get("final", True) else ", best so far")
    turn = event.get("turn")
    number = f"turn {turn + 1}" if isinstance(turn, int) else "a turn"
    text = f"{number}: {_text(event, 'move')} ({by}"
    if isinstance(event.get("particles"), int):
        few = "all" if event.get("exact") else "sampled"
        text += f"; {particles_text(event['particles'])}, {few}; "
        text += f"{_text(event, 'states_visited')} states"
    text += ")"
    return f"{text}, fallback: {_text(event, 'fault')}" if event.get("fault") else text


def _values(event: LogLine, encoding: str) -> Iterator[RenderableType]:
    """Yield the table of values, if there was a decision between several moves."""
    if not isinstance(event.get("particles"), int):
        return
    try:
        decision = decision_from_json(dict(event), "decision", MatchError)
    except MatchError as error:
        raise ConfigError(f"this is no log of a match: {error}") from error
    if len(decision.values) > 1 and any(value.visits for value in decision.values):
        yield Padding(values_table(decision, encoding), (0, 0, 0, 11), expand=False)


def _text(event: LogLine, name: str) -> str:
    """A field as text on one line of bounded length."""
    value = event.get(name, "unknown")
    line = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    return line if len(line) <= MOST_TEXT else f"{line[:MOST_TEXT]}..."
