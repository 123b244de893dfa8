"""Samplers of the states a role may be in, with weights, for many incomplete paths at once.

In come paths, out go bags. Begin with `hyperplay_sampler`, used by HyperPlay and by all players
except those of papers 001 and 002. `last_observation` has boards that agree with the last
observation alone, drawn as a file describes (`board_maker`). `by_name` makes a sampler by the name
that options have for it.
"""
