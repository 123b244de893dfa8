"""Rules become ops of the interpreter.

In come the `rules` of a game, out go the arrays that kernels read (`assemble`). Begin with
`compile`. `terms` and `places` say how values are numbered and found, `order` and `tuning` in which
order conditions come, `static` which relations become facts, and `negation` what cannot be done.
"""
