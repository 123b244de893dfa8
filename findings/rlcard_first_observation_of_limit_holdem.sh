#!/bin/sh
# rlcard 1.2.0 (Python 3.11): the first observation of a limit hold'em match tells the raises of the
# match before.
#
# Guess: what `env.reset()` returns depends on the new deal alone.
#
# Seen: it is made before the counts of raises are cleared, so `raise_nums`, and the 20 entries of
# the observation that hold them, are those of the last match; `env.get_state(player)` a moment later
# has zeros. So the first mover of each match learns from, and is evaluated on, an observation that
# no rule of the game explains. Take `get_state` after `reset`.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" rlcard==1.2.0 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import rlcard

env = rlcard.make("limit-holdem", config={"seed": 0})
raised = env.actions.index("raise")
seen = []
for _ in range(2):
    state, player = env.reset()
    seen.append([list(state["raw_obs"]["raise_nums"])])
    again = env.get_state(player)
    seen[-1].append(list(again["raw_obs"]["raise_nums"]))
    different = (state["obs"] != again["obs"]).nonzero()[0].tolist()
    print(*seen[-1], different)
    while not env.is_over():
        legal = list(state["legal_actions"])
        state, player = env.step(raised if raised in legal else legal[0])
assert seen == [[[0] * 4, [0] * 4], [[4] * 4, [0] * 4]], seen
assert different == [52, 56, 57, 61, 62, 66, 67, 71], different
PYTHON
PYTHONPATH="$work/site" python3 seen.py
