"""The backend for Gambit's files: `.efg` (extensive form) and `.nfg` (normal form).

In comes the text of a file, out goes a `Machine`. Start with `tree_machine`, which lays the tree
out as arrays and plays. `words` parses both formats into a `tree` of nodes, information sets and
payoffs; `tree` also finds the turn of each node, and refuses games that roles of GDL-II cannot
play. `games` names roles and moves. Gambit's manual describes the formats
(https://gambitproject.readthedocs.io).
"""
