"""Plays a circuit: the `Machine` on packed states, a bit for each fluent.

In comes a `Circuit`, out goes a `Machine`: `propnet_machine`, the one to open first, or
`parted_machine` where `random` makes moves part by part (`part_moves`, `part_choices`). `moves`,
`percepts` and `clues` are their numbers; `queues` and `runs` are for whole
playouts, `few` and `plain` for few states. The rooms: `layout` turns a circuit into tapes, and
`kernels` evaluate these on blocks of 1,024 lanes.
"""
