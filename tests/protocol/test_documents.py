"""docs/reference/protocol.md says what the code does."""

from __future__ import annotations

from ggp.protocol.transitions import TRANSITIONS
from tests.protocol.diagram import BEGIN, DOCUMENT, END, drawing, redrawn


def test_state_diagram_is_drawn_from_the_table() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert redrawn(text) == text, "run python -m tests.protocol.diagram"


def test_diagram_shows_every_transition() -> None:
    for (state, event), transition in TRANSITIONS.items():
        arrow = f"    {state} --> {transition.state} : "
        line = next(line for line in drawing().splitlines() if line.startswith(arrow))
        assert event.value in line
        assert transition.action.value in line
