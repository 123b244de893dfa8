"""OpenSpiel both ways: its games as machines, our rulesheets as its games, its bots as players.

`frontend` has `openspiel:NAME` read wherever a game is named, as a `machine`. `rulesheets` has
OpenSpiel play ours. `twins` are games that both have: there `peers` are OpenSpiel's bots, asked by
`twin_bots`. In games of OpenSpiel alone `spiel_bot` is the player. The library `pyspiel` is an
extra (`pip install '.[openspiel]'`), and used in this lab only.
"""
