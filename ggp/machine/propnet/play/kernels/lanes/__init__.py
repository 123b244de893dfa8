"""Lanes of states, in and out of the blocks that tapes are evaluated on.

In come packed states, out go bits of rows, and packed states again. Begin with `packing`. `turning`
makes moves and evaluates the successors in the same block; `growing` does so for trees, and also
lists moves, goals and percepts. Both are made of `turn_parts`, as are the kernels of searches.
"""
