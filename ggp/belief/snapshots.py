"""Snapshots: the bag of a path as text, which any machine of the same rules can read.

A belief takes long to find, and ends with its process. So a worker writes its bag after a turn
(`write_bag`), and the worker that replaces it reads the text (`read_bag`), on whatever backend.
Numbers of moves and percepts mean nothing to another machine, so a snapshot has names: the fluents
of each state, and move and percepts of each turn. All paths of a bag, that of the role and those in
its views, are rows of one tree, and a row names its parent, as in `PathTree`.

A snapshot begins with a checksum of its content and of a key, such as the digest of the rules. It
is JSON, packed: reading it runs no code, and takes bounded memory.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from ggp.belief.bags import Bags, Segments
from ggp.belief.paths import DRAWN, PathTree
from ggp.errors import MachineError, SnapshotError
from ggp.machine.abilities import StateWriter
from ggp.machine.arrays import first_seen_columns
from ggp.machine.base import UNKNOWN, IntArray, Machine

MAX_EXACT, MAX_SAMPLED, MAX_FLUENTS = 1000, 256, 1 << 15
"""Most entries of an exact bag, and of a sampled one, with which players begin (`BagGrowth`); most
fluents of all states together. Writing must not take long."""

MAX_CHARS = 1 << 19
"""Most characters of a snapshot; it has fewer entries if it would have more."""

_MAX_BYTES = 1 << 24


def write_bag(machine: Machine, tree: PathTree, bags: Bags, key: str) -> str:
    """The first of several bags as one word of ASCII; empty if it has no sound particle.

    A bag with too many entries is thinned.

    Args:
        key: what the reader must know: the snapshot cannot be read with another one.
    """
    if bags.depleted[0] or not bags.sound or not isinstance(machine, StateWriter):
        return ""
    sets, path = bags.sets.take(bags.segment[:1]), int(bags.paths[0])
    width = len(machine.written(sets.states.take(np.zeros(1, dtype=np.int64)))[0])
    most = min(MAX_FLUENTS // max(width, 1) + 1, MAX_EXACT if sets.exact[0] else MAX_SAMPLED)
    while most:
        sets = sets.thinned(most, np.random.default_rng(tree.depth(path)))
        content = {
            **_written_paths(machine, tree, path, sets.views),
            **_written_states(machine.written(sets.states)),
            "log_weights": sets.log_weights.tolist(),
            "set": [bool(sets.exact[0]), float(sets.sizes[0]), float(sets.log_masses[0])],
        }
        packed = zlib.compress(json.dumps(content).encode(), 1)
        text = f"{_checksum(packed, key)}.{b64encode(packed).decode()}"
        if len(text) <= MAX_CHARS:
            return text
        most = min(most, len(sets.states)) // 2
    return ""


def read_bag(snapshot: str, machine: Machine, tree: PathTree, role: int, key: str) -> Bags:
    """The bag of a snapshot on this machine; its paths are added to the tree.

    Raises:
        SnapshotError: it is damaged, or was written with another key.
    """
    try:
        checksum, _, body = snapshot.partition(".")
        packed = b64decode(body, validate=True)
        if checksum != _checksum(packed, key):
            raise SnapshotError("a stored belief is damaged, or belongs to another game or role")
        content = json.loads(zlib.decompressobj().decompress(packed, _MAX_BYTES))
        if not isinstance(machine, StateWriter):
            raise MachineError(f"the backend {machine.backend} cannot read states")
        nodes = _read_paths(machine, tree, content)
        fluents = content["fluents"]
        states = machine.from_written([tuple(fluents[f] for f in s) for s in content["states"]])
        exact, size, log_mass = content["set"]
        log_weights = np.array(content["log_weights"], dtype=np.float64)
        views = content["views"]
        rows = None if views is None else np.array(views, dtype=np.int64)
        shape = (len(states), len(machine.roles))
        if log_weights.shape != shape[:1] or not (rows is None or rows.shape == shape):
            raise SnapshotError("a stored belief has other numbers of weights or paths than states")
        are_numbers = np.isfinite(log_weights).all() and not np.isnan([size, log_mass]).any()
        if not len(states) or not are_numbers:
            raise SnapshotError("a stored belief has no states, or weights that are no numbers")
        sets = Segments(
            np.array([0, len(states)]),
            states,
            log_weights,
            np.array([exact], dtype=np.bool_),
            np.array([size], dtype=np.float64),
            np.array([log_mass], dtype=np.float64),
            None if rows is None else nodes[rows],
        )
        return Bags(role, nodes[[content["path"]]], np.zeros(1, dtype=np.int64), sets)
    except (MachineError, *_UNREADABLE) as error:
        raise SnapshotError(f"a stored belief cannot be read: {error}") from error


_UNREADABLE = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    zlib.error,
)


def _checksum(packed: bytes, key: str) -> str:
    return blake2b(packed, key=blake2b(key.encode()).digest(), digest_size=16).hexdigest()


def _written_states(texts: Iterable[tuple[str, ...]]) -> dict[str, Any]:
    """The states as numbers of fluents."""
    numbers: dict[str, int] = {}
    states = [[numbers.setdefault(fluent, len(numbers)) for fluent in state] for state in texts]
    return {"fluents": list(numbers), "states": states}


def _written_paths(
    machine: Machine, tree: PathTree, path: int, views: IntArray | None
) -> dict[str, Any]:
    """The rows of the paths and of all their beginnings, parents first.

    The empty paths of the roles come first, without a row of their own.
    """
    nodes = np.array([path]) if views is None else np.append(views.ravel(), path)
    is_written = np.zeros(len(tree), dtype=np.bool_)
    is_written[: len(machine.roles)] = True
    level = nodes
    while len(level := level[~is_written[level]]):
        is_written[level] = True
        level = tree.parents(level)
    places = np.cumsum(is_written) - 1
    later = np.flatnonzero(is_written)[len(machine.roles) :]
    rows = tree.last_turns(later)
    first, turn = first_seen_columns(list(rows.T))
    *view_places, path_place = places[nodes].tolist()
    return {
        "turns": [_turn_names(machine, *row) for row in rows[first].tolist()],
        "rows": [places[tree.parents(later)].tolist(), turn.tolist()],
        "path": path_place,
        "views": None if views is None else np.reshape(view_places, views.shape).tolist(),
    }


def _read_paths(machine: Machine, tree: PathTree, content: Mapping[str, Any]) -> IntArray:
    """The node of each row, after the empty paths."""
    turns = np.array([_turn_ids(machine, *turn) for turn in content["turns"]], dtype=np.int64)
    parents, turn = (np.array(column, dtype=np.int64) for column in content["rows"])
    num_roles = len(machine.roles)
    depths = [0] * num_roles
    for parent in parents.tolist():
        depths.append(depths[parent] + 1)
    nodes = np.arange(len(depths))
    for depth in range(1, max(depths) + 1):
        level = np.flatnonzero(np.array(depths) == depth)
        rows = level - num_roles
        nodes[level] = tree.extend(nodes[parents[rows]], *turns[turn[rows]].T)
    return nodes


def _turn_names(machine: Machine, move: int, percepts: int, refused: int) -> list[Any]:
    """Move, percepts and refused move of a turn (`PathTree.extend`): null if unknown, and an empty
    name for `DRAWN`."""

    def name(move: int) -> str | None:
        return {UNKNOWN: None, DRAWN: ""}[move] if move < 0 else machine.move_text(move)

    return [name(move), None if percepts < 0 else machine.percept_texts(percepts), name(refused)]


def _turn_ids(
    machine: Machine, move: str | None, percepts: Sequence[str] | None, refused: str | None
) -> list[int]:
    """The turn with these names as this machine numbers it.

    Raises:
        MachineError: the rules have no such move or percept.
    """

    def number(name: str | None) -> int | None:
        return UNKNOWN if name is None else machine.move_id(name) if name else DRAWN

    percepts_id = UNKNOWN if percepts is None else machine.percept_id(percepts)
    ids = [i for i in (number(move), percepts_id, number(refused)) if i is not None]
    if len(ids) < 3:
        raise MachineError(f"these rules have no turn {move} / {percepts}")
    return ids
