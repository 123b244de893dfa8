"""The arrays of trees over incomplete paths, which kernels read and write.

`PathsTree` owns them; `growing` and `selection` fill them; `nodes_and_worlds` compacts them.

A *node* is an information set of a role: an incomplete path at which it had several legal moves.
Its *actions* are the moves that were legal there in some world, with their statistics.

A *world* is a complete path that begins at a particle: a state and every role's incomplete path.
Worlds record where joint moves lead, so that lanes walk through them without asking the machine:

    world 7    node of each role    xplayer: 3     oplayer: none, its move is forced
               actions of node 3    (mark 1 1)   (mark 1 2)   ...
               joint move           (mark 1 2), noop   ->   world 12

Several worlds share a node if a role cannot tell them apart. Its choice depends on the node only,
so it may choose a move that is illegal in a world. As in a match, a random legal move then replaces
it, and the role learns of that.
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
"""Status of a lane: it walks; is to be played out; is at the end of the game; has left the tree."""

UPPER = 32
"""Bit at which the refused action begins in a code of `Worlds`."""

FIRST_ROWS = 1024
FIRST_SLOTS = 4 * FIRST_ROWS

LARGE = 1 << 16
"""Arrays of more rows than this get all the room they may ever need."""


@by_reference
class Worlds(NamedTuple):
    """Tables of worlds.

    Attributes:
        sizes: numbers of worlds, listed actions and chance moves.
        parent: `[W]` the world before; -1 for particles.
        code: `[W, R]` the joint move that led here: for each role the position of its move among
            its legal moves; in the upper half of the number 1 + the refused action, or 0.
        slots: worlds by hash of parent and code, -1 if free.
        over: `[W]` whether the game is over.
        node: `[W, R]` node of each role, `NO_NODE` or `CHANCE`.
        counts: `[W, R]` number of legal moves of each role.
        first: `[W, R]` where these are. With a node: consecutive actions from this one on, or, if
            negative, entries of `listed` from -1 - first on. With chance: an index into
            `chance_move`. Else the move itself.
        listed: actions.
        chance_move, chance_cdf: moves of chance, and the cumulative probability of each.
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
    chance_cdf: FloatArray
    value: FloatArray


@by_reference
class Nodes(NamedTuple):
    """Tables of nodes and their actions.

    Attributes:
        sizes: numbers of nodes and actions.
        role, path: `[I]` its role, and that role's path (a node of `PathTree`).
        first_action, last_action: `[I]` ends of the chain of its actions.
        selections: `[I]` number of choices at the node, including those under way.
        trust: `[I]` probability that the role moves by `share` instead of by its statistics.
        move: `[A]`.
        next: `[A]` next action of the node, -1 after the last.
        owner: `[A]` the node.
        missed: `[A]` selections of the node before the action was first legal.
        pending: `[A]` choices under way: virtual visits.
        visits: `[A]` choices that were backed up.
        discounted: `[A]` sum of goals from 0 to 1; distant ones are moved towards the middle.
        goals, squares: `[A]` sum of goals from 0 to 1, and of their squares.
        proof: `[A]` proved goal of the owner under optimal play from there on, -1 if unknown.
        end: `[A]` the world in which the game then ends.
        regret, average: `[A]` for regret matching: weighted sums of the action's regret, and of
            its probabilities in the strategies so far.
        share: `[A]` probability in a move model of the role; 0 without one.
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
    missed: IntArray
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
    """Lanes that walk down a tree side by side.

    Attributes:
        sizes: numbers of records and rows.
        random: `[1]` state of the random number generator.
        status: `[L]` see `WALKING`.
        world: `[L]` a lane's world, which may not exist yet.
        row: `[L]` row of a lane that is `LOOSE`.
        depth: `[L]` joint moves made.
        learns: `[L, R]` whether a role learns from the lane: its choices are recorded.
        head: `[L]` last record of the lane, -1 for none.
        action, previous: `[K]` records: an action chosen, and the lane's record before it.
        parent: `[L]` rows, each a joint move that leads out of the tree: the world it is made in;
        moves, refused: `[L, R]` the executed moves, and the refused ones (-1 for none).
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
    previous: I32
    parent: IntArray
    moves: IntArray
    refused: IntArray


def new_worlds(num_roles: int) -> Worlds:
    """Tables without a world."""
    flat, by_role = (FIRST_ROWS,), (FIRST_ROWS, num_roles)
    return Worlds(
        np.zeros(3, dtype=np.int64),
        np.zeros(flat, dtype=np.int32),
        np.zeros(by_role, dtype=np.int64),
        np.full(FIRST_SLOTS, -1, dtype=np.int32),
        np.zeros(flat, dtype=np.bool_),
        np.zeros(by_role, dtype=np.int32),
        np.zeros(by_role, dtype=np.int32),
        np.zeros(by_role, dtype=np.int32),
        np.zeros(flat, dtype=np.int32),
        np.zeros(flat, dtype=np.int32),
        np.zeros(flat),
        np.zeros(by_role),
    )


def new_nodes() -> Nodes:
    """Tables without a node."""
    columns: Any = (np.zeros(FIRST_ROWS, dtype=kind) for kind in _NODE_KINDS)
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
    """Lanes that begin in `worlds`, with room for their rows and some records."""
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
        np.zeros(size, dtype=np.int64),
        np.zeros((size, num_roles), dtype=np.int64),
        np.zeros((size, num_roles), dtype=np.int64),
    )


def wider_wave(wave: Wave) -> Wave:
    """The same lanes, with room for more records."""
    columns = ("action", "previous")
    length = 2 * len(wave.action)
    return wave._replace(**{name: wider(getattr(wave, name), length) for name in columns})


def wider_worlds(worlds: Worlds, rows: int, listed: int, chances: int, max_worlds: int) -> Worlds:
    """The same worlds, with at least this much room for worlds, listed actions and chance moves.

    The slots are unchanged: see `ggp.search.trees.nodes_and_worlds.place_worlds`.

    Args:
        max_worlds: most worlds there will ever be.
    """
    columns = _wider(worlds, _WORLD_FIELDS, rows, max_worlds)
    columns |= _wider(worlds, ("listed",), listed, 0)
    columns |= _wider(worlds, ("chance_move", "chance_cdf"), chances, 0)
    return worlds._replace(**columns) if columns else worlds


def wider_nodes(nodes: Nodes, rows: int, actions: int, max_actions: int) -> Nodes:
    """The same nodes, with at least this much room for nodes and actions.

    Args:
        max_actions: most actions there will ever be.
    """
    # Nearly every node has two actions or more.
    columns = _wider(nodes, NODE_FIELDS, rows, max_actions // 2)
    columns |= _wider(nodes, ACTION_FIELDS, actions, max_actions)
    return nodes._replace(**columns) if columns else nodes


def with_slack(max_rows: int) -> int:
    """Room for somewhat more than the greatest number of rows."""
    return max_rows + max_rows // 8


def wider(array: NDArray[_T], length: int, max_rows: int = 0) -> NDArray[_T]:
    """The array with room for at least `length` rows.

    The new rows are uninitialised: the first use of memory is slow, and most rows may never be
    used. For the same reason large arrays get all the room they may ever need: unused rows take no
    memory, but copying used ones takes longer than the time between two checks of the clock.

    Args:
        max_rows: greatest number of rows that may be needed; 0 if unknown.
    """
    if length <= len(array):
        return array
    room = 4 * length
    larger = np.empty((max(room, max_rows if room > LARGE else 0), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _wider(
    tables: Worlds | Nodes, fields: tuple[str, ...], length: int, max_rows: int
) -> dict[str, Any]:
    """The named columns with more room; none if they have room for `length` rows already."""
    if length <= len(getattr(tables, fields[0])):
        return {}
    return {name: wider(getattr(tables, name), length, max_rows) for name in fields}


# ------------------------------------------------------------------------
# Settings of trees over incomplete paths: how lanes choose, and how far the trees grow.

MAX_WORLDS = 500_000
"""Greatest number of worlds of a tree: bounds memory. Lanes that leave them are played out."""

KEEP = 0.999
"""Discount: share of a goal's distance from the middle that remains after each turn. Of equally
certain wins or losses, the tree prefers early wins and late losses."""


PRIOR_VISITS = 1.0
"""Guided lanes: visits added to each action, worth the move's mean goal in all playouts."""

VIRTUAL_LOSS = 0.3
"""Guided lanes: share of the choices under way that count as lost; without guidance all do."""

CALM = 0.625
"""Guided lanes: factor of the exploration, since means of several playouts vary less."""

CHOICES = 20_000.0
"""Guided lanes, if everybody knows everything: exploration grows with the number of choices at a
node, by 1 + ln(1 + choices / this) (Silver et al., 2018). Otherwise nearly all of 100,000 lanes
stay at the move that seemed best at first, and more time changes little."""


class LaneSettings(NamedTuple):
    """How lanes choose.

    Attributes:
        exploration: factor of the UCB1 bonus, for goals of 0 to 1.
        most_worlds: see `MAX_WORLDS`.
        proves: whether ends of lanes are proofs; sound only if everybody knows everything.
        guided: whether earlier playouts guide choices by UCB1 and new playouts, several of which
            evaluate each leaf; only on a circuit.
        from_start: share of the lanes of `Resolving` that begin at the start of the game, while no
            subgame was solved before.
    """

    exploration: float = 0.4
    most_worlds: int = MAX_WORLDS
    proves: bool = False
    guided: bool = False
    from_start: float = 0.4
