"""Belief: from a role's incomplete path to weighted particles."""

from ggp.belief.bags import DEFAULT_EXACT, MAX_ATTEMPTS, Bags, Belief, never, require_particles
from ggp.belief.paths import PathTree, Turn

__all__ = [
    "DEFAULT_EXACT",
    "MAX_ATTEMPTS",
    "Bags",
    "Belief",
    "PathTree",
    "Turn",
    "never",
    "require_particles",
]
