"""An environment for learning: many lanes of a game, arrays of fixed shapes, no strings.

    >>> from ggp.env import make
    >>> env = make("kuhn_poker", lanes=4096)
    >>> turn = env.reset(seed=1)

The lab that it is in is `ggp.labs.learning.env`; `exact`, `gymnasium_env` and `pettingzoo_env` are
there, too.
"""

from ggp.labs.learning.env import Environment, Names, Turn, make, names_of

__all__ = ["Environment", "Names", "Turn", "make", "names_of"]
