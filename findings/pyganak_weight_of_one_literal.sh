#!/bin/sh
# pyganak 2.9.0 (Python 3.11): the weight of one literal sets that of its negation.
#
# Guess: `set_lit_weight(1, 2.0)` changes this literal only, and the other one keeps weight 1, which
# the help text calls the default of literals that are not specified.
#
# Seen: the negation gets 1 - w, here -1, so x1 or x2 counts 3 instead of 5, and a negative part of
# the sum goes unseen. Weights that are no probabilities (odds, costs, one likelihood for each
# particle) come out wrong unless both literals of a variable are set.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" pyganak==2.9.0 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import pyganak


def count(weights, clauses=((1, 2),)):
    counter = pyganak.WeightedCounter()
    for clause in clauses:
        counter.add_clause(list(clause))
    for literal, weight in weights.items():
        counter.set_lit_weight(literal, weight)
    return round(counter.count(), 6)


seen = {
    "none": count({}),
    "x1: 2": count({1: 2.0}),
    "x1: 2, not x1: 1": count({1: 2.0, -1: 1.0}),
    "x1: 2, models with not x1": count({1: 2.0}, [(-1,)]),
    "not x1: 0.2, models with x1": count({-1: 0.2}, [(1,)]),
}
print(seen)
assert list(seen.values()) == [3.0, 3.0, 5.0, -1.0, 0.8], seen
PYTHON
PYTHONPATH="$work/site" python3 seen.py
