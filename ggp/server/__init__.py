"""The game server of `ggp serve`, which plays matches. docs/reference/serving.md says how it works.

In come texts of game servers, out go moves. Begin with `host`, which answers for all matches, and
`hosted_match`, one of them, within `settings`; the protocol itself is in `ggp.protocol`. `latency`
learns how much of a clock transmission takes, `match_log` keeps logs, and `operator` shows whoever
runs the server what it does. The rooms: `http` takes requests, `workers` find moves in processes of
their own, and `confinement` takes rights away from these.
"""
