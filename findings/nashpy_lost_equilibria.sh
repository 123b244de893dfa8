#!/bin/sh
# nashpy 0.0.43 and pygambit 16.7.0 (Python 3.11): support enumeration loses equilibria of games that
# are not degenerate.
#
# Guess: nashpy's `support_enumeration` finds all equilibria of a non-degenerate game, as Gambit's
# `enummixed_solve` does in fractions.
#
# Seen: of 200 random 3 x 3 games with whole payoffs it lacks some in 20 to 40, and has none at all
# for some of these. A probability of an unused action that is computed as -1e-17 rules the profile
# out, so `tol=1e-9` helps little. It warns that the game is degenerate when the number that is left
# is even, which is wrong, and says nothing otherwise. Ask Gambit as well.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" nashpy==0.0.43 pygambit==16.7.0 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import random
import warnings

import nashpy
import numpy as np
import pygambit

warnings.simplefilter("ignore")
random.seed(0)


def by_gambit(first, second):
    game = pygambit.Game.from_arrays(first, second)
    strategies = [strategy for player in game.players for strategy in player.strategies]
    profiles = pygambit.nash.enummixed_solve(game, rational=True).equilibria
    return {tuple(profile[strategy] for strategy in strategies) for profile in profiles}


def by_nashpy(first, second, tol):
    profiles = nashpy.Game(first, second).support_enumeration(tol=tol)
    return {tuple(np.round(np.concatenate(profile), 6)) for profile in profiles}


games, lost, empty = 0, {1e-16: 0, 1e-9: 0}, 0
while games < 200:
    first, second = (np.array(random.choices(range(-9, 10), k=9)).reshape(3, 3) for _ in "ab")
    exact = by_gambit(first, second)
    if any(sum(x > 0 for x in one[:3]) != sum(x > 0 for x in one[3:]) for one in exact):
        continue  # degenerate
    games += 1
    rounded = {tuple(round(float(x), 6) for x in one) for one in exact}
    for tol in lost:
        found = by_nashpy(first, second, tol)
        lost[tol] += bool(rounded - found)
        if not found and tol == 1e-16:
            empty += 1
            example = (first.tolist(), second.tolist(), [list(map(str, one)) for one in exact])
print(f"of {games} games: lost some {lost}, lost all {empty}; one of these:", *example, sep="\n")
assert lost[1e-16] >= 10 and lost[1e-9] >= 5 and empty >= 3
PYTHON
PYTHONPATH="$work/site" python3 seen.py
