"""Finding complete paths by a solver where sampling finds none.

In come bags of earlier turns, out goes a bag of the current one. Begin with `finder`. A window of
the last turns is unrolled into clauses (`unrolling`, `unrolling_kernels`), which are
solved (`sat`). The paths found are replayed and weighted, and moved by Markov chains until they are
a sample.
"""
