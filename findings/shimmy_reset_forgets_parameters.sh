#!/bin/sh
# shimmy 2.0.1 with open_spiel 2.0.2 and pettingzoo 1.27.0 (Python 3.11): `reset` plays another game.
#
# Guess: an environment made of `hex(board_size=3)`, an instance of `pyspiel.Game`, plays that game.
#
# Seen: it does until `reset`, which must be called before the first move. That loads the game again
# by its short name, and so with all parameters as OpenSpiel sets them: Hex on 11 x 11, breakthrough
# on 8 x 8, Go on 19 x 19. The action space grows with it, after learners have read its size. Only
# `game_name=` together with `config=` keeps parameters.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" shimmy==2.0.1 open_spiel==2.0.2 pettingzoo==1.27.0 \
  2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyspiel
from shimmy import OpenSpielCompatibilityV0

SIZES = {
    "hex(board_size=3)": (9, 121),
    "breakthrough(rows=4,columns=4)": (192, 768),
    "go(board_size=5)": (26, 362),
}
for text, expected in SIZES.items():
    env = OpenSpielCompatibilityV0(env=pyspiel.load_game(text))
    before = int(env.action_space("player_0").n)
    env.reset(seed=1)
    after = int(env.action_space("player_0").n)
    print(f"{text}: {before} actions, after reset {after}: {env.game_state.get_game()}")
    assert (before, after) == expected

config = {"board_size": 3}
env = OpenSpielCompatibilityV0(game_name="hex", config=config)
env.reset(seed=1)
print(f"game_name and config: {env.game_state.get_game()}")
assert env.action_space("player_0").n == 9
PYTHON
PYTHONPATH="$work/site" python3 seen.py
