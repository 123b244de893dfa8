"""The kernels of trees over incomplete paths: walking down, and backing goals up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import BoolArray, FloatArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import START, ended, mixed_in, uniform
from ggp.search.trees.regret_kernels import match_regrets
from ggp.search.trees.tree_tables import (
    CHANCE,
    LEAF,
    LOOSE,
    NO_NODE,
    OVER,
    PRIOR_VISITS,
    RECORDS,
    ROWS,
    SIZE,
    UPPER,
    VIRTUAL_LOSS,
    WALKING,
    Nodes,
    Wave,
    Worlds,
)


@inlined
def _guided_ucb(
    nodes: Nodes, node: int, exploration: float, choices: float, prior: FloatArray
) -> int:
    """Like `_ucb`, with visits added to each action that are worth what its move was elsewhere.

    So actions are not all tried before some are tried again. Of the choices under way only a share
    counts as lost, or lanes of a wave would leave good actions that were hardly tried.
    """
    best, highest = -1, -1.0
    role, selections = nodes.role[node], nodes.selections[node]
    log_all = np.log(selections + 1.0)
    bonus = exploration * (1.0 + np.log(1.0 + selections / choices))
    action = int(nodes.first_action[node])
    while action >= 0:
        score = nodes.proof[action]
        if score >= 1.0:
            return action
        if score < 0.0:
            since, visits, pending = (
                nodes.since[action],
                nodes.visits[action],
                nodes.pending[action],
            )
            log_available = log_all if since == 0 else np.log(selections - since + 1.0)
            score = nodes.discounted[action] + PRIOR_VISITS * prior[role, nodes.move[action]]
            score /= PRIOR_VISITS + visits + VIRTUAL_LOSS * pending
            score += bonus * np.sqrt(log_available / (PRIOR_VISITS + visits + pending))
        if score > highest:
            highest = score
            best = action
        action = int(nodes.next[action])
    return best


@inlined
def _ucb(nodes: Nodes, node: int, exploration: float, random: NDArray[np.uint64]) -> int:
    """The action of highest mean + exploration * sqrt(ln(times available) / times chosen).

    Actions never chosen come first, by lot. Choices under way count as chosen, without a goal. An
    action proved to win is taken at once; of other proved actions the goal is known.
    """
    best, highest, untried = -1, -1.0, 0
    selections = nodes.selections[node]
    log_all = np.log(selections + 1.0)
    action = int(nodes.first_action[node])
    while action >= 0:
        chosen = nodes.visits[action] + nodes.pending[action]
        proof = nodes.proof[action]
        if proof >= 1.0:
            return action
        if proof >= 0.0:
            if untried == 0 and proof > highest:
                highest = proof
                best = action
        elif chosen == 0:
            untried += 1
            if uniform(random) * untried < 1.0:
                best = action
        elif untried == 0:
            since = nodes.since[action]
            log_available = log_all if since == 0 else np.log(selections - since + 1.0)
            score = nodes.discounted[action] / chosen
            score += exploration * np.sqrt(log_available / chosen)
            if score > highest:
                highest = score
                best = action
        action = int(nodes.next[action])
    return best


@inlined
def _by_model(nodes: Nodes, node: int, random: NDArray[np.uint64]) -> int:
    """An action drawn by the shares of the role's model."""
    point = uniform(random)
    action = int(nodes.first_action[node])
    drawn = action
    while action >= 0:
        if nodes.share[action] > 0.0:
            drawn = action
            point -= nodes.share[action]
            if point < 0.0:
                break
        action = int(nodes.next[action])
    return drawn


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
def _choose(
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    lane: int,
    world: int,
    role: int,
    exploration: float,
    weight: float,
    choices: float,
    prior: FloatArray,
) -> int:
    """Choose and record a role's action; returns its code."""
    node = int(worlds.node[world, role])
    if node == NO_NODE:
        return 0
    if node == CHANCE:
        return _draw_chance(worlds, world, role, wave.random)
    if len(wave.odds) > 0:
        action = match_regrets(nodes, wave, lane, node, role, exploration, weight)
    elif nodes.trust[node] > 0.0 and uniform(wave.random) < nodes.trust[node]:
        action = _by_model(nodes, node, wave.random)
    elif len(prior) > 0:
        action = _guided_ucb(nodes, node, exploration, choices, prior)
    else:
        action = _ucb(nodes, node, exploration, wave.random)
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
def _hash(worlds: Worlds, world: int) -> np.uint64:
    """Hash of the parent and code of a world."""
    value = START ^ np.uint64(worlds.parent[world])
    for role in range(worlds.code.shape[1]):
        value = mixed_in(value, np.uint64(worlds.code[world, role]))
    return ended(value)


@inlined
def _slot(worlds: Worlds, world: int) -> np.uint64:
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


@kernel
def walk(
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    most: int,
    most_depth: int,
    exploration: float,
    weight: float,
    choices: float,
    prior: FloatArray,
) -> bool:
    """Walk every lane down until it ends, or to a joint move that leads to an unknown world.

    Such joint moves are written as rows, equal ones once. Row k will become world number (existing
    worlds) + k. From `most` worlds on, rows become no world: each of them has a lane that is
    `LOOSE`.

    Args:
        worlds: with room for one more world, and one more for each lane, up to `most`.
        most_depth: lanes that have made this many joint moves are played out.
        exploration: factor of the UCB1 bonus; where regrets are matched, the probability with which
            the learner chooses uniformly.
        weight: of this wave in the average strategy.
        choices: number of them at a node with which guided lanes explore 1 + ln(2) times as much
            as where few were made; infinite if they explore as much everywhere.
        prior: `[R, M]` what moves of roles are worth on average, by id, from 0 to 1; `[0, 0]`
            where that is not known.

    Returns:
        whether it is done; if not, records need more room, and it must be called again.
    """
    return walk_lanes(worlds, nodes, wave, most, most_depth, exploration, weight, choices, prior)


@inlined
def walk_lanes(
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    most: int,
    most_depth: int,
    exploration: float,
    weight: float,
    choices: float,
    prior: FloatArray,
) -> bool:
    """The same as `walk`, as a part of other kernels."""
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
                worlds.code[child, role] = _choose(
                    worlds, nodes, wave, lane, world, role, exploration, weight, choices, prior
                )
            wave.depth[lane] += 1
            slot = _slot(worlds, child)
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


@kernel
def place_worlds(worlds: Worlds) -> None:
    """Give slots to all worlds that are not particles; all slots must be free (-1)."""
    for world in range(worlds.sizes[SIZE]):
        if worlds.parent[world] >= 0:
            worlds.slots[_slot(worlds, world)] = world


@kernel
def back_up(
    nodes: Nodes, wave: Wave, goals: FloatArray, turns: FloatArray, done: BoolArray, keep: float
) -> None:
    """Add the results of lanes to all actions they chose; lanes that are not done leave no trace.

    Args:
        goals: `[L, R]` from 0 to 1.
        turns: `[L]` to the end.
        keep: share of a goal's distance from the middle that remains after each turn.
    """
    for lane in range(len(done)):
        record = int(wave.head[lane])
        share = keep ** turns[lane]
        while record >= 0:
            action = wave.action[record]
            node = nodes.owner[action]
            nodes.pending[action] -= 1
            if done[lane]:
                goal = goals[lane, nodes.role[node]]
                nodes.visits[action] += 1
                nodes.discounted[action] += 0.5 + share * (goal - 0.5)
                nodes.goals[action] += goal
                nodes.squares[action] += goal * goal
            else:
                nodes.selections[node] -= 1
            record = int(wave.before[record])
