"""The referee: plays matches between players, records and replays them.

In come games and players, out go records and results. Begin with `match`, one match, then `series`,
the one way to play many, on `workers`. `tournament` and `reproduce` are series, `remote` players
run elsewhere; `archives` reads matches of other programs; people sit at the `terminal` or at the
`table`, which draws `pictures`. `cli` has the commands, `demo` is one that `make play` runs, and
`charts` draws for all of them.
"""
