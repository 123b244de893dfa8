"""The kernel that sends a wave down: it walks, and adds the worlds that joint moves lead to.

    walk ─▶ joint moves ─▶ successors, moves, percepts ─▶ paths ─▶ worlds ─▶ walk on ...

It takes as arguments how lanes choose (see `selection`), and how to find out what comes of joint
moves. In a game that hides much, a wave meets ten new worlds in a row on its way down, and each
time few of its lanes do: calls by Python would take ten times as long as all that is computed. So
a circuit is asked inside the kernel (`ask_circuit`). Other machines are asked by Python, and so are
circuits about what is rare: the kernel returns, and is called again with the answers.
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
"""Why it returns: no lane walks on; it was time to look at the clock, or there are new nodes and it
pauses there; records, or tables, need more room; percepts have no id yet; Python must find out what
comes of the joint moves. All but the first: it must be called again."""

STEPS_AT_ONCE = 64
"""Joint moves of a lane between two looks at the clock."""

STRAGGLERS = 32
"""When less than 1 / this of a wave still walks on, it is played out where it is: a step of few
lanes costs nearly as much as one of many."""

LISTED_MOVES, ENTERED, PENDING, GIVEN, MOST = range(5)
"""Indices into `Growth.sizes`."""


@by_reference
class Arrivals(NamedTuple):
    """Answers of the machine about K new worlds.

    Attributes:
        over: `[K]` whether the game is over: no role has a move then.
        worth: `[K, R]` goals from 0 to 1 if it is.
        percepts: `[K, R]` ids of the percepts of roles.
        offsets: `[R, K + 1]` index in `values` of the legal moves of each role; one role follows
            the other.
        values: the legal moves.
        chances: probabilities of moves of chance.
    """

    over: BoolArray
    worth: FloatArray
    percepts: IntArray
    offsets: IntArray
    values: IntArray
    chances: FloatArray


@by_reference
class Growth(NamedTuple):
    """What worlds consist of besides `Worlds`, and scratch for K of them.

    Attributes:
        sizes: out: most moves that were listed at once; number of worlds that the kernel listed and
            added; whether lanes wait at joint moves whose worlds must be added. In: for how many of
            these `Arrivals` was filled by Python, -1 if it was not. Out: most worlds there may be.
        packed: `[W, words]` their states, on a circuit.
        views: `[W, R]` the path of every role.
        node_of: node of each path, -1 for none; new nodes are added.
        rows, found: `[K * R, 4]`, `[K * R]` scratch.
        fresh: `[K]` set where a node is new, or was created earlier in the same call.
    """

    sizes: IntArray
    packed: U64
    views: IntArray
    node_of: I32
    rows: U64
    found: IntArray
    fresh: BoolArray


@by_reference
class Terms(NamedTuple):
    """Where lanes stop, and what worlds are.

    Attributes:
        most_worlds, most_actions, most_depth: of a tree; lanes that have made `most_depth` joint
            moves are played out.
        chance_role: the role that chance plays, or -1.
        most_chance: most moves of chance that a circuit is asked for in a world.
        pauses: whether to return where nodes were added.
    """

    most_worlds: int
    most_actions: int
    most_depth: int
    chance_role: int
    most_chance: int
    pauses: bool


Ask = Callable[[Any, Arrivals, Growth, Wave, Terms, int, tuple[int, ...]], int]
"""Fills `Arrivals` for the joint moves of a wave; `DONE`, or what is lacking: then it is as before.

Args:
    asked: what the machine needs, for `ask_circuit` its `Listing`, whose arrays `Arrivals` holds.
    listed, growth, wave, terms: see `grow`; `known`: number of worlds.
    width: of the machine's kernels.
"""


@kernel
def grow(
    choose: Choose,
    rule: Rule,
    ask: Ask,
    asked: Any,
    listed: Arrivals,
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    paths: PathRows,
    growth: Growth,
    terms: Terms,
    width: tuple[int, ...],
) -> int:
    """Send a wave down until all lanes have ended, or are where they are played out.

    Args:
        choose, rule: how lanes choose: see `selection`.
        ask, asked: see `Ask`.
        listed: answers, by `ask` or by Python.

    Returns:
        why it returns. If joint moves are `PENDING`, the next call begins with adding their worlds:
        until then, the slots of worlds must stay.
    """
    for _ in range(STEPS_AT_ONCE):
        known = int(worlds.sizes[SIZE])
        most = _most_worlds(worlds, nodes, terms)
        if not growth.sizes[PENDING]:
            wanted = min(known + len(wave.world), most) + 1
            if wanted > len(growth.views) or wanted > len(worlds.parent):
                return ROOM
            if 2 * wanted > len(worlds.slots):
                return ROOM
            if not _walk(choose, rule, worlds, nodes, wave, most, terms.most_depth):
                return NO_RECORDS
            growth.sizes[PENDING] = 1
        rows, count = int(wave.sizes[ROWS]), int(growth.sizes[GIVEN])
        if rows == 0:
            return DONE
        by_python = count >= 0
        if not by_python:
            count = rows
            growth.sizes[MOST] = most
            lacking = UNLISTED
            if known + rows <= most:
                lacking = ask(asked, listed, growth, wave, terms, known, width)
            if lacking != DONE:
                return lacking
        before = nodes.sizes[NODES]
        if not _enter(worlds, nodes, wave, listed, paths, growth, terms, count):
            return ROOM
        if not by_python:
            growth.sizes[ENTERED] += count
        if not _go_on(wave, known, rows, growth.fresh):
            return DONE
        if by_python or (terms.pauses and nodes.sizes[NODES] > before):
            return PAUSED
    return PAUSED


@inlined
def _most_worlds(worlds: Worlds, nodes: Nodes, terms: Terms) -> int:
    """Most worlds there may be, if the others have as many actions as the existing ones."""
    known, actions = int(worlds.sizes[SIZE]), int(nodes.sizes[ACTIONS])
    left = max(terms.most_actions - actions, 0) // max(1, actions // max(known, 1))
    return max(min(terms.most_worlds, known + left), known)


@inlined
def _go_on(wave: Wave, known: int, rows: int, fresh: BoolArray) -> bool:
    """Let lanes walk no further that are at new nodes, or straggle.

    Returns:
        whether some walk on.
    """
    walks_on = False
    for lane in range(len(wave.world)):
        if wave.status[lane] == WALKING:
            if STRAGGLERS * rows < len(wave.world) or fresh[wave.world[lane] - known]:
                wave.status[lane] = LEAF
            else:
                walks_on = True
    return walks_on


@inlined
def _enter(
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    listed: Arrivals,
    paths: PathRows,
    growth: Growth,
    terms: Terms,
    count: int,
) -> bool:
    """Add the worlds that the first joint moves lead to; returns whether there was room."""
    known, num_roles = int(worlds.sizes[SIZE]), worlds.code.shape[1]
    moves = listed.offsets[num_roles - 1, count]
    growth.sizes[LISTED_MOVES] = max(growth.sizes[LISTED_MOVES], moves)
    if (
        worlds.sizes[LISTED] + moves > len(worlds.listed)
        or worlds.sizes[CHANCES] + moves > len(worlds.chance_move)
        or nodes.sizes[NODES] + count * num_roles > len(nodes.role)
        or nodes.sizes[ACTIONS] + moves > len(nodes.move)
        or not _extend_paths(wave, listed, paths, growth, terms, known, count)
    ):
        return False
    wave.sizes[ROWS] = growth.sizes[PENDING] = 0
    growth.sizes[GIVEN] = -1
    _add(worlds, nodes, listed, growth, terms.chance_role, -1, count)
    return True


# ------------------------------------------------------------------------
# How the kernel finds out what comes of joint moves.


@inlined
def ask_circuit(
    asked: Listing,
    listed: Arrivals,
    growth: Growth,
    wave: Wave,
    terms: Terms,
    known: int,
    width: tuple[int, ...],
) -> int:
    """Ask the circuit of a `Listing`, and write the states of the new worlds; see `Ask`."""
    count = int(wave.sizes[ROWS])
    if count > len(asked.over):
        return UNLISTED
    moves = list_after(asked, growth.packed, wave.parent, wave.moves, count, width)
    if moves < 0 or _is_unusual(asked, terms, count):
        return UNLISTED
    growth.sizes[LISTED_MOVES] = max(growth.sizes[LISTED_MOVES], moves)
    if not find_percepts(asked, wave.moves, count):
        return PERCEPTS
    if moves > min(len(asked.values), len(listed.chances)) or known + count > len(growth.packed):
        return ROOM
    _share_chances(asked, listed.chances, terms.chance_role, count)
    for k in range(count):
        for word in range(growth.packed.shape[1]):
            growth.packed[known + k, word] = asked.states[k, word]
    return DONE


@inlined
def ask_nobody(
    asked: Arrivals,
    listed: Arrivals,
    growth: Growth,
    wave: Wave,
    terms: Terms,
    known: int,
    width: tuple[int, ...],
) -> int:
    """Leave it to Python; see `Ask`."""
    return UNLISTED


@inlined
def _is_unusual(listing: Listing, terms: Terms, count: int) -> bool:
    """Whether a role has no move though the game is not over, or chance has too many."""
    for role in range(len(listing.offsets)):
        for k in range(count):
            number = listing.offsets[role, k + 1] - listing.offsets[role, k]
            if number > terms.most_chance and role == terms.chance_role:
                return True
            if number == 0 and not listing.over[k]:
                return True
    return False


@inlined
def _extend_paths(
    wave: Wave,
    listed: Arrivals,
    paths: PathRows,
    growth: Growth,
    terms: Terms,
    known: int,
    count: int,
) -> bool:
    """Write the path of every role in new worlds; returns whether there was room."""
    views, num_roles, size = growth.views, growth.views.shape[1], 0
    for role in range(num_roles):
        for k in range(count):
            views[known + k, role] = views[wave.parent[k], role]
            if role != terms.chance_role:
                growth.rows[size, 0] = np.uint64(views[wave.parent[k], role])
                growth.rows[size, 1] = np.uint64(wave.moves[k, role])
                growth.rows[size, 2] = np.uint64(listed.percepts[k, role])
                growth.rows[size, 3] = np.uint64(wave.refused[k, role])
                size += 1
    if not number_paths(paths, growth.rows, size, growth.found):
        return False
    size = 0
    for role in range(num_roles):
        for k in range(count):
            if role != terms.chance_role:
                views[known + k, role] = growth.found[size]
                size += 1
    return bool(paths.sizes[0] <= len(growth.node_of))


@inlined
def _share_chances(listing: Listing, chances: FloatArray, role: int, count: int) -> None:
    """Write the probabilities of moves of chance: all of a world are equally likely."""
    if role < 0:
        return
    first = listing.offsets[role, 0]
    for k in range(count):
        start, end = listing.offsets[role, k], listing.offsets[role, k + 1]
        for at in range(start - first, end - first):
            chances[at] = 1.0 / (end - start)


# ------------------------------------------------------------------------
# Lanes walk through the worlds that are known.


@inlined
def _walk(
    choose: Choose,
    rule: Rule,
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    most: int,
    most_depth: int,
) -> bool:
    """Walk every lane down until it ends, or to a joint move that leads to an unknown world.

    Such joint moves are written as rows, equal ones once. Row k will become world number (existing
    worlds) + k. From `most` worlds on, rows become no world: each of them has a lane that is
    `LOOSE`.

    Args:
        worlds: with room for one more world, and one more for each lane, up to `most`.
        most_depth: lanes that have made this many joint moves are played out.

    Returns:
        whether it is done; if not, records need more room, and it must be called again.
    """
    num_roles = worlds.code.shape[1]
    known = worlds.sizes[SIZE]
    for lane in range(len(wave.world)):
        if wave.status[lane] != WALKING:
            continue
        world = int(wave.world[lane])
        while world < known:
            if worlds.over[world]:
                wave.status[lane] = OVER
                break
            if wave.depth[lane] >= most_depth:
                wave.status[lane] = LEAF
                break
            if wave.sizes[RECORDS] + num_roles > len(wave.action):
                wave.world[lane] = world
                return False
            rows = wave.sizes[ROWS]
            # Written in the place of the next world; it becomes none if an equal one exists.
            child = min(known + rows, most)
            worlds.parent[child] = world
            for role in range(num_roles):
                worlds.code[child, role] = _code(
                    choose, rule, worlds, nodes, wave, lane, world, role
                )
            wave.depth[lane] += 1
            slot = slot_of(worlds, child)
            if worlds.slots[slot] >= 0:
                world = int(worlds.slots[slot])
                continue
            _write_row(worlds, nodes, wave, world, child, rows)
            wave.sizes[ROWS] += 1
            if child == most:
                wave.status[lane] = LOOSE
                wave.row[lane] = rows
                break
            worlds.slots[slot] = child
            world = child
        wave.world[lane] = world
    return True


@inlined
def _code(
    choose: Choose,
    rule: Rule,
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    lane: int,
    world: int,
    role: int,
) -> int:
    """Choose and record a role's action; returns its code."""
    node = int(worlds.node[world, role])
    if node == NO_NODE:
        return 0
    if node == CHANCE:
        return _draw_chance(worlds, world, role, wave.random)
    action = choose(nodes, wave, lane, node, role, rule)
    if wave.learns[lane, role]:
        nodes.selections[node] += 1
        nodes.pending[action] += 1
        record = wave.sizes[RECORDS]
        wave.action[record] = action
        wave.before[record] = wave.head[lane]
        wave.head[lane] = record
        wave.sizes[RECORDS] += 1
    position = _position(worlds, world, role, action)
    if position >= 0:
        return position
    position = int(uniform(wave.random) * worlds.counts[world, role])
    return position + ((action + 1) << UPPER)


@inlined
def _position(worlds: Worlds, world: int, role: int, action: int) -> int:
    """The position of an action among the legal moves of a role, -1 if it is not legal."""
    first = int(worlds.first[world, role])
    count = int(worlds.counts[world, role])
    if first >= 0:
        place = action - first
        return place if 0 <= place < count else -1
    for k in range(count):
        if worlds.listed[-1 - first + k] == action:
            return k
    return -1


@inlined
def _draw_chance(worlds: Worlds, world: int, role: int, random: NDArray[np.uint64]) -> int:
    """The position of a move of chance."""
    first = int(worlds.first[world, role])
    last = int(worlds.counts[world, role]) - 1
    point = uniform(random)
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if worlds.chance_upto[first + middle] > point:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def _hash(worlds: Worlds, world: int) -> np.uint64:
    """Hash of the parent and code of a world."""
    value = START ^ np.uint64(worlds.parent[world])
    for role in range(worlds.code.shape[1]):
        value = mixed_in(value, np.uint64(worlds.code[world, role]))
    return ended(value)


@inlined
def slot_of(worlds: Worlds, world: int) -> np.uint64:
    """The slot of the known world with the same parent and code, or the free one for it."""
    mask = np.uint64(len(worlds.slots) - 1)
    slot = _hash(worlds, world) & mask
    while True:
        known = int(worlds.slots[slot])
        if known < 0:
            return slot
        same = worlds.parent[known] == worlds.parent[world]
        for role in range(worlds.code.shape[1]):
            if worlds.code[known, role] != worlds.code[world, role]:
                same = False
        if same:
            return slot
        slot = (slot + np.uint64(1)) & mask


@inlined
def _move_of(worlds: Worlds, nodes: Nodes, world: int, role: int, position: int) -> int:
    """The legal move of a role at a position."""
    node = worlds.node[world, role]
    first = int(worlds.first[world, role])
    if node == NO_NODE:
        return first
    if node == CHANCE:
        return int(worlds.chance_move[first + position])
    if first >= 0:
        return int(nodes.move[first + position])
    return int(nodes.move[worlds.listed[-1 - first + position]])


@inlined
def _write_row(worlds: Worlds, nodes: Nodes, wave: Wave, world: int, child: int, row: int) -> None:
    """Write the joint move that leads from a world to a child, as moves."""
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
    worlds: Worlds, nodes: Nodes, listed: Arrivals, growth: Growth, chance_role: int, own: int
) -> None:
    """Add the worlds of K particles; parents, codes and views are set, the arrays have room.

    Args:
        chance_role: the role that chance plays, or -1.
        own: a role that gets a node wherever it has a move; -1 for none.
    """
    _add(worlds, nodes, listed, growth, chance_role, own, len(listed.over))


@inlined
def _add(
    worlds: Worlds,
    nodes: Nodes,
    listed: Arrivals,
    growth: Growth,
    chance_role: int,
    own: int,
    number: int,
) -> None:
    """The same as `add_worlds`, where arrays hold more than the number of worlds."""
    node_of, fresh = growth.node_of, growth.fresh
    nodes_before = nodes.sizes[NODES]
    known = worlds.sizes[SIZE]
    for k in range(number):
        world = known + k
        worlds.over[world] = listed.over[k]
        fresh[k] = False
        for role in range(len(listed.offsets)):
            at = listed.offsets[role, k]
            count = listed.offsets[role, k + 1] - at
            worlds.counts[world, role] = count
            worlds.node[world, role] = NO_NODE
            if listed.over[k]:
                worlds.value[world, role] = listed.worth[k, role]
                continue
            if role == chance_role and count > 1:
                start = worlds.sizes[CHANCES]
                worlds.node[world, role] = CHANCE
                worlds.first[world, role] = start
                upto = 0.0
                for i in range(count):
                    upto += listed.chances[at - listed.offsets[role, 0] + i]
                    worlds.chance_move[start + i] = listed.values[at + i]
                    worlds.chance_upto[start + i] = upto
                worlds.sizes[CHANCES] += count
                continue
            path = growth.views[world, role]
            node = int(node_of[path]) if role != chance_role else -1
            # A single move needs no statistics, unless the role cannot know that it is the only
            # one: it had others in another world with the same path.
            if role == chance_role or (count == 1 and role != own and node < 0):
                worlds.first[world, role] = listed.values[at]
                continue
            if node < 0:
                node = new_node(nodes, role, path)
                node_of[path] = node
            fresh[k] |= node >= nodes_before
            worlds.node[world, role] = node
            _list_moves(worlds, nodes, world, role, node, listed.values, at)
    worlds.sizes[SIZE] += number


@inlined
def _list_moves(
    worlds: Worlds, nodes: Nodes, world: int, role: int, node: int, values: IntArray, at: int
) -> None:
    """Record the legal moves `values[at : at + count]` of a role at its node."""
    count = int(worlds.counts[world, role])
    if nodes.first_action[node] < 0:
        worlds.first[world, role] = nodes.sizes[ACTIONS]
        new_actions(nodes, node, values, at, count)
        return
    start = worlds.sizes[LISTED]
    after, in_a_row = -1, True
    for k in range(count):
        action = _find_action(nodes, node, after, values[at + k])
        if action < 0:
            action = new_actions(nodes, node, values, at + k, 1)
        if k > 0 and action != after + 1:
            in_a_row = False
        worlds.listed[start + k] = action
        after = action
    if in_a_row:
        # Consecutive actions need no list.
        worlds.first[world, role] = worlds.listed[start]
    else:
        worlds.first[world, role] = -1 - start
        worlds.sizes[LISTED] += count


@inlined
def _find_action(nodes: Nodes, node: int, after: int, move: int) -> int:
    """The action of a move, searched from the one after `after` on, once around; -1 for none."""
    action = int(nodes.first_action[node]) if after < 0 else int(nodes.next[after])
    for _ in range(2):
        while action >= 0:
            if nodes.move[action] == move:
                return action
            if action == after:
                return -1
            action = int(nodes.next[action])
        if after < 0:
            return -1
        action = int(nodes.first_action[node])
    return -1


@inlined
def new_actions(nodes: Nodes, node: int, values: IntArray, at: int, count: int) -> int:
    """Add the actions of moves `values[at ...]`, at least one, at the end of the chain of a node.

    Returns:
        the first of them.
    """
    start, since = int(nodes.sizes[ACTIONS]), nodes.selections[node]
    first = np.uint64(start)
    # A loop for each array: whole vectors are written at once.
    for k in range(np.uint64(count)):
        nodes.move[first + k] = values[np.uint64(at) + k]
    for k in range(np.uint64(count)):
        nodes.next[first + k] = np.int64(first + k) + 1
    nodes.next[first + np.uint64(count - 1)] = -1
    for action in range(first, first + np.uint64(count)):
        nodes.owner[action] = node
    for action in range(first, first + np.uint64(count)):
        nodes.since[action] = since
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
