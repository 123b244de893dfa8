"""Kernels that evaluate ops: answers to questions about states, and whole playouts.

In come `records` of arrays, out come fluents, moves, percepts and goals. Begin with `records`, then
`evaluation`, the interpreter, on `row_kernels`. A machine calls `play_kernels` through `questions`,
which makes more `room` where something is full.
"""
