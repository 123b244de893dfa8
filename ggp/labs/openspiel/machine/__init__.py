"""Games of OpenSpiel as machines: `openspiel:leduc_poker` works wherever a game is named.

The input is the name of a game, the output a `Machine`. Begin with `spiel_machine`. `games` finds a
game, and refuses games that cannot be played. `nodes` keep states, `terms` name moves and
percepts. For beliefs, `redraw` finds other histories by small changes, and `known_path` compares
them with the percepts of a role.
"""
