#!/bin/sh
# pyswip 0.3.3 (Python 3.11, SWI-Prolog 9.0.4): integers of more than 64 bits and rational numbers
# do not come to Python.
#
# Guess: Prolog's unbounded integers are Python's, and 1 rdiv 3 comes as a Fraction or as text.
#
# Seen: 2**63 raises InvalidTypeError, 1 rdiv 3 raises KeyError, although both are exact in Prolog;
# one such variable costs the whole solution. Exact probabilities or counts of large games must be
# turned into text within a predicate: format(atom(A), "~w", [X]).
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" pyswip==0.3.3 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from pyswip import Prolog

prolog = Prolog()


def outcome(goal):
    try:
        return list(prolog.query(goal))[0]["X"]
    except Exception as error:
        return type(error).__name__


goals = ["X is 2**63 - 1", "X is -(2**63)", "X is 2**63", "X is 1 rdiv 3", "Y is 2**70, X = 1"]
prolog.assertz("(text(X) :- Y is 2**70, format(atom(X), '~w', [Y]))")
seen = [outcome(goal) for goal in [*goals, "text(X)"]]
print(seen)
large = "InvalidTypeError"
assert seen == [2**63 - 1, -(2**63), large, "KeyError", large, str(2**70)], seen
PYTHON
PYTHONPATH="$work/site" python3 seen.py
