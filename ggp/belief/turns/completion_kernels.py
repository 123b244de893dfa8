"""The kernels of joint completions: numbers to joint moves, and lists reduced to known values."""

from __future__ import annotations

from ggp.machine.base import UNKNOWN, FloatArray, IntArray
from ggp.machine.compiling.jit import kernel


@kernel
def joint_of(
    lanes: IntArray,
    numbers: IntArray,
    offsets: IntArray,
    values: IntArray,
    logs: FloatArray,
    joint_moves: IntArray,
    log_priors: FloatArray,
) -> None:
    """`joint_moves[K, R]` of completions numbered within their lanes, and the log of their priors.

    The number of a completion is written with a digit for each role, the last role's first.

    Args:
        offsets: `[R, L + 1]` first index of each role's open moves in `values` and `logs`.
    """
    num_roles = len(offsets)
    for k in range(len(lanes)):
        lane, number = lanes[k], numbers[k]
        total = 0.0
        for j in range(num_roles - 1, -1, -1):
            place = offsets[j, lane]
            size = offsets[j, lane + 1] - place
            if size > 1:
                place += number % size
                number //= size
            joint_moves[k, j] = values[place]
            total += logs[place]
        log_priors[k] = total


@kernel
def keep_known(
    offsets: IntArray,
    values: IntArray,
    logs: FloatArray,
    known: IntArray,
    new_offsets: IntArray,
    new_values: IntArray,
    new_logs: FloatArray,
) -> int:
    """Lists reduced to the known value, if it is in them; whole lists if it is unknown.

    Returns:
        the number of values left.
    """
    at = 0
    new_offsets[0] = 0
    for lane in range(len(known)):
        for k in range(offsets[lane], offsets[lane + 1]):
            if known[lane] == UNKNOWN or values[k] == known[lane]:
                new_values[at] = values[k]
                new_logs[at] = logs[k]
                at += 1
        new_offsets[lane + 1] = at
    return at
