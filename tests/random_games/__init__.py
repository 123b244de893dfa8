"""Random games, each as a rulesheet and as plain tables, and what follows from the tables alone.

`generator` makes them, `reference` enumerates their histories: it shares nothing with the package.
"""
