"""The kernel that reads the lines of rules if there are very many (see `aspif`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.compiling.jit import kernel

Bytes = NDArray[np.uint8]
I32 = NDArray[np.int32]

NOT_A_RULE, HEADS, WEIGHTS = -1, -2, -3
"""Codes that `read_rules` returns for a line that is not a rule, does not have exactly one head, or
has weights."""

_SPACE, _LINE_END, _MINUS, _ZERO = 32, 10, 45, 48


@kernel
def read_rules(
    text: Bytes, heads: I32, sizes: I32, conditions: I32, inputs: I32, counts: NDArray[np.int64]
) -> int:
    """Read complete lines of rules; returns 0, or the code of what is wrong with them.

    Args:
        text: lines of numbers with one space between them.
        heads: heads of rules, with room for all lines, like the other arrays.
        sizes: number of conditions of each rule.
        conditions: conditions of all rules.
        inputs: heads that may hold or not.
        counts: `[3]` number of heads, conditions and inputs that were written.
    """
    num_rules, num_conditions, num_inputs = 0, 0, 0
    # In a line: the place of the next number, and the numbers read before its conditions.
    place, may_be, head = 0, 0, 0
    number, sign = 0, 1
    for character in text:
        if character == _MINUS:
            sign = -1
        elif character > _SPACE:
            number = 10 * number + character - _ZERO
        else:
            number *= sign
            if place == 0 and number != 1:
                # A line with nothing but 0 ends the output.
                if number != 0 or character != _LINE_END:
                    return NOT_A_RULE
            elif place == 1:
                may_be = number
            elif place == 2 and number != 1:
                return HEADS
            elif place == 3:
                head = number
            elif place == 4 and number != 0:
                return WEIGHTS
            elif place == 5:
                if may_be == 1:
                    inputs[num_inputs] = head
                    num_inputs += 1
                else:
                    heads[num_rules] = head
                    sizes[num_rules] = number
                    num_rules += 1
            elif place > 5 and may_be != 1:
                conditions[num_conditions] = number
                num_conditions += 1
            place = 0 if character == _LINE_END else place + 1
            number, sign = 0, 1
    counts[0], counts[1], counts[2] = num_rules, num_conditions, num_inputs
    return 0
