"""One turn of belief: from weighted entries to those that agree with the percepts after it.

Begin with `one_turn`. `open_moves` gives the moves each role may have made. `completions` lists or
draws all combinations that give the percepts, with `completion_kernels`, in random order
(`shuffle`) if they are too many; `resample` thins the result. `walks` start from the beginning of
the game.
"""
