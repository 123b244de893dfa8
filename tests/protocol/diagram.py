"""Draw the state diagram of docs/reference/protocol.md anew: python -m tests.protocol.diagram"""

from __future__ import annotations

from ggp.protocol.transitions import TRANSITIONS, Action, MatchState
from tests.support.games import REPOSITORY

DOCUMENT = REPOSITORY / "docs" / "reference" / "protocol.md"
BEGIN = "<!-- drawn by python -m tests.protocol.diagram -->\n"
END = "<!-- end of drawing -->\n"


def drawing() -> str:
    """The table of transitions as a mermaid diagram: an arrow for each pair of states."""
    arrows: dict[tuple[MatchState, MatchState], dict[Action, list[str]]] = {}
    for (state, event), transition in TRANSITIONS.items():
        actions = arrows.setdefault((state, transition.state), {})
        actions.setdefault(transition.action, []).append(event.value)
    lines = [
        "```mermaid",
        "stateDiagram-v2",
        "    direction LR",
        f"    [*] --> {MatchState.ABSENT}",
    ]
    for (before, after), actions in arrows.items():
        labels = [
            ", ".join(events) + (f" → {action.value}" if action.value else "")
            for action, events in actions.items()
        ]
        lines.append(f"    {before} --> {after} : {'<br/>'.join(labels)}")
    return "\n".join([*lines, "```"]) + "\n"


def redrawn(text: str) -> str:
    """A document with the drawing between the two comments replaced."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + drawing() + END + after


if __name__ == "__main__":
    DOCUMENT.write_text(redrawn(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
