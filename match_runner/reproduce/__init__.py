"""The experiments of Schofield & Thielscher (AAAI 2015) again, next to their published numbers.

`results` declares what an experiment gives; `tables`, `figures` with `figure3` to `figure5`, and
`others` say how each one is made, of decisions (`thoughts`) or of series (`duels`); `published`
and `theory` hold what to expect; `plots` and `report` show it.
"""
