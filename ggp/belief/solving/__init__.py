"""Solving: finds complete paths with a SAT solver where sampling finds none.

Bags of earlier turns go in, and a bag of the current turn comes out. Begin with `finder`. A window
of the last turns is unrolled into clauses (`unrolling`, `unrolling_kernels`), and a solver finds
witnesses (`sat`). These paths are replayed on the machine and weighted; then Markov chains move
them until they are a sample.
"""
