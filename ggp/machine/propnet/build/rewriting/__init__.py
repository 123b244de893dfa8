"""Rules that mean the same and cost less to ground.

In come the rules of a game, out go those that the grounder reads. Begin with `translate`, what the
grounder is told of any game, and `splits`, which decides what is done to large ones: `decompose`,
`alternatives`, `narrowing`, `differences` and `demand`, by the estimates of `extents` and `sizes`.
`new_relations` are made of conditions that equal ones share, and `parting` has moves of `random`
made part by part (`families`, `made_of_parts`).
"""
