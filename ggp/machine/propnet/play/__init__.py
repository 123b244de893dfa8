"""Plays a circuit: the `Machine` on packed states, a bit for each fluent.

In comes a `Circuit`, out goes a `Machine`: `propnet_machine`, the one to open first. It
hands on what it is asked: `answers` come from kernels, or from Python where that is faster;
`percepts` say what these mean; `turns` are made for searches and trees, which ask
about what follows at once; `playouts` are whole ones. The rooms: `layout`
turns a circuit into tapes, and `kernels` evaluate these on blocks of 1,024 lanes.
"""
