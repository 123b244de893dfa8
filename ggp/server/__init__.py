"""The server of `ggp serve`, which plays matches for game servers.

Messages of game servers come in, moves go out. Begin with `host`, which answers for all matches,
and `hosted_match`, which is one of them; `settings` has their options and limits. The protocol
itself is in `ggp.protocol`. `latency` learns how much of a clock transmission takes, `match_log`
keeps logs, and `operator` shows the operator what the server does. `http` receives requests,
`workers` find moves in processes of their own, and `confinement` takes rights away from these
processes. docs/reference/serving.md explains the whole.
"""
