"""What may be said to a player behind its name, and what becomes of it.

`option_fields`, to open first, makes options of a dataclass, whose fields say how they are read,
checked and described. The other modules are options that many players have: `evaluations` (what an
unfinished state is worth, as declared or learnt), `opponents` (how others move) and `board_makers`
(how boards are drawn).
"""
