"""Games of OpenSpiel as machines: `openspiel:leduc_poker`, wherever a game is named.

`games` finds a game and says why some cannot be played. `nodes` keeps states, `terms` names moves
and percepts, `knowledge` says what players are told, and `spiel_machine` puts it together. `twins`
are games that we have too. Only these modules and `ggp.openspiel` know the library `pyspiel`, which
is an extra (`pip install '.[openspiel]'`).
"""
