"""Whole trees of OpenSpiel's games, walked state by state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def states_below(state: Any) -> Iterator[Any]:
    """A state and all that can follow."""
    yield state
    for action in state.legal_actions():
        yield from states_below(state.child(action))


def decisions(game: Any) -> Iterator[Any]:
    """All histories of a game after which a player chooses."""
    return (state for state in states_below(game.new_initial_state()) if state.is_player_node())


def same_play(
    ours: Any, theirs: Any, translated: Callable[[Any, str], list[str]]
) -> Iterator[tuple[Any, Any, float]]:
    """All states of our game, the same ones of theirs, and the probability of chance's part.

    Args:
        translated: the texts of their actions for a state of theirs and the text of one of ours.
    """
    waiting = [(ours, theirs, 1.0)]
    while waiting:
        original, twin, share = waiting.pop()
        yield original, twin, share
        if original.is_terminal():
            continue
        chances = dict(original.chance_outcomes()) if original.is_chance_node() else {}
        for action in original.legal_actions():
            name = original.action_to_string(original.current_player(), action)
            successor = twin.clone()
            for text in translated(twin, name):
                successor.apply_action(successor.string_to_action(text))
            waiting.append((original.child(action), successor, share * chances.get(action, 1.0)))
