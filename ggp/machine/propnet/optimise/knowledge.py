"""Knowledge about a game that passes share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ggp.machine.propnet.circuit import Circuit


class ExclusiveFluents(NamedTuple):
    """Fluents of which at most one holds in every reachable state; exactly one if `exact`."""

    members: tuple[str, ...]
    exact: bool


@dataclass
class CircuitKnowledge:
    """Facts about a game that do not depend on the form of its circuit.

    Attributes:
        work: the work that may be done, and how much of it was.
        groups: fluents that exclude each other.
    """

    work: Work
    groups: tuple[ExclusiveFluents, ...] = ()

    def groups_of_nets(self, circuit: Circuit) -> Iterator[tuple[list[int], bool]]:
        """The groups as nets of a circuit, and whether exactly one of each holds."""
        net_of = {name: net for net, name in enumerate(circuit.fluents, 1)}
        constant = frozenset(circuit.constant)
        for group in self.groups:
            nets = [net_of[name] for name in group.members if name in net_of]
            if nets and constant.isdisjoint(group.members):
                yield nets, group.exact


def moves_of_roles(circuit: Circuit) -> list[range]:
    """The nets of the moves of each role."""
    first = 1 + len(circuit.fluents)
    ranges = []
    for outputs in circuit.legal:
        ranges.append(range(first, first + len(outputs.names)))
        first += len(outputs.names)
    return ranges


# ------------------------------------------------------------------------
# Counts work, so that where a pass stops depends on the circuit and not on the clock.
#
# The work that a busy machine has time for differs from run to run, and a circuit is kept for good.
# So passes spend *steps* of a fixed sum: one for each literal to look at, for each atom that a
# solver goes through, and so on. A step is about a microsecond on the machine of
# `docs/measured/performance.md`; it does no harm that this is only approximate.


class Work:
    """Steps that were spent, of a fixed sum."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count steps as spent."""
        self.spent += steps

    @property
    def left(self) -> int:
        """Steps that may still be spent; 0 if there are none."""
        return max(self.most - self.spent, 0)

    def until(self, share: float, most: int | None = None) -> int:
        """The `spent` at which this share of the steps left is used up, or `most` steps are."""
        steps = int(share * self.left)
        return self.spent + (steps if most is None else min(steps, most))
