"""Compiles kernels: Python functions on arrays become machine code, which is cached on disk.

Start with `jit`, which has the decorators and imports nothing slow. `kernel_compiler` compiles with
numba. `vectors` declares operations on vectors, and `vector_code` generates their instructions.
`kernel_files` finds machine code in the package and in numba's cache. `kernel_version` is the
digest of code by which caches notice changes. `disk_cache` keeps circuits between processes.
docs/understand/numba.md describes the internals of numba that are used, and why.
"""
