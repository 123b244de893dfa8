"""Compiles kernels: functions on arrays become machine code, which is cached on disk.

In come functions, out come fast functions. Begin with `jit`, which has the decorators and imports
nothing slow; `kernel_compiler` tells numba how (`plain_compiler` where the inside of numba is not
known). `vectors` names operations of vectors, and `vector_code` generates code for them. By
`kernel_version` caches know the code; `disk_cache` keeps circuits between processes.
docs/understand/numba.md says which parts of numba's inside are used, and why.
"""
