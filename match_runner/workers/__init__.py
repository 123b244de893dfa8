"""Calls functions in worker processes: of this process, of this machine, or of a Dask cluster.

Functions and tasks come in; results go out. Begin with `executor`, which has the protocol and the
pool of local processes, and runs many tasks on an executor, with a new try after a crash; `cluster`
is for Dask.
"""
