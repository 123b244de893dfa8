"""The kernel that proves wins and losses (Winands, Bjornsson & Saito, 2008)."""

from __future__ import annotations

from ggp.machine.compiling.jit import inlined, kernel
from ggp.search.trees.tree_tables import CHANCE, NO_NODE, OVER, UPPER, Nodes, Wave, Worlds


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
