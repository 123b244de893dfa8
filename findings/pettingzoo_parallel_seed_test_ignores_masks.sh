#!/bin/sh
# PettingZoo 1.27.0 (Python 3.11): `parallel_seed_test` draws actions without the action mask.
#
# Guess: like `seed_test` and both API tests, it draws actions that the `action_mask` of the
# observation allows, so that a game that refuses illegal moves passes.
#
# Seen: `seed_test` keeps to the mask, `parallel_seed_test` draws from the whole space: a parallel
# environment with masks that raises on illegal actions fails it, though it is deterministic. One
# passes if its action spaces draw legal actions by themselves.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install -q --target "$work/site" pettingzoo==1.27.0 gymnasium==1.4.0 2>/dev/null
cd "$work"
PYTHONPATH="$work/site" python3 - <<'PYTHON'
import gymnasium
import numpy as np
from pettingzoo import ParallelEnv
from pettingzoo.test import parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.utils.conversions import parallel_to_aec


class Game(ParallelEnv):
    """Two players; of their eight actions one is legal in each of six turns."""

    metadata = {"name": "masked", "is_parallelizable": True}
    render_mode = None

    def __init__(self):
        self.possible_agents = ["a", "b"]
        box = gymnasium.spaces.Box
        space = {"observation": box(0, 9, (1,), np.int8), "action_mask": box(0, 1, (8,), np.int8)}
        self.observation_spaces = {x: gymnasium.spaces.Dict(space) for x in self.possible_agents}
        self.action_spaces = {x: gymnasium.spaces.Discrete(8) for x in self.possible_agents}

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def seen(self):
        mask = np.zeros(8, dtype=np.int8)
        mask[self.turn] = 1
        told = {"observation": np.array([self.turn], dtype=np.int8), "action_mask": mask}
        return {agent: told for agent in self.possible_agents}

    def reset(self, seed=None, options=None):
        self.agents, self.turn = list(self.possible_agents), 0
        return self.seen(), {agent: {} for agent in self.agents}

    def step(self, actions):
        if any(action != self.turn for action in actions.values()):
            raise ValueError("this action is not legal")
        self.turn += 1
        agents, over = self.agents, self.turn == 6
        if over:
            self.agents = []
        told = ({x: 0.0 for x in agents}, {x: over for x in agents}, {x: False for x in agents})
        return (self.seen(), *told, {x: {} for x in agents})


parallel_api_test(Game(), num_cycles=12)
seed_test(lambda: parallel_to_aec(Game()), num_cycles=12)
try:
    parallel_seed_test(Game, num_cycles=12)
except ValueError as error:
    print(f"seed_test passes; parallel_seed_test: {error}")
else:
    raise SystemExit("parallel_seed_test keeps to masks now")
PYTHON
