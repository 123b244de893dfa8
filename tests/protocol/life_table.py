"""Write the table of a match's life in docs/reference/protocol.md anew: python -m
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
        after = STAYS if next_state is state else str(next_state)
        states.setdefault((event, action, after), []).append(state)
    events: dict[tuple[str, Action, str], list[str]] = {}
    for event, action, after in sorted(states, key=lambda effect: list(Event).index(effect[0])):
        some = states[event, action, after]
        before = ", ".join(state for state in MatchState if state in some)
        events.setdefault((before, action, after), []).append(event.value)
    lines = ["| on | in state | we | next state |", "|---|---|---|---|"]
    for (before, action, after), names in events.items():
        lines.append(f"| {', '.join(names)} | {before} | {action.value} | {after} |")
    return "\n".join(lines) + "\n"


def rewritten(text: str) -> str:
    """A document with the table between the two comments replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


if __name__ == "__main__":
    DOCUMENT.write_text(rewritten(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
