"""One turn of belief: from weighted entries to those that agree with the percepts after it.

Begin with `one_turn`. `open_moves` says what each role may have done, `completions` lists or draws
all combinations that give the percepts, in random order where they are too many; `resample` thins
what comes of that. `walks` go from the start of the game.
"""
