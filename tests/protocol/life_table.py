"""Rewrites the table of a match's states in docs/reference/protocol.md: python -m
tests.protocol.life_table"""

from __future__ import annotations

from ggp.protocol.transitions import TRANSITIONS, Action, Event, MatchState
from tests.support.games import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "reference" / "protocol.md"
BEGIN = "<!-- written by python -m tests.protocol.life_table -->\n"
END = "<!-- end of table -->\n"

STAYS = "the same"
"""The next state of a match that stays in its state."""


def table() -> str:
    """The table of transitions: a row for events with the same effect in the same states."""
    states: dict[tuple[Event, Action, str], list[MatchState]] = {}
    for (state, event), (next_state, action) in TRANSITIONS.items():
        target = STAYS if next_state is state else str(next_state)
        states.setdefault((event, action, target), []).append(state)
    events: dict[tuple[str, Action, str], list[str]] = {}
    for event, action, target in sorted(states, key=lambda effect: list(Event).index(effect[0])):
        sources = states[event, action, target]
        source_names = ", ".join(state for state in MatchState if state in sources)
        events.setdefault((source_names, action, target), []).append(event.value)
    lines = ["| on | in state | we | next state |", "|---|---|---|---|"]
    for (source_names, action, target), names in events.items():
        lines.append(f"| {', '.join(names)} | {source_names} | {action.value} | {target} |")
    return "\n".join(lines) + "\n"


def rewritten(text: str) -> str:
    """A document with the table between the two comments replaced."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return head + BEGIN + table() + END + tail


if __name__ == "__main__":
    DOCUMENT.write_text(rewritten(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
