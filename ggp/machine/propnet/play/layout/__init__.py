"""Lays a circuit out as tapes: which gates are evaluated, in what order, in which rows.

In comes a `Circuit`, out go `Tape`s and wires. Begin with `queries` (what a machine asks, and what
playouts evaluate), which `tape_layout` lays out in a quick order. `phases` say which gates matter.
"""
