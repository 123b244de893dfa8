"""Solves games of two players with constant sum in which everybody always knows the state.

Such a game may have moves at once, so that players have to mix theirs, and chance. But what anybody
remembers is of no use: a strategy is a mixed move for each state. So what is solved is a matrix of
values for each state, from the last turn to the first, where a tree of sequences would have a leaf
for each way through the game.

In comes a `Machine`, out goes a `PositionSolution` (`induction`, the one to open first). `graph`
finds the states, and `matrix_kernels` solves the matrices.
"""
