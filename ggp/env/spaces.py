"""An environment in the terms of gymnasium: spaces, and observations that lie in them.

An observation has three parts, the same for every role:

    observation   [A + P] uint8       the role's last move and percepts, as ones
    path          [T, K] int32        all its moves and percepts, see `Turn.paths`
    action_mask   [A] int8            the legal actions
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ggp.env.environment import Environment
from ggp.env.turn import Turn
from ggp.errors import BackendUnavailableError
from ggp.libraries import demand_library, extra_advice


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


def action_space(env: Environment) -> Any:
    """The space of the actions of one role in one lane."""
    return gymnasium().spaces.Discrete(len(env.names.moves))


def observed(turn: Turn, role: int, lane: int | slice) -> Observed:
    """A role's observation, in one lane or in several; copies."""
    return {
        "observation": turn.observations[lane, role].copy(),
        "path": turn.paths[lane, role].copy(),
        "action_mask": turn.masks[lane, role].astype(np.int8),
    }
