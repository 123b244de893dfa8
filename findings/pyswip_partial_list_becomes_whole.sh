#!/bin/sh
# pyswip 0.3.3 (Python 3.11, SWI-Prolog 9.0.4): a partial list comes to Python as a whole one, and
# variables that a list shares are different in Python.
#
# Guess: `X = [a|T]` raises, or its tail is a `Variable` of the result.
#
# Seen: X is ['a'], the same as for `X = [a]`, and `[A, B, A]` has three unlike variables, although
# the text of `f(A, B, A)` repeats the first. So answers of relations such as append/3 with open
# ends look final, and unification in Python loses what Prolog knew to be equal.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" pyswip==0.3.3 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from pyswip import Prolog

prolog = Prolog()
(partial,) = prolog.query("X = [a|_]")
(whole,) = prolog.query("X = [a]")
appended = next(prolog.query("append([a, b], _, X)"))
(shared,) = prolog.query("X = [A, B, A]")
handles = [variable.handle for variable in shared["X"]]
print(partial, whole, appended, len(set(handles)))
assert partial == whole == {"X": ["a"]}
assert appended["X"] == ["a", "b"]
assert len(set(handles)) == 3
(term,) = prolog.query("X = f(A, B, A)")
first, second, third = term["X"][2:-1].split(", ")
assert first == third != second, term
PYTHON
PYTHONPATH="$work/site" python3 seen.py
