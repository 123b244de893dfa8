"""Kernels that play synthetic trees: see `tree_play` for their results.

A *profile* is `left[2^depth, W * W]`: the probability of going left at a node in a world. It is the
same in all worlds of an information set. Nodes of even depth are player 0's, the others player 1's,
so one array holds the strategies of both.

All work goes through the nodes in order: from the root on, the probability with which a player
lets the game reach a node, world by world; and back, values.
"""

from __future__ import annotations

import numpy as np

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import inlined, kernel


@inlined
def _reach(left: FloatArray, depth: int, player: int, reach: FloatArray) -> None:
    """Fill in the probability that a player's own moves lead to each node, `[2^(depth + 1), w]`."""
    num_worlds = left.shape[1]
    for w in range(num_worlds):
        reach[1, w] = 1.0
    for level in range(depth):
        for node in range(1 << level, 2 << level):
            if level % 2 == player:
                for w in range(num_worlds):
                    reach[2 * node, w] = reach[node, w] * left[node, w]
                    reach[2 * node + 1, w] = reach[node, w] * (1.0 - left[node, w])
            else:
                for w in range(num_worlds):
                    reach[2 * node, w] = reach[node, w]
                    reach[2 * node + 1, w] = reach[node, w]


@inlined
def _leaf_values(
    payoffs: FloatArray, depth: int, player: int, reach: FloatArray, values: FloatArray
) -> None:
    """Fill in values of leaves for a player, weighted by the other one's reach."""
    sign = 1.0 if player == 0 else -1.0
    first = 1 << depth
    for leaf in range(first):
        for w in range(payoffs.shape[1]):
            values[first + leaf, w] = sign * payoffs[leaf, w] * reach[first + leaf, w]


@inlined
def _mean(values: FloatArray) -> float:
    """The mean over all worlds of the values at the root."""
    mean = 0.0
    for w in range(values.shape[1]):
        mean += values[1, w] / values.shape[1]
    return mean


@kernel
def score(payoffs: FloatArray, depth: int, left: FloatArray, values: FloatArray) -> float:
    """The expected payoff of the first player under a profile.

    Args:
        values: scratch `[2^(depth + 1), W * W]`, as everywhere here.
    """
    num_worlds = payoffs.shape[1]
    first = 1 << depth
    for leaf in range(first):
        for w in range(num_worlds):
            values[first + leaf, w] = payoffs[leaf, w]
    for node in range(first - 1, 0, -1):
        for w in range(num_worlds):
            p = left[node, w]
            values[node, w] = p * values[2 * node, w] + (1.0 - p) * values[2 * node + 1, w]
    return _mean(values)


@inlined
def _add_up(values: FloatArray, node: int) -> None:
    """Fill in the values of a node of the other player, which include the reach of its moves."""
    for w in range(values.shape[1]):
        values[node, w] = values[2 * node, w] + values[2 * node + 1, w]


@inlined
def _compare(values: FloatArray, set_of: IntArray, node: int, gain: FloatArray) -> None:
    """Fill in `gain`, at the first world of each set: the advantage of going left over right."""
    for w in range(values.shape[1]):
        gain[w] = 0.0
    for w in range(values.shape[1]):
        gain[set_of[node, w]] += values[2 * node, w] - values[2 * node + 1, w]


@inlined
def _best_response(
    payoffs: FloatArray,
    set_of: IntArray,
    depth: int,
    left: FloatArray,
    player: int,
    reach: FloatArray,
    values: FloatArray,
    gain: FloatArray,
) -> float:
    """The greatest payoff of a player against the other one's part of a profile.

    Args:
        reach, values: scratch like that of `score`.
        gain: scratch `[W * W]`.
    """
    num_worlds = payoffs.shape[1]
    _reach(left, depth, 1 - player, reach)
    _leaf_values(payoffs, depth, player, reach, values)
    for level in range(depth - 1, -1, -1):
        for node in range(1 << level, 2 << level):
            one, two = 2 * node, 2 * node + 1
            if level % 2 != player:
                _add_up(values, node)
                continue
            _compare(values, set_of, node, gain)
            for w in range(num_worlds):
                values[node, w] = values[one, w] if gain[set_of[node, w]] > 0 else values[two, w]
    return _mean(values)


@kernel
def best_response(
    payoffs: FloatArray,
    set_of: IntArray,
    depth: int,
    left: FloatArray,
    player: int,
    reach: FloatArray,
    values: FloatArray,
    gain: FloatArray,
) -> float:
    """Call `_best_response` from Python."""
    return _best_response(payoffs, set_of, depth, left, player, reach, values, gain)


@inlined
def _update(
    payoffs: FloatArray,
    set_of: IntArray,
    depth: int,
    left: FloatArray,
    player: int,
    other_reach: FloatArray,
    values: FloatArray,
    regrets: FloatArray,
    gain: FloatArray,
) -> None:
    """Add the gains that a player missed to its regrets `[2, node, first world of a set]`."""
    num_worlds = payoffs.shape[1]
    _leaf_values(payoffs, depth, player, other_reach, values)
    for level in range(depth - 1, -1, -1):
        for node in range(1 << level, 2 << level):
            one, two = 2 * node, 2 * node + 1
            if level % 2 != player:
                _add_up(values, node)
                continue
            _compare(values, set_of, node, gain)
            for w in range(num_worlds):
                p = left[node, w]
                values[node, w] = p * values[one, w] + (1.0 - p) * values[two, w]
            for w in range(num_worlds):
                # Going left gains (1 - p) * gain, going right loses p * gain.
                p = left[node, w]
                more = regrets[0, node, w] + (1.0 - p) * gain[w]
                regrets[0, node, w] = more if more > 0.0 else 0.0
                more = regrets[1, node, w] - p * gain[w]
                regrets[1, node, w] = more if more > 0.0 else 0.0


@inlined
def _match_regrets(
    set_of: IntArray, depth: int, player: int, regrets: FloatArray, left: FloatArray
) -> None:
    """Set a player's part of a profile by its regrets (regret matching)."""
    for level in range(player, depth, 2):
        for node in range(1 << level, 2 << level):
            for w in range(left.shape[1]):
                s = set_of[node, w]
                both = regrets[0, node, s] + regrets[1, node, s]
                left[node, w] = regrets[0, node, s] / both if both > 0 else 0.5


@inlined
def _add_to_average(
    depth: int,
    player: int,
    weight: float,
    left: FloatArray,
    own_reach: FloatArray,
    sums: FloatArray,
) -> None:
    for level in range(player, depth, 2):
        for node in range(1 << level, 2 << level):
            for w in range(left.shape[1]):
                reached = weight * own_reach[node, w]
                sums[0, node, w] += reached * left[node, w]
                sums[1, node, w] += reached * (1.0 - left[node, w])


@kernel
def cfr_plus(
    payoffs: FloatArray,
    set_of: IntArray,
    depth: int,
    epsilon: float,
    max_rounds: int,
    alternating: bool,
    left: FloatArray,
    average: FloatArray,
    regrets: FloatArray,
    sums: FloatArray,
    reach: FloatArray,
    other_reach: FloatArray,
    values: FloatArray,
    gain: FloatArray,
) -> tuple[float, int]:
    """An equilibrium by CFR+ (Tammelin 2014): regrets stay above 0, averages weigh rounds by t.

    Args:
        left: the profile it begins with, 1/2 everywhere; scratch from then on.
        average: 1/2 everywhere at the beginning; the average profile at the end, 1/2 at nodes that
            are never reached.
        regrets, sums: zeros `[2, 2^depth, W * W]`; scratch.
        reach: scratch of both players `[2, 2^(depth + 1), W * W]`.
        other_reach, values, gain: scratch like that of `best_response`.

    Returns:
        the sum of what both players could still gain, and the number of rounds.
    """
    num_nodes, num_worlds = set_of.shape
    _reach(left, depth, 0, reach[0])
    _reach(left, depth, 1, reach[1])
    nash_conv = np.inf
    rounds = 0
    while rounds < max_rounds and nash_conv > epsilon:
        for _ in range(_ROUNDS_AT_ONCE):
            if rounds == max_rounds:
                break
            rounds += 1
            for player in range(2):
                _update(
                    *(payoffs, set_of, depth, left, player, reach[1 - player], values),
                    *(regrets, gain),
                )
                if alternating:
                    _match_regrets(set_of, depth, player, regrets, left)
                    _reach(left, depth, player, reach[player])
            for player in range(2):
                if not alternating:
                    _match_regrets(set_of, depth, player, regrets, left)
                    _reach(left, depth, player, reach[player])
                _add_to_average(depth, player, float(rounds), left, reach[player], sums)
        for node in range(1, num_nodes):
            for w in range(num_worlds):
                both = sums[0, node, w] + sums[1, node, w]
                average[node, w] = sums[0, node, w] / both if both > 0 else 0.5
        nash_conv = 0.0
        for player in range(2):
            nash_conv += _best_response(
                *(payoffs, set_of, depth, average, player, other_reach, values, gain)
            )
    return nash_conv, rounds


_ROUNDS_AT_ONCE = 16
"""Number of rounds between two checks of what could still be gained."""


@kernel
def clairvoyant_votes(
    payoffs: FloatArray, set_of: IntArray, depth: int, values: FloatArray, votes: FloatArray
) -> None:
    """Add up in `votes[node, first world of a set]`, over the worlds of the set, the value of going
    left minus that of going right, for the player to move, if everybody knows the world.

    Args:
        values: scratch like that of `score`.
        votes: zeros `[2^depth, W * W]`.
    """
    num_nodes, num_worlds = set_of.shape
    for leaf in range(num_nodes):
        for w in range(num_worlds):
            values[num_nodes + leaf, w] = payoffs[leaf, w]
    for level in range(depth - 1, -1, -1):
        sign = -1.0 if level % 2 else 1.0
        for node in range(1 << level, 2 << level):
            for w in range(num_worlds):
                one, two = sign * values[2 * node, w], sign * values[2 * node + 1, w]
                votes[node, set_of[node, w]] += one - two
                values[node, w] = sign * (one if one > two else two)
