"""Rewrites rules into equivalent ones that cost less to ground.

In come the rules of a game, out go those that the grounder reads. Begin with `translate`, which
writes any game for the grounder, and `splits`, which decides what is done to large ones:
`decompose`, `alternatives`, `differences` and `demand`, by the estimates of `extents` and `sizes`.
`new_relations` are made of conditions that equal ones share, and `parting` makes moves
of `random` part by part (`families`, `made_of_parts`).
"""
