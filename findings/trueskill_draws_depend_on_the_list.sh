#!/bin/sh
# trueskill 0.4.5 (Python 3.11): when three or more draw, the new ratings depend on the order in which
# players are listed.
#
# Guess: `rate(groups, ranks=[0, 0, 0])` is symmetric, since the ranks say all that is known of order.
#
# Seen: neighbours in the list are compared, the first with the last is not. Three equal players get
# unequal uncertainties, the least for the middle one; with unequal players the means depend on the
# order too, by 0.02 here. Without draws, sorting by rank makes it right. Tables of many-player games
# where seats tie drift with the order of seats: shuffle it.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" trueskill==0.4.5 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from itertools import permutations

from trueskill import Rating, rate

(first,), (second,), (third,) = rate([(Rating(),)] * 3, ranks=[0, 0, 0])
print(first.sigma, second.sigma, third.sigma)
assert abs(first.sigma - third.sigma) < 1e-4 < 1e-3 < first.sigma - second.sigma

players = {"a": Rating(25, 8), "b": Rating(30, 3), "c": Rating(20, 5)}


def span(ranks):
    """How far the new means lie apart, over the orders of the list."""
    means = {name: [] for name in players}
    for order in permutations(players):
        groups = [{name: players[name]} for name in order]
        for group in rate(groups, ranks=[ranks[name] for name in order]):
            for name, rating in group.items():
                means[name].append(rating.mu)
    return {name: max(seen) - min(seen) for name, seen in means.items()}


drawn = span({"a": 0, "b": 0, "c": 0})
decided = span({"a": 0, "b": 1, "c": 2})
print(drawn, decided)
assert max(drawn.values()) > 0.01 and max(decided.values()) < 1e-6
PYTHON
PYTHONPATH="$work/site" python3 seen.py
