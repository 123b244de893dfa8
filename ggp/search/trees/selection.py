"""Selection rules of trees: how lanes choose actions, and how their goals update statistics.

`growing.grow` calls one of the functions below at every node on a lane's way down, with the
parameters of the rule; `PathsTree.wave` backs up the goals at the end:

    ucb           Ucb          UCB1 (Kocsis & Szepesvari, 2006)
    guided_ucb    GuidedUcb    UCB1 with the moves' mean goals in playouts as a prior
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.mixing import uniform
from ggp.search.trees.tree_tables import (
    CHANCE,
    I32,
    KEEP,
    NO_NODE,
    OVER,
    PRIOR_VISITS,
    UPPER,
    VIRTUAL_LOSS,
    Nodes,
    Wave,
    Worlds,
)


@by_reference
class Ucb(NamedTuple):
    """Parameters of UCB1; `exploration`: factor of the bonus, for goals from 0 to 1."""

    exploration: float


@by_reference
class GuidedUcb(NamedTuple):
    """Parameters of UCB1 with priors from playouts.

    Attributes:
        exploration: factor of the bonus, for goals from 0 to 1.
        choices: after this many choices at a node, lanes explore 1 + ln(2) times as much as at a
            new one; infinite for constant exploration.
        prior: `[R, M]` mean goals of the moves of roles, by id, from 0 to 1.
    """

    exploration: float
    choices: float
    prior: FloatArray


Rule = Ucb | GuidedUcb

Choose = Callable[[Nodes, Wave, int, int, int, Any], int]
"""Chooses an action; its arguments are nodes, wave, lane, node, role, and the rule's parameters."""


@inlined
def _draw_by_model(nodes: Nodes, node: int, random: NDArray[np.uint64]) -> int:
    """An action drawn from the role's move model, with probability `trust`; else -1."""
    if nodes.trust[node] <= 0.0 or uniform(random) >= nodes.trust[node]:
        return -1
    point = uniform(random)
    action = int(nodes.first_action[node])
    choice = action
    while action >= 0:
        if nodes.share[action] > 0.0:
            choice = action
            point -= nodes.share[action]
            if point < 0.0:
                break
        action = int(nodes.next[action])
    return choice


@inlined
def guided_ucb(nodes: Nodes, wave: Wave, lane: int, node: int, role: int, rule: GuidedUcb) -> int:
    """Like `ucb`, with one visit added to each action, worth its move's mean goal in playouts.

    After n choices at the node, `available` of them since the action was first legal, it maximises

        (goals + prior) / (visits + 1 + 0.3 pending)
            + c (1 + ln(1 + n / choices)) sqrt(ln(available + 1) / (visits + 1 + pending))

    So lanes need not try every action first. Only a share of pending choices counts as lost:
    otherwise the lanes of a wave would leave good actions that they had hardly tried.
    """
    best, highest = _draw_by_model(nodes, node, wave.random), -1.0
    if best >= 0:
        return best
    selections = nodes.selections[node]
    log_all = np.log(selections + 1.0)
    bonus = rule.exploration * (1.0 + np.log(1.0 + selections / rule.choices))
    action = int(nodes.first_action[node])
    while action >= 0:
        score = nodes.proof[action]
        if score >= 1.0:
            return action
        if score < 0.0:
            missed, visits, pending = (
                nodes.missed[action],
                nodes.visits[action],
                nodes.pending[action],
            )
            log_available = log_all if missed == 0 else np.log(selections - missed + 1.0)
            score = nodes.discounted[action] + PRIOR_VISITS * rule.prior[role, nodes.move[action]]
            score /= PRIOR_VISITS + visits + VIRTUAL_LOSS * pending
            score += bonus * np.sqrt(log_available / (PRIOR_VISITS + visits + pending))
        if score > highest:
            highest = score
            best = action
        action = int(nodes.next[action])
    return best


@inlined
def ucb(nodes: Nodes, wave: Wave, lane: int, node: int, role: int, rule: Ucb) -> int:
    """The action of highest mean + exploration * sqrt(ln(times available) / times chosen) (UCB1).

    Untried actions come first, in random order. Pending choices count as visits with goal 0
    (virtual loss). A proved win is always chosen; other proved actions count by their proved goal,
    without a bonus. An action is available since it was first legal: another world may have added
    it later.
    """
    best, highest, untried = _draw_by_model(nodes, node, wave.random), -1.0, 0
    if best >= 0:
        return best
    selections = nodes.selections[node]
    log_all = np.log(selections + 1.0)
    action = int(nodes.first_action[node])
    while action >= 0:
        tries = nodes.visits[action] + nodes.pending[action]
        proof = nodes.proof[action]
        if proof >= 1.0:
            return action
        if proof >= 0.0:
            if untried == 0 and proof > highest:
                highest = proof
                best = action
        elif tries == 0:
            untried += 1
            if uniform(wave.random) * untried < 1.0:
                best = action
        elif untried == 0:
            missed = nodes.missed[action]
            log_available = log_all if missed == 0 else np.log(selections - missed + 1.0)
            score = nodes.discounted[action] / tries
            score += rule.exploration * np.sqrt(log_available / tries)
            if score > highest:
                highest = score
                best = action
        action = int(nodes.next[action])
    return best


CHOOSERS: dict[type[Rule], Choose] = {Ucb: ucb, GuidedUcb: guided_ucb}
"""The function that chooses by each kind of rule."""


@kernel
def back_up(
    nodes: Nodes, wave: Wave, goals: FloatArray, turns: FloatArray, finished: BoolArray
) -> None:
    """Add the goals of lanes to the actions they chose; unfinished lanes leave no trace.

    `discounted` sums 1/2 + `KEEP`**turns (goal - 1/2): early wins and late losses count more.

    Args:
        goals: `[L, R]` from 0 to 1.
        turns: `[L]` to the end of the game.
    """
    for lane in range(len(finished)):
        record = int(wave.head[lane])
        discount = KEEP ** turns[lane]
        while record >= 0:
            action = wave.action[record]
            node = nodes.owner[action]
            nodes.pending[action] -= 1
            if finished[lane]:
                goal = goals[lane, nodes.role[node]]
                nodes.visits[action] += 1
                nodes.discounted[action] += 0.5 + discount * (goal - 0.5)
                nodes.goals[action] += goal
                nodes.squares[action] += goal * goal
            else:
                nodes.selections[node] -= 1
            record = int(wave.previous[record])


@kernel
def relative_shares(nodes: Nodes, node_ids: I32, moves: IntArray, shares: FloatArray) -> None:
    """Write to `shares` `[K]` the moves' probabilities in average strategies, relative to uniform.

    Args:
        node_ids: `[K]` nodes; -1 for none, with a share of 1.
    """
    for k in range(len(node_ids)):
        shares[k] = 1.0
        if node_ids[k] < 0:
            continue
        total, count, share = 0.0, 0, -1.0
        action = int(nodes.first_action[node_ids[k]])
        while action >= 0:
            total += nodes.average[action]
            count += 1
            if nodes.move[action] == moves[k]:
                share = nodes.average[action]
            action = int(nodes.next[action])
        if total > 0.0 and share >= 0.0:
            shares[k] = count * share / total


# ------------------------------------------------------------------------
# The kernel that proves wins and losses (Winands, Bjornsson & Saito, 2008).


@inlined
def _mover(worlds: Worlds, world: int) -> int:
    """The only role with a choice in a world; -1 if none has one, -2 if several have or chance."""
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
    """Propagate proofs upwards from the ends that lanes reached (MCTS-Solver).

    Rule: a node is proved if one of its actions is a proved win, or if all its actions are proved;
    its value is the best proved one. This is sound only if everybody knows everything, and where at
    most one role has a choice.
    """
    for lane in range(len(wave.world)):
        if wave.status[lane] != OVER:
            continue
        # Walk up from the end while each node on the way becomes proved.
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
