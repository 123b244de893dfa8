"""The referee: plays matches between players, records and replays them.

In come games and players, out go records and what they come to. Begin with `match`, one match, then
`series`, the one way to play many, by `workers`. `tournament` and `reproduce` are series, `remote`
players sit elsewhere; people sit at the `terminal` or at the `table`, which draws `pictures`. `cli`
has the commands, with `record_commands`, `log_views`, `demo` and what they share (`options`,
`progress`, `folder_lock`).
"""
