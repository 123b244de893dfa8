"""The bridge to OpenSpiel: its games as machines, our rulesheets as its games, its bots as players.

`frontend` reads `openspiel:NAME` wherever a game is named, and `machine` plays that game.
`rulesheets` turns our rulesheets into games of OpenSpiel. `twins` lists the games that both have;
in these, `peers` play with OpenSpiel's bots. In games of OpenSpiel alone, `spiel_bot` does. The
library `pyspiel` is optional (`pip install '.[openspiel]'`), and only this lab uses it.
"""
