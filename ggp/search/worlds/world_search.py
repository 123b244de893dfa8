"""The `Search` that solves worlds: perfect information Monte Carlo (paper 003).

The value of a move is its mean clairvoyant value over the worlds of a bag: all of an exact set, by
weight, or those of a sample. If all of these are solved nothing is left to do. Otherwise every
round makes playouts of the states that were not searched, and backs their means up.
"""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from ggp.belief import Bags, PathTree
from ggp.machine.arrays import offsets_of, segment_ids
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, States
from ggp.search.anytime import Deadline, check, part_of
from ggp.search.estimates import Estimates, candidates
from ggp.search.parts import Evaluation
from ggp.search.playouts import PlayoutSearch
from ggp.search.trees.paths_tree import PathsTree
from ggp.search.trees.tree_search import WAITING_S, Roots, WaveSearch
from ggp.search.trees.tree_tables import LaneSettings
from ggp.search.trees.world_table import depths_below
from ggp.search.worlds.clairvoyant import ClairvoyantValues, SharedWorlds, table_of
from ggp.search.worlds.layers import GROW_SHARE, Limit

BACKUP_SHARE = 0.5
"""Share of the time for finding the layers that backing up values is assumed to take, until it was
done once."""

BACKUP_CAUTION = 1.3
"""Backing up may take this many times as long as before."""


class WorldSearch:
    """Clairvoyant values of every candidate of one bag, improved round by round.

    A trial of a candidate is one playout of every state that was not searched, in every world. If
    not even one turn fits into the limit, the values are HyperPlay values.

    Args:
        bags: one bag, not depleted.
        limit: how far states are searched, which is done at once.
        deadline: looked at all the time; states are found until `GROW_SHARE` of the time is gone.
        evaluation: of the states that were not searched; default: random playouts.
        most_worlds: number of worlds drawn from the bag if it is a sample of more.

    Raises:
        GoalError: a goal value is not a number.
    """

    side_by_side = 1

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        limit: Limit,
        deadline: Deadline | None = None,
        evaluation: Evaluation | None = None,
        most_worlds: int = 1 << 30,
    ) -> None:
        self._machine, self._rng, self._deadline = machine, rng, deadline
        self._exact = bool(bags.exact[0])
        lanes, self._weights = drawn_worlds(bags, most_worlds, rng)
        self.moves = candidates(machine, bags)
        self.worlds = SharedWorlds(machine, bags.sets.states.take(lanes), bags.role, evaluation)
        began_s = 0.0 if deadline is None else deadline.clock()
        self.worlds.grow(limit, part_of(deadline, GROW_SHARE))
        self._backup_s = 0.0 if deadline is None else BACKUP_SHARE * (deadline.clock() - began_s)
        self._visits = np.zeros(len(self.moves.values), dtype=np.int64)
        self._table = np.zeros((len(lanes), len(self.moves.values)))
        self._noise = np.zeros_like(self._table)
        self._playouts: PlayoutSearch | None = None
        if self.solved:
            self._visits += len(lanes)
            self._back_up()
        elif not self.worlds.layers.layers:
            self._playouts = PlayoutSearch(machine, bags, rng, deadline, evaluation)
            self.moves = self._playouts.moves

    @property
    def solved(self) -> bool:
        """Whether the values are final: no playout is needed."""
        return self.worlds.solved

    @property
    def looks_ahead(self) -> bool:
        """Whether at least one turn was searched."""
        return self._playouts is None

    def round(self, count: int, chosen: IntArray | None = None) -> None:
        """Make `count` more playouts of all states below the candidates, or the chosen ones.

        Raises:
            OutOfTime: not all could be made; those that were made count.
        """
        if self._playouts is not None:
            self._playouts.round(count, chosen)
            return
        if self.solved:
            return
        deadline = self._deadline
        if deadline is not None:
            margin_s = BACKUP_CAUTION * self._backup_s
            deadline = Deadline(deadline.at_s - margin_s, deadline.clock)
        check(deadline)
        try:
            self.worlds.play_out(count, self._rng, deadline, self._wanted(chosen))
            self._visits[chosen if chosen is not None else slice(None)] += count * len(self._table)
        finally:
            if self._visits.any():
                self._back_up()

    def estimates(self) -> Estimates:
        """The values so far; candidates never tried have value 0."""
        if self._playouts is not None:
            return self._playouts.estimates()
        return over_worlds(
            self.moves,
            self._table,
            self._noise,
            self._weights,
            self._visits.copy(),
            np.full(len(self._visits), self.solved),
            exact=self._exact,
        )

    def _wanted(self, chosen: IntArray | None) -> BoolArray | None:
        """`[O]` whether each open state counts for the chosen candidates; None for all."""
        if chosen is None or len(chosen) == len(self.moves.values):
            return None
        legal = self.worlds.moves
        world = segment_ids(legal.offsets)
        wanted = np.isin(legal.values, self.moves.values[chosen])
        # Where one of them is illegal, it counts as the mean of all moves.
        every = np.bincount(world[wanted], minlength=len(legal.counts)) < len(chosen)
        return self.worlds.below(wanted | every[world])

    def _back_up(self) -> None:
        deadline = self._deadline
        began_s = 0.0 if deadline is None else deadline.clock()
        seen = self.worlds.values()
        middle = sum(self._machine.goal_range) / 2
        self._table, self._noise = table_of(seen, self.moves.values, middle)
        if deadline is not None:
            self._backup_s = deadline.clock() - began_s


def over_worlds(
    moves: Ragged,
    table: FloatArray,
    noise: FloatArray,
    weights: FloatArray,
    visits: IntArray,
    solved: BoolArray,
    *,
    exact: bool,
) -> Estimates:
    """Mean values of the candidates of one bag over N worlds.

    Args:
        table: `[N, C]` value of each candidate in each world.
        noise: `[N, C]` variances of these.
        weights: `[N]` of the worlds; they sum to 1.
        visits: `[C]` trials of each candidate.
        solved: `[C]` whether its value is certain in every world.
        exact: whether these are all worlds, so that only the values are uncertain.
    """
    values, variances = weights @ table, weights**2 @ noise
    if not exact:
        # Worlds are a sample: the spread between them includes the noise of their values.
        number = len(weights)
        spread = weights**2 @ (table - values) ** 2
        spread = spread * number / (number - 1) if number > 1 else np.full_like(spread, np.nan)
        variances = np.maximum(variances, spread)
    zeros = np.zeros_like(values)
    return Estimates(moves, values, np.sqrt(variances), visits, zeros, solved & exact)


def drawn_worlds(bags: Bags, most: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """`[N]` lanes of the worlds of a bag, and `[N]` their weights, which sum to 1."""
    lanes, weights = bags.lanes_of(0), bags.weights_of(0)
    if bags.exact[0] or len(lanes) <= most:
        return lanes, weights
    points = (rng.random() + np.arange(most)) / most
    at = np.minimum(np.searchsorted(np.cumsum(weights), points, side="right"), len(lanes) - 1)
    number = np.bincount(at, minlength=len(lanes))
    return lanes[number > 0], number[number > 0] / most


# ------------------------------------------------------------------------
# Clairvoyant values by tree search: UCT in all worlds of a bag side by side.
#
# Layers (`layers`) solve small worlds, and see little of large ones: their last layer is valued by
# playouts, however silly the moves in them. A tree looks deeper where it pays. Here every world has
# its own tree, in which all roles see everything, and one wave sends lanes into all of them. Wins
# and losses are proved where roles take turns; roles that move simultaneously choose independently
# (decoupled UCT).


class WorldTrees(PathsTree):
    """Trees in which everybody sees everything: each world is its own path, for each role."""

    alone = True

    def __init__(self, machine: Machine, settings: LaneSettings | None = None) -> None:
        super().__init__(machine, PathTree(machine), settings or LaneSettings(proves=True))
        self._roots = np.zeros(0, dtype=np.int64)

    def begin_in(self, states: States, own: int, later: int = 0) -> IntArray:
        """`[N]` worlds of states: those that are known, or new ones.

        If there is little room, all other worlds are forgotten that cannot be reached from them.

        Args:
            own: the role that decides: see `PathsTree.begin`.
            later: number of turns since lanes last began: only worlds so far below those are looked
                through.
        """
        known = np.flatnonzero(depths_below(self._worlds, self._roots) == later)
        worlds = self._known.find_among(known, states)
        if self._is_crowded:
            numbers = self._forget_others(worlds[worlds >= 0])
            worlds = np.where(worlds >= 0, numbers[worlds], -1)
        if own >= 0:
            worlds = self._known.with_node(worlds, own)
        new = np.flatnonzero(worlds < 0)
        worlds[new] = self.add_particles(states.take(new), self._new_paths(len(new)), own)
        self._roots = worlds
        return worlds

    def _forget_others(self, roots: IntArray) -> IntArray:
        keep = self._below(roots)
        if keep is None:
            return np.arange(self.num_worlds)
        numbers = np.where(keep, np.cumsum(keep) - 1, -1)
        roles = np.arange(len(self.machine.roles))
        paths = np.where(keep[:, None], numbers[:, None] * len(self.machine.roles) + roles, -1)
        self.renumber(paths.ravel())
        return numbers

    def _new_paths(self, count: int) -> IntArray:
        """`[K, R]` paths of the next worlds."""
        worlds = self.num_worlds + np.arange(count)
        return worlds[:, None] * len(self.machine.roles) + np.arange(len(self.machine.roles))


class WorldTreeSearch(WaveSearch):
    """Clairvoyant values of the candidates of one bag, by UCT in each of its worlds.

    Args:
        bags: one bag, not depleted.
        most_worlds: number of worlds drawn from the bag if it is a sample of more.
        trees: those of an earlier search, to go on with, by default new ones; and the number of
            turns since then.
        submitted: see `TreeSearch`.
    """

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        most_worlds: int = 1 << 30,
        trees: tuple[WorldTrees, int] | None = None,
        submitted: int | None = None,
    ) -> None:
        lanes, self._weights = drawn_worlds(bags, most_worlds, rng)
        self._machine, self._exact = machine, bool(bags.exact[0])
        tree, later = trees or (WorldTrees(machine), 0)
        states = bags.sets.states.take(lanes)
        self._submitted = submitted
        worlds = tree.begin_in(states, -1 if submitted is not None else bags.role, later)
        self._paths = tree.views_of(worlds)[:, bags.role]
        learns = np.ones((len(worlds), len(machine.roles)), dtype=np.bool_)
        roots = Roots(worlds, self._weights, learns)
        super().__init__(tree, candidates(machine, bags), roots, rng, deadline)

    def estimates(self) -> Estimates:
        """The values so far: means over worlds of the means of lanes, or of what is proved.

        A move that was not tried in a world counts as the mean of the moves tried there, and so
        does an illegal one.
        """
        low, high = self._machine.goal_range
        found = [self._tree.nodes.sums(int(path)) for path in self._paths]
        kept = [sums.take(np.flatnonzero(sums.visits + (sums.proofs >= 0))) for sums in found]
        counts = np.array([len(sums.moves) for sums in kept])
        moves, visits, goals, squares, _, proofs, _ = (
            np.concatenate(column) for column in zip(*kept, strict=True)
        )
        each = np.maximum(visits, 1)
        means, proved = goals / each, proofs >= 0
        noise = np.maximum(squares / each - means**2, 0) / np.maximum(visits - 1, 1)
        seen = ClairvoyantValues(
            Ragged(offsets_of(counts), moves),
            low + (high - low) * np.where(proved, proofs, means),
            np.where(proved, 0.0, noise * (high - low) ** 2),
        )
        table, variances = table_of(seen, self.moves.values, (low + high) / 2)
        order = np.argsort(self.moves.values)
        place = order[np.searchsorted(self.moves.values, moves, sorter=order)]
        size = len(self.moves.values)
        tried = np.bincount(place, np.maximum(visits, proved), size).astype(np.int64)
        solved = np.bincount(place, proved, size) == len(counts)
        return over_worlds(
            self.moves, table, variances, self._weights, tried, solved, exact=self._exact
        )

    def wait(self, deadline: Deadline) -> None:
        """See `TreeSearch.wait`."""
        self.longest_wave_s = WAITING_S
        with ExitStack() as stack:
            for path in self._paths.tolist():
                stack.enter_context(self._tree.nodes.committed(path, self._submitted))
            self.run(deadline)

    def _is_settled(self) -> bool:
        return False
