"""Exact values of policies in small games, from `ggp.labs.learning.env.exact`."""

from ggp.labs.learning.env.exact import ExactGame, ProfileWorth, Sets

__all__ = ["ExactGame", "ProfileWorth", "Sets"]
