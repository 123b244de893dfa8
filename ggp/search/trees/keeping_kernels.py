"""The kernels by which trees forget: rows that are kept move up, column by column.

A tree may have millions of actions, and a match waits meanwhile: no memory is used but theirs.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import BoolArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.search.trees.tree_tables import (
    ACTIONS,
    CHANCE,
    CHANCES,
    I32,
    LISTED,
    NO_NODE,
    NODES,
    OVER,
    SIZE,
    UPPER,
    Nodes,
    Wave,
    Worlds,
)

# ------------------------------------------------------------------------
# The kernel that proves wins and losses (Winands, Bjornsson & Saito, 2008).


@inlined
def _mover(worlds: Worlds, world: int) -> int:
    """The only role with a choice in a world; -1 if none has, -2 if several have or chance."""
    mover = -1
    for role in range(worlds.node.shape[1]):
        if worlds.node[world, role] == NO_NODE:
            continue
        if mover >= 0 or worlds.node[world, role] == CHANCE:
            return -2
        mover = role
    return mover


@kernel
def prove(worlds: Worlds, nodes: Nodes, wave: Wave) -> None:
    """Propagate proofs from the ends that lanes reached (MCTS-Solver).

    A role that can choose an action proved to win has won; if all actions of a node are proved, the
    best of them is its value. That holds only in games in which everybody knows everything, and in
    worlds in which at most one role has a choice.
    """
    for lane in range(len(wave.world)):
        if wave.status[lane] != OVER:
            continue
        end = int(wave.world[lane])
        child = end
        world = int(worlds.parent[child])
        while world >= 0:
            mover = _mover(worlds, world)
            if mover == -2:
                break
            if mover >= 0:
                first = int(worlds.first[world, mover])
                code = worlds.code[child, mover]
                if first < 0 or code >> UPPER:
                    break
                action = first + int(code)
                nodes.proof[action] = worlds.value[end, mover]
                nodes.end[action] = end
                best = _best_proved(nodes, int(worlds.node[world, mover]))
                if best < 0:
                    break
                end = int(nodes.end[best])
            child = world
            world = int(worlds.parent[child])


@inlined
def _best_proved(nodes: Nodes, node: int) -> int:
    """The action that proves the value of a node; -1 if it is not proved."""
    best = -1
    complete = True
    action = int(nodes.first_action[node])
    while action >= 0:
        proof = nodes.proof[action]
        if proof >= 1.0:
            return action
        if proof < 0.0:
            complete = False
        elif best < 0 or proof > nodes.proof[best]:
            best = action
        action = int(nodes.next[action])
    return best if complete else -1


@kernel
def count_depths(worlds: Worlds, depths: I32) -> None:
    """Set the depths of all worlds that can be reached from those with one."""
    for world in range(len(depths)):
        # Worlds come after those that lead to them.
        parent = worlds.parent[world]
        if parent >= 0 and depths[world] < 0 and depths[parent] >= 0:
            depths[world] = depths[parent] + 1


@kernel
def keep_worlds(
    worlds: Worlds, nodes: Nodes, keep: BoolArray, node: I32, action: I32, number: I32
) -> None:
    """Forget all worlds but some, which keep their order; follow new numbers of nodes and actions.

    Args:
        nodes: as they are now; proofs that end in forgotten worlds are forgotten.
        keep: `[W]` the worlds to keep. All their nodes must have been kept.
        node, action: new number of each node and action there was, -1 where it is forgotten.
        number: `[W]` set to the new number of each world, -1 where it is forgotten. Their slots
            are free afterwards: see `ggp.search.trees.tree_kernels.place_worlds`.
    """
    low = (1 << UPPER) - 1
    size, listed, chances = 0, 0, 0
    for world in range(len(keep)):
        number[world] = -1
        if not keep[world]:
            continue
        number[world] = size
        parent = worlds.parent[world]
        worlds.parent[size] = number[parent] if parent >= 0 else -1
        worlds.over[size] = worlds.over[world]
        for role in range(worlds.code.shape[1]):
            code = worlds.code[world, role]
            refused = (code >> UPPER) - 1
            if refused >= 0:
                code = (code & low) + ((np.int64(action[refused]) + 1) << UPPER)
            worlds.code[size, role] = code
            count = worlds.counts[world, role]
            worlds.counts[size, role] = count
            worlds.value[size, role] = worlds.value[world, role]
            kind, first = worlds.node[world, role], worlds.first[world, role]
            if kind == CHANCE:
                for k in range(count):
                    worlds.chance_move[chances + k] = worlds.chance_move[first + k]
                    worlds.chance_upto[chances + k] = worlds.chance_upto[first + k]
                first = chances
                chances += count
            elif kind >= 0:
                kind = node[kind]
                if first >= 0:
                    first = action[first]
                else:
                    for k in range(count):
                        worlds.listed[listed + k] = action[worlds.listed[-1 - first + k]]
                    first = -1 - listed
                    listed += count
            worlds.node[size, role] = kind
            worlds.first[size, role] = first
        size += 1
    worlds.sizes[SIZE] = size
    worlds.sizes[LISTED] = listed
    worlds.sizes[CHANCES] = chances
    for k in range(nodes.sizes[ACTIONS]):
        if nodes.end[k] >= 0:
            nodes.end[k] = number[nodes.end[k]]
            if nodes.end[k] < 0:
                nodes.proof[k] = -1.0
    worlds.slots[:] = -1


@kernel
def keep_nodes(nodes: Nodes, keep: BoolArray, number: I32, place: I32) -> None:
    """Forget all nodes except some, which keep their order and their actions.

    Args:
        keep: `[I]` the nodes to keep.
        number, place: set to the new number of each node and of each action, -1 where it is
            forgotten.
    """
    size = 0
    for node in range(nodes.sizes[NODES]):
        number[node] = size if keep[node] else -1
        size += keep[node]
    actions = 0
    for action in range(nodes.sizes[ACTIONS]):
        stays = keep[nodes.owner[action]]
        place[action] = actions if stays else -1
        actions += stays
    for node in range(nodes.sizes[NODES]):
        at = number[node]
        if at >= 0:
            nodes.role[at] = nodes.role[node]
            nodes.path[at] = nodes.path[node]
            nodes.first_action[at] = place[nodes.first_action[node]]
            nodes.last_action[at] = place[nodes.last_action[node]]
            nodes.selections[at] = nodes.selections[node]
            nodes.trust[at] = nodes.trust[node]
    for action in range(nodes.sizes[ACTIONS]):
        at = place[action]
        if at < 0:
            continue
        following = nodes.next[action]
        nodes.move[at] = nodes.move[action]
        nodes.next[at] = -1 if following < 0 else place[following]
        nodes.owner[at] = number[nodes.owner[action]]
        nodes.since[at] = nodes.since[action]
        nodes.pending[at] = nodes.pending[action]
        nodes.visits[at] = nodes.visits[action]
        nodes.discounted[at] = nodes.discounted[action]
        nodes.goals[at] = nodes.goals[action]
        nodes.squares[at] = nodes.squares[action]
        nodes.proof[at] = nodes.proof[action]
        nodes.end[at] = nodes.end[action]
        nodes.regret[at] = nodes.regret[action]
        nodes.average[at] = nodes.average[action]
        nodes.share[at] = nodes.share[action]
    nodes.sizes[NODES] = size
    nodes.sizes[ACTIONS] = actions
