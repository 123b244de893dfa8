"""Games of OpenSpiel as machines: `openspiel:leduc_poker` works wherever a game is named.

In comes the name of a game, out goes a `Machine`: `spiel_machine`, the one to open first. `games`
finds a game and says why some cannot be played. `nodes` keep states, `terms` names moves and
percepts. Beliefs ask for other histories (`redraw`), made with small changes, as far as they agree
with a `known_path`, the percepts of what players know.
"""
