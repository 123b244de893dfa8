"""The experiments of papers again, next to their published numbers.

`results` declares what an experiment gives. Of Schofield & Thielscher (AAAI 2015), `tables`,
`figures` with `figure3` to `figure5`, and `others` say how each one is made, of decisions
(`thoughts`) or of series (`duels`). Of Long et al. (AAAI 2010), `tree_figures` are heat maps of
synthetic trees (`tree_cells`, `tree_claims`), and `kuhn_table` is exact. `published` and `theory`
hold what to expect; `plots`, `heat_maps` and `report` show it.
"""
