"""The fast backend: a game as a circuit of bits.

In comes a `Program`, out goes a `Machine`. Begin with `ggp.machine.circuit`, its central type. The
rooms are the stages: `compile` makes a circuit of the rules, `optimise` makes it smaller, and
`play` evaluates it 1,024 lanes at a time.
"""
