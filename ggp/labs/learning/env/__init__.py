"""An environment for learning: many lanes of a game, arrays of fixed shapes, no strings.

    >>> from ggp.labs.learning.env import make
    >>> env = make("kuhn_poker", lanes=4096)
    >>> turn = env.reset(seed=1)
    >>> turn = env.step(env.sample_legal())
    >>> turn.observations.shape, turn.masks.shape, turn.state_tensor.shape
    ((4096, 2, 12), (4096, 2, 5), (4096, 16))

An environment takes a game and actions as indices, and returns arrays for L lanes and Q roles.
Begin with `environment` and its output, `Turn`; `ggp.study.names` gives the meaning of the indices.
`engine` is the interface to a machine, and `kernels` hold the loops over lanes.

`ggp.study.lengths` proves a bound on the length of a match. `exact` evaluates policies in small
games.

`pettingzoo_env` and `gymnasium_env` wrap an environment for these two libraries; both are optional,
and no other module imports them. `docs/use/environment.md` shows how to use all of it.
"""

from ggp.labs.learning.env.environment import Environment, Episodes, Turn, make
from ggp.study.names import Names, names_of

__all__ = ["Environment", "Episodes", "Names", "Turn", "make", "names_of"]
