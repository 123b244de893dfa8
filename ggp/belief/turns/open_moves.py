"""Open moves: from states and one role's evidence to the moves each role may have made in a turn.

The other roles may have made any legal move, with the probabilities of a move model; we know our
own. Each combination of open moves is a completion of a state; `completions` selects the ones that
give our percepts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ggp.belief.move_models import UNIFORM, MoveModel, log_likelihoods
from ggp.machine.abilities import InfersMoves
from ggp.machine.arrays import offsets_of, segment_ids
from ggp.machine.base import (
    UNKNOWN,
    BoolArray,
    Chance,
    FloatArray,
    IntArray,
    Machine,
    Ragged,
    States,
)
from ggp.machine.compiling.jit import kernel
from ggp.machine.on_circuit import on_circuit

MANY_MOVES = 256
"""If another role has more legal moves than this, moves that cannot have caused the percepts are
left out before any is tried."""

MANY_LANES = 4096
"""With this many lanes, such moves are left out even if a role has only two."""

FEW_MOVES, MAX_INFERRED = 16, 64
"""Machines that are asked move by move are not asked if a role has no more moves than this, nor
about more different percepts than the second number."""

FIRST_LANES, MOVES_AT_ONCE = 256, 1 << 17
"""Our own legal moves are listed piece by piece: first for so many lanes, then for lanes with
about so many moves together. Most lists shrink immediately to the move that we made, and the next
piece reuses their memory: lists of millions of moves in fresh memory take ten times as long."""

MAX_COMPLETIONS = 1e300
"""Numbers of completions are capped here: sums and products of counts stay finite."""


class Learnt(NamedTuple):
    """A role's evidence of one turn, a row for each lane: see `PathTree.extend`."""

    moves: IntArray
    percepts: IntArray
    refused: IntArray


@dataclass(frozen=True)
class OpenMoves:
    """The moves each role may have made in each of L lanes.

    Attributes:
        moves: by role, the list of its open moves in each lane; our list is the move we made.
        log_probabilities: by role, the log prior of each of these moves: 0 for a move we chose,
            -log(our legal moves) for a move that was drawn for us.
        counts: `[L]` number of completions, as a float because it may be huge (up to
            `MAX_COMPLETIONS`); 0 if the lane contradicts the evidence.
    """

    moves: list[Ragged]
    log_probabilities: list[FloatArray]
    counts: FloatArray

    def joint(self, lanes: IntArray, numbers: IntArray) -> tuple[IntArray, FloatArray]:
        """`[K, R]` joint moves of completions, given by number within their lanes, and `[K]` log of
        their priors."""
        joint_moves = np.empty((len(lanes), len(self.moves)), dtype=np.int64)
        log_priors = np.empty(len(lanes))
        to_joint = joint_of.for_steps(joint_moves.size)
        to_joint(lanes, numbers, *self._flat_lists, joint_moves, log_priors)
        return joint_moves, log_priors

    @cached_property
    def _flat_lists(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The lists of all roles end to end: `[R, L + 1]` offsets, moves, log priors."""
        starts = offsets_of(np.array([len(moves.values) for moves in self.moves]))
        offsets = np.stack(
            [at + lists.offsets for at, lists in zip(starts, self.moves, strict=False)]
        )
        values = np.concatenate([moves.values for moves in self.moves])
        return offsets, values, np.concatenate(self.log_probabilities)

    def random(self, lanes: IntArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Like `joint`, for completions drawn at random, with replacement."""
        joint_moves = np.empty((len(lanes), len(self.moves)), dtype=np.int64)
        log_priors = np.zeros(len(lanes))
        for j, moves in enumerate(self.moves):
            indices = moves.offsets[lanes] + rng.integers(0, moves.counts[lanes])
            joint_moves[:, j] = moves.values[indices]
            log_priors += self.log_probabilities[j][indices]
        return joint_moves, log_priors

    def limited(self, mover: int, moves: IntArray) -> OpenMoves:
        """The same lists, but with no other moves of one role than these."""
        lists, logs = self.moves.copy(), self.log_probabilities.copy()
        mask = np.isin(lists[mover].values, moves)
        lists[mover], logs[mover] = _masked(lists[mover], logs[mover], mask)
        share = lists[mover].counts / np.maximum(self.moves[mover].counts, 1)
        return OpenMoves(lists, logs, np.rint(self.counts * share))

    def restricted(self, joint_moves: IntArray) -> OpenMoves:
        """The same lists with some moves fixed; a fixed move that is not open leaves an empty list.

        Args:
            joint_moves: `[L, R]`, `UNKNOWN` where all moves stay open.
        """
        columns = zip(self.moves, self.log_probabilities, joint_moves.T, strict=True)
        lists = [_restrict(*column) for column in columns]
        counts = np.where(self.counts > 0, 1.0, 0.0)
        for moves, _ in lists:
            counts = np.minimum(counts * moves.counts, MAX_COMPLETIONS)
        return OpenMoves([moves for moves, _ in lists], [logs for _, logs in lists], counts)


def open_moves(
    machine: Machine,
    role: int,
    states: States,
    evidence: Learnt,
    model: MoveModel = UNIFORM,
    views: IntArray | None = None,
) -> OpenMoves:
    """The moves each role may have made, given the evidence of `role`.

    Args:
        states: L lanes.
        evidence: `[L]` the role's evidence.
        model: predicts the moves of the other roles.
        views: `[L, R]` the path of every role before the turn, if known.
    """
    moves, log_probabilities = [], []
    counts = np.ones(len(states))
    announced = machine.told_moves(evidence.percepts)
    for j in range(len(machine.roles)):
        causes = _causes(machine, role, j, states, evidence.percepts, model)
        if causes is not None:
            options, logs = causes
        elif j == machine.random_role:
            options, logs = _chance_moves(machine.chance(states))
        elif j == role:
            options, logs = _own_moves(machine, role, states, evidence)
        else:
            options = machine.legal(states, j, allow_stuck=True)
            paths = None if views is None else views[:, j]
            logs = log_likelihoods(model, machine, states, j, options, paths)
        if announced is not None:
            options, logs = _restrict(options, logs, announced[:, j])
        if j != role and isinstance(machine, InfersMoves):
            options, logs = _possible(machine, role, j, options, logs, evidence.percepts)
        counts = np.minimum(counts * options.counts, MAX_COMPLETIONS)
        moves.append(options)
        log_probabilities.append(logs)
    return OpenMoves(moves, log_probabilities, counts)


def _own_moves(
    machine: Machine, role: int, states: States, evidence: Learnt
) -> tuple[Ragged, FloatArray]:
    """Our executed move, or all legal moves if it is unknown, and log priors; none where our move
    is not legal, or our refused move is legal."""
    parts: list[tuple[Ragged, FloatArray]] = []
    start, size = 0, FIRST_LANES
    while start < len(states) or not parts:  # no lanes need an empty list, too
        end = min(start + size, len(states))
        at_once = np.arange(start, end)
        legal = machine.legal(states.take(at_once), role, allow_stuck=True)
        size = max(1, MOVES_AT_ONCE * len(at_once) // max(1, len(legal.values)))
        parts.append(_own_moves_in(legal, Learnt(*(rows[start:end] for rows in evidence))))
        start = end
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([rows.counts for rows, _ in parts])
    values = np.concatenate([rows.values for rows, _ in parts])
    return Ragged(offsets_of(counts), values), np.concatenate([logs for _, logs in parts])


def _own_moves_in(legal: Ragged, evidence: Learnt) -> tuple[Ragged, FloatArray]:
    """`_own_moves` for a piece, given our legal moves."""
    options, _ = _restrict(legal, np.zeros(len(legal.values)), evidence.moves)
    # A move we chose is certain; one drawn for us has 1 / (our legal moves there).
    is_chosen = (evidence.moves != UNKNOWN) & (evidence.refused == UNKNOWN)
    logs = np.where(is_chosen, 0.0, -np.log(np.maximum(legal.counts, 1)))
    if (evidence.refused != UNKNOWN).any():
        # A move refused in time was illegal: states in which it is legal are ruled out.
        counts = np.where(_contains(legal, evidence.refused), 0, options.counts)
        mask = counts[segment_ids(options.offsets)] > 0
        options = Ragged(offsets_of(counts), options.values[mask])
    return options, np.repeat(logs, options.counts)


def _causes(
    machine: Machine, role: int, mover: int, states: States, percepts: IntArray, model: MoveModel
) -> tuple[Ragged, FloatArray] | None:
    """The moves of another role that may have caused our percepts, and their log priors; None
    unless it has very many moves, all equally likely."""
    is_even = mover == machine.random_role or model is UNIFORM
    if mover == role or not is_even or not on_circuit(machine):
        return None
    threshold = MANY_MOVES if len(states) < MANY_LANES else 1
    causes = machine.legal_behind(states, mover, percepts, role, threshold)
    if causes is None:
        return None
    moves, totals = causes
    return moves, np.repeat(-np.log(np.maximum(totals, 1)), moves.counts)


def _possible(
    machine: InfersMoves,
    role: int,
    mover: int,
    options: Ragged,
    logs: FloatArray,
    percepts: IntArray,
) -> tuple[Ragged, FloatArray]:
    """Moves of another role, without those that our percepts cannot stem from."""
    long = (options.counts > FEW_MOVES) & (percepts != UNKNOWN)
    keep = np.ones(len(options.values), dtype=np.bool_)
    for seen in np.unique(percepts[long])[:MAX_INFERRED].tolist():
        at = np.flatnonzero(np.repeat(long & (percepts == seen), options.counts))
        moves = np.flatnonzero(np.bincount(options.values[at]))
        mask = machine.may_cause(moves, mover, seen, role)
        if mask is not None:
            keep[at] = np.isin(options.values[at], moves[mask])
    return _masked(options, logs, keep)


def _masked(lists: Ragged, logs: FloatArray, mask: BoolArray) -> tuple[Ragged, FloatArray]:
    """Lists and their logs without the values that are masked out."""
    if mask.all():
        return lists, logs
    counts = np.bincount(segment_ids(lists.offsets)[mask], minlength=len(lists.counts))
    return Ragged(offsets_of(counts), lists.values[mask]), logs[mask]


def _contains(lists: Ragged, values: IntArray) -> BoolArray:
    """`[L]` whether the list of each lane contains the lane's value."""
    owner = segment_ids(lists.offsets)
    mask = np.zeros(len(values), dtype=np.bool_)
    mask[owner[lists.values == values[owner]]] = True
    return mask


def _chance_moves(chance: Chance) -> tuple[Ragged, FloatArray]:
    """The moves of `random` with positive probability, and the logs of their probabilities."""
    options = Ragged(chance.offsets, chance.moves)
    if len(chance.moves) == np.count_nonzero(options.counts):  # one move where there is any
        return options, np.zeros(len(chance.moves))
    keep = chance.probabilities > 0
    options, probabilities = _masked(options, chance.probabilities, keep)
    return options, np.log(probabilities)


def _restrict(lists: Ragged, logs: FloatArray, fixed: IntArray) -> tuple[Ragged, FloatArray]:
    """Lists reduced to the fixed move, if it is in them; whole lists where it is `UNKNOWN`."""
    offsets, values = np.empty_like(lists.offsets), np.empty_like(lists.values)
    new_logs = np.empty_like(logs)
    restrict = restrict_lists.for_steps(len(values) + len(fixed))
    size = restrict(*lists, logs, fixed, offsets, values, new_logs)
    return Ragged(offsets, values[:size]), new_logs[:size]


@kernel
def joint_of(
    lanes: IntArray,
    numbers: IntArray,
    offsets: IntArray,
    values: IntArray,
    logs: FloatArray,
    joint_moves: IntArray,
    log_priors: FloatArray,
) -> None:
    """Write `joint_moves[K, R]` and `log_priors[K]` of completions numbered within their lanes.

    The number of a completion is in mixed radix: one digit for each role, whose base is the number
    of the role's open moves. The last role has the lowest digit.

    Args:
        offsets: `[R, L + 1]` where the open moves of each role begin in `values` and `logs`.
    """
    num_roles = len(offsets)
    for k in range(len(lanes)):
        lane, number = lanes[k], numbers[k]
        total = 0.0
        for j in range(num_roles - 1, -1, -1):
            index = offsets[j, lane]
            size = offsets[j, lane + 1] - index
            if size > 1:
                index += number % size
                number //= size
            joint_moves[k, j] = values[index]
            total += logs[index]
        log_priors[k] = total


@kernel
def restrict_lists(
    offsets: IntArray,
    values: IntArray,
    logs: FloatArray,
    fixed: IntArray,
    new_offsets: IntArray,
    new_values: IntArray,
    new_logs: FloatArray,
) -> int:
    """Reduce each list to the fixed value of its lane, or to nothing if that is not in it; keep
    whole lists where the value is `UNKNOWN`.

    Returns:
        the number of remaining values.
    """
    size = 0
    new_offsets[0] = 0
    for lane in range(len(fixed)):
        for k in range(offsets[lane], offsets[lane + 1]):
            if fixed[lane] == UNKNOWN or values[k] == fixed[lane]:
                new_values[size] = values[k]
                new_logs[size] = logs[k]
                size += 1
        new_offsets[lane + 1] = size
    return size
