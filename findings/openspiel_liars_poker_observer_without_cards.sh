#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): an observer of python_liars_poker has no cards in its tensor.
#
# Guess: `make_observation(game).tensor` is the state's `observation_tensor`, or with perfect recall
# its `information_state_tensor`, as in OpenSpiel's other games in Python.
#
# Seen: after `set_from` the observer's tensor holds who observes and two flags. Cards, bids and
# challenges are in its `dict` only, whose parts are no views of the tensor any more; the state's
# own tensors have them. So all hands look the same to a network that is fed by an observer, and it
# learns nothing of them, without an error.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import random

import numpy as np
import open_spiel.python.games
import pyspiel
from open_spiel.python.observation import make_observation

RECALLING = pyspiel.IIGObservationType(
    perfect_recall=True,
    public_info=True,
    private_info=pyspiel.PrivateInfoType.SINGLE_PLAYER,
)


def shown(name, seed, decisions):
    """The observers' tensors and the state's, at a player's decision in a random match."""
    game, rng = pyspiel.load_game(name), random.Random(seed)
    state = game.new_initial_state()
    while state.is_chance_node() or decisions:
        decisions -= not state.is_chance_node()
        state.apply_action(rng.choice(state.legal_actions()))
    player = state.current_player()
    observers = [make_observation(game), make_observation(game, RECALLING)]
    for observer in observers:
        observer.set_from(state, player)
    own = [state.observation_tensor(player), state.information_state_tensor(player)]
    return [observer.tensor.copy() for observer in observers], own


def same(pairs):
    return [np.array_equal(one, np.float32(other)) for one, other in zip(*pairs)]


for name in ("python_kuhn_poker", "python_block_dominoes"):
    assert same(shown(name, 0, 1)) == [True, True]
poker = shown("python_liars_poker", 0, 2)
print("the observers' tensors are the state's:", same(poker))
for kind, by_observer, by_state in zip(("observation", "with recall"), *poker):
    print(kind, "- not 0:", np.count_nonzero(by_observer), "of", np.count_nonzero(by_state))
assert same(poker) == [False, False]
another = shown("python_liars_poker", 1, 2)
assert same((poker[0], another[0])) == [True, True]
assert same((poker[1], another[1])) == [False, False]
PYTHON
PYTHONPATH="$work/site" python3 seen.py
