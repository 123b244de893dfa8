"""Open moves: the moves each role may have made in a turn, as far as one role can tell.

The moves of the other roles are the legal ones, as likely as they are believed to be; ours is the
one that we know was made. All combinations of open moves are the completions of a state
(`completions`); those that give our percepts match.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ggp.belief.move_models import UNIFORM, MoveModel, log_likelihoods
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
"""If another role has more legal moves than this, those that cannot have caused the percepts are
left out before they are tried."""

MANY_LANES = 4096
"""With this many lanes, moves are left out in this way even if there are only two."""

FIRST_LANES, MOVES_AT_ONCE = 256, 1 << 17
"""Our own legal moves are listed for so many lanes at first, and then for as many as have about so
many moves: most lists are dropped again at once but for the move that we made, and lists of
millions of moves take ten times as long in fresh memory as these in the same."""

MOST_COMPLETIONS = 1e300
"""Larger numbers of completions are not told apart: sums and products of counts stay finite."""


class Learnt(NamedTuple):
    """The information a role gets in one turn, one row per lane: see `PathTree.extend`."""

    moves: IntArray
    percepts: IntArray
    refused: IntArray


@dataclass(frozen=True)
class OpenMoves:
    """The moves each role may have made in each of L lanes.

    Attributes:
        moves: for each role the lists of its open moves: ours is the move we know was made.
        log_probabilities: for each list the log prior of each of its moves: 0 for a move we chose,
            -log(our legal moves) for one that was drawn for us.
        counts: `[L]` number of completions, as a float because it may be huge (up to
            `MOST_COMPLETIONS`); 0 if the lane cannot go on as the evidence says.
    """

    moves: list[Ragged]
    log_probabilities: list[FloatArray]
    counts: FloatArray

    def joint(self, lanes: IntArray, numbers: IntArray) -> tuple[IntArray, FloatArray]:
        """`[K, R]` completions numbered within their lanes, and `[K]` log of their priors."""
        joint_moves = np.empty((len(lanes), len(self.moves)), dtype=np.int64)
        log_priors = np.empty(len(lanes))
        to_joint = joint_of.for_steps(joint_moves.size)
        to_joint(lanes, numbers, *self._end_to_end, joint_moves, log_priors)
        return joint_moves, log_priors

    @cached_property
    def _end_to_end(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The lists of all roles, one after the other: `[R, L + 1]` offsets, moves, logs."""
        starts = offsets_of(np.array([len(moves.values) for moves in self.moves]))
        offsets = np.stack(
            [at + lists.offsets for at, lists in zip(starts, self.moves, strict=False)]
        )
        values = np.concatenate([moves.values for moves in self.moves])
        return offsets, values, np.concatenate(self.log_probabilities)

    def random(self, lanes: IntArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """Like `joint`, for completions drawn with replacement."""
        chosen = np.empty((len(lanes), len(self.moves)), dtype=np.int64)
        log_priors = np.zeros(len(lanes))
        for j, moves in enumerate(self.moves):
            at = moves.offsets[lanes] + rng.integers(0, moves.counts[lanes])
            chosen[:, j] = moves.values[at]
            log_priors += self.log_probabilities[j][at]
        return chosen, log_priors

    def given(self, joint_moves: IntArray) -> OpenMoves:
        """The same lists with some moves known; a known move that is not open leaves an empty list.

        Args:
            joint_moves: `[L, R]`, `UNKNOWN` where all moves stay open.
        """
        each = zip(self.moves, self.log_probabilities, joint_moves.T, strict=True)
        lists = [_only_known(*column) for column in each]
        counts = np.where(self.counts > 0, 1.0, 0.0)
        for moves, _ in lists:
            counts = np.minimum(counts * moves.counts, MOST_COMPLETIONS)
        return OpenMoves([moves for moves, _ in lists], [logs for _, logs in lists], counts)


def open_moves(
    machine: Machine,
    role: int,
    states: States,
    evidence: Learnt,
    model: MoveModel = UNIFORM,
    views: IntArray | None = None,
) -> OpenMoves:
    """The moves each role may have made, given what `role` knows of the turn.

    Args:
        states: L lanes.
        evidence: `[L]` what the role knows.
        model: how the other roles move.
        views: `[L, R]` what every role knew before the turn, if that is known.
    """
    moves, log_probabilities = [], []
    counts = np.ones(len(states))
    told = machine.told_moves(evidence.percepts)
    for j in range(len(machine.roles)):
        behind = _behind(machine, role, j, states, evidence.percepts, model)
        if behind is not None:
            options, logs = behind
        elif j == machine.random_role:
            options, logs = _possible(machine.chance(states))
        elif j == role:
            options, logs = _own(machine, role, states, evidence)
        else:
            options = machine.legal(states, j, allow_stuck=True)
            paths = None if views is None else views[:, j]
            logs = log_likelihoods(model, machine, states, j, options, paths)
        if told is not None:
            options, logs = _only_known(options, logs, told[:, j])
        counts = np.minimum(counts * options.counts, MOST_COMPLETIONS)
        moves.append(options)
        log_probabilities.append(logs)
    return OpenMoves(moves, log_probabilities, counts)


def _own(
    machine: Machine, role: int, states: States, evidence: Learnt
) -> tuple[Ragged, FloatArray]:
    """The move that we know we made, or all if we do not know it, and their log priors; none where
    the move is not legal, or one is that was refused."""
    parts: list[tuple[Ragged, FloatArray]] = []
    start, size = 0, FIRST_LANES
    while start < len(states) or not parts:  # of no lanes there is a list, too
        end = min(start + size, len(states))
        at_once = np.arange(start, end)
        legal = machine.legal(states.take(at_once), role, allow_stuck=True)
        size = max(1, MOVES_AT_ONCE * len(at_once) // max(1, len(legal.values)))
        parts.append(_own_of(legal, Learnt(*(each[start:end] for each in evidence))))
        start = end
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([each.counts for each, _ in parts])
    values = np.concatenate([each.values for each, _ in parts])
    return Ragged(offsets_of(counts), values), np.concatenate([logs for _, logs in parts])


def _own_of(legal: Ragged, evidence: Learnt) -> tuple[Ragged, FloatArray]:
    """`_own` of the lists of our legal moves."""
    options, _ = _only_known(legal, np.zeros(len(legal.values)), evidence.moves)
    # A move we chose is certain; one drawn for us has 1 / (our legal moves there).
    chosen = (evidence.moves != UNKNOWN) & (evidence.refused == UNKNOWN)
    logs = np.where(chosen, 0.0, -np.log(np.maximum(legal.counts, 1)))
    if (evidence.refused != UNKNOWN).any():
        # A move refused in time was illegal: states in which it is legal are ruled out.
        left = np.where(_contains(legal, evidence.refused), 0, options.counts)
        kept = left[segment_ids(options.offsets)] > 0
        options = Ragged(offsets_of(left), options.values[kept])
    return options, np.repeat(logs, options.counts)


def _behind(
    machine: Machine, role: int, mover: int, states: States, percepts: IntArray, model: MoveModel
) -> tuple[Ragged, FloatArray] | None:
    """The moves of another role that may have caused the role's percepts, and their log priors,
    if it has very many other moves, all of them equally likely."""
    is_even = mover == machine.random_role or model is UNIFORM
    if mover == role or not is_even or not on_circuit(machine):
        return None
    many = MANY_MOVES if len(states) < MANY_LANES else 1
    found = machine.legal_behind(states, mover, percepts, role, many)
    if found is None:
        return None
    moves, totals = found
    return moves, np.repeat(-np.log(np.maximum(totals, 1)), moves.counts)


def _contains(lists: Ragged, values: IntArray) -> BoolArray:
    """`[L]` whether each list contains the value of its lane."""
    owner = segment_ids(lists.offsets)
    found = np.zeros(len(values), dtype=np.bool_)
    found[owner[lists.values == values[owner]]] = True
    return found


def _possible(chance: Chance) -> tuple[Ragged, FloatArray]:
    """The moves of `random` with positive probability, and the logs of their probabilities."""
    options = Ragged(chance.offsets, chance.moves)
    if len(chance.moves) == np.count_nonzero(options.counts):  # one move where there is any
        return options, np.zeros(len(chance.moves))
    keep = chance.probabilities > 0
    if keep.all():
        return options, np.log(chance.probabilities)
    owner = segment_ids(options.offsets)[keep]
    offsets = offsets_of(np.bincount(owner, minlength=len(options.offsets) - 1))
    return Ragged(offsets, options.values[keep]), np.log(chance.probabilities[keep])


def _only_known(lists: Ragged, logs: FloatArray, known: IntArray) -> tuple[Ragged, FloatArray]:
    """Lists reduced to the known move, if it is legal; all moves if it is unknown."""
    offsets, values = np.empty_like(lists.offsets), np.empty_like(lists.values)
    new_logs = np.empty_like(logs)
    keep = keep_known.for_steps(len(values) + len(known))
    found = keep(*lists, logs, known, offsets, values, new_logs)
    return Ragged(offsets, values[:found]), new_logs[:found]


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
    """`joint_moves[K, R]` of completions numbered within their lanes, and log of their priors.

    The number of a completion is written with a digit for each role, the last role's first.

    Args:
        offsets: `[R, L + 1]` where the open moves of each role begin in `values` and `logs`.
    """
    num_roles = len(offsets)
    for k in range(len(lanes)):
        lane, number = lanes[k], numbers[k]
        total = 0.0
        for j in range(num_roles - 1, -1, -1):
            place = offsets[j, lane]
            size = offsets[j, lane + 1] - place
            if size > 1:
                place += number % size
                number //= size
            joint_moves[k, j] = values[place]
            total += logs[place]
        log_priors[k] = total


@kernel
def keep_known(
    offsets: IntArray,
    values: IntArray,
    logs: FloatArray,
    known: IntArray,
    new_offsets: IntArray,
    new_values: IntArray,
    new_logs: FloatArray,
) -> int:
    """Lists with the known value alone, where it is in them; whole lists where it is unknown.

    Returns:
        how many values are left.
    """
    at = 0
    new_offsets[0] = 0
    for lane in range(len(known)):
        for k in range(offsets[lane], offsets[lane + 1]):
            if known[lane] == UNKNOWN or values[k] == known[lane]:
                new_values[at] = values[k]
                new_logs[at] = logs[k]
                at += 1
        new_offsets[lane + 1] = at
    return at
