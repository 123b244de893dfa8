"""Worker processes, in which matches search for moves, and the server's side of them.

In come questions of a match, out come moves, whatever happens to a process. Begin with `pair`, the
workers of one match, each in a slot; the `pool` has them all and watches them. `orders` are the
messages of both sides; `worker_main` and `worker_match` are a worker's own side. It is forked from
a `template`, which `nursery` starts; `kernels` are compiled before all that.
"""
