"""The one way to play many matches.

In come settings, out go records of matches and their results. Begin with `plan`, which says which
matches there are, a pure function of settings; `runner` has those played that are not stored yet,
by `match_task`, wherever `match_runner.workers` finds room; `store` keeps whole records in one
SQLite file. `outcomes` and `comparison` sum results up, `verdicts` and `stopping` say when it is
clear who is better, and `holding` is how every command plays a series, or reads it again; its
`course` is a table and a chart. `ggp.statistics` says how certain a mean is.
"""
