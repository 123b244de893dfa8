"""Which player suits a game: in comes a machine, out goes a player and the reason.

`chooser`, to open first, looks at the game, also at whether moves can be swapped. `solved` plays
games that are small enough to be solved beforehand.
"""
