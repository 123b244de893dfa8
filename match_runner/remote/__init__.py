"""Players elsewhere, asked as a game server asks them.

In come turns, out come moves and faults. Begin with `remote_players`, all of a match; `servers`
says how servers behave, `wire` and `scrambling` make and read the messages, `post` and `host_names`
send them.
"""
