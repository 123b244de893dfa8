"""Paper 004 (Schofield & Thielscher, AAAI 2015): HyperPlay-II against HyperPlay.

In come series of duels or single decisions (`thoughts`), out go its tables and figures. Begin with
`tables`, then `figure3` to `figure5`, which compare with what `theory` computes. `others` are
games that the paper does not play.
"""
