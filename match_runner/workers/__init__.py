"""Where functions are called: in this process, in processes of this machine, on a Dask cluster.

In come functions and tasks, out come results. Begin with `executor`, which has the protocol and the
pool of local processes; `cluster` is for Dask. `places` chooses one by the options of a command,
and has many tasks done there, again where a worker crashed.
"""
