#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): `value_iteration` gives wrong values for games with a horizon.
#
# Guess: on small games of perfect information it finds the value that a search of the tree finds;
# it does for nim, clobber, hex, go and other board games.
#
# Seen: it takes states with the same `str` for one, and that of cliff_walking and pig does not tell
# how many steps are left. So walking in circles looks free, value 0 where the shortest way costs 4,
# and pig on 3 points within 6 turns has 0.55 for the first player instead of 0.67. No error, no
# warning: the method is right only where `str(state)` says all that matters.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 cvxpy==1.9.3 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyspiel
from open_spiel.python.algorithms import value_iteration


def by_search(state):
    if state.is_terminal():
        return state.returns()[0]
    if state.is_chance_node():
        return sum(chance * by_search(state.child(roll)) for roll, chance in state.chance_outcomes())
    best = max if state.current_player() == 0 else min
    return best(by_search(state.child(action)) for action in state.legal_actions())


seen = {}
for name in (
    "nim(pile_sizes=2;3)",
    "clobber(rows=2,columns=3)",
    "cliff_walking(height=2,width=3,horizon=5)",
    "pig(winscore=3,horizon=6)",
):
    game = pyspiel.load_game(name)
    root = game.new_initial_state()
    iterated = value_iteration.value_iteration(game, -1, 1e-6)[str(root)]
    seen[name] = (round(by_search(root), 4), round(iterated, 4))
    print(name, *seen[name])
assert list(seen.values()) == [(1.0, 1.0), (-1.0, -1.0), (-4.0, 0.0), (0.6745, 0.5502)], seen
PYTHON
PYTHONPATH="$work/site" python3 seen.py
