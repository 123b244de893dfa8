"""The protocol of game servers: messages and the life of a match, as values.

In come texts, out go replies and questions for workers. Begin with `messages`, then `lobby`, which
holds all matches (`places`); a `session` follows one of them, by the table in `transitions`, along
its `path` of `turns`, with hypotheses about lost ones. `questions` are what a worker must answer,
and `retelling` reads logs. The room `texts` reads and prints. Nothing here knows sockets, processes
or clocks; `ggp.server` does. docs/reference/protocol.md says what was decided.
"""
