#!/bin/sh
# problog 2.3.0 (Python 3.11): `once/1` does not stop at the first answer.
#
# Guess: in each possible world `once(a(X))` binds X to the first a(X) that holds there, as in
# Prolog; with 0.5::a(1) and 0.5::a(2) it is 1 with 0.5 and 2 with 0.25.
#
# Seen: it is a plain call. Both get 0.5, by exact inference as by sampling, and without any chance
# q(1) and q(2) are both certain. `findall/3` keeps the order of answers, so the head of its list is
# the first one. Move choices and tie breaks carried over from Prolog get too many answers.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" problog==2.3.0 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from problog import get_evaluatable
from problog.program import PrologString
from problog.tasks import sample

FACTS = "0.5::a(1). 0.5::a(2). query(q(_)). "


def exact(program):
    answers = get_evaluatable("ddnnf").create_from(PrologString(program)).evaluate()
    return {str(query): round(float(chance), 6) for query, chance in answers.items()}


once = exact(FACTS + "q(X) :- once(a(X)).")
certain = exact("a(1). a(2). query(q(_)). q(X) :- once(a(X)).")
first = exact(FACTS + "q(X) :- findall(Y, a(Y), [X|_]).")
print(once, certain, first)
assert once == {"q(1)": 0.5, "q(2)": 0.5}
assert certain == {"q(1)": 1.0, "q(2)": 1.0}
assert first == {"q(1)": 0.5, "q(2)": 0.25}
worlds = sample.sample(PrologString(FACTS + "q(X) :- once(a(X))."), n=200, format="dict")
both = sum(sum(map(bool, world.values())) == 2 for world in worlds)
print(f"both in {both} of 200 samples")
assert both > 20
PYTHON
PYTHONPATH="$work/site" python3 seen.py
