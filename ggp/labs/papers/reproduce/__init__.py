"""Reproduces the experiments of papers, next to their published numbers.

Names of experiments come in (`cli`); CSV files, pictures and a report go out. Begin with `results`,
which declares the results of an experiment. `duels`, `figures` and `grid` play series of matches,
`report` writes and draws results, and `published` has the papers' numbers. There is a room for each
paper: `paper_004` and `paper_003`. `strength`, `clock` and `exploitability` are experiments of our
own. Other labs and installed packages may add more.
"""

from ggp.console import LaterCommand

COMMAND = LaterCommand(
    "ggp.labs.papers.reproduce.cli", "Reproduce the tables and figures of papers.", "reproduce"
)
