"""Information-set search (paper 000): search some plies ahead, with what our role will know.

From a bag, it makes estimates of our moves, for the players `over` and `para`. Histories are drawn
from the bag and *folded in*: merged into a tree of our information sets (`set_tree`). In each turn
our role takes its best action, one for all histories of a set. There are two models of opponents:

    overconfident   EU_d (expected utility): they move uniformly, or by a model; values are averaged
    paranoid        PU_d: they make the moves that are worst for us; the worst history is true

The sets d plies away get their values from an `Evaluation` of their states (default: random
playouts). Histories are sampled at the root only; below it all outcomes are searched. A set with
missing states would look as if we knew more than we will (strategy fusion).

A ply is a turn. A turn in which our move is refused does not count as a ply, for at most `refusals`
turns in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ggp.belief import UNIFORM, Bags, MoveModel
from ggp.labs.kriegspiel.set_tree import LookAhead, SetTree, merge_leaves
from ggp.machine.abilities import MoveFacts, Turned
from ggp.machine.arrays import first_seen_columns
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, States
from ggp.machine.layers import JointMoves
from ggp.search.anytime import BETWEEN_LOOKS_S, Deadline, Pace
from ggp.search.estimates import Estimates, candidates
from ggp.search.moves import (
    LANES_AT_ONCE,
    TIMED_LANES,
    joined_turns,
    joint_moves,
    refused_tries,
    turned,
)
from ggp.search.parts import Evaluation, TurnEvaluation, ValuedTurns
from ggp.search.playouts import RandomPlayouts

JOINT_AT_ONCE = 1 << 18
"""Number of joint moves per turn that a batch of histories should have."""

MAX_VALUED = 1 << 20
"""Greatest number of evaluations of a batch, beyond one for each state: bounds memory."""

MAX_NODES = 1 << 23
"""Greatest number of nodes of a tree: bounds memory. A full tree takes no more histories."""


class TooLarge(Exception):
    """A single history has too many joint moves to search: callers expect this, it is no fault."""


@dataclass(frozen=True)
class _Successors:
    """Successors after K joint moves.

    Attributes:
        percepts: `[K]` percepts of our role.
        over: `[K]` whether each is terminal.
        moves: facts about the moves of the next turn, see `Turned`.
        states: makes the states of given lanes.
        valued: their values as leaves, if the evaluation makes turn and values at once.
    """

    percepts: IntArray
    over: BoolArray
    moves: MoveFacts | None
    states: Callable[[IntArray], States]
    valued: ValuedTurns | None = None


class InformationSetSearch:
    """EU_d or PU_d of every candidate of one bag, improved round by round.

    A trial folds in one history, for all candidates together. Entries of the bag are drawn by
    weight; if the bag has no more entries than trials, each is folded in with its weight. States
    where the search stops are valued as often as their history was drawn, or once if values are
    certain.

    Args:
        bags: one bag, not depleted.
        deadline: checked throughout.
        evaluation: values the states where the search stops.
        model: how the opponents move; a paranoid search uses only their possible moves.

    Attributes:
        moves: the candidates.
        exhausted: whether more rounds would change nothing: the whole bag was searched, to the end
            of the game or to states whose values are certain.
    """

    side_by_side = 1

    def __init__(
        self,
        machine: Machine,
        bags: Bags,
        rng: np.random.Generator,
        settings: LookAhead,
        *,
        deadline: Deadline | None = None,
        evaluation: Evaluation | None = None,
        model: MoveModel = UNIFORM,
    ) -> None:
        self._machine, self._bags, self._rng, self._model = machine, bags, rng, model
        self._evaluation = evaluation or RandomPlayouts(machine)
        self._max_joint = settings.max_joint
        self._tree = SetTree(settings, machine.goal_range)
        self._num_folded = 0
        self._batch_size = 1
        self.until(deadline)
        self.moves = candidates(machine, bags)
        self.exhausted = False

    def until(self, deadline: Deadline | None) -> None:
        """Replace the deadline."""
        self._deadline = deadline
        self._steps = Pace(deadline, TIMED_LANES, LANES_AT_ONCE)
        self._evaluations = Pace(deadline, TIMED_LANES, LANES_AT_ONCE)

    @property
    def num_entries(self) -> int:
        """Histories in the bag."""
        return len(self._bags.lanes_of(0))

    def round(self, count: int, subset: IntArray | None = None) -> None:
        """Fold in `count` more histories; `subset` is ignored.

        Raises:
            OutOfTime: the deadline passed; histories folded in before are kept.
            TooLarge: one of them has too many joint moves.
        """
        if self.exhausted:
            return
        histories = draw_histories(self._bags, count, self._rng)
        start = 0
        while start < len(histories.nodes) and len(self._tree) < MAX_NODES:
            end = min(start + self._batch_size, len(histories.nodes))
            began_s = 0.0 if self._deadline is None else self._deadline.clock()
            part = histories.take(np.arange(start, end))
            try:
                joint = self._fold(part)
            except TooLarge:
                if end - start == 1:
                    raise
                self._batch_size = max(1, (end - start) // 4)
                continue
            self._num_folded += int(part.counts.sum())
            self._learn_size(end - start, joint, began_s)
            start = end
        whole_bag = start == self.num_entries
        self.exhausted = whole_bag and (self._evaluation.certain or not self._tree.num_leaves)

    def estimates(self) -> Estimates:
        """The values so far; 0 for candidates that were never tried."""
        size = len(self.moves.values)
        values, errors, promptness = np.zeros(size), np.full(size, np.nan), np.zeros(size)
        visits = np.zeros(size, dtype=np.int64)
        if self._num_folded:
            moves, worth = self._tree.root_values()
            order = np.argsort(self.moves.values)
            at = order[np.searchsorted(self.moves.values, moves, sorter=order)]
            values[at], promptness[at] = worth.values, worth.promptness
            errors[at] = np.sqrt(worth.variances)
            visits[at] = self._num_folded
        exact = np.full(size, self.exhausted and bool(self._bags.exact[0]))
        return Estimates(self.moves, values, errors, visits, promptness, exact)

    # ---------------------------------------------------------------- folding histories in

    def _learn_size(self, folded: int, joint: int, began_s: float) -> None:
        """Set the size of the next batch from the joint moves and time of this one."""
        limit = max(1, folded * min(JOINT_AT_ONCE, self._max_joint) // max(joint, 1))
        size = min(2 * self._batch_size, limit) if self._deadline is not None else limit
        if self._deadline is not None:
            took_s = self._deadline.clock() - began_s
            if took_s > BETWEEN_LOOKS_S / 2:
                size = max(1, min(size, self._batch_size // 2))
            elif took_s > BETWEEN_LOOKS_S / 4:
                size = min(size, self._batch_size)
        self._batch_size = size

    def _fold(self, lanes: Histories) -> int:
        """Fold in histories, all or none; returns the most joint moves of any turn.

        Raises:
            OutOfTime: the deadline has passed.
            TooLarge: see `TooLarge`.
        """
        largest = 0
        masses = [(lanes.nodes, lanes.masses)]
        leaves: list[Histories] = []
        valued: list[ValuedLeaves] = []
        while len(lanes.nodes):
            options = joint_moves(self._machine, lanes.states, self._bags.role, self._deadline)
            if options.number > self._max_joint:
                raise TooLarge
            largest = max(largest, int(options.number))
            successors = self._advance(lanes, options, masses, valued)
            stops = self._tree.depths(successors.nodes) == 0
            leaves.append(successors.take(np.flatnonzero(stops)))
            lanes = successors.take(np.flatnonzero(~stops))
        leaves = self._with_counts(leaves)
        values, turns = self._value(leaves)
        for nodes, mass in masses:
            self._tree.add(nodes, mass)
        for part, value, turn in zip(leaves, values, turns, strict=True):
            self._tree.add_leaves(part.nodes, part.masses, part.counts, value, turn)
        for leaf in valued:
            once = np.ones(len(leaf.nodes), dtype=np.int64)
            self._tree.add_leaves(leaf.nodes, leaf.masses, once, leaf.values, 0 * once)
        return largest

    def _advance(
        self,
        lanes: Histories,
        options: JointMoves,
        masses: list[tuple[IntArray, FloatArray]],
        valued: list[ValuedLeaves],
    ) -> Histories:
        """The histories one turn later that are not over.

        Args:
            masses: nodes and masses of all successors are appended.
            valued: if the evaluation makes turn and values at once, leaves are appended here, and
                left out of the histories.
        """
        role, tree, machine = self._bags.role, self._tree, self._machine
        parts = [lanes.take(np.zeros(0, dtype=np.int64))]
        leaves: list[ValuedLeaves] = []
        chances = self._chances(lanes.states, options)
        value_now = self._mostly_leaves(lanes, options)
        may_try_again = tree.free(lanes.nodes)
        some_may_try = bool(may_try_again.any())
        for first, last in self._steps.runs(np.diff(options.offsets)):
            bounds = int(options.offsets[first]), int(options.offsets[last])
            if bounds[0] == bounds[1]:
                continue  # in each of these some role has no move
            state, places = options.places(*bounds)
            joint = options.at(places)
            lists = options.lists if some_may_try else ()
            reached = self._successors(lanes.states, state, joint, lists, value_now=value_now)
            ends, goes_on = np.flatnonzero(reached.over), np.flatnonzero(~reached.over)
            actions = tree.actions(lanes.nodes[state], joint[:, role])
            nodes = np.empty(len(state), dtype=np.int64)
            if len(ends):
                goals = machine.goals(reached.states(ends))[:, role]
                nodes[ends] = tree.ended(actions[ends], goals)
            refused = np.zeros(len(goes_on), dtype=np.bool_)
            tries = np.flatnonzero(may_try_again[state[goes_on]]) if some_may_try else goes_on[:0]
            if len(tries) and reached.moves is not None:
                refusals = refused_tries(machine, options, state, reached.over, reached.moves)
                refused[tries] = refusals[goes_on[tries]]
            # If no joint move ends the game, a full slice avoids copies.
            alive = goes_on if len(ends) else slice(None)
            nodes[alive] = tree.reached(actions[alive], reached.percepts[alive], refused)
            mass = lanes.masses[state]
            if machine.random_role is None:
                tree.follow(actions, nodes)
            else:
                by_chance = options.probabilities[places[:, machine.random_role]]
                first_outcomes = options.lists[machine.random_role].offsets[state]
                groups = np.cumsum(places[:, machine.random_role] == first_outcomes)
                tree.follow(actions, nodes, groups, by_chance)
                mass = mass * by_chance
            for player, chance in chances.items():
                mass = mass * chance[places[:, player]]
            masses.append((nodes, mass))
            if reached.valued is not None:
                stops = tree.depths(nodes[alive]) == 0
                leaves.append(leaves_of(reached.valued, nodes, mass, goes_on[stops]))
                goes_on = goes_on[~stops]
            part = Histories(
                reached.states(goes_on), nodes[goes_on], mass[goes_on], lanes.counts[state[goes_on]]
            )
            parts.append(part.merged(machine))
        if leaves:
            valued.append(joined_leaves(leaves))
        if len(parts) == 2:
            return parts[1]
        return Histories(
            machine.concatenate([part.states for part in parts]),
            np.concatenate([part.nodes for part in parts]),
            np.concatenate([part.masses for part in parts]),
            np.concatenate([part.counts for part in parts]),
        ).merged(machine)

    def _mostly_leaves(self, lanes: Histories, options: JointMoves) -> bool:
        """Whether the search stops, with certain values, after most joint moves."""
        counts = np.diff(options.offsets)
        last = counts[self._tree.depths(lanes.nodes) == 1].sum()
        return bool(self._evaluation.certain and 2 * last > counts.sum())

    def _successors(
        self,
        states: States,
        state: IntArray,
        joint: IntArray,
        lists: Sequence[Ragged],
        *,
        value_now: bool,
    ) -> _Successors:
        """The successors after joint moves.

        Args:
            value_now: value them while making the turn, if possible; then states are made only on
                demand.
        """
        evaluation = self._evaluation
        if value_now and isinstance(evaluation, TurnEvaluation) and len(joint) <= LANES_AT_ONCE:
            turns = evaluation.valued_turns(states, state, joint, self._bags.role, lists)

            def make_states(lanes: IntArray) -> States:
                return turned(self._machine, states, state[lanes], joint[lanes]).states

            return _Successors(turns.percepts, turns.over, turns.move_facts, make_states, turns)
        stepped = self._make_turns(states, state, joint, lists)
        percepts = stepped.percepts[:, self._bags.role]
        return _Successors(percepts, stepped.over, stepped.move_facts, stepped.states.take)

    def _make_turns(
        self, states: States, state: IntArray, joint: IntArray, lists: Sequence[Ragged]
    ) -> Turned:
        """Make joint moves, in batches: a single state may have more of them than fit into one."""
        return joined_turns(
            self._machine,
            [
                turned(
                    self._machine,
                    states,
                    state[start:end],
                    joint[start:end],
                    percepts=True,
                    before=lists,
                )
                for start, end in self._steps.batches(len(joint))
            ],
        )

    def _chances(self, states: States, options: JointMoves) -> dict[int, FloatArray]:
        """Probabilities of the listed moves of each role except ours and `random`."""
        chances = {}
        for role, moves in enumerate(options.lists):
            if role in (self._bags.role, self._machine.random_role):
                continue
            chances[role] = np.exp(self._model.log_likelihoods(self._machine, states, role, moves))
        return chances

    def _with_counts(self, leaves: list[Histories]) -> list[Histories]:
        """Leaves, with counts reduced to the evaluations that are useful and fit into memory."""
        total = sum(int(part.counts.sum()) for part in leaves)
        share = 0.0 if self._evaluation.certain else min(1.0, MAX_VALUED / max(total, 1))
        return [
            replace(part, counts=np.maximum((share * part.counts).astype(np.int64), 1))
            for part in leaves
        ]

    def _value(self, leaves: list[Histories]) -> tuple[list[FloatArray], list[IntArray]]:
        """Values of the states of leaves, and turns to the end, each repeated `counts` times."""
        values, turns = [], []
        for part in leaves:
            lane = np.repeat(np.arange(len(part.nodes)), part.counts)
            value, turn = np.empty(len(lane)), np.empty(len(lane), dtype=np.int64)
            for start, end in self._evaluations.batches(len(lane)):
                value[start:end], turn[start:end] = self._evaluation.values(
                    part.states.take(lane[start:end]), self._bags.role, self._rng, self._deadline
                )
            values.append(value)
            turns.append(turn)
        return values, turns


# ------------------------------------------------------------------------
# Histories that are searched side by side, and drawing them from a bag.


@dataclass(frozen=True)
class Histories:
    """Histories searched side by side; equal states of one node are merged.

    Attributes:
        states: K states.
        nodes: `[K]` information set of each.
        masses: `[K]` probability of each.
        counts: `[K]` number of evaluations of each where the search stops.
    """

    states: States
    nodes: IntArray
    masses: FloatArray
    counts: IntArray

    def take(self, lanes: IntArray) -> Histories:
        """The histories of these lanes."""
        return Histories(
            self.states.take(lanes), self.nodes[lanes], self.masses[lanes], self.counts[lanes]
        )

    def merged(self, machine: Machine) -> Histories:
        """The same histories, equal ones merged."""
        first, group = first_seen_columns([self.nodes, machine.groups(self.states)])
        counts = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(counts, group, self.counts)
        masses = np.asarray(np.bincount(group, self.masses, len(first)), dtype=np.float64)
        return Histories(self.states.take(first), self.nodes[first], masses, counts)


@dataclass(frozen=True)
class ValuedLeaves:
    """Histories where the search stops, with certain values; equal states of one node are merged.

    Attributes:
        nodes, masses: as for `Histories`.
        values: `[K]` values of their states.
        keys: `[K, 2]` equal for equal states.
    """

    nodes: IntArray
    masses: FloatArray
    values: FloatArray
    keys: IntArray


def leaves_of(
    valued: ValuedTurns, nodes: IntArray, masses: FloatArray, lanes: IntArray
) -> ValuedLeaves:
    """Leaves from K successors, equal ones merged.

    Args:
        nodes, masses: `[K]` information set and probability of each successor.
        lanes: the successors that are leaves.
    """
    return _merge_leaves(ValuedLeaves(nodes, masses, valued.values, valued.keys), lanes)


def joined_leaves(parts: Sequence[ValuedLeaves]) -> ValuedLeaves:
    """The leaves of several batches, at least one, merged."""
    if len(parts) == 1:
        return parts[0]
    leaves = ValuedLeaves(
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.masses for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.keys for part in parts]),
    )
    return _merge_leaves(leaves, np.arange(len(leaves.nodes)))


def _merge_leaves(leaves: ValuedLeaves, lanes: IntArray) -> ValuedLeaves:
    count = len(lanes)
    # A power of two, so that a mask takes a hash to its slot. Half of the slots stay free.
    slots = np.full(1 << (2 * count).bit_length(), -1, dtype=np.int32)
    first, masses = np.empty(count, dtype=np.int64), np.empty(count)
    merge = merge_leaves.for_steps(count)
    size = merge(lanes, leaves.nodes, leaves.masses, leaves.keys, slots, first, masses)
    first = first[:size]
    return ValuedLeaves(
        leaves.nodes[first], masses[:size], leaves.values[first], leaves.keys.take(first, axis=0)
    )


def draw_histories(bags: Bags, count: int, rng: np.random.Generator) -> Histories:
    """`count` draws from a bag by weight, all at node 0.

    If the bag has no more entries than draws, all are taken, with their weights as masses; else the
    entries that were drawn, with their numbers of draws as masses. They come in random order, so
    that chance decides which ones are left out when time is up.

    Args:
        bags: one bag, not depleted.
    """
    lanes, weights = bags.lanes_of(0), bags.weights_of(0)
    extra_draws = count - len(lanes)
    if extra_draws >= 0:
        excess = np.maximum(weights * count - 1.0, 0.0)
        num_draws = 1 + _systematic(excess, extra_draws, rng)
        masses = weights * count
    else:
        num_draws = _systematic(weights, count, rng)
        masses = num_draws.astype(np.float64)
    order = rng.permutation(np.flatnonzero(num_draws))
    states = bags.sets.states.take(lanes[order])
    return Histories(states, np.zeros(len(order), dtype=np.int64), masses[order], num_draws[order])


def _systematic(weights: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Number of draws of each entry, in `count` systematic draws by weight."""
    total = weights.sum()
    if not count or total <= 0:
        return np.zeros(len(weights), dtype=np.int64)
    # Points with distance 1 from a random start, and weights end to end, `count` long in all.
    ends = np.cumsum(weights) * (count / total)
    num_points = np.clip(np.ceil(ends - rng.random()), 0, count).astype(np.int64)
    num_points[-1] = count  # despite rounding
    return np.asarray(np.diff(num_points, prepend=0))
