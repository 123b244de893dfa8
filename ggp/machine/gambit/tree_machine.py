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
from threading import RLock

import numpy as np

from ggp.clocks import TellsTime
from ggp.errors import IllegalMoveError, MachineError
from ggp.gdl.analysis.joint_move_percepts import PLAIN
from ggp.gdl.program import RANDOM
from ggp.gdl.syntax.parser import canonical_term
from ggp.machine.arrays import first_seen, take_segments
from ggp.machine.base import (
    DEFAULT_MAX_STEPS,
    NO_PERCEPTS,
    BoolArray,
    Chance,
    FloatArray,
    IntArray,
    Playouts,
    Ragged,
    ShownStates,
    States,
    Stepped,
)
from ggp.machine.gambit.games import GambitGame
from ggp.machine.gambit.tables import Tables
from ggp.machine.gambit.tree import CHANCE
from ggp.machine.percepts.joint_percepts import JointMovesTold, JointPercepts
from ggp.machine.percepts.percept_table import PerceptTable

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
