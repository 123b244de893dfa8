"""Terms in words, for people: in come moves, percepts and fluents, out go texts.

Begin with `words`, which knows one game; `sayings` are what its side file says.
"""
