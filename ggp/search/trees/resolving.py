"""Subgame search: a strategy for the rest of the game, from where the roles may be now.

The subgame of a decision begins in our particles and, so that the others' strategies do not share
our information, in what each other role thinks possible along one of them. `Resolving` lets it grow
where the strategies lead, and solves what there is of it again and again:

    walk down, a role exploring ─▶ leaves ─▶ all their joint moves lead to worlds, with playouts
      ▲                                                                │
      └────── iterations of CFR+ over all worlds of the subgame ◀──────┘

So each world is a leaf, or all its joint moves lead to children, which are consecutive worlds. An
iteration is two passes over the worlds for each role that learns: forwards, a world's probability
follows from its parent's; backwards, its value from its children's.

The solver is predictive CFR+ (Farina, Kroer & Sandholm, AAAI 2021): roles learn in turn, each
expects its latest regrets once more, and strategies count by the square of their number. Growing
while solving is Growing-Tree CFR (Schmid et al., Student of Games, Science Advances 2023); that the
subgame is what roles think possible follows Zhang & Sandholm (2021, 2025).

A subgame that is solved by itself forgets how everybody came there. So the roots' weights include
the probability that each role plays there, by its strategies in earlier subgames. And while a role
has no earlier subgames, part of the search grows the game from its start. If all of it fits, only
this is solved: then the strategy approaches an equilibrium of the game, and not of its rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.belief import Bags, Sampler
from ggp.machine.arrays import enlarged, first_seen
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, player_roles
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.mixing import uniform
from ggp.machine.on_circuit import on_circuit
from ggp.search.parts import RoundCosts
from ggp.search.trees.growing import action_of, draw_chance, num_joint, position_of
from ggp.search.trees.paths_tree import MAX_CHANCE, PathsTree
from ggp.search.trees.tree_search import MAX_PATHS, Particles, Roots, TreeSearch
from ggp.search.trees.tree_tables import CHANCE, I32, NO_NODE, SIZE, Nodes, Worlds

# ------------------------------------------------------------------------
# The kernels. In all of them `learner` is the role whose strategy changes.

UNEXPANDED = -1
"""In place of a first child: the world is a leaf."""

WORLDS, NODES, OPEN = range(3)
"""Indices into `Subgame.sizes`."""


@by_reference
class Subgame(NamedTuple):
    """The worlds that the roots lead to.

    Attributes:
        sizes: numbers of worlds, of nodes, and of leaves in which the game goes on.
        roots: `[N]` the worlds in which it begins, none of which leads to another.
        weights: `[N]` their probabilities by chance and uniform play, in any unit.
        reach: `[N, R]` each role's probability of playing there, relative to uniform play.
        order: `[W]` the worlds, parents before children.
        nodes: `[I]` the nodes of worlds that are not leaves.
        first_child: `[W]` the first of a world's consecutive children, or `UNEXPANDED`.
        seen, seen_node: `[W]`, `[I]` scratch: whether a world or a node was met.
    """

    sizes: IntArray
    roots: I32
    weights: FloatArray
    reach: FloatArray
    order: I32
    nodes: I32
    first_child: I32
    seen: BoolArray
    seen_node: BoolArray


@by_reference
class Iteration(NamedTuple):
    """What one iteration computes; of worlds and nodes for the learner.

    Attributes:
        odds: `[W]` probability of a world without the learner's decisions.
        own_reach: `[W]` its probability by the learner's decisions.
        gain: `[W]` `odds` times the learner's expected goal from 0 to 1.
        mass: `[I]` the sum of `odds` over the worlds of a node.
        node_reach: `[I]` `own_reach` in the worlds of a node.
        strategy: `[A]` probability of each action.
        gains: `[A]` the sum of `gain` over the worlds after an action.
        prediction: `[A]` the last regrets.
    """

    odds: FloatArray
    own_reach: FloatArray
    gain: FloatArray
    mass: FloatArray
    node_reach: FloatArray
    strategy: FloatArray
    gains: FloatArray
    prediction: FloatArray


@inlined
def _match(nodes: Nodes, now: Iteration, node: int) -> None:
    """Write a node's strategy: in proportion to positive predicted regret, or uniform."""
    total, count = 0.0, 0
    action = int(nodes.first_action[node])
    while action >= 0:
        total += max(nodes.regret[action] + now.prediction[action], 0.0)
        count += 1
        action = int(nodes.next[action])
    action = int(nodes.first_action[node])
    while action >= 0:
        positive = max(nodes.regret[action] + now.prediction[action], 0.0)
        now.strategy[action] = positive / total if total > 0.0 else 1.0 / count
        action = int(nodes.next[action])


@inlined
def _all_legal(worlds: Worlds, nodes: Nodes, world: int, role: int, node: int) -> bool:
    """Whether every action of a role's node is legal in a world."""
    first = int(worlds.first[world, role])
    last = first + int(worlds.counts[world, role]) - 1
    return bool(first == nodes.first_action[node] and last == nodes.last_action[node])


@inlined
def _probability(
    worlds: Worlds, nodes: Nodes, now: Iteration, world: int, role: int, position: int
) -> float:
    """Probability of a role's legal move; those of moves that are illegal here are shared out."""
    node = int(worlds.node[world, role])
    if node == NO_NODE:
        return 1.0
    if node == CHANCE:
        at = int(worlds.first[world, role]) + position
        return float(worlds.chance_cdf[at] - (worlds.chance_cdf[at - 1] if position > 0 else 0.0))
    share = now.strategy[action_of(worlds, world, role, position)]
    if _all_legal(worlds, nodes, world, role, node):
        return float(share)
    legal, count = 0.0, int(worlds.counts[world, role])
    for k in range(count):
        legal += now.strategy[action_of(worlds, world, role, k)]
    return float(share + (1.0 - legal) / count)


@inlined
def _survey(worlds: Worlds, game: Subgame) -> None:
    """List the worlds and nodes of the subgame."""
    game.seen[: worlds.sizes[SIZE]] = False
    game.seen_node[:] = False
    for root in game.roots:
        game.seen[root] = True
    num_worlds, num_nodes, num_open = 0, 0, 0
    for world in range(worlds.sizes[SIZE]):
        if not game.seen[world]:
            continue
        game.order[num_worlds] = world
        num_worlds += 1
        first = int(game.first_child[world])
        if first < 0:
            num_open += not worlds.over[world]
            continue
        game.seen[first : first + num_joint(worlds, world)] = True
        for role in range(worlds.node.shape[1]):
            node = int(worlds.node[world, role])
            if node >= 0 and not game.seen_node[node]:
                game.seen_node[node] = True
                game.nodes[num_nodes] = node
                num_nodes += 1
    game.sizes[WORLDS], game.sizes[NODES], game.sizes[OPEN] = num_worlds, num_nodes, num_open


SLIP = 1e-4
"""How often the others move uniformly instead of by their strategies, so that a role learns what to
do where it should never come."""


@inlined
def _forwards(worlds: Worlds, nodes: Nodes, game: Subgame, now: Iteration, learner: int) -> None:
    """Write the probabilities of all worlds, and of the learner's nodes."""
    num_roles = worlds.node.shape[1]
    for k in range(len(game.roots)):
        root, weight = game.roots[k], game.weights[k]
        for role in range(num_roles):
            if role != learner:
                weight *= game.reach[k, role]
        now.odds[root], now.own_reach[root] = weight, game.reach[k, learner]
    for k in range(game.sizes[WORLDS]):
        world = int(game.order[k])
        first = int(game.first_child[world])
        if first < 0:
            continue
        node = int(worlds.node[world, learner])
        if node >= 0:
            now.mass[node] += now.odds[world]
            now.node_reach[node] = now.own_reach[world]
        for child in range(first, first + num_joint(worlds, world)):
            odds, own_reach = now.odds[world], now.own_reach[world]
            for role in range(num_roles):
                position = int(worlds.code[child, role])
                share = _probability(worlds, nodes, now, world, role, position)
                if role == learner:
                    own_reach *= share
                elif worlds.node[world, role] >= 0:
                    odds *= (1.0 - SLIP) * share + SLIP / worlds.counts[world, role]
                else:
                    odds *= share
            now.odds[child], now.own_reach[child] = odds, own_reach


@inlined
def _backwards(worlds: Worlds, nodes: Nodes, game: Subgame, now: Iteration, learner: int) -> None:
    """Write the values of all worlds, and of the learner's actions."""
    for k in range(game.sizes[WORLDS] - 1, -1, -1):
        world = int(game.order[k])
        first = int(game.first_child[world])
        if first < 0:
            now.gain[world] = now.odds[world] * worlds.value[world, learner]
            continue
        node, gain, total = int(worlds.node[world, learner]), 0.0, 0.0
        for child in range(first, first + num_joint(worlds, world)):
            total += now.gain[child]
            if node >= 0:
                position = int(worlds.code[child, learner])
                share = _probability(worlds, nodes, now, world, learner, position)
                gain += share * now.gain[child]
                now.gains[action_of(worlds, world, learner, position)] += now.gain[child]
        now.gain[world] = gain if node >= 0 else total
        if node >= 0 and not _all_legal(worlds, nodes, world, learner, node):
            # An illegal move is replaced by a random one.
            action = int(nodes.first_action[node])
            while action >= 0:
                if position_of(worlds, world, learner, action) < 0:
                    now.gains[action] += total / worlds.counts[world, learner]
                action = int(nodes.next[action])


@inlined
def _learn(
    nodes: Nodes, game: Subgame, now: Iteration, learner: int, decider: int, age: float
) -> None:
    """Update the regrets and the average strategies of the learner's nodes."""
    for k in range(game.sizes[NODES]):
        node = int(game.nodes[k])
        if nodes.role[node] != learner:
            continue
        mean = 0.0
        action = int(nodes.first_action[node])
        while action >= 0:
            mean += now.strategy[action] * now.gains[action]
            action = int(nodes.next[action])
        action = int(nodes.first_action[node])
        while action >= 0:
            regret = now.gains[action] - mean
            nodes.regret[action] = max(nodes.regret[action] + regret, 0.0)
            now.prediction[action] = regret
            nodes.average[action] += age * age * now.node_reach[node] * now.strategy[action]
            if node == decider and now.mass[node] > 0.0:
                goal = min(max(now.gains[action] / now.mass[node], 0.0), 1.0)
                nodes.visits[action] += 1
                nodes.goals[action] += goal
                nodes.squares[action] += goal * goal
            action = int(nodes.next[action])
        _match(nodes, now, node)


@kernel
def solve(
    worlds: Worlds,
    nodes: Nodes,
    game: Subgame,
    now: Iteration,
    chance: int,
    decider: int,
    iterations: int,
    age: float,
) -> None:
    """Iterations of predictive CFR+ on a subgame.

    Args:
        chance: the role that chance plays, or -1.
        decider: a node, or -1, whose actions get their values as goals of visits.
        age: number of iterations before; the strategies of iteration t count t * t times.
    """
    _survey(worlds, game)
    for k in range(game.sizes[NODES]):
        _match(nodes, now, int(game.nodes[k]))
    for iteration in range(iterations):
        for learner in range(worlds.node.shape[1]):
            if learner == chance:
                continue
            for k in range(game.sizes[NODES]):
                node = int(game.nodes[k])
                if nodes.role[node] == learner:
                    now.mass[node] = 0.0
                    action = int(nodes.first_action[node])
                    while action >= 0:
                        now.gains[action] = 0.0
                        action = int(nodes.next[action])
            _forwards(worlds, nodes, game, now, learner)
            _backwards(worlds, nodes, game, now, learner)
            _learn(nodes, game, now, learner, decider, age + iteration + 1)


ALL = -1
"""In place of an explorer: all roles explore."""


@inlined
def _draw(
    worlds: Worlds,
    nodes: Nodes,
    now: Iteration,
    world: int,
    role: int,
    exploration: float,
    random: NDArray[np.uint64],
) -> int:
    """The position of a role's move: drawn by its strategy, or now and then uniformly."""
    node, count = int(worlds.node[world, role]), int(worlds.counts[world, role])
    if node == CHANCE:
        return draw_chance(worlds, world, role, random)
    if node == NO_NODE or count == 1:
        return 0
    if exploration > 0.0 and uniform(random) < exploration:
        return int(uniform(random) * count)
    point, position = uniform(random), 0
    trusts = nodes.trust[node] > 0.0
    while position < count - 1:
        if trusts:
            point -= nodes.share[action_of(worlds, world, role, position)]
        else:
            point -= _probability(worlds, nodes, now, world, role, position)
        if point < 0.0:
            break
        position += 1
    return position


@kernel
def descend(
    worlds: Worlds,
    nodes: Nodes,
    game: Subgame,
    now: Iteration,
    starts: I32,
    explorers: I32,
    exploration: float,
    random: NDArray[np.uint64],
    leaves: I32,
    most: int,
    max_joint: int,
) -> int:
    """Walk from worlds down to leaves.

    Args:
        starts: `[L]` where each lane begins.
        explorers: `[L]` the role that explores, or `ALL`.
        exploration: how often it moves uniformly.
        leaves: `[L]` written: the distinct leaves in which the game goes on.
        most: joint moves of all leaves, if they are several.
        max_joint: joint moves of one leaf.

    Returns:
        the number of leaves.
    """
    count, size = 0, 0
    game.seen[: worlds.sizes[SIZE]] = False
    for lane in range(len(starts)):
        world = int(starts[lane])
        while game.first_child[world] >= 0:
            index = 0
            for role in range(worlds.node.shape[1]):
                explores = exploration if explorers[lane] in (role, ALL) else 0.0
                position = _draw(worlds, nodes, now, world, role, explores, random)
                index = index * int(worlds.counts[world, role]) + position
            world = int(game.first_child[world]) + index
        if worlds.over[world] or game.seen[world]:
            continue
        number = num_joint(worlds, world)
        if number <= max_joint and (size == 0 or size + number <= most):
            game.seen[world] = True
            leaves[count] = world
            count += 1
            size += number
    return count


@kernel
def find_children(worlds: Worlds, first_child: I32) -> None:
    """Write the first child of every world all of whose joint moves lead to worlds."""
    size = worlds.sizes[SIZE]
    first_child[:] = UNEXPANDED
    child = 0
    while child < size:
        parent, start = worlds.parent[child], child
        while child < size and worlds.parent[child] == parent:
            child += 1
        # Some children may have been dropped, or added when time was over; the last come last.
        number = num_joint(worlds, parent) if parent >= 0 else 0
        if number > 0 and child - start >= number:
            is_first = True
            for role in range(worlds.code.shape[1]):
                is_first &= worlds.code[child - number, role] == 0
            if is_first:
                first_child[parent] = child - number


# ------------------------------------------------------------------------
# The search.

ITERATIONS, AFTERWARDS = 6, 32
"""Iterations after each step of growth, and at a time once all of the game is known."""

MAX_JOINT, SLOW_JOINT = 1024, 64
"""Worlds with more joint moves stay leaves; the second number where a machine is no circuit."""

FIRST_JOINT, AT_ONCE = 256, 1 << 13
"""Joint moves of the leaves of the first wave against a clock, and most of any wave."""

MAX_WORK = 50_000
"""Most worlds of all iterations between two looks at the clock, if it is several iterations."""

MAX_ROOTS = 256
"""Most particles of a role's bags in which the subgame begins."""

FEW, IN_ORDER = 0.25, 256
"""If fewer lanes from the start of the game than this share reach a leaf, so many leaves are
expanded in order: then the game may be small enough to be known from its start."""

REMEMBERED = 24
"""Turns for which roots are weighted by strategies: probabilities of whole matches are too small
for a number."""

REFRESH = 1.5
"""Growth of the number of lanes after which the roots' weights follow the strategies."""


_OF_WORLDS = ("order", "first_child", "seen", "odds", "own_reach", "gain")
_OF_NODES = ("nodes", "seen_node", "mass", "node_reach")
_OF_ACTIONS = ("strategy", "gains", "prediction")


_Record = TypeVar("_Record", Subgame, Iteration)


class Begin(NamedTuple):
    """Where a subgame begins: see `Subgame`."""

    roots: I32
    weights: FloatArray
    reach: FloatArray


def _without_worlds(begin: Begin) -> tuple[Subgame, Iteration]:
    """The arrays of a subgame, without rows."""
    order, nodes, first_child = (np.zeros(0, dtype=np.int32) for _ in range(3))
    seen, seen_node = (np.zeros(0, dtype=np.bool_) for _ in range(2))
    sizes = np.zeros(3, dtype=np.int64)
    game = Subgame(sizes, *begin, order, nodes, first_child, seen, seen_node)
    return game, Iteration(*(np.zeros(0) for _ in Iteration._fields))


def _with_rows(record: _Record, rows: Mapping[str, int]) -> _Record:
    """The record with room for so many rows in its arrays of these names."""
    names = [name for name in record._fields if name in rows]
    return record._replace(
        **{name: enlarged(getattr(record, name), rows[name], 0) for name in names}
    )


def load_kernels(tree: PathsTree) -> None:
    """Compile the kernels, or load them from the cache, before a clock runs."""
    rng, no_worlds = np.random.default_rng(0), np.zeros(0, dtype=np.int32)
    num_roles = len(tree.machine.roles)
    game, now = _without_worlds(Begin(no_worlds, np.zeros(0), np.zeros((0, num_roles))))
    tree.expand(no_worlds, 0, rng)
    tree.nodes.shares(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    find_children.unchecked(tree.tables[0], game.first_child)
    solve.unchecked(*tree.tables, game, now, -1, -1, 0, 0.0)
    random = rng.integers(0, 1 << 64, 1, dtype=np.uint64)
    descend.unchecked(*tree.tables, game, now, no_worlds, no_worlds, 0.0, random, no_worlds, 0, 0)


def most_joint(machine: Machine) -> int:
    """Most joint moves of a world that is expanded."""
    return MAX_JOINT if on_circuit(machine) else SLOW_JOINT


def can_resolve(tree: PathsTree, bags: Bags) -> bool:
    """Whether all states of a bag have few enough joint moves to be expanded."""
    machine, states = tree.machine, bags.states_of(0)
    joint = np.ones(len(states))
    for role in range(len(machine.roles)):
        counts = machine.legal(states, role, allow_stuck=True).counts
        joint *= np.minimum(counts, MAX_CHANCE) if role == machine.random_role else counts
    most = min(most_joint(machine), tree.settings.most_worlds // 4)
    return bool((joint <= most).all())


class Resolving(TreeSearch):
    """The `Search` of one bag's candidates by solving the subgame that begins there.

    Args: as for `TreeSearch`, whose `submitted` only says where the subgame grows.
    """

    most_lanes = 256

    def strategy(self) -> FloatArray:
        """`[C]` the average strategy at the role's path: the one to play. It sums to 1.

        Uniform if nothing was learned.
        """
        average = self._sums().average
        total = average.sum()
        return average / total if total > 0 else np.full(len(average), 1 / len(average))

    # ---------------------------------------------------------------- the roots

    def _opponent_particles(self, bags: Bags, belief: Sampler) -> list[Particles]:
        """Particles of each other role, from bags at its paths in our particles.

        Weights are in the unit of our own: at each path, the states that we think possible too have
        the same weight in both bags. They are left out here.
        """
        views = bags.sets.views
        assert views is not None
        own_views, weights = views[bags.lanes_of(0)], bags.weights_of(0)
        particles: list[Particles] = []
        for role in player_roles(self._machine):
            if role == bags.role:
                continue
            first, path_of = first_seen(own_views[:, role])
            shares = np.bincount(path_of, weights)
            likeliest = np.argsort(-shares, kind="stable")[:MAX_PATHS]
            rivals = belief.at(own_views[first[likeliest], role], role, self._rng)
            sound = np.flatnonzero(~rivals.depleted)
            if not len(sound):
                continue
            rivals, shares = rivals.select(sound), shares[likeliest[sound]]
            rival_views = rivals.sets.views
            assert rival_views is not None
            lanes = [rivals.lanes_of(k) for k in range(len(rivals))]
            parts = []
            for k, of_path in enumerate(lanes):
                weights_here = rivals.weights_of(k) / rivals.weights_of(k).sum()
                is_ours = rival_views[of_path, bags.role] == self._path
                # A sample that misses our states says that they are less than one of so many.
                ours = max(weights_here[is_ours].sum(), 1 / (1 + len(of_path)))
                parts.append(np.where(is_ours, 0.0, weights_here * shares[k] / ours))
            of_role = np.concatenate(parts)
            entries = np.concatenate(lanes)[of_role > 0]
            states = rivals.sets.states.take(entries)
            particles.append(
                Particles(role, rivals.paths, states, rival_views[entries], of_role[of_role > 0])
            )
        return particles

    def _begin(self, parts: Sequence[Particles], shares: Sequence[float]) -> Roots:
        """The particles as roots, each world once; all roles learn from all of them."""
        machine, tree = self._machine, self._tree
        num_roles = len(machine.roles)
        self._outside = 1.0 - shares[0]
        self._max_joint = most_joint(machine)
        self._child_costs = RoundCosts(min(FIRST_JOINT, self._max_joint))
        parts = [self._thinned(part) for part in parts]
        self._start_share = 1.0
        if tree.paths.depths(np.array([self._path]))[0] and not tree.is_whole:
            reach = [tree.nodes.reach(column, REMEMBERED) for column in parts[0].views.T]
            was_here = any((of_role != 1.0).any() for of_role in reach)
            self._start_share = 0.0 if was_here else tree.settings.from_start
        # The id of a role's empty path is the role's index. Without need of it, the start of the
        # game would keep all worlds.
        size = int(self._start_share > 0)
        initial = machine.initial(size), np.tile(np.arange(num_roles), (size, 1)), -1
        *world_ids, start = tree.begin([*self._particles(parts), initial])
        first, group = first_seen(np.concatenate(world_ids))
        worlds = np.concatenate(world_ids)[first]
        weights = np.bincount(group, np.concatenate([part.weights for part in parts]))
        self._is_own = first < len(world_ids[0])
        table, _ = tree.tables
        new = np.append(worlds, start)
        table.value[new[~table.over[new] & (table.parent[new] < 0)]] = 0.5
        self._chance = -1 if machine.random_role is None else machine.random_role
        self._explorers = np.array([*player_roles(machine), ALL], dtype=np.int32)
        self._refresh_at, self._from_start = 0, 0
        self._start = Begin(start.astype(np.int32), np.ones(size), np.ones((size, num_roles)))
        self._game, self._now = _without_worlds(self._start)
        self._make_room()
        self._solve(0)
        if tree.is_whole and self._game.sizes[OPEN]:  # worlds were dropped
            tree.is_whole, self._start_share = False, 0.0
        return Roots(
            worlds, weights / np.bincount(group), np.ones((len(worlds), num_roles), np.bool_)
        )

    def _thinned(self, part: Particles) -> Particles:
        """At most `MAX_ROOTS` of the particles, drawn by their weights."""
        weights, num_moves = part.weights, len(self.moves.values)
        if len(weights) <= MAX_ROOTS:
            return part
        every = Roots(np.arange(len(weights)), weights, np.zeros((0, 0), np.bool_))
        picks, times = np.unique(every.draw(MAX_ROOTS, self._rng), return_counts=True)
        states = part.states.take(picks)
        if part.paths[0] == self._path:
            legal = self._machine.legal(states, part.role, allow_stuck=True)
            if len(np.unique(legal.values)) < num_moves:
                return part  # each candidate needs a world in which it is legal
        return part._replace(
            states=states,
            views=part.views[picks],
            weights=times * weights.sum() / MAX_ROOTS,
        )

    def _reach_of(self, worlds: IntArray) -> FloatArray:
        """`[N, R]` see `Subgame.reach`; in proportion, which is all that counts."""
        views, nodes = self._tree.views_of(worlds), self._tree.nodes
        reach = np.column_stack([nodes.reach(column, REMEMBERED) for column in views.T])
        return np.asarray(reach / reach.max(axis=0))

    def _begin_here(self) -> tuple[Begin, Roots]:
        """The particles as roots of the subgame, and where lanes begin."""
        if self._lanes_done >= self._refresh_at:
            self._refresh_at, roots = int(REFRESH * self._lanes_done) + 1, self._roots
            reach = self._reach_of(roots.worlds)
            masses = roots.weights * reach.prod(axis=1)
            if not masses[self._is_own].any():  # too small for numbers
                masses, reach = roots.weights, np.ones_like(reach)
            total, elsewhere = masses[self._is_own].sum(), masses[~self._is_own].sum()
            lanes = np.where(self._is_own, masses / total, 0.0)
            if elsewhere > 0:
                lanes = (1 - self._outside) * lanes
                lanes += np.where(self._is_own, 0.0, self._outside * masses / elsewhere)
            begin = Begin(roots.worlds.astype(np.int32), roots.weights / total, reach)
            self._begins = begin, roots._replace(weights=lanes)
        return self._begins

    # ---------------------------------------------------------------- growing and solving

    def _send_wave(self, size: int) -> None:
        tree = self._tree
        at_start = tree.is_whole or self._from_start < self._start_share * (self._lanes_done + 1)
        if at_start:
            self._from_start += size
            begin = self._start
            starts = np.repeat(begin.roots, size)
        else:
            begin, lanes = self._begin_here()
            starts = lanes.worlds[lanes.draw(size, self._rng)].astype(np.int32)
        self._game = self._game._replace(
            roots=begin.roots, weights=begin.weights, reach=begin.reach
        )
        self._solve(1)
        most = AT_ONCE
        if self._deadline is not None:
            most = min(most, self._child_costs.next_size(self._deadline.left_s(), 1))
        leaves = self._leaves_below(starts, most)
        if at_start and len(leaves) < FEW * size:
            leaves = self._open_leaves(most)
        if len(leaves):
            self._expand(leaves)
        self._solve(ITERATIONS if len(leaves) else AFTERWARDS)
        game = self._game
        if at_start and not tree.is_whole and not game.sizes[OPEN]:
            # What was learned before all was known only delays.
            tree.nodes.forget(game.nodes[: game.sizes[NODES]])
            self._now.prediction[:] = 0.0
            tree.is_whole, tree.age = True, 0.0
            self._solve(AFTERWARDS)

    def _open_leaves(self, most: int) -> I32:
        """The first leaves of the subgame in which the game goes on: see `descend`."""
        worlds, game = self._tree.tables[0], self._game
        order = game.order[: game.sizes[WORLDS]]
        leaves: I32 = order[(game.first_child[order] == UNEXPANDED) & ~worlds.over[order]]
        leaves = leaves[:IN_ORDER]
        sizes = worlds.counts[leaves].prod(axis=1)
        leaves, sizes = leaves[sizes <= self._max_joint], sizes[sizes <= self._max_joint]
        return leaves[: max(1, np.searchsorted(sizes.cumsum(), most))]

    def _leaves_below(self, starts: I32, most: int) -> I32:
        """The leaves that lanes from these worlds reach: see `descend`."""
        size, leaves = len(starts), np.empty_like(starts)
        explorers = self._explorers[self._rng.integers(len(self._explorers), size=size)]
        random = self._rng.integers(0, 1 << 64, 1, dtype=np.uint64)
        count = descend.unchecked(
            *self._tree.tables,
            self._game,
            self._now,
            starts,
            explorers,
            self._tree.settings.exploration,
            random,
            leaves,
            most,
            self._max_joint,
        )
        return leaves[:count]

    def _expand(self, leaves: I32) -> None:
        """Add the children of leaves, if there is room.

        Raises:
            OutOfTime: the deadline has passed.
        """
        tree = self._tree
        size = int(tree.tables[0].counts[leaves].prod(axis=1).sum())
        if tree.num_worlds + size > tree.world_limit:
            return
        began_s = 0.0 if self._deadline is None else self._deadline.clock()
        try:
            tree.expand(leaves, size, self._rng, self._deadline)
        finally:
            self._make_room()
        if self._deadline is not None:
            self._child_costs.add(size, self._deadline.clock() - began_s)

    def _make_room(self) -> None:
        """Give the subgame's arrays as many rows as the tree has, and find the worlds' children."""
        worlds, nodes = self._tree.tables
        rows = dict.fromkeys(_OF_WORLDS, len(worlds.parent))
        rows |= dict.fromkeys(_OF_NODES, len(nodes.role))
        rows |= dict.fromkeys(_OF_ACTIONS, len(nodes.move))
        self._game, self._now = _with_rows(self._game, rows), _with_rows(self._now, rows)
        find_children.unchecked(worlds, self._game.first_child)

    def _solve(self, iterations: int) -> None:
        """Iterations of CFR+, fewer if the subgame is large."""
        tree = self._tree
        iterations = min(iterations, max(1, MAX_WORK // max(int(self._game.sizes[WORLDS]), 1)))
        decider = tree.nodes.node_of(self._path)
        solve.unchecked(
            *tree.tables, self._game, self._now, self._chance, decider, iterations, tree.age
        )
        tree.age += iterations
