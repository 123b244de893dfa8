"""The protocol of game servers: messages, the life of a match, a server of players.

`messages` reads and prints, `session` follows one match, `lobby` all of them; none of the
three knows sockets, processes or clocks.
"""
