"""Compiles rules to ops of the interpreter.

In come the `rules` of a game, with numbers for their values, out go the arrays that kernels
read. Begin with `compile`. `order` and `tuning` put conditions in order; `static` assembles the
arrays, turns relations into facts, and refuses what cannot be done.
"""
