"""In which order kernels evaluate the gates of a cone.

Two things make kernels fast, and they pull in different directions:

- Long runs of gates of one shape: then nothing is guessed wrong about what comes next.
- Few rows at a time: what is read soon after it was made is still in the nearest cache.

So gates are first put in the order in which they are reached depth first: a gate comes right after
the last of its inputs. That order is cut into pieces, and within a piece gates of the same shape
are put side by side, as far as inputs allow. Cones no larger than a piece have the longest runs
there can be.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from ggp.machine.propnet.circuit import Circuit, Literals
from ggp.machine.propnet.play.fusing import Fused, Shape

PIECE = 2048
"""Gates that are ordered by shape: what they drive fits the second cache."""


class Run(NamedTuple):
    """Gates that come one after the other: a loop, or all of one shape.

    Attributes:
        gates: in order.
        loop: whether they are a loop.
        shape: of each, unless they are a loop.
    """

    gates: list[Fused]
    loop: bool
    shape: Shape


def runs_of(circuit: Circuit, gates: list[Fused], targets: Literals) -> list[Run]:
    """Gates in the order in which to evaluate them.

    Args:
        gates: in circuit order; all others that they need are there already.
        targets: what they are needed for.
    """
    base = 1 + circuit.num_inputs
    found: list[Run] = []
    for part, loop in _split_at_loops(circuit, gates):
        if loop:
            found.append(Run(part, True, Shape(0, 0)))
            continue
        by_net = {base + each.gate: each for each in part}
        ordered = part if len(part) <= PIECE else _depth_first(by_net, (targets >> 1).tolist())
        for first in range(0, len(ordered), PIECE):
            found += _runs_of_shapes(ordered[first : first + PIECE], base)
    return found


def _depth_first(by_net: dict[int, Fused], targets: list[int]) -> list[Fused]:
    """Gates, each after those it needs, and soon after the last of them."""
    waiting = dict(by_net)
    # Gates that only later parts need come last.
    pending: list[int | Fused] = [*reversed(by_net), *reversed(targets)]
    found: list[Fused] = []
    while pending:
        each = pending.pop()
        if isinstance(each, Fused):
            found.append(each)
        elif (gate := waiting.pop(each, None)) is not None:
            pending.append(gate)
            pending += gate.nets
    return found


def _runs_of_shapes(gates: list[Fused], base: int) -> list[Run]:
    """Runs of gates of one shape.

    Of the shapes of which gates are ready, which have all their inputs, the most frequent goes
    next. Long runs are what kernels are fast at.
    """
    place = {base + each.gate: k for k, each in enumerate(gates)}
    missing = [0] * len(gates)
    readers: list[list[int]] = [[] for _ in gates]
    ready: dict[Shape, list[int]] = {}
    for k, gate in enumerate(gates):
        for net in gate.nets:
            if (source := place.get(net)) is not None:
                missing[k] += 1
                readers[source].append(k)
        if not missing[k]:
            ready.setdefault(gate.shape, []).append(k)
    runs = []
    while ready:
        shape = max(ready, key=lambda s: len(ready[s]))
        run = ready.pop(shape)
        # The run grows by what becomes ready meanwhile.
        for k in run:
            for reader in readers[k]:
                missing[reader] -= 1
                if not missing[reader]:
                    other = gates[reader].shape
                    (run if other == shape else ready.setdefault(other, [])).append(reader)
        runs.append(Run([gates[k] for k in run], False, shape))
    return runs


def _split_at_loops(circuit: Circuit, gates: list[Fused]) -> list[tuple[list[Fused], bool]]:
    """Runs of gates that are in no loop, and loops, in order."""
    numbers = [each.gate for each in gates]
    parts = []
    at = 0
    for loop in circuit.loops:
        first, end = bisect_left(numbers, loop.start), bisect_left(numbers, loop.end)
        if first < end:
            parts.append((gates[at:first], False))
            parts.append((gates[first:end], True))
            at = end
    parts.append((gates[at:], False))
    return [(part, loop) for part, loop in parts if part]
