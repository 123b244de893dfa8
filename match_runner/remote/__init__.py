"""Players elsewhere, asked as a game server asks them.

In come turns, out come moves and faults. Begin with `remote_players`, all of a match; `servers`
says what servers are like, `wire` and `scrambling` what is said, `post` and `host_names` how it
gets there.
"""
