"""The match runner: plays matches between players, records them and replays them.

Games and players come in; records and results go out. Begin with `match`, which plays one match,
then `series`, which plays many on `workers`. A `tournament` is a series read from a file. `remote`
players run elsewhere; people play at the `terminal` or at the `table`, a web page that shows
`pictures` of states. `archives` reads and writes other programs' records. `cli` has the commands,
`demo` is what `make play` runs, and `charts` writes the charts of all of them.
"""
