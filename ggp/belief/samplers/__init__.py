"""Samplers: they get incomplete paths and return bags of the states a role may be in.

Begin with `hyperplay_sampler`, used by HyperPlay and by all players except those of papers 001 and
002. `last_observation` samples boards that agree only with the last observation; `board_maker`
draws such boards as a game's file describes. `by_name` makes a sampler from its name in options.
"""
