"""One match, from its players to its record.

A game and players come in; a record goes out. Begin with `referee`, which plays the match under
`conditions`; `seats` say which player has which role. `guests`, such as people, answer in their own
time; players that are not ours run `apart`, in a process of their own (`apart_worker`). `knowledge`
computes which facts a role knows. `records` are files that can be checked against the rules;
`views` and `frames` show them, `exports` writes them in other formats. `server_log` reads the log
of a match that `ggp serve` played.
"""
