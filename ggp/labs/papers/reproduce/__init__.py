"""Reproduces the experiments of papers, next to their published numbers.

In come the names of experiments (`cli`), out go CSV files, pictures and a report. Begin with
`results`, which declares the results of an experiment. `duels`, `figures` and `grid` play series
for them, `report` writes and draws results, and `published` has the papers' numbers. The rooms are
the papers: `paper_004` and `paper_003`. `strength` and `clock` are experiments of our own. Other
labs, and installed packages, may offer more.
"""

from ggp.console import LaterCommand

COMMAND = LaterCommand(
    "ggp.labs.papers.reproduce.cli", "Reproduce the tables and figures of papers.", "reproduce"
)
