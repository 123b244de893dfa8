"""Samplers: which states a role may be in, with weights, for many incomplete paths at once.

In come paths, out go bags. Begin with `hyperplay_sampler`, that of HyperPlay and of all players but
those of papers 001 and 002: these have `last_observation`, `observation_samplers`, `pool_samplers`
(boards kept from turn to turn), `depth_first` and `board_maker` (boards drawn by what a file says).
`by_name` makes one by the name that options have for it.
"""
