#!/bin/sh
# nashpy 0.0.43 (Python 3.11): support enumeration loses equilibria of games that are not degenerate.
#
# Guess: nashpy's `support_enumeration` finds all equilibria of a non-degenerate game, as the same
# enumeration in fractions does.
#
# Seen: of 200 random 3 x 3 games with whole payoffs it lacks some in about 40, and has none at
# all for some of these. A probability of an unused action that is computed as -1e-17 rules the profile
# out, so `tol=1e-9` helps little. It warns that the game is degenerate when the number that is left
# is even, which is wrong, and says nothing otherwise. Compute in fractions.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" nashpy==0.0.43 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import random
import warnings
from fractions import Fraction
from itertools import combinations

import nashpy
import numpy as np

warnings.simplefilter("ignore")
random.seed(0)
ROWS = range(3)


class Degenerate(Exception):
    pass


def solved(matrix):
    """The solution of a linear system, given with its right side; None if there is not one."""
    matrix = [row[:] for row in matrix]
    for k in range(len(matrix)):
        pivot = next((row for row in matrix[k:] if row[k]), None)
        if pivot is None:
            return None
        matrix.remove(pivot)
        matrix.insert(k, [x / pivot[k] for x in pivot])
        for row in matrix:
            if row is not matrix[k]:
                row[:] = [x - row[k] * y for x, y in zip(row, matrix[k])]
    return [row[-1] for row in matrix]


def indifferent(payoffs, own, other):
    """The mixture on `other` that makes all of `own` best replies; None if there is none."""
    equal = [[Fraction(int(payoffs[own[0]][c] - payoffs[r][c])) for c in other] + [Fraction(0)]
             for r in own[1:]]
    weights = solved([*equal, [Fraction(1)] * (len(other) + 1)])
    if weights is None or min(weights) < 0:
        return None
    values = [sum(w * int(payoffs[r][c]) for w, c in zip(weights, other)) for r in ROWS]
    if min(weights) == 0 or values.count(values[own[0]]) > len(own):
        raise Degenerate
    mixed = [weights[other.index(c)] if c in other else Fraction(0) for c in ROWS]
    return mixed if values[own[0]] == max(values) else None


def in_fractions(first, second):
    found = set()
    for size in (1, 2, 3):
        for own in combinations(ROWS, size):
            for other in combinations(ROWS, size):
                columns = indifferent(first, own, other)
                rows = indifferent(second.T, other, own)
                if rows and columns:
                    found.add((*rows, *columns))
    return found


def by_nashpy(first, second, tol):
    profiles = nashpy.Game(first, second).support_enumeration(tol=tol)
    return {tuple(np.round(np.concatenate(profile), 6)) for profile in profiles}


games, lost, empty = 0, {1e-16: 0, 1e-9: 0}, 0
while games < 200:
    first, second = (np.array(random.choices(range(-9, 10), k=9)).reshape(3, 3) for _ in "ab")
    try:
        exact = in_fractions(first, second)
    except Degenerate:
        continue
    assert len(exact) % 2  # as in every non-degenerate game
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
