"""The settings of a learner; docs/measured/learning.md says what else was tried."""

from __future__ import annotations

from dataclasses import dataclass

from ggp.env.environment import Environment


@dataclass(frozen=True)
class Settings:
    """How to learn.

    Attributes:
        turns: S, of a segment.
        block: lanes from which there is one step.
        hidden, critic: units of the hidden layers of policies, and of the critic.
        rate: of learning, at the beginning; it falls to a tenth.
        warm, cold: temperature at the beginning and at the end, in standard deviations of the
            rewards of matches.
        clip: how far a step may change probabilities, as a ratio.
        decay: lambda of advantages.
    """

    turns: int = 32
    block: int = 64
    hidden: tuple[int, ...] = (64, 64)
    critic: tuple[int, ...] = (64,)
    rate: float = 2e-3
    warm: float = 0.4
    cold: float = 0.08
    clip: float = 0.2
    decay: float = 1.0


def usual_settings(env: Environment) -> Settings:
    """The settings for an environment.

    Where only one role plays, nobody can take advantage of it, and it needs no entropy for that in
    the end. But there may be much to find out at the beginning.
    """
    if len(env.names.roles) > 1:
        return Settings()
    return Settings(hidden=(128,), block=16, rate=3e-3, cold=0.005)
