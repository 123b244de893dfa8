"""Random games, each as a rulesheet and as plain tables, and what follows from the tables alone.

`generator` makes them. `reference` enumerates their histories, and with it `simulations`
(HyperPlay-II), `open_worlds` (`pimc`) and `plies` (`over`, `para`) what moves are worth. They share
nothing with the package.
"""
