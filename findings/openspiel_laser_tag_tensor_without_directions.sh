#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): laser_tag has perfect information, and its tensor lacks which way
# the players face.
#
# Guess: in a game of perfect information the observation tensor of a player determines what may
# follow, as the string does.
#
# Seen: the string has a line of orientations, the tensor has the cells only (fully_obs=true, the
# default). Two states with the same tensors of both players lead to different cells by the same
# actions: a step forward goes where a player faces. Policies that read tensors do not see it, and
# nothing says so: give them the string, or the actions so far.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyspiel

game = pyspiel.load_game("laser_tag")
kinds = pyspiel.GameType.Information
turn_left, turn_right, forward, stand = 0, 1, 2, 6


def played(*pairs):
    state = game.new_initial_state()
    for pair in [None, *pairs]:
        if pair:
            state.apply_actions(list(pair))
        while state.is_chance_node():
            state.apply_action(state.legal_actions()[0])
    return state


left, right = played((turn_left, stand)), played((turn_right, stand))
same = [left.observation_tensor(p) == right.observation_tensor(p) for p in (0, 1)]
print("strings:", left.observation_string(0), right.observation_string(0), sep="\n")
for state in (left, right):
    state.apply_actions([forward, stand])
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
after = left.observation_tensor(0) == right.observation_tensor(0)
print("same tensors:", same, "- after a step forward:", after)
assert game.get_type().information == kinds.PERFECT_INFORMATION
assert same == [True, True] and not after
PYTHON
PYTHONPATH="$work/site" python3 seen.py
