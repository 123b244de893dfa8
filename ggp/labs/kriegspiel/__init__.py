"""Kriegspiel: the players of papers 000 to 002, for every game, and boards with pieces.

A player gets a bag of histories or boards, and returns a move. `information_set_players` has `over`
and `para`, which search information sets ahead (`set_search` folds histories into a `set_tree`).
`choose_move` has `los`, `aos`, `aosp` and `hs`, which search `boards` from their `samplers` as if
everybody saw them. The `experiment` compares all of them. `threshold_model` is paper 001's model of
opponents.
"""
