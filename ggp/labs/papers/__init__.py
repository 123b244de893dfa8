"""Two commands from the papers: `match-runner reproduce` and `ggp advise`.

`reproduce` plays the experiments of the papers and writes tables, figures and reports.
`advise_command` says which players the properties of a game (`ggp.study.properties`) favour, after
paper 003's study of where perfect information search suits.

Paper 003: J. Long, N. R. Sturtevant, M. Buro, T. Furtak, *Understanding the Success of Perfect
Information Monte Carlo Sampling in Game Tree Search*, AAAI 2010.
"""

from ggp.console import LaterCommand

ADVISE = LaterCommand(
    "ggp.labs.papers.advise_command", "Say which player suits a game, and why.", "advise"
)
