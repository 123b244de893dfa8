#!/bin/sh
# python-sat 1.9.dev24 (Python 3.11): `negate()` of a cardinality constraint is not its opposite.
#
# Guess: CardEnc.atmost(lits, 2).negate() is satisfied by the choices of three or four of 4 literals.
#
# Seen: in six encodings it is satisfied by all 16 choices, since the variables that the encoding
# brought in may be set wrongly; with the native encoding, whose constraint is not among the
# clauses, by none. `negate` is right only for formulas without such variables. For the opposite of
# at most k say at least k + 1; this matters where a belief is "not what the percept says".
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" python-sat==1.9.dev24 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
from itertools import product

from pysat.card import CardEnc, EncType
from pysat.solvers import Solver

LITERALS = [1, 2, 3, 4]


def choices(formula, solver="glucose4"):
    """How many choices of the literals can be completed to a model."""
    with Solver(solver, bootstrap_with=formula) as opened:
        return sum(
            opened.solve(assumptions=[literal * sign for literal, sign in zip(LITERALS, signs)])
            for signs in product((1, -1), repeat=4)
        )


for name in "seqcounter sortnetwrk cardnetwrk totalizer mtotalizer kmtotalizer native".split():
    solver = "minicard" if name == "native" else "glucose4"
    encoding = getattr(EncType, name)
    constraint = CardEnc.atmost(LITERALS, bound=2, encoding=encoding)
    opposite = CardEnc.atleast(LITERALS, bound=3, encoding=encoding)
    seen = [choices(constraint, solver), choices(constraint.negate()), choices(opposite, solver)]
    print(name, seen)
    assert seen == [11, 0 if name == "native" else 16, 5], (name, seen)
plain = CardEnc.atmost(LITERALS, bound=1, encoding=EncType.pairwise)
assert (choices(plain), choices(plain.negate())) == (5, 11)
PYTHON
PYTHONPATH="$work/site" python3 seen.py
