#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): repeated_leduc_poker shows both players both cards after a fold.
#
# Guess: information states of the repeated game are those of leduc_poker with earlier hands before
# them, and the card of a player who folds stays hidden.
#
# Seen: between two hands everybody's string is the text of the whole state, both cards included; with
# the next hand it forgets all that. The tensors do neither. So by strings folding shows one's card
# while players decide to go on, and one hand has 11,976 sets where tensors have 3,060. Rewards come
# after each hand, although the game declares terminal ones.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyspiel

game = pyspiel.load_game("repeated_leduc_poker(num_hands=2)")


def after_a_fold(card):
    """Player 1 raises, player 0, who has this card, folds."""
    state = game.new_initial_state()
    for action in (card, 5, 1, 2, 0):
        state.apply_action(action)
    return state


low, high = after_a_fold(0), after_a_fold(4)
print(low.information_state_string(1))
string = low.information_state_string(1) != high.information_state_string(1)
tensor = low.information_state_tensor(1) != high.information_state_tensor(1)
print("player 1 sees the folded card - by string:", string, "by tensor:", tensor)
assert string and not tensor
assert "Cards (public player_0 player_1): -10000 0 5" in low.information_state_string(1)
paid = low.returns()
for state in (low, high):
    for action in (3, 3, 1, 2):  # both go on, and are dealt cards
        state.apply_action(action)
print("in the next hand:", low.information_state_string(1))
assert low.information_state_string(1) == high.information_state_string(1)
print("returns after one of two hands:", paid, game.get_type().reward_model)
assert any(paid) and game.get_type().reward_model == pyspiel.GameType.RewardModel.TERMINAL
PYTHON
PYTHONPATH="$work/site" python3 seen.py
