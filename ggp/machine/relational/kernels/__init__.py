"""Kernels that evaluate ops: answers to questions about states, and whole playouts.

In come `records` of arrays, out come fluents, moves, percepts and goals. Begin with `records`, then
`evaluation`, the interpreter, on `term_kernels`, `row_kernels` and `call_kernels`. `play_kernels`
and `playout_kernels` are what a machine calls, through `questions`, which makes `room` where
something is full.
"""
