#!/bin/sh
# egttools 0.1.14.2 (Python 3.11): two of its classes give the same Markov chain as matrices that are
# each other's transpose.
#
# Guess: `calculate_transition_matrix` of PairwiseComparison and `calculate_full_transition_matrix` of
# StochDynamics agree, rows summing to 1: both describe pairwise comparison in one population.
#
# Seen: in the first the rows sum to 1, in the second the columns. The stationary distribution of one
# computed in the way of the other is wrong without an error: not a distribution at all here. Check
# which sums are 1 before multiplying.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" egttools==0.1.14.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import numpy as np
from egttools.analytical import PairwiseComparison, StochDynamics
from egttools.games import Matrix2PlayerGameHolder

payoffs = np.array([[1.0, 2.0], [0.0, 3.0]])
population, beta, mutation = 20, 0.1, 0.01
game = Matrix2PlayerGameHolder(2, payoffs)
comparison = PairwiseComparison(population, game)
first = comparison.calculate_transition_matrix(beta, mutation).toarray()
dynamics = StochDynamics(2, payoffs, population, mu=mutation)
second = np.asarray(dynamics.calculate_full_transition_matrix(beta).todense())
for name, matrix in (("PairwiseComparison", first), ("StochDynamics", second)):
    rows, columns = matrix.sum(axis=1), matrix.sum(axis=0)
    print(name, "rows", rows.min(), rows.max(), "columns", columns.min(), columns.max())
assert np.allclose(first, second.T) and not np.allclose(first, second, atol=1e-3)
assert np.allclose(first.sum(axis=1), 1) and np.allclose(second.sum(axis=0), 1)
PYTHON
PYTHONPATH="$work/site" python3 seen.py
