"""The game server of `ggp serve`, which plays matches. docs/reference/serving.md says how it works.

In come texts of game servers, out go moves. Begin with `host`, which answers for all matches, and
`hosted_match`, one of them, within `settings`; the protocol itself is in `ggp.protocol`. Long texts
are read in the `background`, `addresses` says which clients are heard, and `latency` learns how
much of a clock transmission takes. The rooms: `http` takes requests, `workers` find moves in
processes of their own, `confinement` takes rights away from these, and `records` keep logs.
"""
