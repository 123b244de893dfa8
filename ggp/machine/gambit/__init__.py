"""Gambit's files as machines: `.efg` (extensive form) and `.nfg` (normal form).

In comes the text of a file, out goes a `Machine`. Gambit's formats are described in its manual
(https://gambitproject.readthedocs.io). `words` reads both formats into a
`tree`: nodes, information sets, payoffs. That finds the turn in which each
node is played, and refuses what no role of GDL-II can play. `games` names roles and moves, and
`tree_machine`, the one to open first, lays the tree out as arrays and plays.
"""
