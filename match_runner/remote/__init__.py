"""Players elsewhere, which get the same requests as from a game server.

Turns come in; moves and faults go out. Begin with `remote_players`, which has all remote players of
a match, and sends them messages; `wire` writes and reads these, in the manner of each kind of
server.
"""
