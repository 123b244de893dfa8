"""Rules that do not ground into a circuit, as arrays that kernels interpret.

In comes a `Program`, out goes a `Machine` (`relational_machine`). It compiles the game first, and
keeps all that kernels need: `rules`, with numbers for their values, become ops (`compile`), whose
conditions are put in `order` by `tuning`. A machine calls `play_kernels`, which read and write
`records`, and make more `room` where something is full; `evaluation` is the interpreter, on
`row_kernels`.
"""
