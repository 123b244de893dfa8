"""Static analysis: properties of a game, found from its rules before any state is known.

In come normalised rules. Start with `dependencies` (which relations depend on which, and which
fluents never change) and `domains` (the values that arguments can take); the other modules use
them. `growth` bounds the depth of terms, and finds terms without a bound. `frames` finds fluents
that no rule keeps, `told_moves` the moves that a percept may stem from, and games in which all
roles see the joint move, and `renamed` keywords under other names.
"""
