"""Worlds solved as if everybody knew them: perfect information Monte Carlo (paper 003).

In come the states of a bag, out go clairvoyant values of moves. Begin with `world_search`, the
search. `clairvoyant` values moves in worlds through `layers` of states that they share, which grow
as far as limits allow.
"""
