"""Waves that walk down and enter new worlds in one kernel, where the machine is a circuit.

In comes a wave of lanes, and out it comes where they have ended. Begin with `grower`, which calls
the kernel, `grow_kernels`, and provides what that lacks: room, and the ids of percepts.
"""
