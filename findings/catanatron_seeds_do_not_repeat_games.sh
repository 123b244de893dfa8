#!/bin/sh
# catanatron 3.2.1 (Python 3.11): a seed does not repeat a game, and is the seed of all games.
#
# Guess: a game made with a seed, of random players, is the same each time.
#
# Seen: it is the same within one run of Python only, and only if no other game is made before it is
# over: the seed goes into the generator of Python's module `random`, from which all dice, cards and
# random players draw, and the caller too. In another run moves come in another order, even with
# PYTHONHASHSEED fixed. Who compares two bots on the same seeds compares them on other dice, and
# cannot replay a match from its seed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" catanatron==3.2.1 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import os
import random
import subprocess
import sys

from catanatron import Color, Game, RandomPlayer


def made(seed):
    return Game([RandomPlayer(Color.RED), RandomPlayer(Color.BLUE)], seed=seed)


def played(game):
    game.play()
    return [str(action) for action in game.state.actions]


alone = played(made(1))
if sys.argv[1:]:
    sys.exit(print(*alone))
assert played(made(1)) == alone
game = made(1)
made(2)
beside = played(game)
print("actions alone:", len(alone), "beside another game:", len(beside))
assert beside != alone

fixed = dict(os.environ, PYTHONHASHSEED="0")
runs = [subprocess.check_output([sys.executable, "seen.py", "run"], env=fixed) for _ in range(5)]
print("characters of the same game in five runs:", *map(len, runs))
assert len(set(runs)) > 1

drawn = []
for seed in (5, 6):
    random.seed(seed)
    made(1)
    drawn.append(random.random())
print("the program's own numbers after seeds 5 and 6:", *drawn)
assert drawn[0] == drawn[1]
PYTHON
PYTHONPATH="$work/site" python3 seen.py
