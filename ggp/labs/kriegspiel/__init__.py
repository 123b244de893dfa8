"""Kriegspiel: the players of papers 000 to 002, for every game, and boards with pieces.

`information_set_players` are `over` and `para`, which search information sets ahead (`set_search`,
which folds histories into a `set_tree`); `choose_move` has `los`, `aos`, `aosp` and `hs`, which
search `boards` of their `samplers`, as if everybody saw them. The `experiment` plays them all.
"""
