"""Opponent models by information set: probabilities of moves from a file, or counted in matches.

Beliefs and searches ask a model for the moves of a role at an incomplete path (`PathModel`).
`PolicyMoves` looks them up in strategies, `LearnedMoves` in counts of earlier matches, and
`LateMoves` expects late opponents to make first legal moves.

`LearnedMoves` counts moves over a series of matches (D. Billings et al., Opponent Modeling in
Poker, AAAI 1998, as used in paper 001). An opponent's cards are often never revealed. So at the end
of a match its moves are counted in every particle, in proportion to the particle's weight:

    it bet, and we folded     it had a king (weight 0.8): its bet with a king counts 0.8 more
                              it had a jack (weight 0.2): its bet with a jack counts 0.2 more
    it bet, and we called     it showed a king: its bet with a king counts 1 more

Since weights depend on earlier counts, this is expectation maximisation, match by match.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.move_models import Known, PathModel
from ggp.belief.paths import PathTree
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.errors import ConfigError
from ggp.machine.arrays import enlarged, segment_ids
from ggp.machine.base import UNKNOWN, FloatArray, IntArray, Machine, Ragged
from ggp.run.whole_files import write_whole

PRIOR_COUNTS = 2.0
"""Weight of the prior at every information set, in counted moves."""

MIN_COUNT = 0.01
"""Smaller counts of a move in a match are dropped."""

MAX_ENDS = 1 << 17
"""Most joint moves of the last turn, over all particles, that are tried at the end of a match."""


class PolicyMoves(PathModel):
    """The other roles follow strategies: see `ggp.belief.policy_models`.

    At an information set that its strategy lacks, there is no prediction.

    Args:
        strategies: by role.
        prior_counts: trust in an information set is n / (n + this), where n is the sum of its
            moves' shares; None for full trust.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        own_role: int,
        strategies: Mapping[str, Strategy],
        prior_counts: float | None = None,
    ) -> None:
        super().__init__(machine, tree, own_role)
        self._strategies, self._prior_counts = strategies, prior_counts

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        strategy = self._strategies.get(self._machine.roles[role], {})
        pairs = zip(paths.tolist(), moves, strict=True)
        return [self._at(strategy, path, legal) for path, legal in pairs]

    def _at(self, strategy: Strategy, path: int, legal: IntArray) -> Known | None:
        history = history_of(self._machine, self._tree, path) if strategy else None
        counts = None if history is None else strategy.get(history)
        if counts is None:
            return None
        shares = np.array([counts.get(self._machine.move_text(m), 0.0) for m in legal.tolist()])
        total = float(shares.sum())
        if total <= 0:
            return None
        prior = self._prior_counts
        return Known(legal, shares / total, 1.0 if prior is None else total / (total + prior))


class LearnedMoves(PolicyMoves):
    """The other roles move as in earlier matches, by smoothed counts.

    Args:
        counts: counts of moves, by role, at the start of the match.
    """

    def __init__(
        self, machine: Machine, tree: PathTree, own_role: int, counts: Mapping[str, Strategy]
    ) -> None:
        super().__init__(machine, tree, own_role, counts, PRIOR_COUNTS)

    def seen(
        self, bag: Bags, move: int, percepts: int, goal: float | None = None
    ) -> dict[str, Strategy]:
        """Counts of the other roles' moves in a match, by role.

        Args:
            bag: one bag with views, of the path before the last turn.
            move, percepts: of the last turn, or `UNKNOWN`.
            goal: the role's goal value for the match, if known.

        Returns:
            an empty mapping if no particle has such an end, or too many joint moves must be tried.
        """
        ends = ends_of(self._machine, bag, move, percepts, goal, self)
        if ends is None:
            return {}
        views, joint_moves, weights = ends
        counts_by_role: dict[str, Strategy] = {}
        for role in range(len(self._machine.roles)):
            if role not in (self._own_role, self._machine.random_role):
                counts = self._count_moves(views[:, role], joint_moves[:, role], weights)
                strategy = self._by_history(counts)
                if strategy:
                    counts_by_role[self._machine.roles[role]] = strategy
        return counts_by_role

    def _count_moves(
        self, paths: IntArray, moves: IntArray, weights: FloatArray
    ) -> dict[tuple[int, int], float]:
        """Weighted count of each move at each path, along whole matches."""
        counts: dict[tuple[int, int], float] = {}
        for path, move, weight in zip(
            paths.tolist(), moves.tolist(), weights.tolist(), strict=True
        ):
            counts[path, move] = counts.get((path, move), 0.0) + weight
            # Earlier moves of the match are in the path: walk back to the start.
            while self._tree.depth(path):
                turn = np.array([path])
                last_move, _, refused = self._tree.last_turns(turn)[0].tolist()
                path = int(self._tree.parents(turn)[0])
                if refused == UNKNOWN:  # else it was drawn for the role
                    counts[path, last_move] = counts.get((path, last_move), 0.0) + weight
        return counts

    def _by_history(self, counts: Mapping[tuple[int, int], float]) -> Strategy:
        """The counts by history in KIF, without forced moves."""
        strategy: Strategy = {}
        for (path, move), count in counts.items():
            prediction = self._predictions.get(path)
            if count < MIN_COUNT or prediction is None or len(prediction.moves) < 2:
                continue
            history = history_of(self._machine, self._tree, path)
            if history is not None:
                strategy.setdefault(history, {})[self._machine.move_text(move)] = count
        return strategy


def ends_of(
    machine: Machine,
    bag: Bags,
    move: int,
    percepts: int,
    goal: float | None,
    model: PathModel,
) -> tuple[IntArray, IntArray, FloatArray] | None:
    """The possible ends of a match: `[K, R]` views before the last turn, `[K, R]` joint moves, and
    `[K]` weights, which sum to 1.

    None if the match cannot have such an end, or more than `MAX_ENDS` joint moves must be tried.
    """
    views = bag.sets.views
    if views is None or bag.depleted[0]:
        return None
    lanes = bag.lanes_of(0)
    states, views = bag.states_of(0), views[lanes]
    evidence = (np.full(len(lanes), value, dtype=np.int64) for value in (move, percepts, UNKNOWN))
    options = open_moves(machine, bag.role, states, Learnt(*evidence), model, views)
    if not 0 < options.counts.sum() <= MAX_ENDS:
        return None
    counts = options.counts.astype(np.int64)
    rows = np.repeat(np.arange(len(lanes)), counts)
    numbers = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    joint_moves, log_priors = options.joint(rows, numbers)
    stepped = machine.step(states.take(rows), joint_moves)
    keep = machine.terminal(stepped.states)
    if percepts != UNKNOWN:
        keep &= stepped.percepts[:, bag.role] == percepts
    if goal is not None and keep.any():
        ended = np.flatnonzero(keep)
        keep[ended] = machine.goals(stepped.states.take(ended))[:, bag.role] == goal
    if not keep.any():
        return None
    log_weights = (bag.sets.log_weights[lanes][rows] + log_priors)[keep]
    weights = np.exp(log_weights - log_weights.max())
    return views[rows[keep]], joint_moves[keep], weights / weights.sum()


# ------------------------------------------------------------------------
# `LateMoves`: roles that may be *late*, so that the server makes the first legal move for them.
#
# Some game servers replace a late or illegal move by the first legal one. With a small probability
# a role is late, and then in most of its turns. Whether it is late is unknown for the whole match,
# but the role's moves in a particle are evidence:
#
# P(late | path) : P(prompt | path) = P(late) : P(prompt)
#                                         x product over moves of P(move | late) : P(move | prompt)
#
# A prompt role is assumed to move uniformly. So every first legal move makes lateness more
# credible, and any other move makes it much less credible. This matters in games that hide the
# other roles' moves: four first moves in a row are one path among thousands if everybody moves
# uniformly, and one in a few if somebody may be late.

LATE = 0.2
"""Probability that a role is late."""

OFTEN = 0.8
"""Share of its turns in which a late role is late; its other moves are uniform."""

SortKey = tuple[tuple[int, ...], str]
"""Sort key of a move among all moves."""

_UNKNOWN_FIRST, _NEW = -1, -2
"""In place of the first legal move: of a path whose legal moves are unknown, or of a new path."""


class LateMoves(PathModel):
    """The other roles may be late.

    Args:
        machine, tree, own_role: see `PathModel`.
        order: the sort key of a move, by its id: the server makes the legal move with the least
            key. No two moves have the same key.
        late: probability that a role is late, greater than 0 and less than 1.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        own_role: int,
        order: Callable[[int], SortKey],
        late: float = LATE,
    ) -> None:
        super().__init__(machine, tree, own_role)
        self._key_of, self._prior = order, float(np.log(late / (1 - late)))
        # By path: log odds that the role is late, its first legal move, its number of legal moves.
        self._odds = np.zeros(0)
        self._first, self._count = np.zeros((2, 0), dtype=np.int64)
        # Sort keys and ranks of moves by id; moves by rank.
        self._keys: list[SortKey] = []
        self._ranks = self._by_rank = np.zeros(0, dtype=np.int64)

    def shares(self, role: int, paths: IntArray, moves: Ragged) -> tuple[FloatArray, FloatArray]:
        """See `PathModel`: the first legal move has share 1; the trust is P(late now | path)."""
        counts = moves.counts
        if role == self._own_role or role == self._machine.random_role or not len(paths):
            owner = segment_ids(moves.offsets)
            return 1.0 / np.maximum(counts, 1)[owner], np.zeros(len(paths))
        firsts = self._firsts(moves)
        self._meet(paths)
        fresh = np.flatnonzero(self._first[paths] == _UNKNOWN_FIRST)
        if len(fresh):
            unasked = paths[fresh]
            self._first[unasked], self._count[unasked] = firsts[fresh], counts[fresh]
        is_first = (moves.values == np.repeat(firsts, counts)).astype(np.float64)
        trust = OFTEN / (1.0 + np.exp(-self._odds[paths]))
        return is_first, np.where(counts > 1, trust, 0.0)

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        """Not needed: `shares` predicts all paths together."""
        return [None] * len(paths)

    def renumber(self, numbers: IntArray) -> None:
        living = np.flatnonzero(numbers[: len(self._first)] >= 0)
        to = numbers[living]
        odds, first, count = self._odds[living], self._first[living], self._count[living]
        self._first[:] = _NEW
        self._odds[to], self._first[to], self._count[to] = odds, first, count

    def _meet(self, paths: IntArray) -> None:
        """Set the odds at new paths, and at their beginnings."""
        if len(self._tree) > len(self._first):
            size = len(self._tree)
            self._odds = enlarged(self._odds, size, 0)
            self._first = enlarged(self._first, size, _NEW)
            self._count = enlarged(self._count, size, 1)
        longer: list[IntArray] = []
        while len(paths := paths[self._first[paths] == _NEW]):
            is_empty = self._tree.depths(paths) == 0
            empty, paths = paths[is_empty], paths[~is_empty]
            self._odds[empty], self._first[empty] = self._prior, _UNKNOWN_FIRST
            longer.append(paths)
            paths = self._tree.parents(paths)
        for paths in reversed(longer):
            parents = self._tree.parents(paths)
            first, count = self._first[parents], np.maximum(self._count[parents], 1)
            last_moves = self._tree.last_turns(paths)[:, 0]
            # P(move | late) / P(move | prompt), where P(move | prompt) = 1 / count
            ratio = (1 - OFTEN) + np.where(last_moves == first, OFTEN * count, 0.0)
            # Without legal moves of the parent, its first move is unknown: no evidence.
            ratio[first < 0] = 1.0
            self._odds[paths] = self._odds[parents] + np.log(ratio)
            self._first[paths] = _UNKNOWN_FIRST

    def _firsts(self, moves: Ragged) -> IntArray:
        """`[L]` the first legal move of each lane; -1 if there is none."""
        num_known = int(moves.values.max(initial=-1)) + 1
        if num_known > len(self._ranks):
            self._keys += map(self._key_of, range(len(self._keys), num_known))
            by_rank = sorted(range(num_known), key=self._keys.__getitem__)
            self._by_rank = np.array(by_rank, dtype=np.int64)
            self._ranks = np.argsort(self._by_rank)
        firsts = np.full(len(moves.counts), -1, dtype=np.int64)
        has_moves = moves.counts > 0
        if has_moves.any():
            lowest = np.minimum.reduceat(self._ranks[moves.values], moves.offsets[:-1][has_moves])
            firsts[has_moves] = self._by_rank[lowest]
        return firsts


# ------------------------------------------------------------------------
# Strategies in files: the frequency of each move of a role, by its moves and percepts so far.
#
# The format is the output of `ggp solve --strategy --json`, of which only `strategy` is read:
#
# {"strategy": {"player1": [
#         {"history": [{"move": "noop", "percepts": ["(dealt jack)"]}],
#          "moves": {"bet": 0.25, "check": 0.75}}]}}
#
# The numbers need not sum to 1, so counts of moves are a strategy, too (`remember`).

History = tuple[tuple[str, tuple[str, ...]], ...]
"""Move and sorted percepts of each turn, in canonical KIF."""

Strategy = dict[History, dict[str, float]]
"""The strategy of one role: the frequency of each move at each history, in any unit."""


def history_of(machine: Machine, tree: PathTree, path: int) -> History | None:
    """A path in KIF; None if any turn is partly unknown."""
    turns = tree.turns(path)[:, :2]
    if (turns == UNKNOWN).any():
        return None
    return tuple(
        (machine.move_text(move), tuple(sorted(machine.percept_texts(percepts))))
        for move, percepts in turns.tolist()
    )


def path_of(machine: Machine, tree: PathTree, role: int, history: History) -> int | None:
    """The path of a role with this history; None if a move or percept is not in the rules."""
    path = np.array([role])
    for move, percepts in history:
        ids = machine.move_id(move), machine.percept_id(list(percepts))
        if None in ids:
            return None
        path = tree.extend(path, *(np.array([turn_id], dtype=np.int64) for turn_id in ids))
    return int(path[0])


def read_strategies(file: str) -> dict[str, Strategy]:
    """The strategies of all roles in a file.

    Raises:
        ConfigError: the file is missing, or has another format; the message says which.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"the strategies in {file} cannot be read: {why}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"the strategies in {file} cannot be read: it is no text; policies of `ggp learn` end "
            f"in .npz, and learned:policy={file} plays them"
        ) from error
    return _parsed(text, file)


def write_strategies(file: str, strategies: Mapping[str, Strategy]) -> None:
    """Write strategies in the format of `read_strategies`, atomically.

    Raises:
        GGPError: the file cannot be written; see `write_whole`.
    """
    entries = {
        role: [
            {
                "history": [{"move": move, "percepts": list(seen)} for move, seen in history],
                "moves": {move: round(share, 9) for move, share in sorted(moves.items())},
            }
            for history, moves in sorted(strategy.items())
        ]
        for role, strategy in sorted(strategies.items())
    }
    write_whole(Path(file), json.dumps({"strategy": entries}, indent=1) + "\n")


def remember(file: str, seen: Mapping[str, Strategy]) -> None:
    """Add counts of moves to those in a file, which is created if missing.

    Processes that share the file wait for each other, so no count is lost.

    Raises:
        GGPError: the file cannot be read or written, or is no such file.
    """
    with _locked(Path(file)):
        strategies = read_strategies(file) if Path(file).exists() else {}
        for role, strategy in seen.items():
            strategy_in_file = strategies.setdefault(role, {})
            for history, moves in strategy.items():
                counts = strategy_in_file.setdefault(history, {})
                for move, count in moves.items():
                    counts[move] = counts.get(move, 0.0) + count
        write_strategies(file, strategies)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Lock a file's folder: a lock on the file itself would vanish when the file is replaced."""
    try:
        folder = os.open(file.absolute().parent, os.O_RDONLY)
    except OSError as error:
        raise ConfigError(f"strategies cannot be written to {file}: {error}") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _parsed(text: str, file: str) -> dict[str, Strategy]:
    try:
        strategies = json.loads(text)["strategy"]
        return {role: dict(map(_entry, entries)) for role, entries in strategies.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{file} has no strategies ({type(error).__name__}: {error}): it must be like what "
            "`ggp solve GAME --strategy --json` prints"
        ) from error


def _entry(entry: Any) -> tuple[History, dict[str, float]]:
    history = tuple(
        (str(turn["move"]), tuple(sorted(map(str, turn["percepts"])))) for turn in entry["history"]
    )
    moves = {str(move): float(share) for move, share in entry["moves"].items()}
    if not all(share >= 0 and np.isfinite(share) for share in moves.values()):
        raise ValueError(f"the shares of {', '.join(moves)} must be numbers of at least 0")
    return history, moves
