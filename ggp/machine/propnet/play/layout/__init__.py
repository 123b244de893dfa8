"""Lays a circuit out as tapes: which gates are evaluated, in what order, in which rows.

In comes a `Circuit`, out go `Tape`s and wires. Begin with `queries` (the questions of a machine)
and `plans` (the tapes of playouts), which `tape_layout` lays out. `cones`, `reach`, `openings` and
`phases` decide which gates matter; `fusing`, `order` and `updates` make tapes fast.
"""
