"""Paper 004 (Schofield & Thielscher, AAAI 2015): HyperPlay-II against HyperPlay.

In come series of duels or single decisions, out go its tables and figures. Begin with `tables`,
then `figure3`, `figure4` and `figure5`. `others` are games that the paper does not play.
"""
