"""HyperPlaySampler: from a role's incomplete path to weighted particles."""

from ggp.belief.bags import Bags, require_particles
from ggp.belief.board_maker import BoardMaker, DrawnPieces
from ggp.belief.finder import never
from ggp.belief.hyperplay_sampler import (
    DEFAULT_EXACT,
    MAX_ATTEMPTS,
    OWN_COMPLETIONS,
    HyperPlaySampler,
)
from ggp.belief.move_models import (
    UNIFORM,
    Known,
    MoveModel,
    PathModel,
    UniformMoves,
    log_likelihoods,
)
from ggp.belief.paths import DRAWN, FollowsPaths, PathTree
from ggp.belief.pool_samplers import POOL_LIMIT
from ggp.belief.quality import How, Quality, in_words, quality_of
from ggp.belief.sampler import Enumerates, Sampler
from ggp.belief.samplers import Sampling, make_sampler

__all__ = [
    "DEFAULT_EXACT",
    "DRAWN",
    "MAX_ATTEMPTS",
    "OWN_COMPLETIONS",
    "POOL_LIMIT",
    "UNIFORM",
    "Bags",
    "BoardMaker",
    "DrawnPieces",
    "Enumerates",
    "FollowsPaths",
    "How",
    "HyperPlaySampler",
    "Known",
    "MoveModel",
    "PathModel",
    "PathTree",
    "Quality",
    "Sampler",
    "Sampling",
    "UniformMoves",
    "in_words",
    "log_likelihoods",
    "make_sampler",
    "never",
    "quality_of",
    "require_particles",
]
