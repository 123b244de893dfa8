"""One match.

In come a game and players, out goes a record. Begin with `referee`, which plays the match under
`conditions`; `seats` say which player has which role. `guests` sit elsewhere and take their time;
players that are not ours are kept `apart`, in a process of their own (`apart_worker`). `knowledge`
is what a role knows. `records` are kept as files and checked against the rules; `views` and
`frames` show them, `exports` writes them in other formats. `server_log` reads the log of a match
that `ggp serve` played.
"""
