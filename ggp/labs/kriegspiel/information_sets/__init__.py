"""Information-set search (paper 000): a few plies ahead, by what our role will know then.

In comes a bag, out go overconfident or paranoid values of moves. Begin with `set_search`, the
search. Histories are drawn and stepped side by side, and folded into `set_tree`, which
merges, sums and values leaves and sets.
"""
