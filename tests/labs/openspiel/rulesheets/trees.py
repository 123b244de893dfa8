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
        own, other, share = waiting.pop()
        yield own, other, share
        if own.is_terminal():
            continue
        chances = dict(own.chance_outcomes()) if own.is_chance_node() else {}
        for action in own.legal_actions():
            name = own.action_to_string(own.current_player(), action)
            after = other.clone()
            for text in translated(other, name):
                after.apply_action(after.string_to_action(text))
            waiting.append((own.child(action), after, share * chances.get(action, 1.0)))
