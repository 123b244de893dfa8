"""The machine of a game from a file of Gambit's: look-ups in tables of its tree.

A state is a position, see `tables`. Whoever acts at a node plays one of its moves there, and all
others play `noop`. The percept `(information_set N)` tells a role that it acts, and all that it
knows: N is the number in the file.
Where every information set is a single node, everybody sees joint moves instead, as in plain GDL.
Goal values are the payoffs of the file, summed up along the way.
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
from ggp.gdl.analysis.joint_move_percepts import PLAIN
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
from ggp.machine.gambit.games import GambitGame, gambit_game, names_of
from ggp.machine.gambit.tree import CHANCE, GambitTree
from ggp.machine.percepts import JointMovesTold, JointPercepts, PerceptTable
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
    """`Machine` on the tree in a file; several threads may use it at once.

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
        self._told = JointMovesTold(PLAIN, self.growing) if tables.is_open else None
        # `[sets + 1]` the percept of each information set; the last entry is that of no set.
        self._set_percepts = np.array(
            [
                *(
                    NO_PERCEPTS
                    if each.player == CHANCE
                    else self._percepts.number((f"(information_set {each.number})",))
                    for each in tree.sets
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
        offsets, taken = self._taken(states, role)
        return Ragged(offsets, self._tables.moves.values[taken])

    def chance(self, states: States) -> Chance:
        if self.random_role is None:
            none = np.zeros(0, dtype=np.int64)
            return Chance(np.zeros(len(states) + 1, dtype=np.int64), none, np.zeros(0))
        offsets, taken = self._taken(states, self.random_role)
        return Chance(offsets, self._tables.moves.values[taken], self._tables.shares[taken])

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
        after = tables.after(positions, branch)
        if self._told is not None:
            percepts = self._joint.of(self, joint_moves)
        else:
            percepts = self._set_percepts[tables.sets_of(after)]
        return Stepped(TreeStates(self._tables, after), percepts)

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
            after = tables.random_after(positions[going], rng)
            made = steps[going] + tables.turns[after] - tables.turns[positions[going]]
            in_time = made <= max_steps
            steps[going] = np.where(in_time, made, max_steps)
            going = going[in_time]
            positions[going] = after[in_time]
            going = going[~tables.is_over[positions[going]]]
        finished = tables.is_over[positions]
        self.states_visited += int(steps.sum())
        goals = tables.goals[tables.node_of[positions]] * finished[:, None]
        return Playouts(goals, steps, finished)

    # ---------------------------------------------------------------- terms

    def move_id(self, move: str) -> int | None:
        found = self._tables.move_ids.get(move)
        return self._tables.move_ids.get(canonical_term(move)) if found is None else found

    def move_text(self, move: int) -> str:
        if not 0 <= move < len(self._tables.move_texts):
            raise MachineError(f"there is no move number {move}")
        return self._tables.move_texts[move]

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        found = self._percepts.find(percepts)
        return self._percepts.find(list(map(canonical_term, percepts))) if found is None else found

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        try:
            return self._percepts.texts(percept)
        except KeyError:
            raise MachineError(f"there is no percept number {percept}") from None

    def told_moves(self, percepts: IntArray) -> IntArray | None:
        return None if self._told is None else self._told.of(self, percepts)

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
        """Do nothing: only memory is held."""

    def use_one_thread(self) -> None:
        """See `Forkable`."""
        self.threads = 1

    # ---------------------------------------------------------------- words

    def move_words(self, states: States, role: int, move: int) -> str:
        """See `Wordy`: the label in the file, where the move is not written the same."""
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
        found: list[int] = self._tables.node_of[self._positions(states)].tolist()
        return found

    def _taken(self, states: States, role: int) -> tuple[IntArray, IntArray]:
        lists = self._tables.lists_of(self._positions(states), role)
        return take_segments(self._tables.moves.offsets, lists)

    def _labels(self, node: int, branch: int) -> list[str]:
        """The labels of a joint move, that of the last role first."""
        found = []
        for number in reversed(self._tree.nodes[node].sets):
            actions = self._tree.sets[number].actions
            branch, place = divmod(branch, len(actions))
            found.append(actions[place])
        return found

    def _may_be_seen(self, text: str) -> bool:
        if self._told is None:
            return _INFORMATION_SET.fullmatch(text) is not None
        for role in self.roles:
            beginning = f"({PLAIN} {role} "
            if text.startswith(beginning):
                return text[len(beginning) : -1] in self._tables.move_ids
        return False


# ------------------------------------------------------------------------
# The tree in a file as arrays, and the ways through it.
#
# A *position* is a node, or a turn of waiting before one, where nobody has a choice (see `tree`).

NOOP = "noop"
"""Move of the roles whose turn it is not."""

MOST_POSITIONS = 2_000_000
"""Greatest number of nodes and turns of waiting."""

_OVER, _NO_CHOICE = 0, 1
"""Numbers of the lists of moves of roles where the game is over, and of those that do not act."""


class Tables:
    """The tree as arrays: N nodes, P positions, R roles, S information sets.

    Args:
        game: from `gambit_game`.

    Raises:
        MachineError: there are more than `MOST_POSITIONS`.

    Attributes:
        is_open: whether every information set of a player is a single node.
        node_of: `[P]` the node of each position.
        last_position: `[N]` the position in which the node itself is played.
        acts: `[P]` whether a position is not one of waiting.
        turns: `[P]` the turn of each position.
        is_over: `[P]` whether the game is over.
        goals: `[N, R]` payoffs up to and at each node; 0 for chance.
        sets: `[N, R]` the information set of each role that acts, -1 for others.
        moves: S + 2 lists of move ids: see `_OVER`, `_NO_CHOICE`, then those of each set.
        num_moves: `[S + 2]` the length of each.
        shares: the probability of each entry of `moves`, if it is one of chance.
        set_moves: the moves of each information set in the order of the file.
        move_texts, move_ids: the moves as canonical KIF.
    """

    def __init__(self, game: GambitGame) -> None:
        tree, num_roles = game.tree, len(game.roles)
        nodes = tree.nodes
        is_players = [each.player != CHANCE for each in tree.sets]
        sizes = np.bincount(
            [number for node in nodes for number in node.sets], minlength=len(tree.sets)
        )
        self.is_open = bool((sizes[is_players] == 1).all())
        self.sets = np.full((len(nodes), num_roles), -1)
        for place, node in enumerate(nodes):
            for number in node.sets:
                self.sets[place, tree.sets[number].player] = number  # chance is the last role
        self._lay_out_positions(game)
        self._collect_moves(tree)
        self._collect_branches(tree)
        self.goals: FloatArray = np.zeros((len(nodes), num_roles))
        self.goals[:, : len(tree.players)] = np.array(tree.totals, dtype=np.float64)

    def fluents(self, positions: IntArray) -> list[tuple[str, ...]]:
        """What holds in each position: its node, and how long it waits to be played."""
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
        if len(nodes) + waits.sum() > MOST_POSITIONS:
            raise MachineError(
                f"{game.source.name} has more than {MOST_POSITIONS:,} nodes, or turns in which "
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
        for each in tree.sets:
            ids = [self._move(name) for name in names_of(each.actions, "move")]
            self.set_moves.append(ids)
            likely = _likely(each.shares, len(ids))
            lists.append(np.array(ids, dtype=np.int64)[likely])
            shares += [float(each.shares[place]) if each.shares else 1.0 for place in likely]
        self.moves = ragged(lists)
        self.num_moves = self.moves.counts
        self.shares: FloatArray = np.array(shares)
        # Moves of all lists as single numbers, sorted, to look places up.
        list_of = np.repeat(np.arange(len(lists)), self.num_moves)
        keys = list_of * len(self.move_texts) + self.moves.values
        order = np.argsort(keys)
        self._keys = keys[order]
        self._places = order - self.moves.offsets[list_of[order]]

    def _move(self, name: str) -> int:
        found = self.move_ids.setdefault(name, len(self.move_texts))
        if found == len(self.move_texts):
            self.move_texts.append(name)
        return found

    def _collect_branches(self, tree: GambitTree) -> None:
        """Make `[B]` the nodes after each joint move, and the chances of coming there."""
        sets, nodes = tree.sets, tree.nodes
        children: list[list[int]] = [[] for _ in nodes]
        for place, node in enumerate(nodes[1:], start=1):
            children[node.parent].append(place)
        lists, chances = [], []
        for place, node in enumerate(nodes):
            by_branch = sorted(children[place], key=lambda child: nodes[child].branch)
            shares: tuple[Fraction, ...] = ()
            if len(node.sets) == 1:
                shares = sets[node.sets[0]].shares
            likely = _likely(shares, len(by_branch))
            lists.append(np.array(by_branch, dtype=np.int64)[likely])
            even = 1 / max(len(by_branch), 1)
            ups = np.cumsum([float(shares[each]) if shares else even for each in likely])
            if len(ups):
                ups[-1] = 1.0
            chances.append(place + ups)
        self._branches = ragged(lists)
        # Sorted, as those of a node lie between its number and the next one.
        self._ups: FloatArray = np.concatenate(chances)

    def lists_of(self, positions: IntArray, role: int) -> IntArray:
        """`[L]` the list of a role's moves."""
        number = self.sets[self.node_of[positions], role]
        found = np.where(self.acts[positions] & (number >= 0), number + 2, _NO_CHOICE)
        return np.where(self.is_over[positions], _OVER, found)

    def places_of(self, lists: IntArray, moves: IntArray) -> IntArray:
        """`[L]` the place of each move in its list, -1 where it is not in it."""
        wanted = lists * len(self.move_texts) + moves
        found = np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)
        fits = (self._keys[found] == wanted) & (moves >= 0) & (moves < len(self.move_texts))
        return np.where(fits, self._places[found], -1)

    def after(self, positions: IntArray, branch: IntArray) -> IntArray:
        """`[L]` the positions that follow by some branches."""
        nodes, acts = self.node_of[positions], self.acts[positions]
        places = np.where(acts, self._branches.offsets[nodes] + branch, 0)
        return np.where(acts, self.first_position[self._branches.values[places]], positions + 1)

    def random_after(self, positions: IntArray, rng: np.random.Generator) -> IntArray:
        """`[L]` the positions of the nodes that follow by random joint moves, after all waiting."""
        nodes = self.node_of[positions]
        drawn = np.searchsorted(self._ups, nodes + rng.random(len(nodes)), side="right")
        chosen = self._branches.values[drawn.clip(max=self._branches.offsets[nodes + 1] - 1)]
        return np.where(self.acts[positions], self.last_position[chosen], self.last_position[nodes])

    def sets_of(self, positions: IntArray) -> IntArray:
        """`[L, R]` the information set of each role that acts, -1 of others."""
        found = self.sets[self.node_of[positions]]
        return np.where(self.acts[positions, None], found, -1)


def _likely(shares: Sequence[Fraction], count: int) -> list[int]:
    """The places of the moves that are possible."""
    return [place for place in range(count) if not shares or shares[place] > 0]


# ------------------------------------------------------------------------
# The frontend of files of Gambit's, found by their paths.


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
