"""The kernels by which trees over incomplete paths grow: new worlds, their nodes and actions."""

from __future__ import annotations

import numpy as np

from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.search.trees.tree_tables import (
    ACTIONS,
    CHANCE,
    CHANCES,
    I32,
    LISTED,
    NO_NODE,
    NODES,
    SIZE,
    Nodes,
    Worlds,
)


@inlined
def new_action(nodes: Nodes, node: int, move: int) -> int:
    """Add an action at the end of the chain of a node."""
    action = int(nodes.sizes[ACTIONS])
    nodes.sizes[ACTIONS] += 1
    nodes.move[action] = move
    nodes.next[action] = -1
    nodes.owner[action] = node
    nodes.since[action] = nodes.selections[node]
    nodes.pending[action] = 0
    nodes.visits[action] = 0
    nodes.discounted[action] = 0.0
    nodes.goals[action] = 0.0
    nodes.squares[action] = 0.0
    nodes.proof[action] = -1.0
    nodes.end[action] = -1
    nodes.regret[action] = 0.0
    nodes.average[action] = 0.0
    nodes.share[action] = 0.0
    if nodes.first_action[node] < 0:
        nodes.first_action[node] = action
    else:
        nodes.next[nodes.last_action[node]] = action
    nodes.last_action[node] = action
    return action


@inlined
def _new_actions(nodes: Nodes, node: int, values: IntArray, at: int, count: int) -> None:
    """Add the actions of a node that has none, at least one: those of moves `values[at ...]`."""
    first = np.uint64(nodes.sizes[ACTIONS])
    # A loop for each array: whole vectors are written at once.
    for k in range(np.uint64(count)):
        nodes.move[first + k] = values[np.uint64(at) + k]
    for k in range(np.uint64(count)):
        nodes.next[first + k] = np.int64(first + k) + 1
    nodes.next[first + np.uint64(count - 1)] = -1
    for action in range(first, first + np.uint64(count)):
        nodes.owner[action] = node
    for action in range(first, first + np.uint64(count)):
        nodes.since[action] = 0
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
    nodes.first_action[node] = np.int64(first)
    nodes.last_action[node] = np.int64(first) + count - 1
    nodes.sizes[ACTIONS] += count


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


@inlined
def _find_action(nodes: Nodes, node: int, after: int, move: int) -> int:
    """The action of a move, searched from the one after `after` on, once around; -1 for none."""
    action = int(nodes.first_action[node]) if after < 0 else int(nodes.next[after])
    while action >= 0:
        if nodes.move[action] == move:
            return action
        action = int(nodes.next[action])
    action = int(nodes.first_action[node])
    while action >= 0 and after >= 0:
        if nodes.move[action] == move:
            return action
        if action == after:
            break
        action = int(nodes.next[action])
    return -1


@inlined
def _list_moves(
    worlds: Worlds, nodes: Nodes, world: int, role: int, node: int, values: IntArray, at: int
) -> None:
    """Record the legal moves `values[at : at + count]` of a role at its node."""
    count = int(worlds.counts[world, role])
    if nodes.first_action[node] < 0:
        worlds.first[world, role] = nodes.sizes[ACTIONS]
        _new_actions(nodes, node, values, at, count)
        return
    start = worlds.sizes[LISTED]
    after, in_a_row = -1, True
    for k in range(count):
        action = _find_action(nodes, node, after, values[at + k])
        if action < 0:
            action = new_action(nodes, node, values[at + k])
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


@kernel
def add_worlds(
    worlds: Worlds,
    nodes: Nodes,
    node_of: I32,
    over: BoolArray,
    paths: IntArray,
    offsets: IntArray,
    values: IntArray,
    chance_role: int,
    probabilities: FloatArray,
    own: int,
    fresh: BoolArray,
) -> None:
    """Add K worlds after the existing ones. Their parents and codes are set; the arrays have room.

    Args:
        node_of: node of each path, -1 for none; new nodes are added.
        over: `[K]` whether the game is over; no role has a move then.
        paths: `[K, R]` what every role knows.
        offsets: `[R, K + 1]` index in `values` of the legal moves of each role.
        chance_role: the role that chance plays, or -1.
        probabilities: of its moves.
        own: a role that gets a node wherever it has a move; -1 for none.
        fresh: `[K]` set where a node is new, or was created earlier in this call.
    """
    add_some(
        worlds,
        nodes,
        node_of,
        len(over),
        over,
        paths,
        offsets,
        values,
        chance_role,
        probabilities,
        own,
        fresh,
    )


@inlined
def add_some(
    worlds: Worlds,
    nodes: Nodes,
    node_of: I32,
    number: int,
    over: BoolArray,
    paths: IntArray,
    offsets: IntArray,
    values: IntArray,
    chance_role: int,
    probabilities: FloatArray,
    own: int,
    fresh: BoolArray,
) -> None:
    """The same as `add_worlds`, where arrays hold more than the number of worlds."""
    nodes_before = nodes.sizes[NODES]
    known = worlds.sizes[SIZE]
    for k in range(number):
        world = known + k
        worlds.over[world] = over[k]
        fresh[k] = False
        for role in range(len(offsets)):
            at = offsets[role, k]
            count = offsets[role, k + 1] - at
            worlds.counts[world, role] = count
            worlds.node[world, role] = NO_NODE
            if over[k]:
                continue
            if role == chance_role and count > 1:
                start = worlds.sizes[CHANCES]
                worlds.node[world, role] = CHANCE
                worlds.first[world, role] = start
                upto = 0.0
                for i in range(count):
                    upto += probabilities[at - offsets[role, 0] + i]
                    worlds.chance_move[start + i] = values[at + i]
                    worlds.chance_upto[start + i] = upto
                worlds.sizes[CHANCES] += count
                continue
            path = paths[k, role]
            node = int(node_of[path]) if role != chance_role else -1
            # A single move needs no statistics, unless the role cannot know that it is the only
            # one: it had others in another world with the same path.
            if role == chance_role or (count == 1 and role != own and node < 0):
                worlds.first[world, role] = values[at]
                continue
            if node < 0:
                node = new_node(nodes, role, path)
                node_of[path] = node
            fresh[k] |= node >= nodes_before
            worlds.node[world, role] = node
            _list_moves(worlds, nodes, world, role, node, values, at)
    worlds.sizes[SIZE] += number
