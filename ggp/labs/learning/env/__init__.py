"""An environment for learning: many lanes of a game, arrays of fixed shapes, no strings.

    >>> from ggp.labs.learning.env import make
    >>> env = make("kuhn_poker", lanes=4096)
    >>> turn = env.reset(seed=1)
    >>> turn = env.step(env.sample_legal())
    >>> turn.observations.shape, turn.masks.shape, turn.state_tensor.shape
    ((4096, 2, 12), (4096, 2, 5), (4096, 16))

In comes a game, out come arrays of L lanes and Q roles. Begin with `environment`, then `turn`, its
output; `ggp.study.names` are the meaning of indices. `engine` is the interface to a machine, and
`kernels` work lane by lane.

How long a match may be is proved in `ggp.study.lengths`. `exact` says what policies are worth in
small games.

`pettingzoo_env` and `gymnasium_env` are what these libraries call an environment;
both are extras, and imported by nobody else. `docs/use/environment.md` shows how all of it is used.
"""

from ggp.labs.learning.env.environment import Environment, Episodes, make
from ggp.labs.learning.env.turn import Turn
from ggp.study.names import Names, names_of

__all__ = ["Environment", "Episodes", "Names", "Turn", "make", "names_of"]
