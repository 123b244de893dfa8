"""Builds a circuit from the rules of a game, within limits.

In comes a `Program`, out goes a `Circuit`, from a child process or from a file on disk
(`circuit_file`). Begin with `circuits`. The rooms are the first stages: `rewriting` replaces rules
by equivalent ones that are cheaper to ground, `ground_rules` removes variables. `gates` makes the
circuit of ground rules; `kernels` compiles the kernels of these stages ahead of time.
"""
