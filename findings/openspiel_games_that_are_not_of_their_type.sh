#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): two games in Python are not what their types say.
#
# Guess: a game of terminal rewards has none before the end, one of perfect information hides
# nothing, and `max_chance_outcomes` is above every action of chance.
#
# Seen: python_hangman and python_ant_foraging declare terminal rewards and pay on the way.
# python_hangman declares perfect information, but string and tensor hide the word, and the tensor
# letters tried in vain, on which legal actions depend; its chance has 25 outcomes of at most 1. Code
# that chooses an algorithm, or the size of an array, by the type goes wrong.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import random

import open_spiel.python.games
import pyspiel

types = pyspiel.GameType
game = pyspiel.load_game("python_hangman")
kind = game.get_type()
start = game.new_initial_state()
outcomes = len(start.chance_outcomes())
words = [start.child(action) for action in range(outcomes)]
first, second = next(
    (one, other)
    for one in words
    for other in words
    if str(one) != str(other) and one.observation_string(0) == other.observation_string(0)
)
hidden = first.observation_tensor(0) == second.observation_tensor(0)
vain = next(a for a in first.legal_actions() if chr(ord("a") + a) not in str(first).split("\n")[0])
guessed = first.child(vain)
same = first.observation_tensor(0) == guessed.observation_tensor(0)
fewer = first.legal_actions() != guessed.legal_actions()
print("python_hangman:", kind.information, kind.reward_model)
print("outcomes of chance:", outcomes, "of at most", game.max_chance_outcomes())
print("the word is hidden:", hidden, "- rewards after one letter:", guessed.rewards())
print("same tensor:", same, "- other legal actions:", fewer)
assert kind.information == types.Information.PERFECT_INFORMATION and hidden and same and fewer
assert outcomes > game.max_chance_outcomes() == 1

ants, rng, paid = pyspiel.load_game("python_ant_foraging"), random.Random(0), False
for _ in range(20):
    state = ants.new_initial_state()
    while not state.is_terminal():
        paid |= any(state.returns())
        players = range(ants.num_players())
        if state.is_simultaneous_node():
            state.apply_actions([rng.choice(state.legal_actions(p)) for p in players])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
print("python_ant_foraging:", ants.get_type().reward_model, "- pays before the end:", paid)
for one in (game, ants):
    assert one.get_type().reward_model == types.RewardModel.TERMINAL
assert paid and any(guessed.rewards())
PYTHON
PYTHONPATH="$work/site" python3 seen.py
