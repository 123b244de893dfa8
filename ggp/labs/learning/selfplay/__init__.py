"""Learning: policies of nets, by self-play in the lanes of an environment.

    >>> from ggp.labs.learning.env import make
    >>> from ggp.labs.learning.selfplay import Learner
    >>> learner = Learner(make("kuhn_poker", 512), seed=1)
    >>> learner.learn(updates=2).updates
    2
    >>> sorted(learner.policies())
    ['player1', 'player2']

In comes an environment, out come policies. Begin with `learner`, which plays and learns; actors
are its parts, a policy for each role and a critic, which `threads` let learn side by
side. `features` say what nets read, `nets` compute, and `policies` are what is learnt,
`files` where it is kept. `rollouts` play matches on by policies.
"""

from ggp.labs.learning.selfplay.learner import Learner, Settings, StoppedError, Told, usual_settings
from ggp.labs.learning.selfplay.policies import LearntPolicy

__all__ = ["Learner", "LearntPolicy", "Settings", "StoppedError", "Told", "usual_settings"]
