"""HyperPlaySampler: from a role's incomplete path to weighted particles."""

from ggp.belief.bags import Bags, require_particles
from ggp.belief.hyperplay_sampler import DEFAULT_EXACT, MAX_ATTEMPTS, HyperPlaySampler, never
from ggp.belief.move_models import (
    UNIFORM,
    Known,
    MoveModel,
    PathModel,
    UniformMoves,
    log_likelihoods,
)
from ggp.belief.paths import DRAWN, FollowsPaths, PathTree
from ggp.belief.sampler import Sampler

__all__ = [
    "DEFAULT_EXACT",
    "DRAWN",
    "MAX_ATTEMPTS",
    "UNIFORM",
    "Bags",
    "FollowsPaths",
    "HyperPlaySampler",
    "Known",
    "MoveModel",
    "PathModel",
    "PathTree",
    "Sampler",
    "UniformMoves",
    "log_likelihoods",
    "never",
    "require_particles",
]
