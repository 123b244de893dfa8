#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): the `probability_threshold` of `expected_game_score.policy_value`
# counts at the first decision only.
#
# Guess: actions less likely than the threshold are left out anywhere in the tree.
#
# Seen: the recursion does not pass it on. Kuhn poker after a deal, players who bet once in 20 times,
# threshold 0.1: the first bet is left out, the second player's bet and the answer to it are walked,
# and the value is -0.952 instead of the -0.9025 of passing twice. So a threshold saves next to no
# time in a large game, and the value is neither that of the whole tree nor that of its likely part.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyspiel
from open_spiel.python import policy
from open_spiel.python.algorithms import expected_game_score


class RareBets(policy.Policy):
    """Bets once in 20 times, and notes where it was asked."""

    def __init__(self, game):
        super().__init__(game, [0, 1])
        self.asked = []

    def action_probabilities(self, state, player_id=None):
        self.asked.append(state.history()[2:])
        return {0: 0.95, 1: 0.05}


game = pyspiel.load_game("kuhn_poker")
for threshold, visited, value in (
    (0.0, [[], [0], [0, 1], [1]], -0.909875),
    (0.1, [[], [0], [0, 1]], -0.952375),
):
    state = game.new_initial_state()
    state.apply_action(0)
    state.apply_action(1)
    players = RareBets(game)
    found = expected_game_score.policy_value(state, [players] * 2, threshold)[0]
    print(threshold, found, players.asked)
    assert players.asked == visited
    assert abs(found - value) < 1e-9
PYTHON
PYTHONPATH="$work/site" python3 seen.py
