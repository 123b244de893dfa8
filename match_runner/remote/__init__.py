"""Players elsewhere, which get the same requests as from a game server.

Turns come in; moves and faults go out. Begin with `remote_players`, which has all remote players of
a match. `wire` writes and reads the messages, in the manner of each kind of server; `post` sends
them.
"""
