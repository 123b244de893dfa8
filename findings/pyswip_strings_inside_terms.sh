#!/bin/sh
# pyswip 0.3.3 (Python 3.11, SWI-Prolog 9.0.4): strings come as bytes, and inside a compound term
# they become the text of a Python literal.
#
# Guess: a Prolog string is a `str`, like an atom, and the text of a term can be read by Prolog.
#
# Seen: X = "abc" gives b'abc', and f('a b', "c d") gives the text f(a b, b'c d'), where the atom has
# lost its quotes and the string got a prefix. Prolog reads neither. Who needs the term must take it
# apart in Prolog, or print it there with format(atom(A), "~q", [X]).
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" pyswip==0.3.3 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from pyswip import Prolog

prolog = Prolog()
(alone,) = prolog.query('X = "abc"')
(inside,) = prolog.query("X = f('a b', \"c d\")")
(listed,) = prolog.query("X = ['a b', \"c d\"]")
(printed,) = prolog.query("X = f('a b', \"c d\"), format(atom(A), \"~q\", [X])")
print(alone, inside, listed, printed["A"])
assert alone == {"X": b"abc"}
assert inside == {"X": "f(a b, b'c d')"}
assert listed == {"X": ["a b", b"c d"]}
assert printed["A"] == "f('a b',\"c d\")"
PYTHON
PYTHONPATH="$work/site" python3 seen.py
