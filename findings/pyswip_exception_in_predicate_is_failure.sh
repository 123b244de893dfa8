#!/bin/sh
# pyswip 0.3.3 (Python 3.11, SWI-Prolog 9.0.4): an exception in a predicate that Python defines
# gets lost: the goal fails, or raises an error about its return value.
#
# Guess: `registerForeign` passes it on, so that the query raises it, or `catch/3` sees it.
#
# Seen: Python prints "Exception ignored", and Prolog takes a value that nobody returned. Alone, and
# within `catch/3`, the goal fails as if it were false; under `\+` and in a conjunction it is a
# `domain_error(foreign_return_value, _)`. A predicate in Python must catch everything itself.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" pyswip==0.3.3 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from pyswip import Prolog, registerForeign
from pyswip.prolog import PrologError


def broken(_):
    raise ValueError("broken")


broken.arity = 1
registerForeign(broken)
prolog = Prolog()
seen = [list(prolog.query(goal)) for goal in ("broken(1)", "catch(broken(1), E, true)")]
for goal in ("\\+ broken(1)", "member(X, [1, 2]), broken(X)"):
    try:
        seen.append(list(prolog.query(goal)))
    except PrologError as error:
        seen.append("foreign_return_value" in str(error))
print(seen)
assert seen == [[], [], True, True], seen
PYTHON
PYTHONPATH="$work/site" python3 seen.py 2> ignored
grep -c "ValueError: broken" ignored
