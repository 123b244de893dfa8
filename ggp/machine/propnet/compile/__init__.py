"""Builds a circuit from the rules of a game, within limits.

In comes a `Program`, out goes a `Circuit` from a child process or from the disk, in
`circuit_file`s. Begin with `circuits`. The rooms are the first stages:
`rewriting` gives other rules for the same game, `ground_rules` the rules without variables. `gates`
are made of those; `kernels` are compiled before they are needed.
"""
