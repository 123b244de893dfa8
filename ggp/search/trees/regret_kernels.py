"""The kernels of outcome sampling: choosing by regrets, and learning them.

Monte Carlo counterfactual regret minimisation with outcome sampling (Lanctot, Waugh, Zinkevich &
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

from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel
from ggp.machine.mixing import uniform
from ggp.search.trees.tree_tables import I32, RECORDS, Nodes, Wave


@inlined
def match_regrets(
    nodes: Nodes,
    wave: Wave,
    lane: int,
    node: int,
    role: int,
    exploration: float,
    weight: float,
) -> int:
    """An action of a role, drawn in proportion to positive regrets; uniformly if there are none.

    The probability of the draw is written where the record of the choice will be.
    """
    total, count = 0.0, 0
    action = int(nodes.first_action[node])
    while action >= 0:
        count += 1
        total += max(nodes.regret[action], 0.0)
        action = int(nodes.next[action])
    evenly = exploration if wave.learns[lane, role] else 0.0
    gain = weight * wave.reach[lane, role] * wave.odds[lane]
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
    wave.reach[lane, role] *= share
    wave.odds[lane] /= drawn
    return chosen


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
def learn_regrets(nodes: Nodes, wave: Wave, goals: FloatArray, done: BoolArray) -> None:
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
        gain = wave.odds[lane]
        for role in range(goals.shape[1]):
            if role != learner:
                gain *= wave.reach[lane, role]
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
