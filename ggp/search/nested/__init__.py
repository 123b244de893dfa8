"""Searches in which the other roles search, too: HyperPlay-II, and opponents that search.

In come bags of every role along a particle, out go values of moves (`simulations`, the file to open
first), drawn towards the precise ones of playouts as far as both agree, or probabilities of an
opponent's moves (`opponent_models`).
"""
