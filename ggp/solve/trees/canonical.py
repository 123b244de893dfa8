"""Puts legal moves in an order that does not depend on ids, and is the same after the same path."""

from __future__ import annotations

import numpy as np

from ggp.belief.paths import PathTree
from ggp.errors import SolvingError
from ggp.machine.arrays import first_seen, segment_ids
from ggp.machine.base import FloatArray, IntArray, Machine, Ragged, States


class TextOrder:
    """Sorts moves by their texts."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._texts: list[str] = []
        self._ranks: IntArray = np.zeros(0, dtype=np.int64)

    def order(self, ragged: Ragged) -> IntArray:
        """The places of all values, with each list sorted by text."""
        self._learn(1 + int(ragged.values.max(initial=-1)))
        return np.lexsort((self._ranks[ragged.values], segment_ids(ragged.offsets)))

    def sorted(self, ragged: Ragged) -> Ragged:
        """The lists, each sorted by text."""
        return Ragged(ragged.offsets, ragged.values[self.order(ragged)])

    def _learn(self, num_moves: int) -> None:
        if num_moves <= len(self._texts):
            return
        new = range(len(self._texts), num_moves)
        self._texts += [self._machine.move_text(move) for move in new]
        self._ranks = np.argsort(np.argsort(np.array(self._texts), kind="stable"))


def sorted_chance(machine: Machine, states: States, order: TextOrder) -> tuple[Ragged, FloatArray]:
    """The moves of `random` in each lane, sorted by text, and the probability of each."""
    chance = machine.chance(states)
    ragged = Ragged(chance.offsets, chance.moves)
    places = order.order(ragged)
    return Ragged(chance.offsets, chance.moves[places]), chance.probabilities[places]


def require_equal_moves(
    machine: Machine, tree: PathTree, role: int, paths: IntArray, legal: Ragged
) -> None:
    """Check that a role knows its legal moves.

    Args:
        paths: `[L]` incomplete paths of the role.
        legal: its sorted legal moves in each lane.

    Raises:
        SolvingError: two lanes of one path have different legal moves.
    """
    first, group = first_seen(paths)
    model = first[group]
    counts = legal.counts
    lengths_differ = counts != counts[model]
    if not lengths_differ.any():
        within = np.arange(len(legal.values)) - np.repeat(legal.offsets[:-1], counts)
        expected = legal.values[np.repeat(legal.offsets[model], counts) + within]
        wrong = np.flatnonzero(expected != legal.values)
        if not len(wrong):
            return
        lane = int(segment_ids(legal.offsets)[wrong[0]])
    else:
        lane = int(np.flatnonzero(lengths_differ)[0])
    one, other = (
        set(map(machine.move_text, legal[each].tolist())) for each in (int(model[lane]), lane)
    )
    history = " | ".join(tree.texts(int(paths[lane]))[-4:]) or "at the start"
    raise SolvingError(
        f"{machine.roles[role]} cannot tell its legal moves: after one incomplete path "
        f"({history}) {sorted(one ^ other)[0]} is legal in one state and not in another; only "
        "games in which players know their moves can be solved"
    )
