"""The protocol of game servers: messages and the life of a match, as values.

In come texts, out go replies and questions for workers. Begin with `messages` and `lobby`, which
holds all matches and their places. A `session` follows one of them by the table in `transitions`,
along its `path`, with hypotheses about lost turns, and asks its worker. `reading` makes requests of
texts, with the help of `forms`, which also prints messages, and `spelling`, which keeps the
server's own words. `retelling` reads logs. Nothing here knows sockets, processes or clocks;
`ggp.server` does. docs/reference/protocol.md says what was decided.
"""
