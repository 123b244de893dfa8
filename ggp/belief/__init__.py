"""Belief: from a role's incomplete path (its moves and percepts) to weighted possible states.

Paths come from players and searches; `bags` of weighted states go back to them. `paths` numbers
incomplete paths, also for kernels. `sampler` has the protocols of samplers, which make bags, and of
finders, which refill them. Begin with `hyperplay_sampler` in `samplers`: it enumerates small sets,
advances the others turn by turn (`turns`), and asks the finders (`finding`) when a bag loses its
particles; one finder solves for paths (`solving`). `move_models` and `policy_models` predict the
moves of the other roles. `snapshots` has bags as text, for another process or backend.
"""

from ggp.belief.bags import Bags, require_particles
from ggp.belief.move_models import (
    UNIFORM,
    Known,
    MoveModel,
    PathModel,
    UniformMoves,
    log_likelihoods,
)
from ggp.belief.paths import DRAWN, FollowsPaths, PathTree
from ggp.belief.sampler import (
    MAX_ATTEMPTS,
    POOL_LIMIT,
    Enumerates,
    How,
    Quality,
    Sampler,
    SamplerSettings,
    in_words,
    quality_of,
)
from ggp.belief.samplers.board_maker import BoardMaker, DrawnPieces
from ggp.belief.samplers.by_name import SAMPLERS, make_sampler
from ggp.belief.samplers.hyperplay_sampler import (
    DEFAULT_EXACT,
    OWN_COMPLETIONS,
    HyperPlaySampler,
)
from ggp.belief.turns.completions import never

__all__ = [
    "DEFAULT_EXACT",
    "DRAWN",
    "MAX_ATTEMPTS",
    "OWN_COMPLETIONS",
    "POOL_LIMIT",
    "SAMPLERS",
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
    "SamplerSettings",
    "UniformMoves",
    "in_words",
    "log_likelihoods",
    "make_sampler",
    "never",
    "quality_of",
    "require_particles",
]
