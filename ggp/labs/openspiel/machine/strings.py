"""Examines whether the strings of a game of OpenSpiel tell players no more than they know.

OpenSpiel defines `information_state_string` for the player who acts, and most games have one for
the others, too. Some give these what the player who acts knows: so does every game from a file of
Gambit's. So matches are walked, as many as a bound on states allows, the shortest first. Whoever
acts knows its information state, and no more. If two ways lead a player there by the same moves of
its own, but gave it other strings in between, these strings told what it does not know.

In the same walks shows whether players forget their moves, or cannot count turns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from random import Random
from typing import Any, NamedTuple

MOST_STATES = 1_000
"""Number of states to walk through: all of a small game."""

MOST_TURNS = 50
"""Length of a walk: later, hardly any information state comes twice."""

_SHARE = 0.5
"""Share of these states that are visited from the start on, turn by turn; the others in matches."""


@dataclass(slots=True)
class Strings:
    """What walks through a game showed of the strings of its information states.

    Attributes:
        leak: whether a player that does not act is told what it does not know.
        hide_turns: whether a player is in one information state in different turns.
        forgotten: an information state that follows different moves of its player; empty for none.
    """

    leak: bool = False
    hide_turns: bool = False
    forgotten: str = ""


class _Memory(NamedTuple):
    """What a player may remember, as numbers that are equal for equal memories.

    Attributes:
        last: the string it got last.
        strings: all strings that it got, repeated ones once, and its moves between them.
        choices: its information states and moves.
        turns: the turns of these.
    """

    last: str | None
    strings: int
    choices: int
    turns: int


def examine(game: Any, most_states: int = MOST_STATES) -> Strings:
    """Walk through a game that provides strings of information states.

    Args:
        game: the `pyspiel.Game`.
        most_states: number of states to visit.
    """
    return _Walks(game).walked(most_states)


_Moves = dict[int, int]
"""The actions of a turn, by player."""


class _Walks:
    def __init__(self, game: Any) -> None:
        self._root = game.new_initial_state()
        self._players = range(game.num_players())
        self._numbers: dict[tuple[object, ...], int] = {}
        self._known: dict[tuple[int, str], tuple[_Memory, int]] = {}
        self._seen = Strings()

    def walked(self, most_states: int) -> Strings:
        rng, left = Random(0), most_states
        begun = [_Memory(None, 0, 0, 0) for _ in self._players]
        waiting = deque([(self._root, self._arrived(self._root, begun, {}, 0), 0)])
        while waiting and left > most_states * (1 - _SHARE):
            state, memories, turn = waiting.popleft()
            for after, moves in islice(_all_after(state), left):
                left -= 1
                known = self._arrived(after, memories, moves, turn + 1)
                if not after.is_terminal():
                    waiting.append((after, known, turn + 1))
        while waiting and left > 0:
            state, memories, turn = waiting[rng.randrange(len(waiting))]
            until = min(left, MOST_TURNS)
            while not state.is_terminal() and until > 0:
                until -= 1
                state, moves = _one_after(state, rng)
                left, turn = left - 1, turn + 1
                memories = self._arrived(state, memories, moves, turn)
        return self._seen

    def _arrived(
        self, state: Any, before: list[_Memory], moves: _Moves, turn: int
    ) -> list[_Memory]:
        """What the players remember in a state, given what they remembered before the moves that
        led there."""
        found = []
        for player, memory in zip(self._players, before, strict=True):
            strings, choices, turns = memory.strings, memory.choices, memory.turns
            if player in moves:
                strings = self._number(strings, moves[player])
                choices = self._number(choices, memory.last, moves[player])
                turns = self._number(turns, turn)
            words = self._words(state, player)
            if words != memory.last:
                strings = self._number(strings, words)
            now = _Memory(words, strings, choices, turns)
            found.append(now)
            if words is not None and acts(state, player):
                self._compare(player, words, now, turn)
        return found

    def _compare(self, player: int, words: str, memory: _Memory, turn: int) -> None:
        """Compare with another way to the information state of a player that acts."""
        other, its_turn = self._known.setdefault((player, words), (memory, turn))
        if other.choices != memory.choices:
            self._seen.forgotten = self._seen.forgotten or words
        elif other.strings != memory.strings:
            self._seen.leak = True
        self._seen.hide_turns |= its_turn != turn or other.turns != memory.turns

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)

    def _words(self, state: Any, player: int) -> str | None:
        if state.is_terminal():
            return None
        try:
            return str(state.information_state_string(player))
        except RuntimeError:  # OpenSpiel's error is a subclass
            return None


def acts(state: Any, player: int) -> bool:
    """Whether a player, as opposed to chance, has a choice in a `pyspiel.State`."""
    if state.is_simultaneous_node():
        return bool(state.legal_actions(player))
    return bool(state.current_player() == player)


def _all_after(state: Any) -> Iterator[tuple[Any, _Moves]]:
    """The states after each joint move."""
    if not state.is_simultaneous_node():
        player = state.current_player()
        for action in state.legal_actions():
            yield state.child(action), {player: action}
        return
    players = range(state.num_players())
    for actions in product(*(state.legal_actions(player) or [0] for player in players)):
        after = state.clone()
        after.apply_actions(list(actions))
        yield after, dict(enumerate(actions))


def _one_after(state: Any, rng: Random) -> tuple[Any, _Moves]:
    """The state after a random joint move."""
    if not state.is_simultaneous_node():
        action = rng.choice(state.legal_actions())
        return state.child(action), {state.current_player(): action}
    players = range(state.num_players())
    actions = [rng.choice(state.legal_actions(player) or [0]) for player in players]
    after = state.clone()
    after.apply_actions(actions)
    return after, dict(enumerate(actions))
