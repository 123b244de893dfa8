"""What the rules of a game show before a single state is known.

In come normalised rules. Open `dependencies` first (which relation needs which, and which fluents
stay as they are) and `domains` (the values that arguments can take); the others are built on them.
`what_grows` bounds how deep terms nest, and finds those that have no bound. `frames` finds fluents
that no rule keeps, `joint_move_percepts` games that tell everybody the joint move, and `renamed`
keywords under other names.
"""
