"""The backend for Gambit's files: `.efg` (extensive form) and `.nfg` (normal form).

It turns the text of a file into a `Machine`. Start with `tree_machine`, which lays the tree out as
arrays and plays the game on them. `words`, the parser of both formats, gives a `tree` of nodes,
information sets and payoffs; `tree` also finds the turn of each node, and refuses games that cannot
be expressed in GDL-II. `games` assigns names to roles and moves. Gambit's manual describes the
formats (https://gambitproject.readthedocs.io).
"""
