"""One match, from its players to its record.

A game and players come in; a record goes out. Begin with `referee`, which plays the match under
`conditions`; `seats` say which player has which role. Players that are not ours run `apart`, in a
process of their own. `knowledge` computes which facts a role knows. `records` are files that can be
checked against the rules; `views` and `frames` show them. `server_log` reads the log of a match
that `ggp serve` played.
"""
