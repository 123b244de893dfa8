#!/bin/sh
# supersuit 3.11.0, pettingzoo 1.27.0, gymnasium 1.4.0 (Python 3.11): with `black_death_v3` a match
# ends one step late, on an observation of zeros.
#
# Guess: the wrapper only fills in zeros for agents that have left; where all end at once it changes
# nothing.
#
# Seen: the last real step says that nobody is done; one more step, in which nobody acts, gives
# zeros, reward 0, and says terminated *and* truncated. Made a vector environment, its
# `terminal_observation` is zeros instead of the final position, matches are a step longer, and a
# learner that bootstraps at truncations does so at the end of every match.
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
    """Two players, three turns; both see the turn."""

    metadata = {"name": "three_turns", "is_parallelizable": True}
    render_mode = None

    def __init__(self):
        self.possible_agents = ["a", "b"]

    def observation_space(self, agent):
        return gymnasium.spaces.Box(0, 9, (1,), np.float32)

    def action_space(self, agent):
        return gymnasium.spaces.Discrete(2)

    def seen(self, agents):
        return {agent: np.array([self.turn], np.float32) for agent in agents}

    def reset(self, seed=None, options=None):
        self.agents, self.turn = list(self.possible_agents), 0
        return self.seen(self.agents), {agent: {} for agent in self.agents}

    def step(self, actions):
        self.turn += 1
        agents, over = self.agents, self.turn == 3
        if over:
            self.agents = []
        told = ({x: 1.0 for x in agents}, {x: over for x in agents}, {x: False for x in agents})
        return (self.seen(agents), *told, {x: {} for x in agents})


def last_step(env):
    """Its number, the first agent's terminated and truncated, and the last observation."""
    vector = supersuit.pettingzoo_env_to_vec_env_v1(env)
    vector.reset(seed=0)
    for number in range(1, 9):
        _, _, terminated, truncated, infos = vector.step(np.zeros(2, int))
        if terminated[0] or truncated[0]:
            final = infos[0]["terminal_observation"].tolist()
            return number, bool(terminated[0]), bool(truncated[0]), final


plain, wrapped = last_step(Game()), last_step(supersuit.black_death_v3(Game()))
print(plain, wrapped)
assert plain == (3, True, False, [3.0])
assert wrapped == (4, True, True, [0.0])
PYTHON
PYTHONPATH="$work/site" python3 seen.py
