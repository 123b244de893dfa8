"""Processes that matches think in, and the server's side of them.

In come questions of a match, out come moves, whatever happens to a process. Begin with `pair`, the
workers of one match, each in a `slot`; the `pool` watches them all. `orders` are what both sides
say, `lines` puts that on the pipe, `words` are all that a worker may answer. `worker_process` is a
worker seen from the server, `worker_main` and `worker_match` are what it does. It is forked from a
`template`, which `nursery` starts; `kernels` are compiled before all that.
"""
