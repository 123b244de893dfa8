"""Worker processes, which search for moves, and the code that manages them in the server.

Questions of a match go in and moves come out, even if a process dies. Begin with `pair`: a match
has two workers, a thinker and its understudy, and each has a slot, which replaces it if it dies.
The `pool` holds all workers and watches them. `orders` defines the messages between the server and
a worker; `worker_main` and `worker_match` run in the worker. A worker is forked from a `template`,
a process with all code loaded, which `nursery` starts. `kernels` compiles machine code beforehand.
"""
