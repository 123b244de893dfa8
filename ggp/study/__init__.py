"""Analyses a game before it is played: properties, faults, names, and the length of matches.

A machine goes in; measurements come out. Begin with `properties` (of paper 003), which measures any
game by random `matches` and walks. `rehearsal` finds faults of a game for its author,
`other_engines` what its `base` and `input` leave out, and recursion that some programs never
finish. `names` numbers the moves, percepts and fluents of a game for learners. `lengths` bounds the
number of turns of a match, by a survey of all states where that is possible.
"""
