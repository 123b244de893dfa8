"""docs/reference/protocol.md agrees with the code."""

from __future__ import annotations

from ggp.protocol.transitions import TRANSITIONS
from tests.protocol.life_table import BEGIN, DOCUMENT, END, STAYS, rewritten, table


def test_page_has_the_generated_table() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert rewritten(text) == text, "run python -m tests.protocol.life_table"


def test_the_page_shows_every_transition() -> None:
    rows = [line.removeprefix("| ")[:-2].split(" | ") for line in table().splitlines()[2:]]
    documented = {
        (state, event): (action, state if target == STAYS else target)
        for events, states, action, target in rows
        for event in events.split(", ")
        for state in states.split(", ")
    }
    assert documented == {
        (str(state), event.value): (action.value, str(target))
        for (state, event), (target, action) in TRANSITIONS.items()
    }
