"""Rewrites rules into equivalent ones that cost less to ground.

In come the rules of a game, out goes text that the grounder reads. Begin with `translate`, which
writes that text, and `splits`, which decides how to rewrite the rules of large games. `decompose`
splits single rules; `extents` estimates how many ground rules each would become.
"""
