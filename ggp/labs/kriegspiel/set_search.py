"""Information-set search (paper 000): search a few plies ahead, by what our role will know then.

Histories are drawn from the bag, and folded into a tree of information sets of our role
(`set_tree`). In each turn our role takes its best action, one for all histories of a set. The
others

    overconfident   EU_d: move uniformly, or by a model: the mean over all that may follow
    paranoid        PU_d: move as is worst for us, and the worst history is the true one

Sets that are d plies away are valued by an `Evaluation` of their states (default: random playouts).
Histories are left out at the root only. Below it everything that may follow is searched: a set from
which states are missing looks as if we knew more than we will (strategy fusion).

A ply is a turn. A turn with a refused try costs no ply, up to a number in a row (`refusals`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ggp.belief import UNIFORM, Bags, MoveModel
from ggp.labs.kriegspiel.set_tree import LookAhead, SetTree, merge_leaves
from ggp.machine.abilities import MovesTold, Turned
from ggp.machine.arrays import first_seen_columns
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged, States
from ggp.machine.layers import JointMoves
from ggp.search.anytime import BETWEEN_LOOKS_S, Deadline, Pace
from ggp.search.estimates import Estimates, candidates
from ggp.search.moves import LANES_AT_ONCE, TIMED_LANES, joint_moves
from ggp.search.parts import Evaluation, TurnEvaluation, ValuedTurns
from ggp.search.playouts import RandomPlayouts
from ggp.search.refusals import joined_turns, refused_tries, turned

JOINT_AT_ONCE = 1 << 18
"""Joint moves of one turn that a batch of histories folded in together should have."""

MOST_VALUED = 1 << 20
"""Values of states requested at once, not counting one of each: bounds memory."""

MOST_NODES = 1 << 23
"""Nodes of a tree: bounds memory. When it is full no more histories are folded in."""


class TooLarge(Exception):
    """A single history is too much to search: a result, not an error."""


@dataclass(frozen=True)
class _Reached:
    """Successors after K joint moves.

    Attributes:
        percepts: `[K]` of our role.
        over, told: see `Turned`.
        states: some of them.
        valued: what is known of them as leaves.
    """

    percepts: IntArray
    over: BoolArray
    told: MovesTold | None
    states: Callable[[IntArray], States]
    valued: ValuedTurns | None = None


class InformationSetSearch:
    """EU_d or PU_d of every candidate of one bag, improved round by round.

    A trial folds in a history, for all candidates at once. Entries of the bag are drawn by weight;
    if there are no more of them than trials, each is folded in by its weight. The states where the
    search stops are valued as often as their history was drawn, or once, if that is certain.

    Args:
        bags: one bag, not depleted.
        deadline: looked at all the time.
        evaluation: of the states where the search stops.
        model: how the others move; for the paranoid search only their possible moves matter.

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
        ahead: LookAhead,
        *,
        deadline: Deadline | None = None,
        evaluation: Evaluation | None = None,
        model: MoveModel = UNIFORM,
    ) -> None:
        self._machine, self._bags, self._rng, self._model = machine, bags, rng, model
        self._evaluation = evaluation or RandomPlayouts(machine)
        self._most = ahead.most
        self._tree = SetTree(ahead, machine.goal_range)
        self._folded = 0
        self._at_once = 1
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
        """Fold in `count` more histories; `subset` makes no difference.

        Raises:
            OutOfTime: the deadline passed; the histories folded in before it count.
            TooLarge: one of them is too much to search.
        """
        if self.exhausted:
            return
        drawn = drawn_from(self._bags, count, self._rng)
        start = 0
        while start < len(drawn.nodes) and len(self._tree) < MOST_NODES:
            end = min(start + self._at_once, len(drawn.nodes))
            began_s = 0.0 if self._deadline is None else self._deadline.clock()
            part = drawn.take(np.arange(start, end))
            try:
                joint = self._fold(part)
            except TooLarge:
                if end - start == 1:
                    raise
                self._at_once = max(1, (end - start) // 4)
                continue
            self._folded += int(part.counts.sum())
            self._learn_size(end - start, joint, began_s)
            start = end
        whole = start == self.num_entries
        self.exhausted = whole and (self._evaluation.certain or not self._tree.num_leaves)

    def estimates(self) -> Estimates:
        """The values so far; candidates never tried have value 0."""
        size = len(self.moves.values)
        values, errors, promptness = np.zeros(size), np.full(size, np.nan), np.zeros(size)
        visits = np.zeros(size, dtype=np.int64)
        if self._folded:
            moves, worth = self._tree.backed_up()
            order = np.argsort(self.moves.values)
            at = order[np.searchsorted(self.moves.values, moves, sorter=order)]
            values[at], promptness[at] = worth.values, worth.promptness
            errors[at] = np.sqrt(worth.variances)
            visits[at] = self._folded
        exact = np.full(size, self.exhausted and bool(self._bags.exact[0]))
        return Estimates(self.moves, values, errors, visits, promptness, exact)

    # ---------------------------------------------------------------- folding histories in

    def _learn_size(self, number: int, joint: int, began_s: float) -> None:
        """Set the number of histories to fold in next, from the joint moves and time of this
        batch."""
        most = max(1, number * min(JOINT_AT_ONCE, self._most) // max(joint, 1))
        size = min(2 * self._at_once, most) if self._deadline is not None else most
        if self._deadline is not None:
            took_s = self._deadline.clock() - began_s
            if took_s > BETWEEN_LOOKS_S / 2:
                size = max(1, min(size, self._at_once // 2))
            elif took_s > BETWEEN_LOOKS_S / 4:
                size = min(size, self._at_once)
        self._at_once = size

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
            if options.number > self._most:
                raise TooLarge
            largest = max(largest, int(options.number))
            after = self._after(lanes, options, masses, valued)
            stops = self._tree.depths(after.nodes) == 0
            leaves.append(after.take(np.flatnonzero(stops)))
            lanes = after.take(np.flatnonzero(~stops))
        leaves = self._counted(leaves)
        values, turns = self._valued(leaves)
        for nodes, mass in masses:
            self._tree.add(nodes, mass)
        for part, value, turn in zip(leaves, values, turns, strict=True):
            self._tree.add_leaves(part.nodes, part.masses, part.counts, value, turn)
        for leaf in valued:
            once = np.ones(len(leaf.nodes), dtype=np.int64)
            self._tree.add_leaves(leaf.nodes, leaf.masses, once, leaf.values, 0 * once)
        return largest

    def _after(
        self,
        lanes: Histories,
        options: JointMoves,
        masses: list[tuple[IntArray, FloatArray]],
        valued: list[ValuedLeaves],
    ) -> Histories:
        """Histories one turn later that are not over.

        Args:
            masses: those of all nodes are added to the list.
            valued: those of which no more than their values are wanted are added to this list, and
                left out, if they can be had at once.
        """
        role, tree, machine = self._bags.role, self._tree, self._machine
        found = [lanes.take(np.zeros(0, dtype=np.int64))]
        leaves: list[ValuedLeaves] = []
        chances = self._chances(lanes.states, options)
        at_once = self._mostly_stop(lanes, options)
        free = tree.free(lanes.nodes)
        is_free = bool(free.any())
        for first, last in self._steps.runs(np.diff(options.offsets)):
            bounds = int(options.offsets[first]), int(options.offsets[last])
            if bounds[0] == bounds[1]:
                continue  # some role is stuck in each of these
            state, places = options.places(*bounds)
            joint = options.at(places)
            before = options.lists if is_free else ()
            reached = self._reached(lanes.states, state, joint, before, at_once=at_once)
            ends, goes_on = np.flatnonzero(reached.over), np.flatnonzero(~reached.over)
            actions = tree.actions(lanes.nodes[state], joint[:, role])
            nodes = np.empty(len(state), dtype=np.int64)
            if len(ends):
                goals = machine.goals(reached.states(ends))[:, role]
                nodes[ends] = tree.ended(actions[ends], goals)
            refused = np.zeros(len(goes_on), dtype=np.bool_)
            tried = np.flatnonzero(free[state[goes_on]]) if is_free else goes_on[:0]
            if len(tried) and reached.told is not None:
                found_so = refused_tries(machine, options, state, reached.over, reached.told)
                refused[tried] = found_so[goes_on[tried]]
            # Where the game goes on after all of them, nothing is picked out.
            on = goes_on if len(ends) else slice(None)
            nodes[on] = tree.reached(actions[on], reached.percepts[on], refused)
            mass = lanes.masses[state]
            if machine.random_role is None:
                tree.follow(actions, nodes)
            else:
                by_chance = options.probabilities[places[:, machine.random_role]]
                drawn_from = options.lists[machine.random_role].offsets[state]
                groups = np.cumsum(places[:, machine.random_role] == drawn_from)
                tree.follow(actions, nodes, groups, by_chance)
                mass = mass * by_chance
            for each, chance in chances.items():
                mass = mass * chance[places[:, each]]
            masses.append((nodes, mass))
            if reached.valued is not None:
                stops = tree.depths(nodes[on]) == 0
                leaves.append(leaves_of(reached.valued, nodes, mass, goes_on[stops]))
                goes_on = goes_on[~stops]
            part = Histories(
                reached.states(goes_on), nodes[goes_on], mass[goes_on], lanes.counts[state[goes_on]]
            )
            found.append(part.merged(machine))
        if leaves:
            valued.append(joined_leaves(leaves))
        if len(found) == 2:
            return found[1]
        return Histories(
            machine.concatenate([part.states for part in found]),
            np.concatenate([part.nodes for part in found]),
            np.concatenate([part.masses for part in found]),
            np.concatenate([part.counts for part in found]),
        ).merged(machine)

    def _mostly_stop(self, lanes: Histories, options: JointMoves) -> bool:
        """Whether after most joint moves no more is wanted than the value of the state."""
        counts = np.diff(options.offsets)
        last = counts[self._tree.depths(lanes.nodes) == 1].sum()
        return bool(self._evaluation.certain and 2 * last > counts.sum())

    def _reached(
        self,
        states: States,
        state: IntArray,
        joint: IntArray,
        before: Sequence[Ragged],
        *,
        at_once: bool,
    ) -> _Reached:
        """What joint moves lead to.

        Args:
            at_once: value it at once, if possible; then states are only written if asked for.
        """
        evaluation = self._evaluation
        if at_once and isinstance(evaluation, TurnEvaluation) and len(joint) <= LANES_AT_ONCE:
            found = evaluation.valued_turns(states, state, joint, self._bags.role, before)
            if found is not None:

                def written(some: IntArray) -> States:
                    return turned(self._machine, states, state[some], joint[some]).states

                return _Reached(found.percepts, found.over, found.told, written, found)
        stepped = self._stepped(states, state, joint, before)
        percepts = stepped.percepts[:, self._bags.role]
        return _Reached(percepts, stepped.over, stepped.told, stepped.states.take)

    def _stepped(
        self, states: States, state: IntArray, joint: IntArray, before: Sequence[Ragged]
    ) -> Turned:
        """Advance by one turn; joint moves of a single state may be more than are made at once."""
        return joined_turns(
            self._machine,
            [
                turned(
                    self._machine,
                    states,
                    state[start:end],
                    joint[start:end],
                    percepts=True,
                    before=before,
                )
                for start, end in self._steps.batches(len(joint))
            ],
        )

    def _chances(self, states: States, options: JointMoves) -> dict[int, FloatArray]:
        """Probabilities of the listed moves of each role that is neither ours nor `random`."""
        found = {}
        for role, moves in enumerate(options.lists):
            if role in (self._bags.role, self._machine.random_role):
                continue
            found[role] = np.exp(self._model.log_likelihoods(self._machine, states, role, moves))
        return found

    def _counted(self, leaves: list[Histories]) -> list[Histories]:
        """The leaves with the number of evaluations that is worthwhile, and with memory for
        them."""
        total = sum(int(part.counts.sum()) for part in leaves)
        share = 0.0 if self._evaluation.certain else min(1.0, MOST_VALUED / max(total, 1))
        return [
            replace(part, counts=np.maximum((share * part.counts).astype(np.int64), 1))
            for part in leaves
        ]

    def _valued(self, leaves: list[Histories]) -> tuple[list[FloatArray], list[IntArray]]:
        """Values of the states of leaves, and turns to the end, repeated by their counts."""
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
# Histories searched side by side, and how they are drawn from a bag.


@dataclass(frozen=True)
class Histories:
    """Histories searched side by side; those of one node with equal states are merged.

    Attributes:
        states: K of them.
        nodes: `[K]` information set of each.
        masses: `[K]` probability of each.
        counts: `[K]` number of evaluations of each if the search stops there.
    """

    states: States
    nodes: IntArray
    masses: FloatArray
    counts: IntArray

    def take(self, lanes: IntArray) -> Histories:
        """Some of the histories."""
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
    """Histories where the search stops, with certain values; those of one node with equal states
    are merged.

    Attributes:
        nodes, masses: as for `Histories`.
        values: `[K]` of their states.
        keys: `[K, 2]` equal for equal states.
    """

    nodes: IntArray
    masses: FloatArray
    values: FloatArray
    keys: IntArray


def leaves_of(
    valued: ValuedTurns, nodes: IntArray, masses: FloatArray, some: IntArray
) -> ValuedLeaves:
    """Some of K successors as leaves, equal ones merged.

    Args:
        nodes, masses: `[K]` information set and probability of each.
    """
    return _merged(ValuedLeaves(nodes, masses, valued.values, valued.keys), some)


def joined_leaves(parts: Sequence[ValuedLeaves]) -> ValuedLeaves:
    """The leaves of several batches, at least one, merged."""
    if len(parts) == 1:
        return parts[0]
    every = ValuedLeaves(
        np.concatenate([part.nodes for part in parts]),
        np.concatenate([part.masses for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.keys for part in parts]),
    )
    return _merged(every, np.arange(len(every.nodes)))


def _merged(leaves: ValuedLeaves, some: IntArray) -> ValuedLeaves:
    number = len(some)
    # A power of two, as slots are found by masking the hash. Half of them stay free.
    slots = np.full(1 << (2 * number).bit_length(), -1, dtype=np.int32)
    first, masses = np.empty(number, dtype=np.int64), np.empty(number)
    merge = merge_leaves.for_steps(number)
    size = merge(some, leaves.nodes, leaves.masses, leaves.keys, slots, first, masses)
    first = first[:size]
    return ValuedLeaves(
        leaves.nodes[first], masses[:size], leaves.values[first], leaves.keys.take(first, axis=0)
    )


def drawn_from(bags: Bags, count: int, rng: np.random.Generator) -> Histories:
    """`count` draws from a bag, by weight, all at node 0.

    If the bag has no more entries than draws, each is taken, with its weight as its mass; otherwise
    those that were drawn, with the number of draws. They come in random order, so that what is left
    out when time is up is left out by chance.

    Args:
        bags: one bag, not depleted.
    """
    lanes, weights = bags.lanes_of(0), bags.weights_of(0)
    spare = count - len(lanes)
    if spare >= 0:
        wanted = np.maximum(weights * count - 1.0, 0.0)
        number = 1 + _systematic(wanted, spare, rng)
        masses = weights * count
    else:
        number = _systematic(weights, count, rng)
        masses = number.astype(np.float64)
    order = rng.permutation(np.flatnonzero(number))
    states = bags.sets.states.take(lanes[order])
    return Histories(states, np.zeros(len(order), dtype=np.int64), masses[order], number[order])


def _systematic(weights: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Number of `count` systematic draws by weight that fall on each entry."""
    total = weights.sum()
    if not count or total <= 0:
        return np.zeros(len(weights), dtype=np.int64)
    # Points at distance 1 from a random start, and weights laid end to end, `count` long in all.
    ends = np.cumsum(weights) * (count / total)
    before = np.clip(np.ceil(ends - rng.random()), 0, count).astype(np.int64)
    before[-1] = count  # despite rounding
    return np.asarray(np.diff(before, prepend=0))
