"""Learning: policies of nets, by self-play in the lanes of an environment.

    >>> from ggp.labs.learning.env import make
    >>> from ggp.labs.learning.selfplay import Learner
    >>> learner = Learner(make("kuhn_poker", 512), seed=1)
    >>> learner.learn(updates=2).updates
    2
    >>> sorted(learner.policies())
    ['player1', 'player2']

A `Learner` takes an environment, and returns a policy for each role. Begin with `learner`: it plays
segments of matches, and improves an actor for each role and a critic. `features` turn a role's
knowledge into bits, `nets` compute from bits, `policies` wrap trained nets, and `files` store them.
`rollouts` play matches to their ends by policies.
"""

from ggp.labs.learning.selfplay.learner import (
    Learner,
    LearningReport,
    Settings,
    StoppedError,
    Told,
    usual_settings,
)
from ggp.labs.learning.selfplay.policies import LearntPolicy

__all__ = [
    "Learner",
    "LearningReport",
    "LearntPolicy",
    "Settings",
    "StoppedError",
    "Told",
    "usual_settings",
]
