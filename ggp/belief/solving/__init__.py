"""Finding complete paths by a solver where sampling finds none.

`windows` is where to begin: a window of the last turns is unrolled (`unrolling`, with kernels) into
clauses, which are solved (`sat`); what is found is replayed and weighed (`replay`), and moved about
until it is a sample (`chains`).
"""
