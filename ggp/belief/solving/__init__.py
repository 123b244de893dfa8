"""Finding complete paths by a solver where sampling finds none.

In come bags of earlier turns, out goes one of now. Begin with `finder`. A window of the last turns
(`windows`) is unrolled into clauses (`unrolling`, `unrolling_kernels`), which are solved (`sat`);
what is found is replayed and weighed (`replay`), and moved about until it is a sample (`chains`).
"""
