"""One turn of belief: weighted entries in, their successors that agree with the percepts out.

Begin with `one_turn`. `open_moves` lists the moves each role may have made, `completions` lists or
draws the joint moves that give the percepts.
"""
