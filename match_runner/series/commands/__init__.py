"""Commands that play series: `match-runner play` and `match-runner compare`.

In come options, out go tables and JSON. Begin with `play`; `compare` shows its results by
`comparison_tables`. `until_options` are for commands whose series may end by themselves, or whose
course is written into files.
"""
