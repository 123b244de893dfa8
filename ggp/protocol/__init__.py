"""The protocol of game servers: messages and the life of a match, as values.

Texts of game servers come in; replies, and questions for workers, go out. Begin with `messages` and
`lobby`, which holds all matches and assigns their places. A `session` is one match: it follows the
table in `transitions` and its `path`, with hypotheses about lost turns, and asks its worker.
`reading` turns texts into requests, with the help of `spelling`, which keeps the server's own
words. `retelling` reads logs. Nothing here knows sockets, processes or clocks; `ggp.server` does.
docs/reference/protocol.md explains the decisions.
"""
