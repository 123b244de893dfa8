"""Plays many matches, stores them and sums them up: every command that compares players does this.

Settings come in; records of matches and their results go out. Begin with `plan`, which computes the
list of matches from the settings alone. `holding` is the body of every command that plays a series
or reads it again: it has `match_task` play the matches that are not stored yet, wherever
`match_runner.workers` finds room. `store` keeps whole records in one SQLite file. `outcomes` and
`comparison` sum results up, `verdicts` say when it is clear who is better; `course` shows a series
as a table and a chart. `ggp.statistics` says how certain a mean is.
"""
