"""Reproduces the experiments of papers, next to their published numbers.

In come the names of experiments (`cli`), out go CSV files, pictures and a report. Begin with
`results`, which declares the results of an experiment. `duels`, `figures` and `grid` play series
for them, `plots` and `report` show results, and `published` has the papers' numbers. The rooms are
the papers: `paper_004`, `paper_003`, and `kriegspiel` for papers 000 to 002. `strength` and `clock`
are experiments of our own.
"""
