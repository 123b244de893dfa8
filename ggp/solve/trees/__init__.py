"""Builds the tree of a whole game from its machine.

In comes a `Machine`, out goes a `GameTree` (`tree`, the one to open first). `build` makes it layer
by layer: `nodes` takes one turn of all nodes, and collects information sets and leaves.
"""
