"""The machine for Gambit's files: all methods are look-ups in tables of the game's tree.

A state is a position: see `Tables`. The roles that act at a node play one of its moves, and all
others play `noop`. A role that acts perceives `(information_set N)`, with the number in the file,
and nothing else. If every information set is a single node, all roles see joint moves instead, as
in plain GDL. Goal values are sums of the payoffs on the path.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from threading import RLock

import numpy as np

from ggp.errors import GDLError, IllegalMoveError, MachineError
from ggp.gdl.analysis.told_moves import PLAIN
from ggp.gdl.games import find_game
from ggp.gdl.program import RANDOM
from ggp.gdl.source import Diagnostic
from ggp.gdl.syntax.parser import canonical_term
from ggp.machine.arrays import first_seen, offsets_of, ragged, take_segments
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    NO_PERCEPTS,
    BoolArray,
    Chance,
    FloatArray,
    IntArray,
    Limits,
    Machine,
    Playouts,
    Ragged,
    ShownStates,
    States,
    Stepped,
)
from ggp.machine.definition import Frontend
from ggp.machine.gambit.games import CHANCE, GambitGame, GambitTree, gambit_game, names_of
from ggp.machine.percepts import JointPercepts, PerceptTable, RevealedMoves
from ggp.run.clocks import TellsTime

_INFORMATION_SET = re.compile(r"\(information_set (0|[1-9]\d{0,17})\)")


class TreeStates(ShownStates):
    """A batch of positions, `[L]`."""

    __slots__ = ("owner", "positions")

    def __init__(self, owner: Tables, positions: IntArray) -> None:
        self.owner, self.positions = owner, positions

    def __len__(self) -> int:
        return len(self.positions)

    def first_fluents(self) -> tuple[str, ...]:
        return self.owner.fluents(self.positions[:1])[0]

    def take(self, lanes: IntArray) -> TreeStates:
        return TreeStates(self.owner, self.positions[lanes])


class TreeMachine:
    """A `Machine` on the tree in a file; several threads may use it at the same time.

    Args:
        game: from `gambit_game`.
        threads: processors that a search may use.

    Raises:
        MachineError: the tree is too large, see `Tables`.

    Attributes:
        growing: held while tables grow.
    """

    backend = "tree"

    def __init__(self, game: GambitGame, *, threads: int = 1) -> None:
        tree = game.tree
        self.roles = game.roles
        self.random_role = game.roles.index(RANDOM) if tree.has_chance else None
        self.states_visited = 0
        self.threads = threads
        self.growing = RLock()
        self._tree = tree
        self._tables = tables = Tables(game)
        low, high = game.goal_bounds
        self.goal_range = (low, high if high > low else low + 1.0)
        self._percepts = PerceptTable(self._may_be_seen, self.growing)
        self._joint = JointPercepts(game.as_program())
        self._revealed = RevealedMoves(PLAIN if tables.is_open else None, self.growing)
        # `[sets + 1]` the percept of each information set; the last entry is for roles without one.
        self._set_percepts = np.array(
            [
                *(
                    NO_PERCEPTS
                    if info_set.player == CHANCE
                    else self._percepts.number((f"(information_set {info_set.number})",))
                    for info_set in tree.sets
                ),
                NO_PERCEPTS,
            ]
        )

    # ---------------------------------------------------------------- batches

    def initial(self, num_lanes: int = 1) -> TreeStates:
        return TreeStates(self._tables, np.zeros(num_lanes, dtype=np.int64))

    def concatenate(self, batches: Sequence[States]) -> TreeStates:
        parts = [self._positions(batch) for batch in batches]
        none = np.zeros(0, dtype=np.int64)
        return TreeStates(self._tables, np.concatenate(parts) if parts else none)

    def groups(self, states: States) -> IntArray:
        return first_seen(self._positions(states))[1]

    # ---------------------------------------------------------------- semantics

    def terminal(self, states: States) -> BoolArray:
        return self._tables.is_over[self._positions(states)]

    def goals(self, states: States) -> FloatArray:
        return self._tables.goals[self._tables.node_of[self._positions(states)]]

    def legal(self, states: States, role: int, *, allow_stuck: bool = False) -> Ragged:
        offsets, entries = self._move_entries(states, role)
        return Ragged(offsets, self._tables.moves.values[entries])

    def chance(self, states: States) -> Chance:
        if self.random_role is None:
            none = np.zeros(0, dtype=np.int64)
            return Chance(np.zeros(len(states) + 1, dtype=np.int64), none, np.zeros(0))
        offsets, entries = self._move_entries(states, self.random_role)
        return Chance(offsets, self._tables.moves.values[entries], self._tables.shares[entries])

    def step(self, states: States, joint_moves: IntArray) -> Stepped:
        tables, positions = self._tables, self._positions(states)
        self.states_visited += len(positions)
        branch = np.zeros(len(positions), dtype=np.int64)
        for role in range(len(self.roles)):
            lists, moves = tables.lists_of(positions, role), joint_moves[:, role]
            place = tables.places_of(lists, moves)
            if (place < 0).any():
                lane = int(np.argmax(place < 0))
                texts = [self.move_text(move) for move in tables.moves[int(lists[lane])].tolist()]
                raise IllegalMoveError(
                    self.roles[role], self.move_text(int(moves[lane])), sorted(texts)
                )
            branch = branch * tables.num_moves[lists] + place
        successors = tables.successors(positions, branch)
        if self._tables.is_open:
            percepts = self._joint.of(self, joint_moves)
        else:
            percepts = self._set_percepts[tables.sets_of(successors)]
        return Stepped(TreeStates(self._tables, successors), percepts)

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        tables, positions = self._tables, self._positions(states).copy()
        until_s = None if max_seconds is None else clock() + max_seconds
        steps = np.zeros(len(positions), dtype=np.int64)
        going = np.flatnonzero(~tables.is_over[positions])
        while len(going) and (until_s is None or clock() <= until_s):
            successors = tables.random_successors(positions[going], rng)
            num_steps = steps[going] + tables.turns[successors] - tables.turns[positions[going]]
            in_time = num_steps <= max_steps
            steps[going] = np.where(in_time, num_steps, max_steps)
            going = going[in_time]
            positions[going] = successors[in_time]
            going = going[~tables.is_over[positions[going]]]
        finished = tables.is_over[positions]
        self.states_visited += int(steps.sum())
        goals = tables.goals[tables.node_of[positions]] * finished[:, None]
        return Playouts(goals, steps, finished)

    # ---------------------------------------------------------------- terms

    def move_id(self, move: str) -> int | None:
        exact = self._tables.move_ids.get(move)
        return self._tables.move_ids.get(canonical_term(move)) if exact is None else exact

    def move_text(self, move: int) -> str:
        if not 0 <= move < len(self._tables.move_texts):
            raise MachineError(f"there is no move number {move}")
        return self._tables.move_texts[move]

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        exact = self._percepts.find(percepts)
        return self._percepts.find(list(map(canonical_term, percepts))) if exact is None else exact

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        return self._percepts.texts(percept)

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        return self._revealed.of(self, percepts)

    def fluents(self, states: States) -> list[tuple[str, ...]]:
        return self._tables.fluents(self._positions(states))

    def written(self, states: States) -> list[tuple[str, ...]]:
        """See `StateWriter`: the numbers of positions."""
        return [(str(position),) for position in self._positions(states).tolist()]

    def from_written(self, texts: Sequence[tuple[str, ...]]) -> TreeStates:
        """See `StateWriter`."""
        positions = []
        for text in texts:
            position = -1
            with suppress(ValueError):
                (position,) = map(int, text)
            if not 0 <= position < len(self._tables.node_of):
                raise MachineError(f"{text!r} is no state of this game")
            positions.append(position)
        return TreeStates(self._tables, np.array(positions, dtype=np.int64))

    def close(self) -> None:
        """Do nothing, since the machine holds only memory."""

    def use_one_thread(self) -> None:
        """See `Forkable`."""
        self.threads = 1

    # ---------------------------------------------------------------- words

    def move_words(self, states: States, role: int, move: int) -> str:
        """See `Wordy`: the label in the file, if it differs from the move."""
        (node,) = self._nodes(states)
        number = int(self._tables.sets[node, role])
        if number < 0 or not self._tables.acts[self._positions(states)[0]]:
            return ""
        place = self._tables.set_moves[number].index(move)
        label = self._tree.sets[number].actions[place]
        return "" if label == self.move_text(move) else label

    def state_words(self, states: States) -> str:
        """See `Wordy`: the labels of the moves that lead to the node."""
        (node,) = self._nodes(states)
        labels = []
        while (parent := self._tree.nodes[node].parent) >= 0:
            labels += self._labels(parent, self._tree.nodes[node].branch)
            node = parent
        return ", ".join(reversed(labels))

    def knowledge_words(self, states: States, role: int) -> str:
        """See `Wordy`: the label of the information set of a role that acts."""
        (node,) = self._nodes(states)
        number = int(self._tables.sets[node, role])
        return "" if number < 0 or role == self.random_role else self._tree.sets[number].label

    # ---------------------------------------------------------------- private

    def _positions(self, states: States) -> IntArray:
        if not isinstance(states, TreeStates) or states.owner is not self._tables:
            raise MachineError("these states belong to another machine")
        return states.positions

    def _nodes(self, states: States) -> list[int]:
        nodes: list[int] = self._tables.node_of[self._positions(states)].tolist()
        return nodes

    def _move_entries(self, states: States, role: int) -> tuple[IntArray, IntArray]:
        lists = self._tables.lists_of(self._positions(states), role)
        return take_segments(self._tables.moves.offsets, lists)

    def _labels(self, node: int, branch: int) -> list[str]:
        """The labels of a joint move, from the last role to the first."""
        labels = []
        for number in reversed(self._tree.nodes[node].sets):
            actions = self._tree.sets[number].actions
            branch, place = divmod(branch, len(actions))
            labels.append(actions[place])
        return labels

    def _may_be_seen(self, text: str) -> bool:
        if not self._tables.is_open:
            return _INFORMATION_SET.fullmatch(text) is not None
        for role in self.roles:
            beginning = f"({PLAIN} {role} "
            if text.startswith(beginning):
                return text[len(beginning) : -1] in self._tables.move_ids
        return False


# ------------------------------------------------------------------------
# The tree in a file as arrays.
#
# A *position* is a node, or a turn of waiting before a node, without choices (see `tree`).

NOOP = "noop"
"""The move of roles that do not act."""

MAX_POSITIONS = 2_000_000
"""Greatest number of nodes and turns of waiting."""

_OVER, _NO_CHOICE = 0, 1
"""Indices of the lists of moves for the end of the game, and for roles that do not act."""


class Tables:
    """The tree as arrays: N nodes, P positions, R roles, S information sets.

    Args:
        game: from `gambit_game`.

    Raises:
        MachineError: there are more than `MAX_POSITIONS`.

    Attributes:
        is_open: whether every information set of a player is a single node.
        node_of: `[P]` the node of each position.
        last_position: `[N]` the position in which the node itself is played.
        acts: `[P]` false for positions of waiting.
        turns: `[P]` the turn of each position.
        is_over: `[P]` whether the game is over.
        goals: `[N, R]` sums of payoffs up to each node; 0 for chance.
        sets: `[N, R]` the information set of each role that acts, -1 for others.
        moves: S + 2 lists of move ids: `_OVER`, `_NO_CHOICE`, then one for each set.
        num_moves: `[S + 2]` the length of each list.
        shares: the probability of each entry of `moves` that is a move of chance.
        set_moves: the moves of each information set in the order of the file.
        move_texts, move_ids: the moves as canonical KIF.
    """

    def __init__(self, game: GambitGame) -> None:
        tree, num_roles = game.tree, len(game.roles)
        nodes = tree.nodes
        is_players = [info_set.player != CHANCE for info_set in tree.sets]
        sizes = np.bincount(
            [number for node in nodes for number in node.sets], minlength=len(tree.sets)
        )
        self.is_open = bool((sizes[is_players] == 1).all())
        self.sets = np.full((len(nodes), num_roles), -1)
        for index, node in enumerate(nodes):
            for number in node.sets:
                self.sets[index, tree.sets[number].player] = number  # chance is the last role
        self._lay_out_positions(game)
        self._collect_moves(tree)
        self._collect_branches(tree)
        self.goals: FloatArray = np.zeros((len(nodes), num_roles))
        self.goals[:, : len(tree.players)] = np.array(tree.totals, dtype=np.float64)

    def fluents(self, positions: IntArray) -> list[tuple[str, ...]]:
        """The fluents of each position: its node, and the number of turns until it is played."""
        nodes = self.node_of[positions]
        waits = self.last_position[nodes] - positions
        return [
            (f"(node {node + 1})", *([f"(turns_until {wait})"] if wait else []))
            for node, wait in zip(nodes.tolist(), waits.tolist(), strict=True)
        ]

    def _lay_out_positions(self, game: GambitGame) -> None:
        nodes = game.tree.nodes
        turns = np.array(game.turns)
        waits = np.zeros(len(nodes), dtype=np.int64)
        if not self.is_open:  # else nobody's knowledge depends on the turn
            parents = np.array([node.parent for node in nodes])
            waits[1:] = turns[1:] - turns[parents[1:]] - 1
        else:
            turns = np.zeros(len(nodes), dtype=np.int64)
            for place, node in enumerate(nodes[1:], start=1):
                turns[place] = turns[node.parent] + 1
        if len(nodes) + waits.sum() > MAX_POSITIONS:
            raise MachineError(
                f"{game.source.name} has more than {MAX_POSITIONS:,} nodes, or turns in which "
                "roles wait so that the nodes of an information set are played in one turn"
            )
        self.node_of = np.repeat(np.arange(len(nodes)), waits + 1)
        offsets = offsets_of(waits + 1)
        self.first_position, self.last_position = offsets[:-1], offsets[1:] - 1
        places = np.arange(len(self.node_of))
        self.acts: BoolArray = places == self.last_position[self.node_of]
        self.turns = turns[self.node_of] - (self.last_position[self.node_of] - places)
        is_end = np.array([not node.sets for node in nodes])
        self.is_over: BoolArray = is_end[self.node_of] & self.acts

    def _collect_moves(self, tree: GambitTree) -> None:
        self.move_texts, self.move_ids = [NOOP], {NOOP: 0}
        self.set_moves: list[list[int]] = []
        lists, shares = [np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)], [1.0]
        for group in tree.sets:
            ids = [self._move(name) for name in names_of(group.actions, "move")]
            self.set_moves.append(ids)
            likely = _likely(group.shares, len(ids))
            lists.append(np.array(ids, dtype=np.int64)[likely])
            shares += [float(group.shares[place]) if group.shares else 1.0 for place in likely]
        self.moves = ragged(lists)
        self.num_moves = self.moves.counts
        self.shares: FloatArray = np.array(shares)
        # Pairs of list and move as single numbers, sorted, for look-ups of indices.
        list_of = np.repeat(np.arange(len(lists)), self.num_moves)
        keys = list_of * len(self.move_texts) + self.moves.values
        order = np.argsort(keys)
        self._keys = keys[order]
        self._places = order - self.moves.offsets[list_of[order]]

    def _move(self, name: str) -> int:
        move = self.move_ids.setdefault(name, len(self.move_texts))
        if move == len(self.move_texts):
            self.move_texts.append(name)
        return move

    def _collect_branches(self, tree: GambitTree) -> None:
        """Make `[B]` the node after each joint move, and cumulative probabilities of these."""
        sets, nodes = tree.sets, tree.nodes
        children: list[list[int]] = [[] for _ in nodes]
        for index, node in enumerate(nodes[1:], start=1):
            children[node.parent].append(index)
        lists, chances = [], []
        for index, node in enumerate(nodes):
            by_branch = sorted(children[index], key=lambda child: nodes[child].branch)
            shares: tuple[Fraction, ...] = ()
            if len(node.sets) == 1:
                shares = sets[node.sets[0]].shares
            likely = _likely(shares, len(by_branch))
            lists.append(np.array(by_branch, dtype=np.int64)[likely])
            even = 1 / max(len(by_branch), 1)
            ups = np.cumsum([float(shares[branch]) if shares else even for branch in likely])
            if len(ups):
                ups[-1] = 1.0
            chances.append(index + ups)
        self._branches = ragged(lists)
        # Sorted, because the probabilities of node n were added to n.
        self._ups: FloatArray = np.concatenate(chances)

    def lists_of(self, positions: IntArray, role: int) -> IntArray:
        """`[L]` the index of the list of a role's moves."""
        number = self.sets[self.node_of[positions], role]
        lists = np.where(self.acts[positions] & (number >= 0), number + 2, _NO_CHOICE)
        return np.where(self.is_over[positions], _OVER, lists)

    def places_of(self, lists: IntArray, moves: IntArray) -> IntArray:
        """`[L]` the index of each move in its list; -1 if it is not in the list."""
        keys = lists * len(self.move_texts) + moves
        index = np.searchsorted(self._keys, keys).clip(max=len(self._keys) - 1)
        fits = (self._keys[index] == keys) & (moves >= 0) & (moves < len(self.move_texts))
        return np.where(fits, self._places[index], -1)

    def successors(self, positions: IntArray, branch: IntArray) -> IntArray:
        """`[L]` the positions after the given branches."""
        nodes, acts = self.node_of[positions], self.acts[positions]
        places = np.where(acts, self._branches.offsets[nodes] + branch, 0)
        return np.where(acts, self.first_position[self._branches.values[places]], positions + 1)

    def random_successors(self, positions: IntArray, rng: np.random.Generator) -> IntArray:
        """`[L]` the positions of the nodes after random joint moves; skips waiting."""
        nodes = self.node_of[positions]
        index = np.searchsorted(self._ups, nodes + rng.random(len(nodes)), side="right")
        child = self._branches.values[index.clip(max=self._branches.offsets[nodes + 1] - 1)]
        return np.where(self.acts[positions], self.last_position[child], self.last_position[nodes])

    def sets_of(self, positions: IntArray) -> IntArray:
        """`[L, R]` the information set of each role that acts, -1 for others."""
        info_sets = self.sets[self.node_of[positions]]
        return np.where(self.acts[positions, None], info_sets, -1)


def _likely(shares: Sequence[Fraction], count: int) -> list[int]:
    """Indices of the moves with a positive probability."""
    return [place for place in range(count) if not shares or shares[place] > 0]


# ------------------------------------------------------------------------
# The frontend of Gambit's files.


def _read(text: str | bytes, name: str, files: bool) -> GambitGame:
    return gambit_game(text, name)


def _build(game: GambitGame, limits: Limits, ready: bool) -> Machine:
    return TreeMachine(game, threads=limits.threads)


def _check(text: str, name: str) -> tuple[Diagnostic, ...]:
    try:
        return gambit_game(text, name).diagnostics
    except GDLError as error:
        return error.diagnostics


def _goal_bounds(game: GambitGame) -> tuple[float, float]:
    return game.goal_bounds


FRONTEND = Frontend(_read, {"auto": _build, "tree": _build}, find_game, _check, _goal_bounds)
