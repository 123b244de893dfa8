"""The kernel that walks lanes down a tree and adds the worlds that they reach.

    walk ─▶ joint moves ─▶ successors, moves, percepts ─▶ paths ─▶ worlds ─▶ walk on ...

`PathsTree` calls it with a wave of lanes, and backs up the goals at the lanes' ends. Two arguments
are functions: one chooses actions (see `selection`), one asks the machine for the successors of
joint moves. In a game with much hidden, a wave meets ten new worlds in a row on its way down, each
time with few of its lanes: calls from Python would take ten times as long as the computation. So
the kernel itself asks a circuit (`ask_circuit`). Python asks other machines, and circuits in rare
cases: the kernel returns and is called again with the answers.

Rules that the kernel keeps:

1. A joint move in a world leads to one world. `slots` finds it by the hash of parent and code, so
   that the machine is asked once about each joint move, until the tree is full.
2. Worlds, nodes and actions are only appended: a child's index is greater than its parent's.
3. While joint moves are `PENDING`, `slots` holds worlds that do not exist yet. The next call adds
   them first; until then the slots must stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.belief.paths import PathRows, number_paths
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.mixing import START, ended, mixed_in, uniform
from ggp.machine.propnet.play.kernels.lanes.growing import Listing, find_percepts, list_after
from ggp.machine.propnet.play.kernels.tapes import U64
from ggp.search.trees.selection import Choose, Rule
from ggp.search.trees.tree_tables import (
    ACTIONS,
    CHANCE,
    CHANCES,
    I32,
    LEAF,
    LISTED,
    LOOSE,
    NO_NODE,
    NODES,
    OVER,
    RECORDS,
    ROWS,
    SIZE,
    UPPER,
    WALKING,
    Nodes,
    Wave,
    Worlds,
)

DONE, PAUSED, NO_RECORDS, ROOM, PERCEPTS, UNLISTED = range(6)
"""Why `grow` returns: no lane walks on; it is time to check the clock, or it pauses at new nodes;
records need more room; tables need more room; percepts have no id yet; Python must ask the machine
for the successors. After all but the first it must be called again."""

STEPS_AT_ONCE = 64
"""Joint moves of a lane between two checks of the clock."""

STRAGGLERS = 32
"""When less than 1 / this of a wave still walks, its lanes stop and are played out: a step of few
lanes costs nearly as much as a step of many."""

LISTED_MOVES, ENTERED, PENDING, ANSWERED, WORLD_LIMIT = range(5)
"""Indices into `Growth.sizes`."""


@by_reference
class Successors(NamedTuple):
    """The machine's answers about K new worlds.

    Attributes:
        over: `[K]` whether the game is over; no role has a move there.
        worth: `[K, R]` goals from 0 to 1 where it is over.
        percepts: `[K, R]` ids of the roles' percepts.
        offsets: `[R, K + 1]` where the legal moves of each role begin in `values`, role after role.
        values: the legal moves.
        chances: probabilities of the moves of chance.
    """

    over: BoolArray
    worth: FloatArray
    percepts: IntArray
    offsets: IntArray
    values: IntArray
    chances: FloatArray


@by_reference
class Growth(NamedTuple):
    """Columns of worlds besides `Worlds`, and scratch space for K new worlds.

    Attributes:
        sizes: five numbers. Out: the largest number of moves in one listing; the number of worlds
            that the kernel listed and added; whether lanes wait at joint moves whose worlds must
            be added. In: for how many of these Python filled `Successors`, -1 if it did not. Out:
            the greatest number of worlds that fit.
        packed: `[W, words]` states of the worlds, on a circuit.
        views: `[W, R]` each role's path.
        node_of: node of each path, -1 for none; the kernel adds new nodes.
        rows, path_ids: `[K * R, 4]`, `[K * R]` scratch: turns that extend paths, and the new paths.
        fresh: `[K]` set where a node is new, or was created earlier in the same call.
    """

    sizes: IntArray
    packed: U64
    views: IntArray
    node_of: I32
    rows: U64
    path_ids: IntArray
    fresh: BoolArray


@by_reference
class TreeLimits(NamedTuple):
    """Limits of a tree.

    Attributes:
        max_worlds, max_actions, max_depth: greatest number of worlds, of actions, and of joint
            moves of a lane; a lane that reaches `max_depth` is played out.
        chance_role: the role that chance plays, or -1.
        max_chance_moves: greatest number of chance moves for which the kernel asks a circuit.
        pauses: whether to return after nodes were added.
    """

    max_worlds: int
    max_actions: int
    max_depth: int
    chance_role: int
    max_chance_moves: int
    pauses: bool


Ask = Callable[[Any, Successors, Growth, Wave, TreeLimits, int, tuple[int, ...]], int]
"""Fills `Successors` for the joint moves of a wave; returns `DONE`, or what it lacks to do so.

If it returns anything but `DONE`, nothing has changed.

Args:
    listing: input of the function; for `ask_circuit` the `Listing` whose arrays `Successors` holds.
    successors, growth, wave, limits: see `grow`.
    num_worlds: number of worlds.
    width: of the machine's kernels.
"""


@kernel
def grow(
    choose: Choose,
    rule: Rule,
    ask: Ask,
    listing: Any,
    successors: Successors,
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    paths: PathRows,
    growth: Growth,
    limits: TreeLimits,
    width: tuple[int, ...],
) -> int:
    """Send a wave down until every lane has ended or stopped at a leaf.

    Args:
        choose, rule: how lanes choose: see `selection`.
        ask, listing: see `Ask`.
        successors: answers, from `ask` or from Python.

    Returns:
        why it returns, e.g. `DONE`. If joint moves are `PENDING`, the next call first adds their
        worlds: until then, the slots of worlds must stay.
    """
    for _ in range(STEPS_AT_ONCE):
        num_worlds = int(worlds.sizes[SIZE])
        limit = world_limit(worlds, nodes, limits)
        if not growth.sizes[PENDING]:
            capacity = min(num_worlds + len(wave.world), limit) + 1
            if capacity > len(growth.views) or capacity > len(worlds.parent):
                return ROOM
            if 2 * capacity > len(worlds.slots):
                return ROOM
            if not _walk(choose, rule, worlds, nodes, wave, limit, limits.max_depth):
                return NO_RECORDS
            growth.sizes[PENDING] = 1
        rows, count = int(wave.sizes[ROWS]), int(growth.sizes[ANSWERED])
        if rows == 0:
            return DONE
        by_python = count >= 0
        if not by_python:
            count = rows
            growth.sizes[WORLD_LIMIT] = limit
            reason = UNLISTED
            if num_worlds + rows <= limit:
                reason = ask(listing, successors, growth, wave, limits, num_worlds, width)
            if reason != DONE:
                return reason
        num_nodes = nodes.sizes[NODES]
        if not _add_successors(worlds, nodes, wave, successors, paths, growth, limits, count):
            return ROOM
        if not by_python:
            growth.sizes[ENTERED] += count
        if not _stop_lanes(wave, num_worlds, rows, growth.fresh):
            return DONE
        if by_python or (limits.pauses and nodes.sizes[NODES] > num_nodes):
            return PAUSED
    return PAUSED


@inlined
def world_limit(worlds: Worlds, nodes: Nodes, limits: TreeLimits) -> int:
    """Greatest number of worlds that fit, if new ones have as many actions as those in the tree."""
    num_worlds, actions = int(worlds.sizes[SIZE]), int(nodes.sizes[ACTIONS])
    room = max(limits.max_actions - actions, 0) // max(1, actions // max(num_worlds, 1))
    return max(min(limits.max_worlds, num_worlds + room), num_worlds)


@inlined
def _stop_lanes(wave: Wave, num_worlds: int, rows: int, fresh: BoolArray) -> bool:
    """Stop the lanes that are at new nodes, or all if few still walk.

    Returns:
        whether some walk on.
    """
    walks_on = False
    for lane in range(len(wave.world)):
        if wave.status[lane] == WALKING:
            if STRAGGLERS * rows < len(wave.world) or fresh[wave.world[lane] - num_worlds]:
                wave.status[lane] = LEAF
            else:
                walks_on = True
    return walks_on


@inlined
def _add_successors(
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    successors: Successors,
    paths: PathRows,
    growth: Growth,
    limits: TreeLimits,
    count: int,
) -> bool:
    """Add the successors of the first `count` joint moves; returns whether there was room."""
    num_worlds, num_roles = int(worlds.sizes[SIZE]), worlds.code.shape[1]
    moves = successors.offsets[num_roles - 1, count]
    growth.sizes[LISTED_MOVES] = max(growth.sizes[LISTED_MOVES], moves)
    if (
        worlds.sizes[LISTED] + moves > len(worlds.listed)
        or worlds.sizes[CHANCES] + moves > len(worlds.chance_move)
        or nodes.sizes[NODES] + count * num_roles > len(nodes.role)
        or nodes.sizes[ACTIONS] + moves > len(nodes.move)
        or not _extend_paths(wave, successors, paths, growth, limits, num_worlds, count)
    ):
        return False
    wave.sizes[ROWS] = growth.sizes[PENDING] = 0
    growth.sizes[ANSWERED] = -1
    _add(worlds, nodes, successors, growth, limits.chance_role, -1, count)
    return True


# ------------------------------------------------------------------------
# How the kernel asks for the successors of joint moves.


@inlined
def ask_circuit(
    listing: Listing,
    successors: Successors,
    growth: Growth,
    wave: Wave,
    limits: TreeLimits,
    num_worlds: int,
    width: tuple[int, ...],
) -> int:
    """Ask a circuit, and write the states of the new worlds; see `Ask`."""
    count = int(wave.sizes[ROWS])
    if count > len(listing.over):
        return UNLISTED
    moves = list_after(listing, growth.packed, wave.parent, wave.moves, count, width)
    if moves < 0 or _is_unusual(listing, limits, count):
        return UNLISTED
    growth.sizes[LISTED_MOVES] = max(growth.sizes[LISTED_MOVES], moves)
    if not find_percepts(listing, wave.moves, count):
        return PERCEPTS
    size = num_worlds + count
    if moves > min(len(listing.values), len(successors.chances)) or size > len(growth.packed):
        return ROOM
    _write_chances(listing, successors.chances, limits.chance_role, count)
    for k in range(count):
        for word in range(growth.packed.shape[1]):
            growth.packed[num_worlds + k, word] = listing.states[k, word]
    return DONE


@inlined
def ask_nobody(
    listing: Successors,
    successors: Successors,
    growth: Growth,
    wave: Wave,
    limits: TreeLimits,
    num_worlds: int,
    width: tuple[int, ...],
) -> int:
    """Leave the question to Python; see `Ask`."""
    return UNLISTED


@inlined
def _is_unusual(listing: Listing, limits: TreeLimits, count: int) -> bool:
    """Whether a role has no move although the game is not over, or chance has too many."""
    for role in range(len(listing.offsets)):
        for k in range(count):
            num_moves = listing.offsets[role, k + 1] - listing.offsets[role, k]
            if num_moves > limits.max_chance_moves and role == limits.chance_role:
                return True
            if num_moves == 0 and not listing.over[k]:
                return True
    return False


@inlined
def _extend_paths(
    wave: Wave,
    successors: Successors,
    paths: PathRows,
    growth: Growth,
    limits: TreeLimits,
    num_worlds: int,
    count: int,
) -> bool:
    """Write every role's path in new worlds; returns whether there was room."""
    views, num_roles, size = growth.views, growth.views.shape[1], 0
    for role in range(num_roles):
        for k in range(count):
            views[num_worlds + k, role] = views[wave.parent[k], role]
            if role != limits.chance_role:
                growth.rows[size, 0] = np.uint64(views[wave.parent[k], role])
                growth.rows[size, 1] = np.uint64(wave.moves[k, role])
                growth.rows[size, 2] = np.uint64(successors.percepts[k, role])
                growth.rows[size, 3] = np.uint64(wave.refused[k, role])
                size += 1
    if not number_paths(paths, growth.rows, size, growth.path_ids):
        return False
    size = 0
    for role in range(num_roles):
        for k in range(count):
            if role != limits.chance_role:
                views[num_worlds + k, role] = growth.path_ids[size]
                size += 1
    return bool(paths.sizes[0] <= len(growth.node_of))


@inlined
def _write_chances(listing: Listing, chances: FloatArray, role: int, count: int) -> None:
    """Write the probabilities of chance moves: uniform in each world."""
    if role < 0:
        return
    first = listing.offsets[role, 0]
    for k in range(count):
        start, end = listing.offsets[role, k], listing.offsets[role, k + 1]
        for index in range(start - first, end - first):
            chances[index] = 1.0 / (end - start)


# ------------------------------------------------------------------------
# Lanes walk through the worlds of the tree.


@inlined
def _walk(
    choose: Choose,
    rule: Rule,
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    world_limit: int,
    max_depth: int,
) -> bool:
    """Walk every lane down until it ends, or makes a joint move that leads out of the tree.

    Each distinct joint move of this kind becomes one row; row k will become world number
    (existing worlds) + k. Beyond `world_limit` worlds a row gets no world, and its lane is `LOOSE`.

    Args:
        worlds: with room for one more world, and one more for each lane, up to `world_limit`.
        max_depth: a lane that has made this many joint moves is played out.

    Returns:
        whether it is done; if not, records need more room, and it must be called again.
    """
    num_roles = worlds.code.shape[1]
    num_worlds = worlds.sizes[SIZE]
    for lane in range(len(wave.world)):
        if wave.status[lane] != WALKING:
            continue
        world = int(wave.world[lane])
        while world < num_worlds:
            if worlds.over[world]:
                wave.status[lane] = OVER
                break
            if wave.depth[lane] >= max_depth:
                wave.status[lane] = LEAF
                break
            if wave.sizes[RECORDS] + num_roles > len(wave.action):
                wave.world[lane] = world
                return False
            rows = wave.sizes[ROWS]
            # The next world's row is a draft: it is used only if no equal world exists.
            child = min(num_worlds + rows, world_limit)
            worlds.parent[child] = world
            for role in range(num_roles):
                worlds.code[child, role] = _choose_code(
                    choose, rule, worlds, nodes, wave, lane, world, role
                )
            wave.depth[lane] += 1
            slot = slot_of(worlds, child)
            if worlds.slots[slot] >= 0:
                world = int(worlds.slots[slot])
                continue
            _write_row(worlds, nodes, wave, world, child, rows)
            wave.sizes[ROWS] += 1
            if child == world_limit:
                wave.status[lane] = LOOSE
                wave.row[lane] = rows
                break
            worlds.slots[slot] = child
            world = child
        wave.world[lane] = world
    return True


@inlined
def _choose_code(
    choose: Choose,
    rule: Rule,
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    lane: int,
    world: int,
    role: int,
) -> int:
    """Choose and record a role's action; returns its code in `Worlds.code`."""
    node = int(worlds.node[world, role])
    if node == NO_NODE:
        return 0
    if node == CHANCE:
        return draw_chance(worlds, world, role, wave.random)
    action = choose(nodes, wave, lane, node, role, rule)
    if wave.learns[lane, role]:
        nodes.selections[node] += 1
        nodes.pending[action] += 1
        record = wave.sizes[RECORDS]
        wave.action[record] = action
        wave.previous[record] = wave.head[lane]
        wave.head[lane] = record
        wave.sizes[RECORDS] += 1
    position = position_of(worlds, world, role, action)
    if position >= 0:
        return position
    position = int(uniform(wave.random) * worlds.counts[world, role])
    return position + ((action + 1) << UPPER)


@inlined
def action_of(worlds: Worlds, world: int, role: int, position: int) -> int:
    """The action of a role's legal move, where it has a node."""
    first = int(worlds.first[world, role])
    return first + position if first >= 0 else int(worlds.listed[-1 - first + position])


@inlined
def position_of(worlds: Worlds, world: int, role: int, action: int) -> int:
    """Position of an action among a role's legal moves, -1 if it is illegal."""
    first = int(worlds.first[world, role])
    count = int(worlds.counts[world, role])
    if first >= 0:
        index = action - first
        return index if 0 <= index < count else -1
    for k in range(count):
        if worlds.listed[-1 - first + k] == action:
            return k
    return -1


@inlined
def draw_chance(worlds: Worlds, world: int, role: int, random: NDArray[np.uint64]) -> int:
    """Draw a chance move by binary search of its cumulative probability; returns its position."""
    first = int(worlds.first[world, role])
    last = int(worlds.counts[world, role]) - 1
    point = uniform(random)
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if worlds.chance_cdf[first + middle] > point:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def spread(worlds: Worlds, nodes: Nodes, wave: Wave, parents: I32) -> None:
    """Write all joint moves of worlds as rows, role by role in the order of their legal moves.

    Row k will become world number (existing worlds) + k. There must be room for all.

    Args:
        parents: `[N]` worlds without children, in which the game is not over.
    """
    num_roles, size = worlds.code.shape[1], worlds.sizes[SIZE]
    for world in parents:
        number = num_joint(worlds, world)
        for k in range(number):
            row = wave.sizes[ROWS]
            child, rest = size + row, k
            worlds.parent[child] = world
            for role in range(num_roles - 1, -1, -1):
                worlds.code[child, role] = rest % worlds.counts[world, role]
                rest //= worlds.counts[world, role]
            worlds.slots[slot_of(worlds, child)] = child
            _write_row(worlds, nodes, wave, world, child, row)
            wave.sizes[ROWS] += 1


@inlined
def num_joint(worlds: Worlds, world: int) -> int:
    """Number of joint moves of a world, at most 2 ** 30."""
    number = 1
    for role in range(worlds.counts.shape[1]):
        number = min(number * int(worlds.counts[world, role]), 1 << 30)
    return number


@inlined
def _hash(worlds: Worlds, world: int) -> np.uint64:
    """Hash of the parent and code of a world."""
    value = START ^ np.uint64(worlds.parent[world])
    for role in range(worlds.code.shape[1]):
        value = mixed_in(value, np.uint64(worlds.code[world, role]))
    return ended(value)


@inlined
def slot_of(worlds: Worlds, world: int) -> np.uint64:
    """Slot of the world with the same parent and code, or the free slot for it (linear probing)."""
    mask = np.uint64(len(worlds.slots) - 1)
    slot = _hash(worlds, world) & mask
    while True:
        occupant = int(worlds.slots[slot])
        if occupant < 0:
            return slot
        is_equal = worlds.parent[occupant] == worlds.parent[world]
        for role in range(worlds.code.shape[1]):
            if worlds.code[occupant, role] != worlds.code[world, role]:
                is_equal = False
        if is_equal:
            return slot
        slot = (slot + np.uint64(1)) & mask


@inlined
def _move_of(worlds: Worlds, nodes: Nodes, world: int, role: int, position: int) -> int:
    """A role's legal move at a position."""
    node = worlds.node[world, role]
    first = int(worlds.first[world, role])
    if node == NO_NODE:
        return first
    if node == CHANCE:
        return int(worlds.chance_move[first + position])
    return int(nodes.move[action_of(worlds, world, role, position)])


@inlined
def _write_row(worlds: Worlds, nodes: Nodes, wave: Wave, world: int, child: int, row: int) -> None:
    """Write the joint move from a world to its child as a row of moves."""
    wave.parent[row] = world
    for role in range(worlds.code.shape[1]):
        code = worlds.code[child, role]
        refused = (code >> UPPER) - 1
        position = code & ((1 << UPPER) - 1)
        wave.moves[row, role] = _move_of(worlds, nodes, world, role, position)
        wave.refused[row, role] = -1 if refused < 0 else nodes.move[refused]


# ------------------------------------------------------------------------
# New worlds, with their nodes and actions.


@kernel
def add_worlds(
    worlds: Worlds, nodes: Nodes, successors: Successors, growth: Growth, chance: int, decider: int
) -> None:
    """Add K worlds whose parents, codes and views are set; the arrays must have room.

    Args:
        chance: the role that chance plays, or -1.
        decider: a role that gets a node even where it has a single move; -1 for none.
    """
    _add(worlds, nodes, successors, growth, chance, decider, len(successors.over))


@inlined
def _add(
    worlds: Worlds,
    nodes: Nodes,
    successors: Successors,
    growth: Growth,
    chance_role: int,
    decider: int,
    num_added: int,
) -> None:
    """`add_worlds` for the first `num_added` rows of arrays that may be longer."""
    node_of, fresh = growth.node_of, growth.fresh
    num_nodes = nodes.sizes[NODES]
    num_worlds = worlds.sizes[SIZE]
    for k in range(num_added):
        world = num_worlds + k
        worlds.over[world] = successors.over[k]
        fresh[k] = False
        for role in range(len(successors.offsets)):
            begin = successors.offsets[role, k]
            num_moves = successors.offsets[role, k + 1] - begin
            worlds.counts[world, role] = num_moves
            worlds.node[world, role] = NO_NODE
            if successors.over[k]:
                worlds.value[world, role] = successors.worth[k, role]
                continue
            if role == chance_role and num_moves > 1:
                start = worlds.sizes[CHANCES]
                worlds.node[world, role] = CHANCE
                worlds.first[world, role] = start
                cumulative = 0.0
                for i in range(num_moves):
                    cumulative += successors.chances[begin - successors.offsets[role, 0] + i]
                    worlds.chance_move[start + i] = successors.values[begin + i]
                    worlds.chance_cdf[start + i] = cumulative
                worlds.sizes[CHANCES] += num_moves
                continue
            path = growth.views[world, role]
            node = int(node_of[path]) if role != chance_role else -1
            # A single move needs no statistics, unless the path already has a node: then the role
            # has several moves in another world of its information set.
            if role == chance_role or (num_moves == 1 and role != decider and node < 0):
                worlds.first[world, role] = successors.values[begin]
                continue
            if node < 0:
                node = new_node(nodes, role, path)
                node_of[path] = node
            fresh[k] |= node >= num_nodes
            worlds.node[world, role] = node
            _list_moves(worlds, nodes, world, role, node, successors.values, begin)
    worlds.sizes[SIZE] += num_added


@inlined
def _list_moves(
    worlds: Worlds, nodes: Nodes, world: int, role: int, node: int, values: IntArray, begin: int
) -> None:
    """Link a role's legal moves, which begin at `values[at]`, to the actions of its node."""
    count = int(worlds.counts[world, role])
    if nodes.first_action[node] < 0:
        worlds.first[world, role] = nodes.sizes[ACTIONS]
        new_actions(nodes, node, values, begin, count)
        return
    start = worlds.sizes[LISTED]
    previous, consecutive = -1, True
    for k in range(count):
        action = _find_action(nodes, node, previous, values[begin + k])
        if action < 0:
            action = new_actions(nodes, node, values, begin + k, 1)
        if k > 0 and action != previous + 1:
            consecutive = False
        worlds.listed[start + k] = action
        previous = action
    if consecutive:
        # Consecutive actions need no list: the first one and the count say it all.
        worlds.first[world, role] = worlds.listed[start]
    else:
        worlds.first[world, role] = -1 - start
        worlds.sizes[LISTED] += count


@inlined
def _find_action(nodes: Nodes, node: int, previous: int, move: int) -> int:
    """Action of a move, or -1; the search begins behind `previous` and wraps around once."""
    action = int(nodes.first_action[node]) if previous < 0 else int(nodes.next[previous])
    for _ in range(2):
        while action >= 0:
            if nodes.move[action] == move:
                return action
            if action == previous:
                return -1
            action = int(nodes.next[action])
        if previous < 0:
            return -1
        action = int(nodes.first_action[node])
    return -1


@inlined
def new_actions(nodes: Nodes, node: int, values: IntArray, begin: int, count: int) -> int:
    """Append actions for the `count` > 0 moves from `values[at]` on to the chain of a node.

    Returns:
        the first of these actions.
    """
    start, missed = int(nodes.sizes[ACTIONS]), nodes.selections[node]
    first = np.uint64(start)
    # One loop for each array, so that the compiler writes whole vectors.
    for k in range(np.uint64(count)):
        nodes.move[first + k] = values[np.uint64(begin) + k]
    for k in range(np.uint64(count)):
        nodes.next[first + k] = np.int64(first + k) + 1
    nodes.next[first + np.uint64(count - 1)] = -1
    for action in range(first, first + np.uint64(count)):
        nodes.owner[action] = node
    for action in range(first, first + np.uint64(count)):
        nodes.missed[action] = missed
        nodes.visits[action] = 0
    for action in range(first, first + np.uint64(count)):
        nodes.pending[action] = 0
        nodes.end[action] = -1
    for action in range(first, first + np.uint64(count)):
        nodes.discounted[action] = 0.0
        nodes.goals[action] = 0.0
        nodes.squares[action] = 0.0
        nodes.proof[action] = -1.0
    for action in range(first, first + np.uint64(count)):
        nodes.regret[action] = 0.0
        nodes.average[action] = 0.0
        nodes.share[action] = 0.0
    if nodes.first_action[node] < 0:
        nodes.first_action[node] = start
    else:
        nodes.next[nodes.last_action[node]] = start
    nodes.last_action[node] = start + count - 1
    nodes.sizes[ACTIONS] += count
    return start


@inlined
def new_node(nodes: Nodes, role: int, path: int) -> int:
    """Add a node without actions."""
    node = int(nodes.sizes[NODES])
    nodes.sizes[NODES] += 1
    nodes.role[node] = role
    nodes.path[node] = path
    nodes.first_action[node] = -1
    nodes.last_action[node] = -1
    nodes.selections[node] = 0
    nodes.trust[node] = 0.0
    return node
