"""One match.

In come a game and players, out goes a record. Begin with `referee`, who plays it, under
`conditions`, and takes `answers`; `seats` say who sits where. `guests` sit elsewhere and take their
time, players that are not ours are kept `apart` in a process (`apart_worker`), and ours use the
`start_clock`. `knowledge` is
what a role knows. `records` are what is kept, `record_files` where; `replay`, `views` and `exports`
are what can be done with them.
"""
