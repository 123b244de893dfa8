#!/bin/sh
# pyapproxmc 4.4.0 (Python 3.11): variables of the projection that no constraint reaches are not
# counted.
#
# Guess: `count(projection)` counts the choices of the variables in the projection; for few it is
# exact, so x1 or x3, over x1, x2 and x3, has 6.
#
# Seen: it is 3. Each free variable costs a factor 2, be it unmentioned, mentioned in a tautology, or
# set free by another clause, so it cannot be told from the clauses alone; without an argument the
# answer is 3 as well. Ratios of two such counts, as used for beliefs, are wrong unless both lack the
# same variables.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" pyapproxmc==4.4.0 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from itertools import product

import pyapproxmc


def by_hand(clauses, variables):
    return sum(
        all(any(choice[abs(literal) - 1] == (literal > 0) for literal in clause) for clause in clauses)
        for choice in product((False, True), repeat=variables)
    )


def counted(clauses, projection=None):
    counter = pyapproxmc.Counter()
    for clause in clauses:
        counter.add_clause(clause)
    cells, hashes = counter.count(projection) if projection else counter.count()
    return cells * 2**hashes


seen = []
for clauses, variables in (
    ([[1, 2], [2, 3]], 3),
    ([[1, 3]], 3),
    ([[1, 2], [3, -3]], 3),
    ([[1, 2], [1, -2], [3, 4]], 4),
    ([[1, 2], [-3, 4], [-3]], 4),
):
    everything = list(range(1, variables + 1))
    seen.append((by_hand(clauses, variables), counted(clauses, everything), counted(clauses)))
    print(clauses, *seen[-1])
assert seen == [(5, 5, 5)] + [(6, 3, 3)] * 4, seen
PYTHON
PYTHONPATH="$work/site" python3 seen.py
