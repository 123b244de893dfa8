"""Compiles rules to ops of the interpreter.

In come the `rules` of a game, out go the arrays that kernels read (`assemble`). Begin with
`compile`. `terms` and `places` number values and say where they are found, `order` and `tuning` put
conditions in order, `static` turns relations into facts, and `negation` refuses what cannot be
done.
"""
