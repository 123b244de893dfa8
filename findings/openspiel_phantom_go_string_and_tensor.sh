#!/bin/sh
# open_spiel 2.0.2 (Python 3.11): in phantom_go an observation as a string and as a tensor tell
# different things.
#
# Guess: both tell the same: the own stones, those of the opponent that were met, and whose turn it is.
#
# Seen: only the string tells that the opponent tried a point that was taken; only the tensor has the
# turn and how many stones either side has, hidden ones included, and they tell apart positions that
# the string does not. Beliefs kept by the string and policies that read the tensor play two different
# games, and neither is checked against the other.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" open_spiel==2.0.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyspiel

game = pyspiel.load_game("phantom_go(board_size=3)")
a1, b2, c3, nothing = 0, 4, 8, 9


def seen(*actions):
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state.observation_string(0), state.observation_tensor(0)


def differ(one, other):
    """Whether Black's string and tensor tell these two lines apart."""
    return tuple(x != y for x, y in zip(seen(*one), seen(*other)))


told_to_black = {
    "where a hidden stone is": differ((a1, b2), (a1, c3)),
    "that white met the stone": differ((a1,), (a1, a1)),
    "whose turn it is": differ((a1,), (a1, b2)),
    "that there is a hidden stone": differ(
        (a1, nothing, c3, nothing), (a1, b2, c3, nothing)
    ),
}
for what, (string, tensor) in told_to_black.items():
    print(what, "- string:", string, "tensor:", tensor)
assert list(told_to_black.values()) == [
    (False, False),
    (True, False),
    (False, True),
    (False, True),
], told_to_black
PYTHON
PYTHONPATH="$work/site" python3 seen.py
