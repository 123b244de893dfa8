"""Compiling kernels: functions on arrays become machine code, which is cached on disk.

In come functions, out come functions that are quick. Begin with `jit`, which has the decorators and
imports nothing slow; `kernel_compiler` tells numba how (`plain_compiler` where its inside is not
known), and `records` what kernels take as one pointer. `kernel_version` is by which the cache knows
the code. docs/numba.md says what of numba's inside is used, and why.
"""
