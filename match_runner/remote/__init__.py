"""Players elsewhere, asked as a game server asks them.

In come turns, out come moves and faults. Begin with `remote_players`, all of a match; `wire` says
how servers behave, and makes and reads the messages, `post` sends them.
"""
