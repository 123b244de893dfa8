"""The fast backend: a game as a circuit of bits.

In comes a `Program`, out goes a `Machine`. Begin with `ggp.machine.circuit`, its central type. The
rooms are the stages: rules become a circuit (`compile`), which gets smaller (`optimise`) and is
played 1,024 lanes at a time (`play`).
"""
