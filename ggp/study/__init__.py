"""What is found out about a game before it is played.

In comes a machine, out go numbers. Begin with `properties` (of paper 003), which measures any game
by `walks`, `matches` (with `turns` of many lanes), and `sets`. `rehearsal` finds faults of a game
(`findings`). `names` number what may occur in a game, and `lengths` and a `survey` of all states
say how long it may be.
"""
