"""Rules that do not ground into a circuit, as arrays that kernels interpret.

In comes a `Program`, out goes a `Machine` (`relational_machine`). It compiles the game first, and
keeps all that kernels need. The rooms: `ops` compiles rules, and `kernels` evaluate them.
"""
