"""Rewrites rules into equivalent ones that cost less to ground.

In come the rules of a game, out go those that the grounder reads. Begin with `translate`, which
writes any game for the grounder, and `splits`, which decides what is done to large ones:
`decompose` among them, by the estimates of `extents`.
"""
