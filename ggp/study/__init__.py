"""What is found out about a game before it is played.

In comes a machine, out go numbers. Begin with `properties` (of paper 003), which measures any game
by random `matches` and walks. `rehearsal` finds faults of a game. `names` number what may occur in
a game, and `lengths` says how long it may be, by a survey of all states where that is possible.
"""
