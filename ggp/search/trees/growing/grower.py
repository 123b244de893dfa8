"""Sends waves down by one kernel, and provides what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ggp.belief import PathTree
from ggp.machine.abilities import on_circuit
from ggp.machine.base import FloatArray, IntArray, Machine, States
from ggp.machine.propnet.play.growth import Lister
from ggp.machine.propnet.play.turns import WIDTH
from ggp.search.moves import LONG_LIST
from ggp.search.trees.growing.grow_kernels import (
    ENTERED,
    LISTED_MOVES,
    PENDING,
    PERCEPTS,
    RECORDS,
    ROOM,
    Growth,
    Terms,
    grow,
)
from ggp.search.trees.node_table import MOST_ACTIONS, NodeTable
from ggp.search.trees.tree_tables import ROWS, Wave, wider_wave
from ggp.search.trees.world_table import PackedStore, WorldTable

if TYPE_CHECKING:
    from ggp.machine.abilities import OnCircuit


class Grower:
    """Grows the trees of one machine by a kernel.

    Args:
        lister: lists what comes of joint moves.
        states: of the known worlds.
        paths: of roles.
        alone: whether each world is a path of its own for each role.
    """

    def __init__(
        self,
        machine: OnCircuit,
        lister: Lister,
        known: WorldTable,
        nodes: NodeTable,
        paths: PathTree,
        *,
        alone: bool,
    ) -> None:
        self._machine, self._lister = machine, lister
        self._known, self._nodes, self._paths = known, nodes, paths
        listing = lister.listing
        self._lanes, self._num_roles = listing.worth.shape
        chance = machine.random_role
        self._terms = Terms(
            known.most,
            MOST_ACTIONS,
            MOST_DEPTH,
            -1 if chance is None else chance,
            LONG_LIST,
            alone,
            False,
            0.0,
            0.0,
            0.0,
        )
        most = self._lanes * self._num_roles
        self._growth = Growth(
            np.zeros(3, dtype=np.int64),
            np.zeros((0, 0), dtype=np.uint64),
            known.views,
            nodes.of_path,
            np.empty(len(listing.values)),
            np.empty((most, 4), dtype=np.uint64),
            np.empty(most, dtype=np.int64),
            np.empty((self._lanes, self._num_roles), dtype=np.int64),
            np.empty(self._lanes, dtype=np.bool_),
        )

    def go(self, wave: Wave, walk: Walk) -> tuple[int, Wave]:
        """Send a wave down; afterwards it may have more room.

        Returns:
            `DONE`, `PAUSED`, or `UNUSUAL`: see `grow`.
        """
        terms = self._terms._replace(
            exploration=walk.exploration,
            weight=walk.weight,
            choices=walk.choices,
            pauses=walk.pauses,
        )
        self._growth.sizes[PENDING] = 0
        while True:
            result = self._grow(wave, terms, walk.prior)
            if result == RECORDS:
                wave = wider_wave(wave)
            elif result == PERCEPTS:
                self._lister.learn(wave.moves[: wave.sizes[ROWS]])
            elif result == ROOM:
                self._make_room(len(wave.world))
            else:
                return result, wave

    def _grow(self, wave: Wave, terms: Terms, prior: FloatArray) -> int:
        known, states = self._known, self._states
        with self._paths.lent(self._num_roles * len(wave.world)) as paths:
            growth = self._growth._replace(
                packed=states.with_room(len(wave.world)),
                views=known.views,
                node_of=self._nodes.of_path,
            )
            growth.sizes[[LISTED_MOVES, ENTERED]] = 0
            result = grow.alike(
                known.table,
                self._nodes.table,
                wave,
                self._lister.listing,
                paths,
                growth,
                terms,
                prior,
                WIDTH,
            )
        states.has_grown(len(known))
        self._machine.states_visited += int(growth.sizes[ENTERED])
        return result

    def _make_room(self, lanes: int) -> None:
        """Make room for what the last call of the kernel lacked."""
        known, nodes = self._known, self._nodes
        moves = max(int(self._growth.sizes[LISTED_MOVES]), 1)
        self._lister.make_room(moves)
        chances = np.empty(len(self._lister.listing.values))
        self._growth = self._growth._replace(chances=chances)
        if not self._growth.sizes[PENDING]:
            known.make_room(lanes, self._terms.most_worlds)
        known.reserve(moves, moves)
        paths = len(self._paths) + self._num_roles * lanes
        if self._terms.alone:
            paths = self._num_roles * len(known.views)
        nodes.reserve(lanes * self._num_roles, moves, paths)

    @property
    def _states(self) -> PackedStore:
        """Kept by the table of worlds, which may replace it."""
        assert isinstance(self._known.states, PackedStore)
        return self._known.states


def grower_of(
    machine: Machine, known: WorldTable, nodes: NodeTable, paths: PathTree, *, alone: bool
) -> Grower | None:
    """The grower of a tree; None where only Python can enter new worlds."""
    if not on_circuit(machine):
        return None
    return Grower(machine, machine.lister(), known, nodes, paths, alone=alone)


# ------------------------------------------------------------------------
# A wave on its way, and how it walks.

MOST_DEPTH = 1000
"""Most joint moves of a lane in the tree; other people's games may not terminate."""


class Walk(NamedTuple):
    """How a wave walks: see `walk`, and for `pauses` see `Terms`."""

    exploration: float
    weight: float
    choices: float
    prior: FloatArray
    pauses: bool


class WaveLanes:
    """A wave, and the results of lanes that have left the known worlds."""

    def __init__(self, wave: Wave, how: Walk) -> None:
        self.wave, self.how = wave, how
        self.most_worlds = 0
        self.loose: list[IntArray] = []
        self.loose_states: list[States] = []
