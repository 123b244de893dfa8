"""LOS: bags of boards that agree with the last observation only (papers 001 and 002).

Like every sampler it gets incomplete paths and returns bags, but its boards need not be possible.
Only the role's own pieces are right: every history repeats the role's own moves, and at its end the
role must have the legal moves that it really has. A few particles that agree with the whole path
show which moves these are.

In long games no random history agrees even with the last observation. Then a `BoardMaker`, if the
game has one, draws boards for the turn before the last observation, and that turn is played on
them, so that it follows the rules. An observation may span several turns: if the umpire refused
some tries of the role, it consists of these tries and the last turn. Such boards show the role's
own pieces as well as particles do, and replace the particles when these have died.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple, Unpack

import numpy as np

from ggp.belief.bags import Bags, Segments, join, one_set, set_of, united
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Finder, Sampler, SamplerSettings, Setting, Shared
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.hyperplay_sampler import HyperPlaySampler
from ggp.belief.turns.one_turn import TurnLimits, advance
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.machine.base import UNKNOWN, BoolArray, IntArray, Machine, States

# ------------------------------------------------------------------------
# Common parts of samplers of boards: `HistorySampler` samples from scratch every turn (papers 001
# and 002), other subclasses of `ObservationSampler` remember boards.

MAX_STEPPED = 100_000
"""Most lanes stepped in search of boards for one bag."""


class ObservationSampler(Setting, ABC):
    """The common parts of samplers of boards; see `Sampler`. Their bags are never exact."""

    usual_attempts = MAX_STEPPED
    enumerates = False

    @property
    def sound(self) -> bool:
        """Whether every entry agrees with its path."""
        return True

    def start(self, role: int, count: int = 1) -> Bags:
        """`count` bags at the start of the game."""
        paths = np.full(count, role, dtype=np.int64)
        return Bags(role, paths, np.arange(count), self.beginning(count))

    def at(self, paths: IntArray, role: int, rng: np.random.Generator) -> Bags:
        """The bags of these incomplete paths, which must be of the same length."""
        return self._bags(role, paths, [self._boards_for(role, int(path), rng) for path in paths])

    def advance(
        self,
        bags: Bags,
        moves: IntArray,
        percepts: IntArray,
        rng: np.random.Generator,
        refused: IntArray | None = None,
    ) -> Bags:
        """The bags one turn later; a bag without boards has no entries."""
        paths = self.tree.extend(bags.paths, moves, percepts, refused)
        return self.at(paths, bags.role, rng)

    @abstractmethod
    def enlarge(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        """One bag with the new boards of another sample of `size`, if any."""

    @abstractmethod
    def _boards_for(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        """The boards for a path."""

    def _num_guessed(self, sets: Segments) -> int:
        """Number of entries of new sets that need not agree with their paths."""
        return 0

    def _bags(self, role: int, paths: IntArray, sets: list[Segments]) -> Bags:
        joined = join(self.machine, sets)
        return Bags(role, paths, np.arange(len(paths)), joined, self._num_guessed(joined))


class HistorySampler(ObservationSampler):
    """Boards at the ends of random histories, sampled from scratch for every bag."""

    def enlarge(self, bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        if self.tree.depth(int(bags.paths[0])) == 0:
            return bags
        sample = self._new_boards(bags.role, int(bags.paths[0]), size, rng)
        if not len(sample.states):
            return bags
        union = united(self.machine, [bags.sets.take(bags.segment), sample])
        return self._bags(bags.role, bags.paths, [union.thinned(max(self.room, size), rng)])

    def _boards_for(self, role: int, path: int, rng: np.random.Generator) -> Segments:
        return self._new_boards(role, path, self.capacity, rng)

    @abstractmethod
    def _new_boards(self, role: int, path: int, size: int, rng: np.random.Generator) -> Segments:
        """New boards for a path, at most `size`."""


OWN_PARTICLES, OWN_ATTEMPTS = 8, 20_000
"""Limits of the sampler that finds particles for the role's own pieces."""

MAX_WALKED = 20_000
"""Most lanes stepped in search of histories if boards can be drawn instead."""

FEWEST_DRAWN, MAX_DRAWN = 16, 1024
"""Boards in one draw: few at first, so that even a short search finds some."""

MAX_FRUITLESS = 3
"""After this many draws in a row without a new board, the search assumes that none is left."""

OWN_BOARDS = 64
"""Most drawn boards that are remembered for the role's own pieces. While the role has a single
move, no more boards than this are sampled."""

FULL = 4
"""Boards that agree with a part of the last observation may be this many times the size of the
bag."""


class LastObservation(HistorySampler):
    """LOS: random histories with the role's own moves that agree with the last observation.

    Memory between calls: `_own_boards` maps the paths of the last two observations to boards on
    which the role's own pieces are right. Rule: these are particles from `_own_sampler` while some
    are alive, later drawn boards, and bags of older paths are dropped. `_walked_in_vain` is set
    once no history agrees, because longer histories agree even less; then boards are drawn.

    Args:
        maker: draws boards if no history agrees; None if the game has none. Drawn boards have no
            views, so with `keep_views` no boards are drawn.
        walk: whether to look for histories before drawing boards.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        *,
        maker: BoardMaker | None = None,
        walk: bool = True,
        **shared: Unpack[Shared],
    ) -> None:
        super().__init__(machine, tree, **shared)
        # Finds particles, which show the role's own pieces and so its legal moves.
        self._own_sampler = HyperPlaySampler(
            machine, tree, capacity=OWN_PARTICLES, exact=0, max_attempts=OWN_ATTEMPTS
        )
        self._own_boards: dict[int, Bags] = {}
        self._maker = None if self.keep_views else maker
        self._walked_in_vain = not walk

    @property
    def sound(self) -> bool:
        return False

    def _num_guessed(self, sets: Segments) -> int:
        return len(sets.states)

    @property
    def views(self) -> IntArray:
        nodes = [bags.nodes for bags in self._own_boards.values()]
        return np.concatenate([self._own_sampler.views, *nodes])

    def renumber(self, numbers: IntArray) -> None:
        self._own_sampler.renumber(numbers)
        self._own_boards = {
            int(numbers[path]): bags.renumbered(numbers) for path, bags in self._own_boards.items()
        }

    def learn(self, boards: Bags) -> None:
        """Remember boards of a path on which the role's own pieces are right."""
        path = int(boards.paths[0])
        self._own_boards[path] = boards
        self._forget_before(path)

    def _new_boards(self, role: int, path: int, size: int, rng: np.random.Generator) -> Segments:
        bag = self._boards_of_own(role, path, rng)
        legal = None
        if not bag.depleted[0]:
            first = bag.sets.states.take(bag.lanes_of(0)[:1])
            legal = np.sort(self.machine.legal(first, role, allow_stuck=True).values)
            if len(legal) == 1:
                size = min(size, OWN_BOARDS)  # there is nothing to decide
        evidence = WalkEvidence(role, path, last_only=True, legal=legal)
        if self._maker is None:
            return walks(self, evidence, size, self._max_attempts, rng)
        if not self._walked_in_vain:
            boards = walks(self, evidence, size, MAX_WALKED, rng)
            if len(boards.states):
                return boards
            # Longer histories agree even less.
            self._walked_in_vain = True
        boards = self._draw(self._maker, role, path, size, rng, legal)
        if len(bag.sets.states) < OWN_PARTICLES and len(boards.states):
            union = united(self.machine, [bag.sets, boards]) if len(bag.sets.states) else boards
            sets = union.thinned(OWN_BOARDS, rng)
            self._own_boards[path] = Bags(role, bag.paths, bag.segment, sets, len(sets.states))
        # After many refused tries in a row, all boards may be old ones.
        return (boards if len(boards.states) else bag.sets).thinned(size, rng)

    def _boards_of_own(self, role: int, path: int, rng: np.random.Generator) -> Bags:
        """A few boards on which the role's own pieces are right; empty if none is known."""
        if path not in self._own_boards:
            self._own_sampler.stops_with(self)
            node = np.array([path])
            parent_boards = self._own_boards.get(int(self.tree.parents(node)[0]))
            alive = any(not bags.depleted[0] for bags in self._own_boards.values())
            if self._maker is not None and alive:
                # Drawn boards will replace dead particles: no need to search for more.
                sets = self.nothing(1)
                if parent_boards is not None and not parent_boards.depleted[0]:
                    sets = self._successors(role, parent_boards.sets, path, OWN_BOARDS, rng)
                boards = Bags(role, node, np.zeros(1, dtype=np.int64), sets, len(sets.states))
            elif parent_boards is None or parent_boards.depleted[0]:
                boards = self._own_sampler.at(node, role, rng)
            else:
                move, percepts, refused = self.tree.last_turns(node).T
                boards = self._own_sampler.advance(parent_boards, move, percepts, rng, refused)
            self._own_boards[path] = boards
            self._forget_before(path)
        return self._own_boards[path]

    def _forget_before(self, path: int) -> None:
        """Forget the boards from before the last two observations."""
        base = self._beginnings(path)[0]
        first = self.tree.depth(self._beginnings(base)[0])
        depths = {node: self.tree.depth(node) for node in self._own_boards}
        self._own_boards = {n: bags for n, bags in self._own_boards.items() if depths[n] >= first}

    def _beginnings(self, path: int) -> list[int]:
        """The path before its last observation, and after each turn of this observation.

        If no boards show the role's own pieces there, it begins earlier.
        """
        nodes = [path]
        while self.tree.depth(nodes[0]) > 0:
            node = np.array([nodes[0]])
            nodes.insert(0, int(self.tree.parents(node)[0]))
            percepts = int(self.tree.last_turns(node)[0, 1])
            goes_on = self._maker is not None and self._maker.goes_on(percepts)
            bags = self._own_boards.get(nodes[0])
            if not goes_on and bags is not None and not bags.depleted[0]:
                break
        return nodes

    def _draw(
        self,
        maker: BoardMaker,
        role: int,
        path: int,
        size: int,
        rng: np.random.Generator,
        legal: IntArray | None,
    ) -> Segments:
        """Boards drawn for the turn before the last observation that agree with this observation.

        If there are none, an earlier move of the opponent may matter, as when a pawn was captured
        in passing: then boards are drawn for the observation before.
        """
        nodes = self._beginnings(path)
        boards = self._draw_for(maker, role, nodes, size, rng, legal)
        if not len(boards.states) and self.tree.depth(nodes[0]):
            nodes = [*self._beginnings(nodes[0])[:-1], *nodes]
            boards = self._draw_for(maker, role, nodes, size, rng, legal)
        return boards

    def _draw_for(
        self,
        maker: BoardMaker,
        role: int,
        nodes: list[int],
        size: int,
        rng: np.random.Generator,
        legal: IntArray | None,
    ) -> Segments:
        """Boards drawn for a path that agree with the turns after it.

        Args:
            nodes: the path, and its continuation after each of these turns.
        """
        base, *turns = nodes
        boards = self.nothing(1)
        sources = self._own_boards.get(base) if self.tree.depth(base) else self.start(role)
        if sources is None or sources.depleted[0]:
            return boards
        count, began = 0, self.machine.states_visited
        fruitless = 0
        while not self.stop():
            # Bounded by the number drawn, because the opponent's refused tries multiply boards.
            capacity = min(FULL * max(count, FEWEST_DRAWN), max(FULL * size, MAX_DRAWN))
            # The first round draws nothing: it goes on from boards that an earlier search left on
            # the way when its time ended.
            sets = (
                boards if not count else one_set(maker.draw(sources.states_of(0), role, count, rng))
            )
            for node in turns:
                if self.stop():
                    sets = self.nothing(1)
                    break
                if len(sets.states):
                    sets = self._successors(role, sets, node, capacity, rng)
                sets = self._remember(role, node, sets, rng, join=not count)
            sets = self._filter(maker, sets, role, legal)
            old_size = len(boards.states)
            boards = united(self.machine, [boards, sets])
            fruitless = fruitless + 1 if 0 < old_size == len(boards.states) else 0
            spent = self.machine.states_visited - began
            if len(boards.states) >= size or fruitless == MAX_FRUITLESS:
                break
            if spent >= self._max_attempts / 2:
                break
            count = min(max(2 * count, FEWEST_DRAWN), MAX_DRAWN)
        return boards

    def _remember(
        self, role: int, node: int, sets: Segments, rng: np.random.Generator, *, join: bool
    ) -> Segments:
        """Remember boards on the way to the last observation: the next search begins with them.

        Args:
            join: whether to return also the boards remembered before.
        """
        bags = self._own_boards.get(node)
        if bags is not None and not bags.depleted[0]:
            if not bags.guessed:
                return sets  # the remembered ones are particles, and better
            union = united(self.machine, [bags.sets, sets]) if len(sets.states) else bags.sets
        else:
            union = sets
        if len(sets.states):
            samples = union.thinned(OWN_BOARDS, rng)
            path_and_segment = np.array([node]), np.zeros(1, dtype=np.int64)
            self._own_boards[node] = Bags(role, *path_and_segment, samples, len(samples.states))
        return union if join else sets

    def _filter(
        self, maker: BoardMaker, sets: Segments, role: int, legal: IntArray | None
    ) -> Segments:
        """The boards of a set with all kings, on which a role has these legal moves."""
        if not len(sets.states):
            return sets
        mask = maker.possible(sets.states)
        if legal is not None:
            mask &= moves_are(self.machine, sets.states, role, legal)
        lanes = np.flatnonzero(mask)
        boards = one_set(sets.states.take(lanes))
        return replace(boards, log_weights=sets.log_weights[lanes], log_masses=sets.log_masses)

    def _successors(
        self, role: int, sets: Segments, path: int, capacity: int, rng: np.random.Generator
    ) -> Segments:
        """The successors of boards in the last turn of a path."""
        return advance(self, role, sets, np.array([path]), TurnLimits(capacity), rng).sets


def board_sampler(
    machine: Machine, tree: PathTree, settings: SamplerSettings, **shared: Unpack[Shared]
) -> LastObservation:
    """The sampler of a player's own bag that draws boards, if `settings` has a maker."""
    return LastObservation(machine, tree, maker=settings.maker, **shared)


# ------------------------------------------------------------------------
# Random histories for an incomplete path: walks from the start of the game.
#
# Samplers of papers 001 and 002 pass in a path and get a set of final states back. In a walk the
# role makes its real moves, and the other roles move at random. A walk counts if the role's
# percepts agree in every turn, or only in the last turn (paper 001: all-observation and
# last-observation consistent). Weights are such that, over many walks, the weights of a state sum
# to its prior.

WALKS_AT_ONCE = 2048

FRUITLESS = 8
"""After this many batches of walks in a row without a new end, the search assumes that none is
left."""


class WalkEvidence(NamedTuple):
    """The evidence that a walk must agree with.

    Attributes:
        path: tree node of the role's incomplete path.
        last_only: whether only the percepts of the last turn must agree.
        legal: the legal moves of the role at the end of the walk, sorted; None for any.
    """

    role: int
    path: int
    last_only: bool
    legal: IntArray | None = None


def walk(
    setting: Setting, evidence: WalkEvidence, number: int, rng: np.random.Generator
) -> tuple[Segments, int]:
    """The ends of random walks that agree with an incomplete path, which must not be empty.

    If views are kept, the role's own view is its real path.

    Args:
        number: number of walks to begin.

    Returns:
        one set of ends, equal ones merged, and the number of lanes stepped.
    """
    machine, tree, keep_views = setting.machine, setting.tree, setting.keep_views
    role, path, last_only, legal = evidence
    steps = tree.beginnings(np.array([path]))
    states = machine.initial(number)
    views = np.tile(np.arange(len(machine.roles), dtype=np.int64), (number, 1))
    log_weights = np.zeros(number)
    stepped_lanes = 0
    for turn, (node,) in enumerate(steps[1:], start=1):
        last = turn == len(steps) - 1
        move, percepts, refused = tree.last_turns(np.array([node]))[0].tolist()
        if last_only and not last:
            percepts, refused = UNKNOWN, refused if move == UNKNOWN else UNKNOWN
        rows = np.tile(np.array([[move], [percepts], [refused]]), len(states))
        views_used = views if keep_views else None
        options = open_moves(machine, role, states, Learnt(*rows), setting.model, views_used)
        lanes = np.flatnonzero(options.counts > 0)
        joint, log_priors = options.random(lanes, rng)
        stepped = machine.step(states.take(lanes), joint)
        stepped_lanes += len(lanes)
        agrees = ~machine.terminal(stepped.states)
        if percepts != UNKNOWN:
            agrees &= stepped.percepts[:, role] == percepts
        alive = np.flatnonzero(agrees)
        log_weights = (log_weights[lanes] + log_priors + np.log(options.counts[lanes]))[alive]
        states = stepped.states.take(alive)
        if keep_views:
            views = views[lanes[alive]]
            tree.extend_views(views, joint[alive], stepped.percepts[alive], role, node)
        if not len(alive):
            break
    if legal is not None and len(states):
        ends = np.flatnonzero(moves_are(machine, states, role, legal))
        states, log_weights, views = states.take(ends), log_weights[ends], views[ends[: len(views)]]
    return set_of(machine, states, log_weights, views if keep_views else None), stepped_lanes


def walks(
    setting: Setting, evidence: WalkEvidence, size: int, most: int, rng: np.random.Generator
) -> Segments:
    """Up to `size` ends of walks; it stops after `most` lanes, or when the setting says so."""
    if setting.tree.depth(evidence.path) == 0:
        return setting.beginning(1)
    ends = setting.nothing(1)
    spent = fruitless = 0
    while ends.counts[0] < size and spent < most and fruitless < FRUITLESS:
        number = min(WALKS_AT_ONCE, max(1, setting.lanes_at_once()))
        batch, stepped = walk(setting, evidence, number, rng)
        spent += max(stepped, 1)
        old_size = len(ends.states)
        ends = united(setting.machine, [ends, batch])
        # While there is no end at all, every batch may find the first.
        fruitless = fruitless + 1 if 0 < old_size == len(ends.states) else 0
        if setting.stop():
            break
    return ends.thinned(size, rng)


def moves_are(machine: Machine, states: States, role: int, legal: IntArray) -> BoolArray:
    """`[L]` whether a role has exactly these (sorted) legal moves in each lane."""
    moves = machine.legal(states, role, allow_stuck=True)
    matches = moves.counts == len(legal)
    is_expected = np.isin(moves.values, legal)
    rows = np.flatnonzero(matches)
    hits = np.concatenate([[0], np.cumsum(is_expected)])
    matches[rows] &= (hits[moves.offsets[rows + 1]] - hits[moves.offsets[rows]]) == len(legal)
    return np.asarray(matches)


# ------------------------------------------------------------------------
# Boards that agree with the last observation.
#
# In long games with few observations, such as kriegspiel, all particles may be eliminated before
# another path is found. The file of a game's boards may say how to draw them at random
# (`ggp.belief.samplers.board_maker`). Then a player draws boards that agree with the last
# observation, and follows their successors as long as these agree with later percepts. Such states
# may be impossible, so decisions report their number (`Decision.guessed`).

CAPACITY = 1_000
"""Greatest number of states that are followed."""

DRAWN = 200
"""Number of boards in one draw."""

MAX_FOLLOWING = 5_000
"""Greatest number of lanes stepped in search of other states once no drawn board is left."""


class DrawnBoards(Finder):
    """A `Finder` that draws boards. It follows one match of one role, and needs no particles.

    Args:
        belief: the player's sampler, which says when to stop.
        role: the role whose match it follows.
        rng: chooses which particles to remember.
        maker: draws boards.
    """

    is_sound = False

    def __init__(
        self,
        machine: Machine,
        belief: Sampler,
        role: int,
        rng: np.random.Generator,
        maker: BoardMaker,
    ) -> None:
        self._belief, self._role, self._rng = belief, role, rng
        self._last = LastObservation(machine, belief.tree, capacity=DRAWN, maker=maker, walk=False)
        self._follower = HyperPlaySampler(
            machine, belief.tree, capacity=CAPACITY, exact=0, max_attempts=MAX_FOLLOWING
        )
        self._bag: Bags | None = None

    def helps(self, bags: Bags) -> BoolArray:
        return bags.depleted

    def fill(self, bags: Bags, rng: np.random.Generator) -> Segments:
        for sampler in (self._last, self._follower):
            sampler.stops_with(self._belief)
        bag = self._follow(bags.paths, rng)
        if bag is None:
            bag = self._last.at(bags.paths, bags.role, rng)
        self._bag = None if bag.depleted[0] else bag
        return bag.sets.take(bag.segment)

    def learn(self, path: int, sets: Segments) -> None:
        """Remember particles that agree with the whole path: drawn boards are no longer needed."""
        self._remember(np.array([path]), sets, 0)
        self._bag = None

    @property
    def views(self) -> IntArray:
        nodes = [] if self._bag is None else [self._bag.nodes]
        return np.concatenate([self._last.views, self._follower.views, *nodes])

    def renumber(self, numbers: IntArray) -> None:
        self._last.renumber(numbers)
        self._follower.renumber(numbers)
        if self._bag is not None:
            self._bag = self._bag.renumbered(numbers)

    def _follow(self, paths: IntArray, rng: np.random.Generator) -> Bags | None:
        """The boards of this turn, or successors of those of the last turn; None without any."""
        tree, bag = self._belief.tree, self._bag
        if bag is None or (bag.paths == paths).all():
            return bag
        if (bag.paths != tree.parents(paths)).any():
            return None
        move, percepts, refused = tree.last_turns(paths).T
        successors = self._follower.advance(bag, move, percepts, rng, refused)
        if successors.depleted[0]:
            return None
        self._remember(paths, successors.sets.take(successors.segment), len(successors.sets.states))
        return successors

    def _remember(self, paths: IntArray, sets: Segments, guessed: int) -> None:
        """Remember a few states, which tell later draws where the role's own pieces are."""
        samples = replace(sets.thinned(OWN_PARTICLES, self._rng), views=None)
        self._last.learn(Bags(self._role, paths, np.zeros(1, dtype=np.int64), samples, guessed))
