"""A server of players: what `ggp serve` runs. docs/serving.md says how it works.

`http_server` takes requests, `host` answers them, `pair` has moves found for it in worker
processes. What is said on the wire is in `ggp.protocol`.
"""
