"""Open moves: from states and one role's evidence to the moves each role may have made in a turn.

The other roles may have made any legal move, with the probabilities of a move model; we know our
own. Each combination of open moves is a completion of a state; `completions` selects the ones that
give our percepts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
        offsets: `[R, L + 1]` where the open moves of each role begin in `values` and `logs`; our
            only open move is the one we made.
        values: the moves, role after role.
        logs: the log prior of each of these moves: 0 for a move we chose, -log(our legal moves) for
            a move that was drawn for us.
        counts: `[L]` number of completions, as a float because it may be huge (up to
            `MAX_COMPLETIONS`); 0 if the lane contradicts the evidence.
    """

    offsets: IntArray
    values: IntArray
    logs: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, lists: Sequence[Ragged], logs: Sequence[FloatArray]) -> OpenMoves:
        """The open moves of all roles, with the log priors of each role's."""
        starts = offsets_of(np.array([len(moves.values) for moves in lists]))
        counts = np.ones(len(lists[0].counts))
        for moves in lists:
            counts = np.minimum(counts * moves.counts, MAX_COMPLETIONS)
        return cls(
            np.stack([at + moves.offsets for at, moves in zip(starts, lists, strict=False)]),
            np.concatenate([moves.values for moves in lists]),
            np.concatenate(logs),
            counts,
        )

    @property
    def moves(self) -> list[Ragged]:
        """By role, the list of its open moves in each lane."""
        return [Ragged(row - row[0], self.values[row[0] : row[-1]]) for row in self.offsets]

    @property
    def log_probabilities(self) -> list[FloatArray]:
        """By role, the log priors of its open moves."""
        return [self.logs[row[0] : row[-1]] for row in self.offsets]

    def joint(self, lanes: IntArray, numbers: IntArray) -> tuple[IntArray, FloatArray]:
        """`[K, R]` joint moves of completions, given by number within their lanes, and `[K]` log of
        their priors."""
        joint_moves = np.empty((len(lanes), len(self.offsets)), dtype=np.int64)
        log_priors = np.empty(len(lanes))
        to_joint = joint_of.for_steps(joint_moves.size)
        to_joint(lanes, numbers, self.offsets, self.values, self.logs, joint_moves, log_priors)
        return joint_moves, log_priors

    def random(self, lanes: IntArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Like `joint`, for completions drawn at random, with replacement."""
        joint_moves = np.empty((len(lanes), len(self.offsets)), dtype=np.int64)
        log_priors = np.zeros(len(lanes))
        for j, first in enumerate(self.offsets):
            indices = first[lanes] + rng.integers(0, first[lanes + 1] - first[lanes])
            joint_moves[:, j] = self.values[indices]
            log_priors += self.logs[indices]
        return joint_moves, log_priors

    def limited(self, mover: int, moves: IntArray) -> OpenMoves:
        """The same lists, but with no other moves of one role than these."""
        lists, logs = self.moves, self.log_probabilities
        mask = np.isin(lists[mover].values, moves)
        full = lists[mover].counts
        lists[mover], logs[mover] = _masked(lists[mover], logs[mover], mask)
        share = lists[mover].counts / np.maximum(full, 1)
        return replace(OpenMoves.of(lists, logs), counts=np.rint(self.counts * share))

    def restricted(self, joint_moves: IntArray) -> OpenMoves:
        """The same lists with some moves fixed; a fixed move that is not open leaves an empty list.

        Args:
            joint_moves: `[L, R]`, `UNKNOWN` where all moves stay open.
        """
        columns = zip(self.moves, self.log_probabilities, joint_moves.T, strict=True)
        lists = [_restrict(*column) for column in columns]
        fixed = OpenMoves.of([moves for moves, _ in lists], [logs for _, logs in lists])
        return replace(fixed, counts=np.where(self.counts > 0, fixed.counts, 0.0))


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
    announced = machine.told_moves(evidence.percepts)
    if announced is None and on_circuit(machine) and model is UNIFORM and len(states) < MANY_LANES:
        lists = machine.open_lists(states, role, evidence.moves, evidence.refused, MANY_MOVES)
        if lists is not None:
            return OpenMoves(*lists)
    moves, log_probabilities = [], []
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
        moves.append(options)
        log_probabilities.append(logs)
    return OpenMoves.of(moves, log_probabilities)


def _own_moves(
    machine: Machine, role: int, states: States, evidence: Learnt
) -> tuple[Ragged, FloatArray]:
    """Our executed move, or all legal moves if it is unknown, and log priors; none where our move
    is not legal, or our refused move is legal (if no move is known, only that one)."""
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
    moves, is_legal = evidence.moves, np.zeros(len(evidence.moves), dtype=np.bool_)
    if (evidence.refused != UNKNOWN).any():
        is_legal = _contains(legal, evidence.refused)
    is_ours = is_legal & (moves == UNKNOWN)
    options, _ = _restrict(
        legal, np.zeros(len(legal.values)), np.where(is_ours, evidence.refused, moves)
    )
    # A move we chose is certain; one drawn for us has 1 / (our legal moves there).
    is_chosen = is_ours | ((moves != UNKNOWN) & (evidence.refused == UNKNOWN))
    logs = np.where(is_chosen, 0.0, -np.log(np.maximum(legal.counts, 1)))
    if (is_legal & ~is_ours).any():
        # A move refused in time was illegal: states in which it is legal are ruled out.
        counts = np.where(is_legal & ~is_ours, 0, options.counts)
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
