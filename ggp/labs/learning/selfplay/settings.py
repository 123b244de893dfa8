"""Settings of a learner, and what it tells; docs/measured/learning.md has what else was tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from ggp.errors import ConfigError
from ggp.labs.learning.env.environment import Environment


@dataclass(frozen=True)
class Settings:
    """How to learn.

    Attributes:
        turns: S, of a segment.
        block: lanes from which there is one step.
        hidden, critic: units of the hidden layers of policies, and of the critic.
        informed: whether the critic reads what roles know that learn, beside the state.
        rate: of learning, at the beginning; it falls to a tenth, and besides
        slower: by this factor. At low temperatures roles that play against each other run in
            circles unless they learn slowly: steps must be small beside the temperature.
        warm, cold: temperature at the beginning and at the end, in standard deviations of the
            rewards of matches.
        widest: whether these are the widest so far, not the present ones.
        clip: how far a step may change probabilities, as a ratio.
        decay: lambda of advantages, from 0 to 1.

    Raises:
        ConfigError: a number is 0 or less, or not finite, or `decay` is not from 0 to 1.
    """

    turns: int = 32
    block: int = 64
    hidden: tuple[int, ...] = (64, 64)
    critic: tuple[int, ...] = (64,)
    informed: bool = False
    rate: float = 2e-3
    slower: float = 0.3
    warm: float = 0.3
    cold: float = 0.06
    widest: bool = False
    clip: float = 0.2
    decay: float = 1.0

    def __post_init__(self) -> None:
        for name in ("turns", "block"):
            _check(name, getattr(self, name), least=1)
        for name in ("hidden", "critic"):
            for units in getattr(self, name):
                _check(name, units, least=1)
        for name in ("rate", "slower", "warm", "cold", "clip"):
            _check(name, getattr(self, name), least=0)
        if not 0 <= self.decay <= 1:
            raise ConfigError(f"decay must be from 0 to 1, not {self.decay:g}")

    def rate_at(self, share: float, goes_on: bool = False) -> float:
        """The rate of learning when a share of the budget is used up.

        Args:
            goes_on: whether from what was learnt earlier: then it begins with a tenth.
        """
        falling = 0.1 if goes_on else 1 - 0.9 * share
        return self.rate * falling * float(self.slower**share)

    def temperature_at(self, share: float) -> float:
        """The temperature when a share of the budget is used up, in the unit of `warm`."""
        return self.warm * float((self.cold / self.warm) ** share)


@dataclass(frozen=True)
class Told:
    """How learning goes on.

    Attributes:
        updates, states, decisions: segments learnt from, turns in all lanes, choices in them.
        seconds: of learning, by the clock.
        share: of the budget that is used up.
        rewards: by role, mean goal of the matches that ended in the last segment; None without
            any.
        entropy: by role, mean entropy of its decisions there, in nats.
        error: mean square error of the critic, for rewards from -1 to 1.
    """

    updates: int
    states: int
    decisions: int
    seconds: float
    share: float
    rewards: Mapping[str, float | None]
    entropy: Mapping[str, float]
    error: float


def _check(name: str, given: float, *, least: int) -> None:
    """Refuse what is less than 1, or, if the least is 0, not above it."""
    if not isfinite(given) or given < least or given <= 0:
        bound = f"at least {least}" if least else "above 0"
        raise ConfigError(f"{name} must be {bound}, not {given:g}")


def usual_settings(env: Environment) -> Settings:
    """The settings for an environment.

    Where only one role plays, nobody can take advantage of it, and it needs no entropy for that in
    the end. But there may be much to find out while entropy is paid for: which questions are best
    is told apart late. So there is more time for that, and a critic that knows what has been asked.
    Once most matches are won, rewards hardly differ; a temperature that fell with them would freeze
    what is nearly right.
    """
    if len(env.names.roles) > 1:
        return Settings()
    return Settings(
        hidden=(128,),
        block=16,
        rate=3e-3,
        slower=1.0,
        warm=0.2,
        cold=0.005,
        informed=True,
        widest=True,
    )
