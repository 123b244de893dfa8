"""The one way to play many matches.

`plan` says which matches there are, a pure function of settings; `runner` has those played that
are not stored yet, by `worker`, wherever `match_runner.workers` finds room; `store` keeps whole
records in one SQLite file; `outcomes` says what they come to, `intervals` and `betting` how certain
that is, `verdicts` who is the best, and `stopping` when that is clear. `command` is the course of
every command that plays a series: `play`, `compare`, and the tournaments of
`match_runner.tournament`. `match_runner.reproduce` plays series too.
"""
