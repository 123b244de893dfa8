"""Lays a circuit out as tapes: which gates are evaluated, in what order, in which rows.

In comes a `Circuit`, out go `Tape`s and wires. Begin with `queries`: the groups of literals that a
machine and playouts evaluate. `tape_layout` puts their gates in an order that is fast to evaluate.
`phases` makes smaller circuits for parts of a game.
"""
