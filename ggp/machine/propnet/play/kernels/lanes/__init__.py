"""Lanes of states, in and out of the blocks that tapes are evaluated on.

In come packed states, out go bits of rows, and packed states again. Begin with `packing`; `turning`
makes moves, and asks about what follows in the same block, and `growing` all that trees ask;
kernels of searches that do so are made of the same `turn_parts`, and may use smaller circuits.
"""
