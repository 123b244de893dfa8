"""How lanes choose actions in trees, and what their results teach: the selection rules.

A kernel that sends lanes down takes as arguments a part that chooses an action, and the record that
this part goes by:

    ucb             Ucb          UCB1 (Kocsis & Szepesvari, 2006)
    guided_ucb      GuidedUcb    the same, guided by what moves were worth in playouts
    match_regrets   ByRegret   outcome sampling

Outcome sampling is Monte Carlo counterfactual regret minimisation (Lanctot, Waugh, Zinkevich &
Bowling, 2009), online (Lisy, Lanctot & Bowling, 2015). One role of a lane learns: it tries every
action now and then, and its regrets change. The others follow their strategies: actions in
proportion to positive regret. It is not the strategy that converges but its average, in which a
strategy counts by the probability with which its role plays to that point.

A lane is one way the game may go. It counts by its probability under everybody else's decisions,
divided by the probability of sampling it. On the way down only the learner's exploration makes
these two differ, so a lane carries their quotient, not both:

    odds[lane] = chance / sampled       reach[lane, r] = strategy of role r

All else that is needed of a lane at its end is the product of its odds and the reach of all but
the learner.
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
    RECORDS,
    UPPER,
    VIRTUAL_LOSS,
    Nodes,
    Wave,
    Worlds,
)


@by_reference
class Ucb(NamedTuple):
    """UCB1; `exploration`: factor of its bonus, for goals of 0 to 1."""

    exploration: float


@by_reference
class GuidedUcb(NamedTuple):
    """UCB1 that goes by what moves were worth in playouts.

    Attributes:
        exploration: factor of the bonus, for goals of 0 to 1.
        choices: number of them at a node with which lanes explore 1 + ln(2) times as much as where
            few were made; infinite if they explore as much everywhere.
        prior: `[R, M]` averages of the moves of roles, by id, from 0 to 1.
    """

    exploration: float
    choices: float
    prior: FloatArray


@by_reference
class ByRegret(NamedTuple):
    """Regret matching of lanes, of each of which one role learns.

    Attributes:
        exploration: probability with which the learner chooses uniformly.
        weight: of the wave in average strategies.
        odds: `[L]` probability that chance leads a lane where it is, divided by the probability of
            sampling it; changed on the way down.
        reach: `[L, R]` probability that a role makes its moves that lead there; likewise.
    """

    exploration: float
    weight: float
    odds: FloatArray
    reach: FloatArray


Rule = Ucb | GuidedUcb | ByRegret

Choose = Callable[[Nodes, Wave, int, int, int, Any], int]
"""Chooses an action, by nodes, wave, lane, node and role, and by the record of the rule."""


@inlined
def _by_model(nodes: Nodes, node: int, random: NDArray[np.uint64]) -> int:
    """An action drawn by the shares of the role's model, as often as the role moves by it; else
    -1."""
    if nodes.trust[node] <= 0.0 or uniform(random) >= nodes.trust[node]:
        return -1
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
def guided_ucb(nodes: Nodes, wave: Wave, lane: int, node: int, role: int, rule: GuidedUcb) -> int:
    """Like `ucb`, with visits added to each action that are worth what its move was elsewhere.

    So actions are not all tried before some are tried again. Of the choices under way only a share
    counts as lost, or lanes of a wave would leave good actions that were hardly tried.
    """
    best, highest = _by_model(nodes, node, wave.random), -1.0
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
            since, visits, pending = (
                nodes.since[action],
                nodes.visits[action],
                nodes.pending[action],
            )
            log_available = log_all if since == 0 else np.log(selections - since + 1.0)
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
    """The action of highest mean + exploration * sqrt(ln(times available) / times chosen).

    Actions never chosen come first, by lot. Choices under way count as chosen, without a goal. An
    action proved to win is taken at once; of other proved actions the goal is known.
    """
    best, highest, untried = _by_model(nodes, node, wave.random), -1.0, 0
    if best >= 0:
        return best
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
            if uniform(wave.random) * untried < 1.0:
                best = action
        elif untried == 0:
            since = nodes.since[action]
            log_available = log_all if since == 0 else np.log(selections - since + 1.0)
            score = nodes.discounted[action] / chosen
            score += rule.exploration * np.sqrt(log_available / chosen)
            if score > highest:
                highest = score
                best = action
        action = int(nodes.next[action])
    return best


@inlined
def match_regrets(nodes: Nodes, wave: Wave, lane: int, node: int, role: int, rule: ByRegret) -> int:
    """An action of a role, drawn in proportion to positive regrets; uniformly if there are none.

    The probability of the draw is written where the record of the choice will be.
    """
    total, count = 0.0, 0
    action = int(nodes.first_action[node])
    while action >= 0:
        count += 1
        total += max(nodes.regret[action], 0.0)
        action = int(nodes.next[action])
    evenly = rule.exploration if wave.learns[lane, role] else 0.0
    gain = rule.weight * rule.reach[lane, role] * rule.odds[lane]
    point, upto = uniform(wave.random), 0.0
    chosen, share, drawn = -1, 0.0, 1.0
    action = int(nodes.first_action[node])
    while action >= 0:
        its_share = 1.0 / count
        if total > 0.0:
            its_share = max(nodes.regret[action], 0.0) / total
        nodes.average[action] += gain * its_share
        its_chance = evenly / count + (1.0 - evenly) * its_share
        # Rounding excess above the sum goes to the last action that may be drawn.
        if its_chance > 0.0 and (chosen < 0 or upto <= point):
            chosen, share, drawn = action, its_share, its_chance
        upto += its_chance
        action = int(nodes.next[action])
    wave.drawn[wave.sizes[RECORDS]] = drawn
    rule.reach[lane, role] *= share
    rule.odds[lane] /= drawn
    return chosen


CHOICES_BY: dict[type[Rule], Choose] = {Ucb: ucb, GuidedUcb: guided_ucb, ByRegret: match_regrets}
"""The part that chooses by each kind of record."""


@kernel
def back_up(
    nodes: Nodes, wave: Wave, goals: FloatArray, turns: FloatArray, done: BoolArray
) -> None:
    """Add the results of lanes to all actions they chose; lanes that are not done leave no trace.

    Args:
        goals: `[L, R]` from 0 to 1.
        turns: `[L]` to the end.
    """
    for lane in range(len(done)):
        record = int(wave.head[lane])
        share = KEEP ** turns[lane]
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


@inlined
def _expected(nodes: Nodes, action: int) -> float:
    """Expected value of an action that was not chosen: the mean of its results."""
    return float((nodes.goals[action] + 0.5) / (nodes.visits[action] + 1))


@inlined
def _learn(nodes: Nodes, node: int, chosen: int, worth: float, drawn: float, gain: float) -> float:
    """Change the regrets of a node; returns its value, as far as this lane shows.

    The values of actions that were not chosen are unknown, but their expectations are not. What a
    lane adds is the difference to that for the chosen action: a control variate (VR-MCCFR: Schmid,
    Burch, Lanctot, Moravcik, Kadlec & Bowling, 2019).
    """
    total, count = 0.0, 0
    action = int(nodes.first_action[node])
    while action >= 0:
        count += 1
        total += max(nodes.regret[action], 0.0)
        action = int(nodes.next[action])
    surprise = (worth - _expected(nodes, chosen)) / drawn
    mean = 0.0
    action = int(nodes.first_action[node])
    while action >= 0:
        share = 1.0 / count
        if total > 0.0:
            share = max(nodes.regret[action], 0.0) / total
        mean += share * _expected(nodes, action)
        if action == chosen:
            mean += share * surprise
        action = int(nodes.next[action])
    action = int(nodes.first_action[node])
    while action >= 0:
        nodes.regret[action] += gain * (_expected(nodes, action) - mean)
        action = int(nodes.next[action])
    nodes.regret[chosen] += gain * surprise
    return mean


@kernel
def learn_regrets(
    nodes: Nodes, wave: Wave, rule: ByRegret, goals: FloatArray, done: BoolArray
) -> None:
    """Add the results of lanes to regrets; lanes that are not done leave none.

    Args:
        goals: `[L, R]` from 0 to 1.
    """
    for lane in range(len(done)):
        learner = 0
        for role in range(goals.shape[1]):
            if wave.learns[lane, role]:
                learner = role
        goal = goals[lane, learner]
        gain = rule.odds[lane]
        for role in range(goals.shape[1]):
            if role != learner:
                gain *= rule.reach[lane, role]
        worth = goal
        record = int(wave.head[lane])
        while record >= 0:
            chosen = int(wave.action[record])
            node = nodes.owner[chosen]
            nodes.pending[chosen] -= 1
            if done[lane]:
                gain *= wave.drawn[record]
                worth = _learn(nodes, node, chosen, worth, wave.drawn[record], gain)
                nodes.visits[chosen] += 1
                nodes.goals[chosen] += goal
                nodes.squares[chosen] += goal * goal
            else:
                nodes.selections[node] -= 1
            record = int(wave.before[record])
    for lane in range(len(done)):
        record = int(wave.head[lane])
        while record >= 0:
            action = int(nodes.first_action[nodes.owner[wave.action[record]]])
            while action >= 0:
                if nodes.regret[action] < 0.0:
                    nodes.regret[action] = 0.0
                action = int(nodes.next[action])
            record = int(wave.before[record])


@kernel
def relative_shares(nodes: Nodes, at: I32, moves: IntArray, shares: FloatArray) -> None:
    """`shares[K]` of moves at nodes in the current strategies, relative to uniform play.

    Args:
        at: `[K]` nodes, -1 for none: then the share is 1.
    """
    for k in range(len(at)):
        shares[k] = 1.0
        if at[k] < 0:
            continue
        total, count, found = 0.0, 0, -1
        action = int(nodes.first_action[at[k]])
        while action >= 0:
            total += max(nodes.regret[action], 0.0)
            count += 1
            if nodes.move[action] == moves[k]:
                found = action
            action = int(nodes.next[action])
        if found >= 0 and total > 0.0:
            shares[k] = count * max(nodes.regret[found], 0.0) / total


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
