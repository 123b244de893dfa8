"""The referee: plays matches between players, records and replays them.

In come games and players, out go records and results. Begin with `match`, one match, then `series`,
the one way to play many, on `workers`. `tournament` and `reproduce` are series, `remote` players
run elsewhere; `archives` reads matches of other programs; people sit at the `terminal` or at the
`table`, which draws `pictures`. `cli` has the commands, with `record_commands`, `show`,
`picture_command`, `log_views`, `demo` and the code they share (`options`, `progress`,
`folder_lock`, `charts`).
"""
