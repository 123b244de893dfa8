"""Games that both OpenSpiel and we have: they agree move by move."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyspiel
import pytest

from tests.labs.openspiel.rulesheets.test_games_out import open_game
from tests.labs.openspiel.rulesheets.trees import same_play

CARDS = ("jack", "queen", "king")


def kuhn(state: Any, name: str) -> list[str]:
    """Their actions for one of ours in Kuhn poker."""
    if name.startswith("(deal"):
        return [f"Deal:{CARDS.index(card)}" for card in name.strip("()").split()[1:]]
    return ["Bet" if name in ("bet", "call") else "Pass"]


def leduc(state: Any, name: str) -> list[str]:
    """The same in Leduc poker; their cards have ranks only."""
    if name.startswith("("):
        cards = [card.split("_")[0] for card in name.strip("()").split()[1:]]
        return [f"Chance outcome:{CARDS.index(card)}" for card in cards]
    return ["Call" if name == "check" else name.capitalize()]


@pytest.mark.parametrize(
    ("rules", "theirs", "translated", "scale"),
    [
        ("kuhn_poker", "kuhn_poker", kuhn, 25),
        ("leduc_poker", "leduc_poker(suit_isomorphism=true)", leduc, 3),
    ],
)
def test_a_poker_of_both_worlds_is_the_same_game(
    rules: str, theirs: str, translated: Any, scale: int
) -> None:
    ours, twin = open_game(rules), pyspiel.load_game(theirs)
    shares: defaultdict[tuple[int, ...], float] = defaultdict(float)
    expected: dict[tuple[int, ...], float] = {}
    knowledge: set[tuple[str, str]] = set()
    play = same_play(ours.new_initial_state(), twin.new_initial_state(), translated)
    for state, twin_state, share in play:
        assert state.current_player() == twin_state.current_player()
        assert (
            len(state.legal_actions()) == len(twin_state.legal_actions()) or state.is_chance_node()
        )
        if state.is_player_node():
            knowledge.add((state.information_state_string(), twin_state.information_state_string()))
        if state.is_terminal():
            assert state.returns() == pytest.approx([scale * goal for goal in twin_state.returns()])
            history = tuple(twin_state.history())
            shares[history] += share
            expected[history] = chance_share(twin, history)
    assert shares == pytest.approx(expected)
    assert sum(expected.values()) > 0
    assert (
        len(knowledge)
        == len({our_text for our_text, _ in knowledge})
        == len({two for _, two in knowledge})
    )
    assert len(knowledge) == {"kuhn_poker": 12, "leduc_poker": 288}[rules]


def chance_share(game: Any, history: tuple[int, ...]) -> float:
    """The probability that chance plays its part of a history."""
    state, share = game.new_initial_state(), 1.0
    for action in history:
        if state.is_chance_node():
            share *= dict(state.chance_outcomes())[action]
        state.apply_action(action)
    return share


def test_tic_tac_toe_of_both_worlds_is_the_same_game() -> None:
    ours, twin = open_game("tic_tac_toe"), pyspiel.load_game("tic_tac_toe")
    rng = np.random.default_rng(0)
    for _ in range(60):
        state, twin_state = ours.new_initial_state(), twin.new_initial_state()
        while not state.is_terminal():
            cells = {
                cell_of(state.action_to_string(action)): action for action in state.legal_actions()
            }
            assert state.current_player() == twin_state.current_player()
            assert sorted(cells) == twin_state.legal_actions()
            cell = int(rng.choice(twin_state.legal_actions()))
            state.apply_action(cells[cell])
            twin_state.apply_action(cell)
            if len(twin_state.legal_actions()) == 1:  # a forced move, which we make at once
                twin_state.apply_action(twin_state.legal_actions()[0])
        assert twin_state.is_terminal()
        assert state.returns() == pytest.approx([50 * goal for goal in twin_state.returns()])


def cell_of(move: str) -> int:
    """Their number of the cell of our move `(mark COLUMN ROW)`."""
    column, row = map(int, move.strip("()").split()[1:])
    return 3 * (row - 1) + column - 1
