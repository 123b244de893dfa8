#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): `state.rewards()` added up after every action is not `returns()`,
# and neither is it if chance nodes are left out.
#
# Guess: rewards are those of the latest action, so their sum along any match is its returns.
#
# Seen: after an action of chance, 2048 and coop_box_pushing show the last player's rewards again, so
# the sum is twice too large; blackjack, markov_soccer and coop_box_pushing also pay at chance nodes,
# so a sum over players' actions misses points. It is right in all of them only if rewards are read
# where no chance node follows. A learner that steps states itself trains on wrong rewards otherwise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import random

import pyspiel


def act(state, players):
    if state.is_chance_node():
        actions, weights = zip(*state.chance_outcomes())
        state.apply_action(random.choices(actions, weights)[0])
    elif state.is_simultaneous_node():
        legal = [state.legal_actions(player) or [0] for player in range(players)]
        state.apply_actions([random.choice(actions) for actions in legal])
    else:
        state.apply_action(random.choice(state.legal_actions()))


def right_sums(game, matches=8):
    """In how many matches each way to add up the first player's rewards gives its return."""
    counts = [0, 0, 0]
    for seed in range(matches):
        random.seed(seed)
        state = game.new_initial_state()
        sums = [0.0, 0.0, 0.0]
        while not state.is_terminal():
            by_chance = state.is_chance_node()
            act(state, game.num_players())
            reward = state.rewards()[0]
            for way, counted in enumerate((True, not by_chance, not state.is_chance_node())):
                sums[way] += reward * counted
        for way in range(3):
            counts[way] += abs(sums[way] - state.returns()[0]) < 1e-6
    return counts


names = ("2048", "blackjack", "markov_soccer", "coop_box_pushing", "leduc_poker")
seen = {name: right_sums(pyspiel.load_game(name)) for name in names}
print("right sums of 8: every action, players' actions, before no chance node", seen)
assert all(counts[2] == 8 for counts in seen.values()), seen
assert seen["2048"][0] == 0 and seen["2048"][1] == 8
assert seen["markov_soccer"][:2] == [8, 0]
assert seen["blackjack"][0] == 8 and seen["blackjack"][1] < 8
assert seen["coop_box_pushing"][:2] == [0, 0]
PYTHON
PYTHONPATH="$work/site" python3 seen.py 2>/dev/null
