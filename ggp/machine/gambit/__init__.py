"""The backend for Gambit's files: `.efg` (extensive form) and `.nfg` (normal form).

It turns the text of a file into a `Machine`. Start with `tree_machine`, which lays the tree out as
arrays and plays the game on them. `games` parses both formats to a tree of nodes, information sets
and payoffs, assigns names to roles and moves, finds the turn of each node, and refuses games that
cannot be expressed in GDL-II. Gambit's manual describes the formats (https://gambitproject.readthedocs.io).
"""
