"""The fast backend: a game as a circuit of bits.

In comes a `Program`, out goes a `Machine`. Begin with `circuit`, what everything here is about;
`parts` are names for moves that are too many to list. The rooms are the stages: rules become a
circuit (`build`), which gets smaller (`optimise`, told of by `reports`) and is played 1,024 lanes
at a time (`play`).
"""
