"""Where functions are called: in this process, in processes of this machine, on a Dask cluster.

`executor` has the protocol; `local`, `cluster` and `inline` are the places, `process` the far
side of `local`; `places` chooses by the options of a command; `tries` calls a function for many
tasks, and again where a worker crashed; `idle` keeps processes for those who come next.
"""
