"""Paper 004 (Schofield & Thielscher, AAAI 2015): HyperPlay-II against HyperPlay.

Series of duels, or single decisions, come in; tables and figures of the paper go out. Begin with
`tables`, then `figure3`, `figure4` and `figure5`. `others` has games that the paper does not play.
"""
