"""Games as gymnasium environments, from `ggp.labs.learning.env.gymnasium_env`."""

from ggp.labs.learning.env.gymnasium_env import RANDOM_PLAYER, VectorGame

__all__ = ["RANDOM_PLAYER", "VectorGame"]
