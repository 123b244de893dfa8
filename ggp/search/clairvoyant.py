"""Clairvoyant values: values of moves as if everybody knew the world from then on (paper 003).

`WorldSearch` gives a player the estimates of its candidates. `SharedWorlds`, its core, also serves
searches of boards; `clairvoyant_values` serves the analysis of games (`ggp.study`).

A world is a state that a role may be in. If all know the world, then in every turn

1. our role chooses first, and maximises its own goal;
2. the other roles answer in the order of the rulesheet: each knows the choices before its own, and
   maximises its own goal, given how those after it will answer (max^n);
3. moves of `random` are averaged.

Moves that are equally good for their role count equally: their value to the others is the mean.
Choosing first is the cautious view of simultaneous moves; where roles take turns, it makes no
difference. All worlds share their layers of states (`layers`). Random playouts value states that
are too deep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.belief import Bags
from ggp.machine.arrays import first_seen, offsets_of, segment_ids, take_segments
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, States
from ggp.search.anytime import Deadline, OutOfTime, Pace, check, part_of
from ggp.search.estimates import Estimates, candidates
from ggp.search.layers import (
    GROW_SHARE,
    PLAYOUTS,
    PLAYOUTS_A_STEP,
    CountLimit,
    Layers,
    Limit,
)
from ggp.search.moves import MoveLists
from ggp.search.parts import Evaluation, JointEvaluation
from ggp.search.playouts import LANES_AT_ONCE, TIMED_LANES, PlayoutSearch, RandomPlayouts

PRIOR_PLAYOUTS = 2
"""Number of playouts, with the spread of those of all states, that are added to those of each state
in estimating its variance."""


class ClairvoyantValues(NamedTuple):
    """Values of a role's moves in L worlds.

    Attributes:
        moves: the legal moves in each; none if the game is over, or some role has none.
        values: `[K]` value of each for the role.
        variances: `[K]` of these, from the noise of the playouts after the best answers, as if it
            were certain that these are the best.
    """

    moves: Ragged
    values: FloatArray
    variances: FloatArray

    def take(self, worlds: IntArray) -> ClairvoyantValues:
        """The values in some worlds."""
        offsets, elements = take_segments(self.moves.offsets, worlds)
        moves = Ragged(offsets, self.moves.values[elements])
        return ClairvoyantValues(moves, self.values[elements], self.variances[elements])


class SharedWorlds:
    """L worlds that share the states they lead to.

    Args:
        states: L lanes; equal ones are searched once.
        evaluation: of open states; default: random playouts. Unless it gives the goals of all roles
            (`JointEvaluation`), it values our role only, and the others get the complement: values
            of two roles may not add up to a constant (`board_values`), and minimax needs that.
        skip_refused: see `Layers`.

    Attributes:
        layers: the states so far.
    """

    def __init__(
        self,
        machine: Machine,
        states: States,
        role: int,
        evaluation: Evaluation | None = None,
        *,
        skip_refused: bool = False,
    ) -> None:
        self._machine, self._role = machine, role
        self._evaluation = evaluation or RandomPlayouts(machine)
        first, self._group = first_seen(machine.groups(states))
        self._roots = states.take(first)
        self._over = machine.terminal(self._roots)
        self.layers = Layers(machine, self._roots, role, skip_refused=skip_refused)
        self._reset(0)

    @property
    def solved(self) -> bool:
        """Whether all possible continuations were searched to their ends."""
        return not len(self.layers.open)

    @property
    def moves(self) -> Ragged:
        """Our legal moves in each world; none before the first turn was searched."""
        return self._by_world()[0]

    def grow(self, limit: Limit, deadline: Deadline | None = None) -> None:
        """Find states, layer by layer, up to the limit or the deadline.

        Raises:
            GoalError: a goal value is not a number.
        """
        layers = self.layers
        try:
            while (
                len(layers.open)
                and limit.allows(len(layers.open))
                and limit.allows(num_joint := layers.moves(deadline).number)
            ):
                layers.grow(deadline)
                limit.record(int(num_joint))
        except OutOfTime:
            pass  # earlier layers count
        while layers.layers and not limit.can_value(len(layers.open)):
            layers.shrink()
        self._reset(len(layers.open))

    def play_out(
        self,
        count: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        mask: BoolArray | None = None,
    ) -> None:
        """Make `count` more playouts, or other evaluations, of each open state.

        Args:
            mask: `[O]` mask of open states; default: all.

        Raises:
            OutOfTime: time was too short; the playouts so far count.
        """
        open_ = self.layers.open
        indices = np.arange(len(open_)) if mask is None else np.flatnonzero(mask)
        for start, end in Pace(deadline, TIMED_LANES, LANES_AT_ONCE).batches(count * len(indices)):
            states = indices[np.arange(start, end) // count]
            goals = self._evaluated(open_.take(states), rng, deadline)
            low, size = int(states[0]), int(states[-1] - states[0]) + 1
            part = slice(low, low + size)
            for role in range(goals.shape[1]):
                self._totals[role, part] += np.bincount(states - low, goals[:, role], size)
            our_goals = goals[:, self._role]
            self._squares[part] += np.bincount(states - low, our_goals * our_goals, size)
            self._counts[part] += np.bincount(states - low, minlength=size)

    def worth(self, role: int, states: IntArray) -> FloatArray:
        """`[K]` values of some open states for a role; 0 if unknown."""
        return np.asarray(self._totals[role, states] / np.maximum(self._counts[states], 1))

    def note(self, states: IntArray, values: FloatArray) -> None:
        """Set the values of some open states for our role; the others get the complement."""
        self._totals[:, states] = sum(self._machine.goal_range) - values
        self._totals[self._role, states] = values
        self._squares[states] = values**2
        self._counts[states] = 1

    def leads_to(self, mask: BoolArray) -> BoolArray:
        """`[O]` whether some chosen move of ours leads to each open state.

        Args:
            mask: `[K]` mask of moves, as in `values`.
        """
        moves = self.layers.layers[0].moves
        our_counts = moves.counts[:, self._role]
        states = np.repeat(np.arange(len(our_counts)), our_counts)
        # Our move changes slowest: joint moves that begin with it are neighbours.
        answers = moves.counts.prod(axis=1)[states] // our_counts[states]
        _, elements = self._by_world()
        marked = np.zeros(len(states), dtype=np.bool_)
        marked[elements[mask]] = True
        return self.layers.reached(np.repeat(marked, answers))

    def values(self) -> ClairvoyantValues:
        """Values of our moves.

        All open states must have been valued.
        """
        moves, elements = self._by_world()
        if not self.layers.layers:
            return ClairvoyantValues(moves, np.zeros(0), np.zeros(0))
        means = self._totals / np.maximum(self._counts, 1)
        backed = self.layers.back_up(means, self._variances(means[self._role]))
        return ClairvoyantValues(
            moves, backed.values[self._role, elements], backed.variances[elements]
        )

    # ---------------------------------------------------------------- private

    def _reset(self, num_open: int) -> None:
        """Forget the values of open states."""
        self._totals = np.zeros((len(self._machine.roles), num_open))
        self._squares = np.zeros(num_open)
        self._counts = np.zeros(num_open, dtype=np.int64)

    def _evaluated(
        self, states: States, rng: np.random.Generator, deadline: Deadline | None
    ) -> FloatArray:
        """`[L, R]` values of states for every role."""
        if isinstance(self._evaluation, JointEvaluation):
            return self._evaluation.goals(states, rng, deadline)[0]
        our_values, _ = self._evaluation.values(states, self._role, rng, deadline)
        complement = sum(self._machine.goal_range) - our_values
        goals = np.repeat(complement[:, None], len(self._machine.roles), axis=1)
        goals[:, self._role] = our_values
        return goals

    def _variances(self, means: FloatArray) -> FloatArray:
        """`[O]` variances of the means of our role's values, shrunk towards the pooled variance."""
        counts = np.maximum(self._counts, 1)
        squares = np.maximum(self._squares - counts * means**2, 0.0)
        freedom = (counts - 1).sum()
        usual = squares.sum() / freedom if freedom else means.var() if len(means) else 0.0
        spread = (squares + PRIOR_PLAYOUTS * usual) / (counts - 1 + PRIOR_PLAYOUTS)
        return np.asarray(spread / counts)

    def _by_world(self) -> tuple[Ragged, IntArray]:
        """Our moves in all worlds, and the index of each in the backed-up values."""
        if not self.layers.layers:
            empty = np.zeros(0, dtype=np.int64)
            return Ragged(np.zeros(len(self._group) + 1, dtype=np.int64), empty), empty
        first = self.layers.layers[0].moves
        our_moves = first.lists[self._role]
        first_offsets, listed = take_segments(our_moves.offsets, np.flatnonzero(~first.stuck))
        counts = np.zeros(len(self._over), dtype=np.int64)
        counts[np.flatnonzero(~self._over)[~first.stuck]] = np.diff(first_offsets)
        offsets, elements = take_segments(offsets_of(counts), self._group)
        return Ragged(offsets, our_moves.values[listed][elements]), elements


def table_of(seen: ClairvoyantValues, moves: IntArray, middle: float) -> tuple[FloatArray, ...]:
    """`[L, M]` values of moves in worlds, and `[L, M]` their variances.

    A move that is illegal in a world has the mean value of the legal moves there, since a server
    replaces it by a random one.

    Args:
        seen: values in L worlds.
        moves: `[M]` the candidates: all moves that are legal in some world.
        middle: value where no move is legal.
    """
    legal, counts = seen.moves, seen.moves.counts
    world = segment_ids(legal.offsets)
    order = np.argsort(moves)
    columns = order[np.searchsorted(moves, legal.values, sorter=order)]
    sums = np.bincount(world, seen.values, len(counts))
    means = np.where(counts > 0, sums / np.maximum(counts, 1), middle)
    noise = np.bincount(world, seen.variances, len(counts)) / np.maximum(counts, 1) ** 2
    tables = []
    for filler, entries in ((means, seen.values), (noise, seen.variances)):
        table = np.repeat(filler[:, None], len(moves), axis=1)
        table[world, columns] = entries
        tables.append(table)
    return tuple(tables)


def clairvoyant_values(
    machine: Machine, states: States, role: int, rng: np.random.Generator, most_steps: int
) -> tuple[ClairvoyantValues, bool]:
    """Value of each move of a role in each of L states, and whether no playout was needed.

    Args:
        states: L lanes.
        rng: for playouts.
        most_steps: greatest number of joint moves; then at most `PLAYOUTS_A_STEP` times as many
            playouts.

    Raises:
        GoalError: a goal value is not a number.
    """
    worlds = SharedWorlds(machine, states, role)
    worlds.grow(CountLimit(most_steps))
    budget = PLAYOUTS_A_STEP * most_steps
    if worlds.solved:
        return worlds.values(), True
    if not worlds.layers.layers:
        return answered_by_lot(machine, states, role, rng, budget), False
    worlds.play_out(min(max(budget // len(worlds.layers.open), 1), PLAYOUTS), rng)
    return worlds.values(), False


def answered_by_lot(
    machine: Machine, states: States, role: int, rng: np.random.Generator, budget: int
) -> ClairvoyantValues:
    """Values for states with too many answers to try: the others' moves are drawn at random.

    Args:
        budget: playouts of all moves together, but each gets at least one.
    """
    our_moves = machine.legal(states, role)
    playouts = min(max(budget // max(len(our_moves.values), 1), 1), PLAYOUTS)
    state = np.repeat(segment_ids(our_moves.offsets), playouts)
    joint = np.empty((len(state), len(machine.roles)), dtype=np.int64)
    for opponent in range(joint.shape[1]):
        if opponent == role:
            joint[:, role] = np.repeat(our_moves.values, playouts)
        else:
            lists = MoveLists(machine, states, opponent)
            joint[:, opponent] = lists.at(state, lists.draw(state, rng))
    successors = machine.step(states.take(state), joint).states
    goals, _ = RandomPlayouts(machine).goals(successors, rng)
    ends = goals[:, role].reshape(len(our_moves.values), playouts)
    return ClairvoyantValues(our_moves, ends.mean(axis=1), ends.var(axis=1) / max(playouts - 1, 1))


# ------------------------------------------------------------------------
# The `Search` that solves worlds: perfect information Monte Carlo (paper 003).
#
# The value of a move is its mean clairvoyant value over the worlds of a bag: all of an exact set,
# by weight, or a sample. If the worlds are solved, the values are final. Otherwise every round
# makes playouts of the open states, and backs their means up.

BACKUP_SHARE = 0.5
"""First prediction of the time of a backup, as a share of the time for finding the layers."""

BACKUP_CAUTION = 1.3
"""Factor by which a backup may take longer than the one before."""


class WorldSearch:
    """Clairvoyant values of every candidate of one bag, improved round by round.

    A trial of a candidate is one playout of every open state, in every world. If not even one turn
    fits into the limit, the values are HyperPlay values.

    Args:
        bags: one bag, not depleted.
        limit: how far states are searched, immediately.
        deadline: the search for states ends after `GROW_SHARE` of the time.
        most_worlds: greatest number of worlds, drawn from a bag that is a sample of more.

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
        most_worlds: int = 1 << 30,
    ) -> None:
        self._machine, self._rng, self._deadline = machine, rng, deadline
        self._exact = bool(bags.exact[0])
        lanes, self._weights = drawn_worlds(bags, most_worlds, rng)
        self.moves = candidates(machine, bags)
        self.worlds = SharedWorlds(machine, bags.sets.states.take(lanes), bags.role)
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
            self._playouts = PlayoutSearch(machine, bags, rng, deadline)
            self.moves = self._playouts.moves

    @property
    def solved(self) -> bool:
        """Whether the values are final: no playout is needed."""
        return self.worlds.solved

    @property
    def looks_ahead(self) -> bool:
        """Whether at least one turn was searched."""
        return self._playouts is None

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Make `count` more playouts of all open states after the candidates, or after a subset.

        Raises:
            OutOfTime: time was too short; the playouts so far count.
        """
        if self._playouts is not None:
            self._playouts.round(count, subset)
            return
        if self.solved:
            return
        deadline = self._deadline
        if deadline is not None:
            margin_s = BACKUP_CAUTION * self._backup_s
            deadline = Deadline(deadline.at_s - margin_s, deadline.clock)
        check(deadline)
        try:
            self.worlds.play_out(count, self._rng, deadline, self._open_mask(subset))
            self._visits[subset if subset is not None else slice(None)] += count * len(self._table)
        finally:
            if self._visits.any():
                self._back_up()

    def estimates(self) -> Estimates:
        """The estimates so far; untried candidates have value 0."""
        if self._playouts is not None:
            return self._playouts.estimates()
        weights, visits = self._weights, self._visits.copy()
        values, variances = weights @ self._table, weights**2 @ self._noise
        if not self._exact:
            # For a sample of worlds, the spread between them includes the noise of their values.
            size = len(weights)
            spread = weights**2 @ (self._table - values) ** 2
            spread = spread * size / (size - 1) if size > 1 else np.full_like(spread, np.nan)
            variances = np.maximum(variances, spread)
        solved = np.full(len(visits), self.solved and self._exact)
        zeros = np.zeros_like(values)
        return Estimates(self.moves, values, np.sqrt(variances), visits, zeros, solved)

    def _open_mask(self, subset: IntArray | None) -> BoolArray | None:
        """`[O]` whether each open state matters for the chosen candidates; None for all."""
        if subset is None or len(subset) == len(self.moves.values):
            return None
        legal = self.worlds.moves
        world = segment_ids(legal.offsets)
        is_chosen = np.isin(legal.values, self.moves.values[subset])
        # Where a chosen candidate is illegal, it has the mean value of all moves.
        lacks_one = np.bincount(world[is_chosen], minlength=len(legal.counts)) < len(subset)
        return self.worlds.leads_to(is_chosen | lacks_one[world])

    def _back_up(self) -> None:
        deadline = self._deadline
        began_s = 0.0 if deadline is None else deadline.clock()
        seen = self.worlds.values()
        middle = sum(self._machine.goal_range) / 2
        self._table, self._noise = table_of(seen, self.moves.values, middle)
        if deadline is not None:
            self._backup_s = deadline.clock() - began_s


def drawn_worlds(bags: Bags, size: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """`[N]` lanes of the worlds of a bag, and `[N]` their weights, which sum to 1."""
    lanes, weights = bags.lanes_of(0), bags.weights_of(0)
    if bags.exact[0] or len(lanes) <= size:
        return lanes, weights
    points = (rng.random() + np.arange(size)) / size
    indices = np.minimum(np.searchsorted(np.cumsum(weights), points, side="right"), len(lanes) - 1)
    counts = np.bincount(indices, minlength=len(lanes))
    return lanes[counts > 0], counts[counts > 0] / size
