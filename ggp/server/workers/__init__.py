"""Worker processes, which search for moves, and the server's side of them.

Questions of a match go in, and moves come out, whatever happens to a process. Begin with `pair`,
the two workers of one match, each in a slot; the `pool` has all workers and watches them. `orders`
has the messages between both sides; `worker_main` and `worker_match` are the worker's side. A
worker is forked from a `template`, which `nursery` starts. `kernels` compiles machine code before
all that.
"""
