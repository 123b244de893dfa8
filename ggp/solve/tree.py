"""The tree of a game once all its rules are played out: information sets, sequences and leaves.

`tree_builder` makes a `GameTree` from a machine; `solver`, `forest` and `exploitation` read it.

A *sequence* of a role is its choices so far: the empty one, or a move at one of its information
sets, which determines all its earlier choices. A forced move is no choice and makes no sequence. A
leaf is one end of the game for one sequence of every role, with its probability by chance.
Simultaneous moves need no order. This is the sequence form (von Stengel, "Efficient computation of
behavior strategies", 1996).

Where the state of play is common knowledge, a subgame begins (`ggp.solve.tree_builder`). It has
empty sequences of its own, and its value belongs to leaves of the game before. So a tree is a list
of subgames. The first is the whole game; the others are sorted so that values can be backed up from
the last to the first.

Shape letters: P players (roles without `random`), G subgames, I information sets and S sequences
of one player, L leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ggp.belief.paths import PathTree
from ggp.errors import SolvingError
from ggp.machine.arrays import enlarged
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, Ragged
from ggp.machine.layers import JointMoves

Numbers = NDArray[Any]
"""Whole numbers: int64 if they fit, otherwise Python's own."""

CONSTANT_SUM_TOLERANCE = 1e-9

LANES_AT_ONCE = 1 << 17
"""Greatest number of joint moves in one call of the machine: bounds memory."""


@dataclass(frozen=True, slots=True)
class RoleSets:
    """The information sets of one player in which it has a choice.

    Sequences 0 to G - 1 are the empty ones of the subgames; set i has the sequences
    `offsets[i]` to `offsets[i + 1] - 1`, one for each of its moves. So S is `offsets[-1]`.

    Attributes:
        paths: `[I]` incomplete path of each set, a node of the tree of paths.
        owners: `[I]` subgame of each.
        parents: `[I]` the player's sequence before it; a set comes after that of its parent.
        offsets: `[I + 1]` first sequence of each set, from G on.
        moves: `[S - G]` move id of each sequence that is not empty; those of a set are in the
            order of their texts.
        levels: `[I]` number of the player's own sets that come before it.
    """

    paths: IntArray
    owners: IntArray
    parents: IntArray
    offsets: IntArray
    moves: IntArray
    levels: IntArray

    def __len__(self) -> int:
        return len(self.paths)

    def moves_of(self, set_id: int) -> IntArray:
        """The moves of one set."""
        start, end = self.offsets[set_id : set_id + 2] - self.offsets[0]
        return self.moves[start:end]

    @property
    def counts(self) -> IntArray:
        """`[I]` number of moves of each set."""
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class Leaves:
    """The ends of subgames.

    Attributes:
        owners: `[L]` subgame that a leaf ends.
        sequences: `[L, P]` sequence of each player.
        numerators, denominators: `[L]` exact probability by chance.
        goals: `[L, P]` goal values; 0 where another subgame begins.
        subgames: `[L]` the subgame that begins here, -1 where the game is over.
    """

    owners: IntArray
    sequences: IntArray
    numerators: Numbers
    denominators: Numbers
    goals: FloatArray
    subgames: IntArray

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def weights(self) -> FloatArray:
        """`[L]` probabilities as floats."""
        return np.asarray(self.numerators / self.denominators, dtype=np.float64)

    def weight(self, leaf: int) -> Fraction:
        """The exact probability, by chance, of the way to a leaf."""
        return Fraction(int(self.numerators[leaf]), int(self.denominators[leaf]))


class Stands(NamedTuple):
    """K paths of a player that lead to subgames, and their representatives.

    Attributes:
        paths: `[K]` paths of the player after which a subgame begins; each of them once.
        models: `[K]` the path from which its information sets in the subgame are continued.
    """

    paths: IntArray
    models: IntArray

    @classmethod
    def of(cls, paths: IntArray, models: IntArray) -> Stands:
        """The value for paths, which may repeat, and their models."""
        distinct, first = np.unique(paths, return_index=True)
        return cls(distinct, models[first])

    @classmethod
    def joined(cls, parts: Sequence[Stands]) -> Stands:
        """One value of several turns, which have no path in common."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(
            np.concatenate([empty, *(part.paths for part in parts)]),
            np.concatenate([empty, *(part.models for part in parts)]),
        )


class LayerChoices(NamedTuple):
    """The choices at N nodes of a layer at which the game is not over, and their children.

    Attributes:
        moves: their joint moves; roles choose in the order of the rules, and moves are in the order
            of their texts.
        sets: `[N, P]` information set in which each player chooses, -1 without a choice.
        chances: the probability of each listed move of `random`.
        children: the node of the next layer after each joint move.
    """

    moves: JointMoves
    sets: IntArray
    chances: Sequence[Fraction]
    children: IntArray


@dataclass(frozen=True, slots=True)
class Layer:
    """The E nodes after a number of turns, with their choices.

    Attributes:
        goals: `[E, P]` goal values, if the game is over.
        places: `[E]` index of each node in `choices`, -1 if the game is over.
        choices: the choices at the other nodes; None if there are none.
    """

    goals: FloatArray
    places: IntArray
    choices: LayerChoices | None


@dataclass(frozen=True)
class GameTree:
    """The whole tree of a game.

    Attributes:
        machine: the machine that played it out.
        paths: all incomplete paths.
        players: `[P]` roles that are not `random`.
        sets: the sets of every player.
        leaves: the leaves of all subgames.
        root_turns: `[G]` turns before each subgame begins.
        num_states: number of distinct states with the incomplete paths of all players.
        layers: the nodes and their choices, layer by layer, on request.
        stands: `[P]` the paths that represent a player's paths in subgames, on request.
    """

    machine: Machine
    paths: PathTree
    players: tuple[int, ...]
    sets: tuple[RoleSets, ...]
    leaves: Leaves
    root_turns: IntArray
    num_states: int
    layers: tuple[Layer, ...] = ()
    stands: tuple[Stands, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """`[P]` names of the players."""
        return tuple(self.machine.roles[role] for role in self.players)

    @property
    def num_subgames(self) -> int:
        return len(self.root_turns)

    @cached_property
    def sum_of_goals(self) -> float | None:
        """The sum of all players' goal values if it is the same at all ends of the game."""
        over = self.leaves.subgames < 0
        sums = self.leaves.goals[over].sum(axis=1)
        spread = float(np.ptp(sums)) if len(sums) else 0.0
        if spread > CONSTANT_SUM_TOLERANCE * max(1.0, float(np.abs(sums).max(initial=0))):
            return None
        return float(sums[0]) if len(sums) else 0.0

    @property
    def is_constant_sum(self) -> bool:
        """Whether there are two players, and one loses what the other wins."""
        return len(self.players) == 2 and self.sum_of_goals is not None

    @cached_property
    def goal_spread(self) -> float:
        """The greatest difference between two goal values of one player; 1 if there is none."""
        goals = self.leaves.goals[self.leaves.subgames < 0]
        return float(np.ptp(goals, axis=0).max(initial=0)) if len(goals) else 1.0

    @cached_property
    def actors(self) -> BoolArray:
        """`[G, P]` whether a player has a choice in a subgame."""
        acts = np.zeros((self.num_subgames, len(self.players)), dtype=np.bool_)
        for player, sets in enumerate(self.sets):
            acts[sets.owners, player] = True
        return acts


# ------------------------------------------------------------------------
# Collects information sets and leaves, layer by layer.

_NONE = np.zeros(0, dtype=np.int64)


class InformationSetTable:
    """The information sets of one player. Sequence -1 - g is the empty one of subgame g."""

    def __init__(self) -> None:
        self._paths: list[IntArray] = [_NONE]
        self._owners: list[IntArray] = [_NONE]
        self._parents: list[IntArray] = [_NONE]
        self._moves: list[IntArray] = [_NONE]
        self._levels: list[IntArray] = [_NONE]
        self._num_sets, self._num_sequences = 0, 0
        self._first = np.zeros(64, dtype=np.int64)
        self._level_of_sequence = np.zeros(64, dtype=np.int64)

    @property
    def first_sequences(self) -> IntArray:
        """First sequence of every set so far, by number; the array may be longer."""
        return self._first

    def add(self, paths: IntArray, owners: IntArray, parents: IntArray, moves: Ragged) -> IntArray:
        """Add N sets with their paths, subgames, last sequences and moves; returns `[N]` ids."""
        if not len(paths):
            return _NONE
        numbers = self._num_sets + np.arange(len(paths))
        counts = moves.counts
        ends = self._num_sequences + np.cumsum(counts)
        self._first = enlarged(self._first, int(numbers[-1]) + 1, 0)
        self._first[numbers] = ends - counts
        parent_levels = self._level_of_sequence[np.maximum(parents, 0)]
        levels = np.where(parents < 0, 0, parent_levels + 1)
        self._level_of_sequence = enlarged(self._level_of_sequence, int(ends[-1]), 0)
        self._level_of_sequence[self._num_sequences : ends[-1]] = np.repeat(levels, counts)
        for column, new in (
            (self._paths, paths),
            (self._owners, owners),
            (self._parents, parents),
            (self._moves, moves.values),
            (self._levels, levels),
        ):
            column.append(new)
        self._num_sets += len(paths)
        self._num_sequences = int(ends[-1])
        return numbers

    @property
    def paths(self) -> IntArray:
        """The incomplete paths of all sets."""
        return np.concatenate(self._paths)

    def renumber(self, numbers: IntArray) -> None:
        """Follow `PathTree.prune`: path n is now `numbers[n]`."""
        self._paths = [numbers[self.paths]]

    def finished(self, num_subgames: int) -> RoleSets:
        """All sets, with sequences numbered as in a tree."""
        offsets = np.append(self._first[: self._num_sets], self._num_sequences) + num_subgames
        return RoleSets(
            self.paths,
            np.concatenate(self._owners),
            final_sequences(np.concatenate(self._parents), num_subgames),
            offsets,
            np.concatenate(self._moves),
            np.concatenate(self._levels),
        )


class LeafTable:
    """Leaves; `add` takes the arguments of `Leaves`, with sequences as in `InformationSetTable`."""

    def __init__(self) -> None:
        self._rows: list[tuple[IntArray, IntArray, Numbers, Numbers, FloatArray, IntArray]] = []

    def add(
        self,
        owners: IntArray,
        sequences: IntArray,
        numerators: Numbers,
        denominators: Numbers,
        goals: FloatArray,
        subgames: IntArray,
    ) -> None:
        self._rows.append((owners, sequences, numerators, denominators, goals, subgames))

    def finished(self, num_subgames: int) -> Leaves:
        """All leaves, with sequences numbered as in a tree."""
        columns = [np.concatenate(column) for column in zip(*self._rows, strict=True)]
        columns[1] = final_sequences(columns[1], num_subgames)
        return Leaves(*columns)


def final_sequences(sequences: IntArray, num_subgames: int) -> IntArray:
    """Numbers of sequences with the empty ones first, then the others."""
    return np.where(sequences < 0, -1 - sequences, sequences + num_subgames)


# ------------------------------------------------------------------------
# Writes a game's tree in Gambit's format for extensive games (`.efg`), which OpenSpiel also reads.
#
# A node is written before its children, in a depth-first walk. Forced moves vanish. In a joint move
# chance comes first, then the players in the order of the rules; later movers do not see earlier
# choices, because their nodes are in one information set. A merged node is written once for every
# path that leads to it.

MAX_NODES = 1_000_000
"""Greatest number of nodes in a file."""


def efg_lines(tree: GameTree, title: str, most_nodes: int = MAX_NODES) -> Iterator[str]:
    """The lines of the file.

    Args:
        tree: a tree with its layers, and without subgames split off.
        title: the title of the game.

    Raises:
        SolvingError: there are more than `most_nodes`.
    """
    yield f"EFG 2 R {_quoted(title)} {{ {' '.join(map(_quoted, tree.names))} }}"
    yield _quoted("")
    writer = _Writer(tree)
    # Nodes still to be written: layer, node, the actors that have chosen, the joint move so far.
    waiting = [(0, 0, 0, 0)]
    num_nodes = 0
    while waiting:
        line, children = writer.node(*waiting.pop())
        if line is not None:
            num_nodes += 1
            if num_nodes > most_nodes:
                raise SolvingError(
                    f"the tree of {title} has more than {most_nodes:,} nodes; "
                    "it is too large for a file"
                )
            yield line
        waiting += reversed(children)


_Place = tuple[int, int, int, int]


class _Writer:
    def __init__(self, tree: GameTree) -> None:
        self._tree = tree
        chance = tree.machine.random_role
        self._actors = ([] if chance is None else [chance]) + list(tree.players)
        self._outcomes: dict[tuple[float, ...], int] = {}
        self._num_chance = 0

    def node(self, depth: int, node: int, turn: int, joint: int) -> tuple[str | None, list[_Place]]:
        """The line of a node, None if nobody has a choice, and the nodes after it."""
        layer = self._tree.layers[depth]
        index, choices = int(layer.places[node]), layer.choices
        if index < 0 or choices is None:
            return self._end(layer.goals[node].tolist()), []
        counts = choices.moves.counts[index]
        if turn == len(self._actors):
            return None, [
                (depth + 1, int(choices.children[choices.moves.offsets[index] + joint]), 0, 0)
            ]
        role = self._actors[turn]
        stride = int(np.prod(counts[role + 1 :]))
        children = [
            (depth, node, turn + 1, joint + stride * choice) for choice in range(int(counts[role]))
        ]
        if counts[role] == 1:
            return None, children
        if role == self._tree.machine.random_role:
            return self._chance(choices, index), children
        player = self._tree.players.index(role)
        return self._choice(player, int(choices.sets[index, player])), children

    def _end(self, goals: Sequence[float]) -> str:
        outcome = self._outcomes.setdefault(tuple(goals), len(self._outcomes) + 1)
        return f't "" {outcome} "" {{ {", ".join(map(_number, goals))} }}'

    def _chance(self, choices: LayerChoices, index: int) -> str:
        self._num_chance += 1
        listed = choices.moves.lists[self._actors[0]]
        start, end = listed.offsets[index : index + 2].tolist()
        # Gambit refuses probabilities whose sum is not exactly 1.
        total = sum(choices.chances[start:end])
        texts = self._texts(listed[index].tolist())
        shares = zip(texts, choices.chances[start:end], strict=True)
        body = " ".join(f"{text} {share / total}" for text, share in shares)
        return f'c "" {self._num_chance} "" {{ {body} }} 0'

    def _choice(self, player: int, set_id: int) -> str:
        sets = self._tree.sets[player]
        history = " | ".join(self._tree.paths.texts(int(sets.paths[set_id])))
        moves = " ".join(self._texts(sets.moves_of(set_id).tolist()))
        return f'p "" {player + 1} {set_id + 1} {_quoted(history)} {{ {moves} }} 0'

    def _texts(self, moves: Sequence[int]) -> list[str]:
        return [_quoted(self._tree.machine.move_text(move)) for move in moves]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', "'") + '"'


def _number(goal: float) -> str:
    return str(Fraction(goal).limit_denominator(1_000_000))
