#!/bin/sh
# jumanji 1.1.2 (Python 3.11, jax 0.10.2): three environments break their own specifications.
#
# Guess: of 26 registered environments, each first time step is one that its specifications
# describe, and a legal action is there until an episode ends.
#
# Seen: TSP begins at city -1, where `observation_spec` has 0 to 19; SearchAndRescue discounts each
# of its two agents, where `discount_spec` is one number; in FlatPack, after some random blocks, the
# mask allows nothing, and the episode goes on. Environments made for masked policies are tested
# against the mask and the bounds: here a policy samples from nothing, and wrappers that read the
# specifications allocate the wrong shape.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" jumanji==1.1.2 jax==0.10.2 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import warnings

warnings.simplefilter("ignore")
import jax
import jax.numpy as jnp
import jumanji
import numpy as np


def first(name):
    """The environment, and what its first time step breaks: observations, discounts."""
    env = jumanji.make(name)
    _, step = jax.jit(env.reset)(jax.random.PRNGKey(0))
    broken = []
    for part in ("observation", "discount"):
        try:
            getattr(env, part + "_spec").validate(getattr(step, part))
        except ValueError as error:
            broken.append(f"{part}: {error}")
    return env, broken


for name in ("Maze-v0", "Game2048-v1", "FlatPack-v0"):
    assert first(name)[1] == []
for name, text in (("TSP-v1", "Array(-1, dtype=int32)"), ("SearchAndRescue-v0", "found (2,)")):
    _, broken = first(name)
    print(name, *broken)
    assert len(broken) == 1 and text in broken[0]

env, rng = first("FlatPack-v0")[0], np.random.default_rng(0)
state, step = jax.jit(env.reset)(jax.random.PRNGKey(0))
play, turns = jax.jit(env.step), 0
while np.asarray(step.observation.action_mask).any() and not step.last():
    legal = np.argwhere(np.asarray(step.observation.action_mask))
    state, step = play(state, jnp.asarray(legal[rng.integers(len(legal))], dtype=jnp.int32))
    turns += 1
print("FlatPack:", turns, "actions, none left, the episode is over:", bool(step.last()))
assert not step.last()
PYTHON
PYTHONPATH="$work/site" python3 seen.py
