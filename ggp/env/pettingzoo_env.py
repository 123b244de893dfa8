"""Games as PettingZoo environments, from `ggp.labs.learning.env.pettingzoo_env`."""

from ggp.labs.learning.env.pettingzoo_env import AECGame, ParallelGame, aec_env, parallel_env

__all__ = ["AECGame", "ParallelGame", "aec_env", "parallel_env"]
