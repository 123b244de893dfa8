"""Where functions are called: in this process, in processes of this machine, on a Dask cluster.

In come functions and tasks, out come results. Begin with `executor`, which has the protocol and
the pool of local processes. `inline` and `cluster` are other places; `places` chooses one by the
options of a command, `tries` calls a function for many tasks, and again where a worker crashed, and
`idle` keeps idle processes for the next caller.
"""
