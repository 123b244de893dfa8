"""A game as a module of pure functions, for libraries that compile them.

In comes a circuit, out goes the text of a Python module that needs nothing of ours. Begin with
`jax_module`, which writes it; `template` is the part that is the same for all games, a module by
itself, and `layers` puts gates into layers that are evaluated at once.
"""

from ggp.env.export.jax_module import jax_module

__all__ = ["jax_module"]
