"""Belief: from a role's incomplete path to weighted particles."""

from ggp.belief.bags import Bags, require_particles
from ggp.belief.belief import DEFAULT_EXACT, MAX_ATTEMPTS, Belief, never
from ggp.belief.paths import DRAWN, PathTree

__all__ = [
    "DEFAULT_EXACT",
    "DRAWN",
    "MAX_ATTEMPTS",
    "Bags",
    "Belief",
    "PathTree",
    "never",
    "require_particles",
]
