"""A server of players: what `ggp serve` runs. docs/serving.md says how it works.

In come texts of game servers, out go moves. Begin with `host`, which answers for all matches, and
`hosted_match`, one of them, within `settings`; what is said on the wire is in `ggp.protocol`.
`text_reader` reads long texts in the `background`, `addresses` say who is heard, and `latency` how
much of a clock the way takes. The rooms: `http` takes requests, `workers` find moves in processes
of their own, `confinement` takes rights away from these, and `records` keep what happened.
"""
