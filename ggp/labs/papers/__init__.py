"""The experiments of the papers, and paper 003's study of where perfect information search suits.

J. Long, N. R. Sturtevant, M. Buro, T. Furtak, *Understanding the Success of Perfect Information
Monte Carlo Sampling in Game Tree Search*, AAAI 2010.

`reproduce` is the command that plays them. `advice` says which players the properties of a game
(`ggp.study.properties`) favour, and `advise_command` prints it.
"""

from ggp.console import LaterCommand

ADVISE = LaterCommand(
    "ggp.labs.papers.advise_command", "Say which player suits a game, and why.", "advise"
)
