"""Player options: from the text after a player's name to checked values.

Begin with `option_fields`: a dataclass declares options, and its fields say how to read, check and
describe them. The other modules are options of many players: `evaluations` (values of unfinished
states, declared or learned) and `opponents` (models of the other roles' moves).
"""
