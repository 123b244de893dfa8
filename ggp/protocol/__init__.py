"""The protocol of game servers: messages and the life of a match, as values.

`reading` and `printing` know the texts, `session` follows one match, `lobby` all of them. Nothing
here knows sockets, processes or clocks; `ggp.server` does. docs/protocol.md says what was decided.
"""
