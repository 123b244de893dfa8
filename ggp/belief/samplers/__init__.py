"""Samplers of the states a role may be in, with weights, for many incomplete paths at once.

In come paths, out go bags. Begin with `hyperplay_sampler`, used by HyperPlay and by all players
except those of papers 001 and 002: these have `last_observation`, `observation_samplers`,
`pool_samplers` (boards kept from turn to turn) and `board_maker` (boards drawn as a file
describes). `by_name` makes a sampler by the name that options have for it.
"""
