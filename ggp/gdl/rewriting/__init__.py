"""Rules that mean exactly what they say, made of rules as they were written.

`unfold`, to open first, leaves plain literals of `or`, `and` and nested negation; `safety` binds
every variable; `repairs` drops or mends what would make a game unplayable. `ggp.gdl.normalize`
calls them in their order.
"""
