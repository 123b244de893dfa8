#!/bin/sh
# supersuit 3.11.0, pettingzoo 1.27.0, gymnasium 1.4.0 (Python 3.11): `agent_indicator_v0` marks
# agents with the highest value of their observation space, which may be zero.
#
# Guess: it appends 1 at the agent's place and 0 elsewhere, whatever the bounds are.
#
# Seen: it appends the upper bound: 100 where observations go to 100, and 0 where they are costs or
# logarithms of probabilities in [-1, 0], so that all agents look alike and a shared network cannot
# tell seats apart, without a warning. Below 0, in [-5, -1], it raises ValueError.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" supersuit==3.11.0 pettingzoo==1.27.0 \
    gymnasium==1.4.0 2>/dev/null
cd "$work"
cat > seen.py <<'PYTHON'
import gymnasium
import numpy as np
import supersuit
from pettingzoo import ParallelEnv


class Game(ParallelEnv):
    """Two players who both see the lowest value there is."""

    metadata = {"name": "bounds", "is_parallelizable": True}
    render_mode = None

    def __init__(self, low, high):
        self.possible_agents = ["a", "b"]
        self.space = gymnasium.spaces.Box(low, high, (1,), np.float32)

    def observation_space(self, agent):
        return self.space

    def action_space(self, agent):
        return gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        return {agent: self.space.low for agent in self.agents}, {agent: {} for agent in self.agents}


def marks(low, high):
    try:
        observations, _ = supersuit.agent_indicator_v0(Game(low, high)).reset()
    except ValueError:
        return "ValueError"
    return [observations[agent].tolist()[1:] for agent in ("a", "b")]


seen = {bounds: marks(*bounds) for bounds in ((0, 1), (0, 100), (-1, 0), (-5, -1))}
print(seen)
assert seen == {
    (0, 1): [[1.0, 0.0], [0.0, 1.0]],
    (0, 100): [[100.0, 0.0], [0.0, 100.0]],
    (-1, 0): [[0.0, 0.0], [0.0, 0.0]],
    (-5, -1): "ValueError",
}, seen
PYTHON
PYTHONPATH="$work/site" python3 seen.py
