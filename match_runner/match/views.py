"""Shows records and logs in a terminal, with rich.

Terms become `Text`, never markup, and lose control characters: a rulesheet or a record may come
from anybody.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ggp.errors import ConfigError, MatchError
from ggp.gdl.games import title_of
from ggp.gdl.program import RANDOM
from ggp.gdl.source import printable
from ggp.players import Decision, MoveValue
from ggp.players.elsewhere.from_json import decision_from_json
from ggp.protocol.retelling import LOG_FULL
from ggp.run.clocks import Clock
from match_runner.match.records import MatchRecord, TurnRecord, clock_text
from match_runner.match.seats import HUMAN
from match_runner.match.server_log import LogLine
from match_runner.remote.remote_players import is_address
from match_runner.remote.wire import RemoteSide

MAX_FAULTY = 10
"""Most matches with errors that we list."""


def plain(text: str, style: str = "") -> Text:
    """A text from outside, safe to show."""
    return Text(printable(text), style=style)


def plus_minus(encoding: str) -> str:
    """The sign between a value and its error, in a terminal's encoding."""
    return "±" if encoding.lower().startswith("utf") else "+/-"


def percepts_text(percepts: Sequence[str]) -> Text:
    """Percepts of a role as text; `nothing` if there are none."""
    return plain(" ".join(percepts)) if percepts else Text("nothing", style="dim")


def show_record(record: MatchRecord, encoding: str = "utf-8") -> Iterator[RenderableType]:
    """A match from its first turn to its scores."""
    clock = clock_text(record.play_clock_s, record.clock)
    yield Text.assemble(
        plain(title_of(record.game), "bold"), f", seed {record.seed}, on {record.backend}, {clock}"
    )
    for role in record.roles:
        yield plain(f"  {role}: {record.players.get(role, 'played by chance')}")
    yield from clock_notes(record.clock, record.players.values())
    if record.remote is not None:
        yield plain(f"  {_remote_text(record.remote)}", "dim")
    for number, turn in enumerate(record.turns, start=1):
        yield from show_turn(number, turn, encoding)
    yield Text()
    for taken in record.taken_back:
        text = f"{taken.role} took back {taken.move} in turn {taken.turn + 1}"
        yield plain(text, "dim")
    if record.error is not None:
        yield plain(f"The match ended early: {record.error}", "red")
    yield Text("Scores", style="bold")
    for role in record.roles:
        goal = record.goals[role]
        yield plain(f"  {role}: {'none' if goal is None else f'{goal:g}'}")


def clock_notes(clock: Clock, players: Iterable[str]) -> Iterator[Text]:
    """Yield a note if the clock does not apply to some of these players."""
    if clock is Clock.CPU and any(is_address(text) or text == HUMAN for text in players):
        yield plain("the wall clock limits remote players and people")


def _remote_text(remote: RemoteSide) -> str:
    scrambled = ", names scrambled" if remote.scrambled else ""
    return (
        f"remote players: match {remote.match_id}, dialect {remote.dialect}, start clock "
        f"{remote.start_clock_s:g} s{scrambled}"
    )


def show_turn(number: int, turn: TurnRecord, encoding: str) -> Iterator[RenderableType]:
    """A turn: the moves, what each role sees after them, and how players valued their moves."""
    yield Text()
    yield Text(f"Turn {number}", style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("  role", "move", "sees"):
        table.add_column(heading)
    for role, played in turn.joint_move.items():
        move = plain(played, "bold" if role != RANDOM else "")
        submitted = turn.submitted.get(role)
        if role in turn.submitted and submitted != played:
            move.append_text(plain(f" instead of {submitted or 'no answer'}", "red"))
        table.add_row(plain(f"  {role}"), move, percepts_text(turn.percepts[role]))
    yield table
    for fault in turn.faults:
        line = plain(f"! {fault.role}: {fault.text}", "red")
        yield Padding(line, (0, 0, 0, 2), expand=False)
    for role, decision in turn.decisions.items():
        if len(decision.values) > 1 and any(v.visits for v in decision.values):
            yield Padding(_show_decision(role, decision, encoding), (0, 0, 0, 2), expand=False)


def particles_text(num: int) -> str:
    """`1 particle`, `2 particles`."""
    return f"{num:,} particle{'' if num == 1 else 's'}"


def _show_decision(role: str, decision: Decision, encoding: str) -> RenderableType:
    coverage = "all" if decision.exact else "sampled"
    title = plain(
        f"{role}: {particles_text(decision.particles)} ({coverage}), "
        f"{decision.states_visited:,} states, {decision.seconds:.2f} s",
        "dim",
    )
    return Group(title, values_table(decision, encoding))


def values_table(decision: Decision, encoding: str = "utf-8") -> Table:
    """The candidates of a decision, best first; the chosen one is marked and bold."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0))
    table.add_column()
    table.add_column()
    table.add_column(justify="right")
    candidates = decision.best_values()
    for value in candidates:
        is_choice = value.move == decision.move
        style = "bold" if is_choice else ""
        mark = ">" if is_choice else " "
        table.add_row(mark, plain(value.move, style), Text(value_text(value, encoding), style))
    if len(candidates) < len(decision.values):
        table.add_row("", Text(f"and {len(decision.values) - len(candidates)} more", "dim"), "")
    return table


def value_text(value: MoveValue, encoding: str = "utf-8") -> str:
    """A value with its standard error, if that is known; "-" without a value."""
    if value.value is None or not value.visits:
        return "-"
    if value.stderr is None:
        return f"{value.value:.1f}"
    return f"{value.value:.1f} {plus_minus(encoding)} {value.stderr:.1f}"


def show_errors(faulty: Sequence[tuple[str, Sequence[str]]], of: int) -> Iterator[Text]:
    """Yield a line for each match with errors; nothing if there are none.

    Args:
        faulty: name and errors of each match with errors.
        of: number of all matches.
    """
    if faulty:
        yield Text()
        yield Text(f"{len(faulty)} of {of} matches with errors:", style="red")
    for name, errors in faulty[:MAX_FAULTY]:
        suffix = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        yield plain(f"  {name}: {errors[0]}{suffix}")
    if len(faulty) > MAX_FAULTY:
        yield Text(f"  and {len(faulty) - MAX_FAULTY} more matches; see --json")


# ------------------------------------------------------------------------
# Logs of `ggp serve`, which hold messages from strangers.

MAX_TEXT = 160
"""Most characters of a message that we show; rules are longer."""


def show_log(events: Sequence[LogLine], encoding: str = "utf-8") -> Iterator[RenderableType]:
    """Yield a match as its player saw it, message by message."""
    begin = events[0]
    yield Text.assemble(
        plain(_text(begin, "match"), "bold"), plain(f", role {_text(begin, 'role')}")
    )
    yield plain(f"  player: {_text(begin, 'player')}, seed {_text(begin, 'seed')}")
    clocks = [_text(begin, name) for name in ("start_clock_s", "play_clock_s")]
    yield plain(f"  start clock {clocks[0]} s, play clock {clocks[1]} s")
    yield plain(f"  began {_text(begin, 'time')}, ggp {_text(begin, 'version')}")
    for event in events[1:]:
        yield from _show_event(event, encoding)


def _show_event(event: LogLine, encoding: str) -> Iterator[RenderableType]:
    def line(text: str, style: str = "") -> Text:
        return Text.assemble(Text(f"{event['t']:9.2f}  ", "dim"), plain(text, style))

    match event["event"]:
        case "received":
            yield Text()
            yield line(f"< {_text(event, 'text')}")
        case "sent":
            seconds = event.get("seconds")
            delay = f"  (after {seconds:.2f} s)" if isinstance(seconds, int | float) else ""
            yield line(f"> {_text(event, 'text')}{delay}", "bold")
        case "decision":
            yield line(_decision_text(event))
            yield from _logged_values(event, encoding)
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
            yield line(f"{other}: {json.dumps(dict(event))[:MAX_TEXT]}", "dim")


def _decision_text(event: LogLine) -> str:
    source = _text(event, "source") + ("" if event.get("final", True) else ", best so far")
    turn = event.get("turn")
    turn_name = f"turn {turn + 1}" if isinstance(turn, int) else "a turn"
    text = f"{turn_name}: {_text(event, 'move')} ({source}"
    if isinstance(event.get("particles"), int):
        coverage = "all" if event.get("exact") else "sampled"
        text += f"; {particles_text(event['particles'])}, {coverage}; "
        text += f"{_text(event, 'states_visited')} states"
    text += ")"
    return f"{text}, fallback: {_text(event, 'fault')}" if event.get("fault") else text


def _logged_values(event: LogLine, encoding: str) -> Iterator[RenderableType]:
    """Yield the table of values of a decision between several moves."""
    if not isinstance(event.get("particles"), int):
        return
    try:
        decision = decision_from_json(dict(event), "decision", MatchError)
    except MatchError as error:
        raise ConfigError(f"this is not the log of a match: {error}") from error
    if len(decision.values) > 1 and any(value.visits for value in decision.values):
        yield Padding(values_table(decision, encoding), (0, 0, 0, 11), expand=False)


def _text(event: LogLine, name: str) -> str:
    """A field as text on one line of bounded length."""
    value = event.get(name, "unknown")
    line = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    return line if len(line) <= MAX_TEXT else f"{line[:MAX_TEXT]}..."
