"""Notes for the log on odd messages."""

from __future__ import annotations

from collections.abc import Mapping

from ggp.protocol.path import Answered, Reading
from ggp.protocol.texts.spelling import Outline
from ggp.protocol.transitions import Event


def odd_start(role: str, rules: Outline) -> tuple[str, ...]:
    """Notes on a start message."""
    notes = [f"`{keyword}` is called {name} here" for keyword, name in rules.renamed.items()]
    if role not in rules.roles:
        notes.append(f"the rules have no role {role}; roles: {', '.join(rules.roles) or 'none'}")
    return tuple(notes)


def odd_turn(reading: Reading, known: int, answers: Mapping[int, Answered]) -> tuple[str, ...]:
    """Notes on a play message.

    Args:
        reading: its meaning.
        known: number of turns known before it.
        answers: the questions so far and their answers, by turn.
    """
    notes = []
    turn, told = reading.turn, reading.told
    match reading.event:
        case Event.PLAY_GAP:
            notes.append(f"turn {turn} comes after turn {known}: the turns between are unknown")
        case Event.PLAY_AGAIN:
            notes.append(f"turn {turn} again: answered as before")
        case Event.PLAY_REVISED:
            notes.append(f"turn {turn} differs from what was sent before: history rewritten")
        case Event.PLAY_LATE:
            notes.append(f"turn {turn} was missing: history rewritten")
    if told is not None:
        notes += [told.note] if told.note is not None else []
        ours = answers.get(turn - 1)
        if told.move is not None and ours is not None and told.move != ours.submitted:
            answered = f"not {ours.submitted}" if ours.submitted else "we had not answered"
            notes.append(f"turn {turn}: {told.move} was executed, {answered}")
    return tuple(notes)
