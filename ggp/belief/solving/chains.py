"""Markov chains on complete paths, run until they are a sample of all paths that agree.

What a solver finds is possible, but not a random sample: some paths are found again and again,
likely or not. So each starts a Markov chain whose states are complete paths, and whose distribution
converges to their prior, given what the role did and saw (Metropolis-Hastings):

    a path       a1  b2  a3  c4  b5        the others' moves in five turns
    proposed     a1  b2  c3  a4  b5        in some turns drawn anew, the rest replayed
    accepted     if all agrees, with the ratio of the priors of what is replayed as its probability

N chains make each step at the same time: they are lanes of the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.solving.replay import Paths, options_of, tried_turn
from ggp.machine.base import UNKNOWN, BoolArray, FloatArray, IntArray, Machine, States

_T = TypeVar("_T", bound=np.generic)

LONGER = 0.5
"""Probability that one more turn is drawn anew."""


def stepped_chains(
    machine: Machine,
    role: int,
    paths: Paths,
    begun: States,
    log_weights: FloatArray,
    turns: IntArray,
    rng: np.random.Generator,
    stop: Callable[[], bool],
    model: MoveModel = UNIFORM,
) -> Paths:
    """The paths after one step of each chain.

    Args:
        begun: K states in which paths may begin.
        log_weights: `[K]` log of the weights of these.
        turns: `[T, 3]` what the role knows, see `PathTree.last_turns`.
        stop: asked each turn; when true, the chains stay where they were.
    """
    count, num_turns = len(paths), len(turns)
    # In one of T + 1 steps the state in which the path begins is drawn anew.
    first = rng.integers(-1, num_turns, count)
    after = first + rng.geometric(1 - LONGER, count)
    first[first < 0] = 0
    after[after > num_turns] = num_turns
    new_start = after <= first
    starts = paths.starts.copy()
    weights = np.exp(log_weights - log_weights.max())
    starts[new_start] = rng.choice(len(weights), new_start.sum(), p=weights / weights.sum())
    moves = paths.moves.copy()
    priors, counts = paths.log_priors.copy(), paths.log_counts.copy()
    alive = np.zeros(0, dtype=np.int64)
    states = paths.ends.take(alive)
    trail: list[tuple[IntArray, States]] = []
    for turn, told in enumerate(turns):
        if stop():
            return paths
        # Chains join in where they begin to differ.
        joining = np.flatnonzero(first == turn)
        anew = new_start[joining]
        joined = [states, paths.states[turn].take(joining[~anew])]
        joined.append(begun.take(starts[joining[anew]]))
        states = machine.concatenate(joined)
        alive = np.concatenate([alive, joining[~anew], joining[anew]])
        trail.append((alive, states))
        drawn = (turn >= first[alive]) & (turn < after[alive])
        wanted = np.where(drawn[:, None], UNKNOWN, paths.moves[alive, turn])
        options = options_of(machine, role, states, told, model)
        tried = tried_turn(machine, role, states, wanted, told, options, rng)
        alive, states = alive[tried.lanes], tried.states
        moves[alive, turn] = tried.moves
        priors[alive, turn], counts[alive, turn] = tried.log_priors, tried.log_counts
    trail.append((alive, states))
    every = np.arange(num_turns)
    is_drawn = (every >= first[:, None]) & (every < after[:, None])
    # New moves are drawn uniformly from the open ones: they count by prior over that probability.
    gain = (priors - paths.log_priors).sum(axis=1)
    gain += ((counts - paths.log_counts) * is_drawn).sum(axis=1)
    taken = np.zeros(count, dtype=np.bool_)
    taken[alive] = np.log(rng.random(len(alive))) < gain[alive]
    return _merged(machine, paths, Paths(starts, moves, (), priors, counts), trail, taken)


def _merged(
    machine: Machine,
    old: Paths,
    new: Paths,
    trail: list[tuple[IntArray, States]],
    taken: BoolArray,
) -> Paths:
    """New paths where they are accepted, old ones elsewhere."""
    states = []
    for before, (lanes, there) in zip(old.states, trail, strict=True):
        place = np.arange(len(old))
        here = np.flatnonzero(taken[lanes])
        place[lanes[here]] = len(old) + here
        states.append(machine.concatenate([before, there]).take(place))

    def chosen(before: NDArray[_T], after: NDArray[_T]) -> NDArray[_T]:
        return np.where(taken.reshape(-1, *(1,) * (before.ndim - 1)), after, before)

    return Paths(
        chosen(old.starts, new.starts),
        chosen(old.moves, new.moves),
        tuple(states),
        chosen(old.log_priors, new.log_priors),
        chosen(old.log_counts, new.log_counts),
    )


def sampled(
    machine: Machine,
    role: int,
    found: Paths,
    begun: States,
    log_weights: FloatArray,
    turns: IntArray,
    count: int,
    steps: int,
    rng: np.random.Generator,
    stop: Callable[[], bool],
    model: MoveModel = UNIFORM,
) -> Paths:
    """`count` paths that agree: chains begun in found paths, drawn by prior, after some steps.

    Args:
        begun, log_weights, turns: see `stepped_chains`.
        steps: of each chain.
        stop: when true, the chains stay where they are.
    """
    logs = found.log_priors.sum(axis=1) + log_weights[found.starts]
    first = _distinct(found)
    weights = np.exp(logs[first] - logs[first].max())
    upto = np.cumsum(weights / weights.sum())
    points = (rng.random() + np.arange(count)) / count
    paths = found.take(first[np.minimum(np.searchsorted(upto, points), len(first) - 1)])
    for _ in range(steps):
        if stop():
            break
        paths = stepped_chains(machine, role, paths, begun, log_weights, turns, rng, stop, model)
    return paths


def _distinct(paths: Paths) -> IntArray:
    """Indices of the distinct paths."""
    flat = np.column_stack([paths.starts, paths.moves.reshape(len(paths), -1)])
    return np.sort(np.unique(flat, axis=0, return_index=True)[1])
