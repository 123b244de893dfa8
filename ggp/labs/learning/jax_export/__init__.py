"""Exports a game as a module of pure functions, for libraries that compile them.

In comes a circuit, out goes the text of a Python module that does not import ggp. Begin with
`jax_module`, which writes it; `template` is the part common to all games, a module by itself.
"""

from ggp.labs.learning.jax_export.jax_module import jax_module

__all__ = ["jax_module"]
