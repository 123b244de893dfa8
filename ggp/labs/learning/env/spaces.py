"""An environment in the terms of gymnasium: spaces, and observations that lie in them.

An observation has three parts, the same for every role:

    observation   [A + P] uint8       the role's last move and percepts, as ones
    path          [T, K] int32        all its moves and percepts, see `Turn.paths`
    action_mask   [A] int8            the legal actions

A space of actions draws legal ones, if it is not told to draw from others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ggp.errors import BackendUnavailableError
from ggp.labs.learning.env.environment import Environment
from ggp.labs.learning.env.turn import Turn
from ggp.libraries import demand_library, extra_advice
from ggp.seeds import MOST_SEED


class Observed(TypedDict):
    """The parts of an observation."""

    observation: NDArray[np.uint8]
    path: NDArray[np.int32]
    action_mask: NDArray[np.int8]


def gymnasium() -> Any:
    """The library.

    Raises:
        BackendUnavailableError: it is not installed; the message says how to install it.
    """
    try:
        import gymnasium as found
    except ImportError as error:
        demand_library(error, "gymnasium")
        raise BackendUnavailableError("gymnasium", extra_advice("gymnasium")) from error
    return found


_Discrete: Any = gymnasium().spaces.Discrete
_MultiDiscrete: Any = gymnasium().spaces.MultiDiscrete


def fresh_seed() -> int:
    """A seed that nobody has chosen."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0]) & MOST_SEED


def observation_space(env: Environment) -> Any:
    """The space of the observations of one role in one lane."""
    spaces = gymnasium().spaces
    names = env.names
    actions, percepts = len(names.moves), len(names.percepts)
    _, _, turns, width = env.path_shape
    return spaces.Dict(
        {
            "observation": spaces.Box(0, 1, (actions + percepts,), np.uint8),
            "path": spaces.Box(0, actions + percepts, (turns, width), np.int32),
            "action_mask": spaces.Box(0, 1, (actions,), np.int8),
        }
    )


class LegalActions(_Discrete):  # type: ignore[misc]
    """The actions of one role in one lane.

    Args:
        num: A.
        legal: returns `[A]` int8, the legal ones at present.
    """

    def __init__(self, num: int, legal: Callable[[], NDArray[np.int8]]) -> None:
        super().__init__(num)
        self._legal = legal

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """An action: a legal one, unless a mask or probabilities are given."""
        if mask is None and probability is None:
            mask = self._legal()
        return super().sample(mask, probability)


class LegalActionsOfLanes(_MultiDiscrete):  # type: ignore[misc]
    """The actions of one role in L lanes.

    Args:
        num: A.
        lanes: L.
        legal: returns `[L, A]` int8, the legal ones at present.
    """

    def __init__(self, num: int, lanes: int, legal: Callable[[], NDArray[np.int8]]) -> None:
        super().__init__(np.full(lanes, num))
        self._legal = legal

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """`[L]` actions: legal ones, unless masks or probabilities are given."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        legal = self._legal()
        return np.argmax(self.np_random.random(legal.shape) * legal, axis=1)


def observed(turn: Turn, role: int, lane: int | slice) -> Observed:
    """A role's observation, in one lane or in several; copies."""
    return {
        "observation": turn.observations[lane, role].copy(),
        "path": turn.paths[lane, role].copy(),
        "action_mask": turn.masks[lane, role].astype(np.int8),
    }
