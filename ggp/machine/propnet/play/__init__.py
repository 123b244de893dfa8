"""Plays a circuit: the `Machine` on packed states, a bit for each fluent.

In comes a `Circuit`, out goes a `Machine`: open `propnet_machine` first. It delegates its work:
`answers` evaluates literals with kernels, or in Python where that is faster; `percepts` numbers
moves and sets of percepts; `turns` makes moves and looks at the successors in one call, for
searches and trees; `playouts` plays random matches to their ends. The rooms: `layout` turns a
circuit into tapes, and `kernels` evaluate these on blocks of 1,024 lanes.
"""
