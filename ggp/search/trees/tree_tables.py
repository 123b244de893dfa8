"""The data of trees over incomplete paths: arrays that kernels read and write.

A *node* is a role's knowledge: its incomplete path, if it had several legal moves there. Its
*actions* are the moves that were legal there in some world, with their statistics.

A *world* is a complete path from a particle on: a state, and what every role knows of it. Worlds
record where joint moves lead, so that lanes walk through known ones without asking the machine:

    world 7    node of each role    xplayer: 3     oplayer: none, its move is forced
               actions of node 3    (mark 1 1)   (mark 1 2)   ...
               joint move           (mark 1 2), noop   ->   world 12

Several worlds share a node if a role cannot tell them apart. Its choice depends on the node only.
So it may choose a move that is illegal in a world, as in a match: then a random legal move is made,
and the role learns of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ggp.machine.base import FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference

I32 = NDArray[np.int32]

_T = TypeVar("_T", bound=np.generic)

NO_NODE = -1
"""In place of a node: the role has one legal move."""

CHANCE = -2
"""In place of a node: chance decides."""

SIZE, LISTED, CHANCES = 0, 1, 2
"""Indices into `Worlds.sizes`."""

NODES, ACTIONS = 0, 1
"""Indices into `Nodes.sizes`."""

RECORDS, ROWS = 0, 1
"""Indices into `Wave.sizes`."""

WALKING, LEAF, OVER, LOOSE = 0, 1, 2, 3
"""States of a lane: walks on; is played out; has ended; has left the known worlds for good."""

UPPER = 32
"""Bit of a code of `Worlds` at which its refused action begins."""

FIRST_PLACES = 1024
FIRST_SLOTS = 4 * FIRST_PLACES

LARGE = 1 << 16
"""Number of rows from which on an array gets all the room it may ever need."""


@by_reference
class Worlds(NamedTuple):
    """Tables of worlds.

    Attributes:
        sizes: numbers of worlds, listed actions and chance moves.
        parent: `[W]` previous world; -1 for particles.
        code: `[W, R]` the joint move that led here: for each role the position of its move in the
            list of its legal moves, and in the upper half of the number 1 + action refused.
        slots: worlds by hash of parent and code, -1 if free.
        over: `[W]` whether the game is over.
        node: `[W, R]` node of each role, `NO_NODE` or `CHANCE`.
        counts: `[W, R]` number of legal moves of each role.
        first: `[W, R]` where they are. With a node: its actions from this one on, or, if negative,
            those listed from -1 - first on. With chance: in `chance_move`. Else the move itself.
        listed: actions.
        chance_move, chance_upto: moves of chance, and the cumulative probability of each.
        value: `[W, R]` goals from 0 to 1 where the game is over.
    """

    sizes: IntArray
    parent: I32
    code: IntArray
    slots: I32
    over: NDArray[np.bool_]
    node: I32
    counts: I32
    first: I32
    listed: I32
    chance_move: I32
    chance_upto: FloatArray
    value: FloatArray


@by_reference
class Nodes(NamedTuple):
    """Tables of nodes and their actions.

    Attributes:
        sizes: numbers of nodes and actions.
        role, path: `[I]` its role, and that role's path (a node of `PathTree`).
        first_action, last_action: `[I]` of the chain of its actions.
        selections: `[I]` number of choices of an action, including those under way.
        trust: `[I]` how often the role moves by `share` instead of by its statistics.
        move: `[A]`.
        next: `[A]` next action of the node, -1 after the last.
        owner: `[A]` the node.
        since: `[A]` selections of the node when the action was first legal: it was available in
            later ones.
        pending: `[A]` choices under way: virtual visits.
        visits: `[A]` choices that were backed up.
        discounted: `[A]` sum of goals from 0 to 1, distant ones drawn to the middle.
        goals, squares: `[A]` sum of goals from 0 to 1, and of their squares.
        proof: `[A]` goal that the owner certainly gets if everybody plays optimally from there, -1
            if unknown.
        end: `[A]` the world in which it then ends.
        regret, average: `[A]` where regrets are matched: how much more the action would have been
            worth than the chosen one, and the sum of the shares it had; both weighted.
        share: `[A]` probability by a model of the role; 0 without one.
    """

    sizes: IntArray
    role: I32
    path: IntArray
    first_action: I32
    last_action: I32
    selections: IntArray
    trust: FloatArray
    move: I32
    next: I32
    owner: I32
    since: IntArray
    pending: I32
    visits: IntArray
    discounted: FloatArray
    goals: FloatArray
    squares: FloatArray
    proof: FloatArray
    end: I32
    regret: FloatArray
    average: FloatArray
    share: FloatArray


@by_reference
class Wave(NamedTuple):
    """Lanes that walk down side by side.

    Attributes:
        sizes: numbers of records and rows.
        random: `[1]` state of the random number generator.
        status: `[L]` see `WALKING`.
        world: `[L]` where a lane is; it may not exist yet.
        row: `[L]` row of a lane that is `LOOSE`.
        depth: `[L]` joint moves made.
        learns: `[L, R]` whether a role's choices are recorded, so that it learns from the lane.
        head: `[L]` last record of the lane, -1 for none.
        action, before: `[K]` records: an action chosen, and the record before.
        drawn: `[K]` probability with which the action was drawn, where regrets are matched.
        parent: `[L]` rows, each a joint move that leads to an unknown world: where it is made,
        moves, refused: `[L, R]` what is executed, and what was refused before (-1: nothing).
    """

    sizes: IntArray
    random: NDArray[np.uint64]
    status: I32
    world: I32
    row: I32
    depth: I32
    learns: NDArray[np.bool_]
    head: I32
    action: I32
    before: I32
    drawn: FloatArray
    parent: IntArray
    moves: IntArray
    refused: IntArray


def new_worlds(num_roles: int) -> Worlds:
    """Tables without a world."""
    one, many = (FIRST_PLACES,), (FIRST_PLACES, num_roles)
    return Worlds(
        np.zeros(3, dtype=np.int64),
        np.zeros(one, dtype=np.int32),
        np.zeros(many, dtype=np.int64),
        np.full(FIRST_SLOTS, -1, dtype=np.int32),
        np.zeros(one, dtype=np.bool_),
        np.zeros(many, dtype=np.int32),
        np.zeros(many, dtype=np.int32),
        np.zeros(many, dtype=np.int32),
        np.zeros(one, dtype=np.int32),
        np.zeros(one, dtype=np.int32),
        np.zeros(one),
        np.zeros(many),
    )


def new_nodes() -> Nodes:
    """Tables without a node."""
    columns: Any = (np.zeros(FIRST_PLACES, dtype=kind) for kind in _NODE_KINDS)
    return Nodes(np.zeros(2, dtype=np.int64), *columns)


_NODE_KINDS = (
    *(np.int32, np.int64, np.int32, np.int32, np.int64, np.float64),
    *(np.int32, np.int32, np.int32, np.int64, np.int32, np.int64),
    *(np.float64, np.float64, np.float64, np.float64, np.int32),
    *(np.float64, np.float64, np.float64),
)

NODE_FIELDS = ("role", "path", "first_action", "last_action", "selections", "trust")
ACTION_FIELDS = Nodes._fields[1 + len(NODE_FIELDS) :]
_WORLD_FIELDS = ("parent", "code", "over", "node", "counts", "first", "value")


def new_wave(worlds: IntArray, learns: NDArray[np.bool_], key: int) -> Wave:
    """Lanes that begin in worlds, with room for their rows and some records."""
    size, num_roles = learns.shape
    return Wave(
        np.zeros(2, dtype=np.int64),
        np.array([key], dtype=np.uint64),
        np.zeros(size, dtype=np.int32),
        worlds.astype(np.int32),
        np.zeros(size, dtype=np.int32),
        np.zeros(size, dtype=np.int32),
        learns,
        np.full(size, -1, dtype=np.int32),
        np.zeros(16 * (size + num_roles), dtype=np.int32),
        np.zeros(16 * (size + num_roles), dtype=np.int32),
        np.zeros(16 * (size + num_roles)),
        np.zeros(size, dtype=np.int64),
        np.zeros((size, num_roles), dtype=np.int64),
        np.zeros((size, num_roles), dtype=np.int64),
    )


def wider_wave(wave: Wave) -> Wave:
    """The same lanes, with room for more records."""
    columns = ("action", "before", "drawn")
    length = 2 * len(wave.action)
    return wave._replace(**{name: wider(getattr(wave, name), length) for name in columns})


def wider_worlds(worlds: Worlds, places: int, listed: int, chances: int, most: int) -> Worlds:
    """The same worlds, with room for at least this many, and for listed actions and chance moves.

    The slots are unchanged: see `ggp.search.trees.nodes_and_worlds.place_worlds`.

    Args:
        most: most worlds there will ever be.
    """
    columns = _wider(worlds, _WORLD_FIELDS, places, most)
    columns |= _wider(worlds, ("listed",), listed, 0)
    columns |= _wider(worlds, ("chance_move", "chance_upto"), chances, 0)
    return worlds._replace(**columns) if columns else worlds


def wider_nodes(nodes: Nodes, places: int, actions: int, most: int) -> Nodes:
    """The same nodes, with room for at least this many, and for their actions.

    Args:
        most: most actions there will ever be.
    """
    # Nearly every node has two actions or more.
    columns = _wider(nodes, NODE_FIELDS, places, most // 2)
    columns |= _wider(nodes, ACTION_FIELDS, actions, most)
    return nodes._replace(**columns) if columns else nodes


def with_slack(most: int) -> int:
    """Room for somewhat more than the most rows that are wanted."""
    return most + most // 8


def wider(array: NDArray[_T], length: int, most: int = 0) -> NDArray[_T]:
    """The array with room for at least `length` rows.

    The new rows may hold anything: filling them costs more than writing those that are needed,
    since it is the first use of their memory. For the same reason large arrays get all the room
    they may ever need: what is not used takes no memory, while copying what is used takes longer
    than the time between two looks at a clock.

    Args:
        most: most rows that will be needed, as far as is known.
    """
    if length <= len(array):
        return array
    room = 4 * length
    larger = np.empty((max(room, most if room > LARGE else 0), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _wider(
    tables: Worlds | Nodes, fields: tuple[str, ...], length: int, most: int
) -> dict[str, Any]:
    """The columns of these names, if they have room for fewer rows."""
    if length <= len(getattr(tables, fields[0])):
        return {}
    return {name: wider(getattr(tables, name), length, most) for name in fields}


# ------------------------------------------------------------------------
# Settings of trees over incomplete paths: how lanes choose, and how far the trees grow.

MOST_WORLDS = 500_000
"""Worlds of a tree: bounds memory. Lanes that leave the known worlds are then played out."""

KEEP = 0.999
"""Share of a goal's distance from the middle that remains after each turn, for choices in the tree:
among equally certain wins or losses, early wins and late losses are better."""


PRIOR_VISITS = 1.0
"""Visits, worth what a move was worth wherever it was made, that are added to those of each action
where lanes are guided."""

VIRTUAL_LOSS = 0.3
"""Share of the choices under way that count as lost where lanes are guided; otherwise all do."""

CALM = 0.625
"""Factor of the exploration where lanes are guided: means of several playouts vary less."""

CHOICES = 20_000.0
"""Where lanes are guided and everybody knows everything, exploration grows with the choices made at
a node, by 1 + ln(1 + choices / this): Silver et al. (2018). Without, nearly all of 100,000 lanes
stay at the move that seemed best at first, and more time changes little."""


class LaneSettings(NamedTuple):
    """How lanes choose.

    Attributes:
        exploration: factor of the UCB1 bonus, for goals of 0 to 1.
        most_worlds: see `MOST_WORLDS`.
        proves: whether ends of lanes are proofs: only if everybody knows everything.
        guided: whether choices by UCB1 and playouts go by what moves were worth in earlier
            playouts, and leaves get several of these; only on a circuit.
    """

    exploration: float = 0.4
    most_worlds: int = MOST_WORLDS
    proves: bool = False
    guided: bool = False
