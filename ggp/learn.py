"""Nets that learn policies by self-play in the lanes of an environment.

    >>> from ggp.env import make
    >>> from ggp.learn import Learner
    >>> learner = Learner(make("kuhn_poker", 512), seed=1)

Everything here comes from the lab `ggp.labs.learning.selfplay`.
"""

from ggp.labs.learning.selfplay import (
    Learner,
    LearningReport,
    LearntPolicy,
    Settings,
    StoppedError,
    Told,
    usual_settings,
)

__all__ = [
    "Learner",
    "LearningReport",
    "LearntPolicy",
    "Settings",
    "StoppedError",
    "Told",
    "usual_settings",
]
