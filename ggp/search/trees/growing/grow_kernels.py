"""The kernel that sends a wave down: it walks, and enters the worlds that joint moves lead to.

In a game that hides much, a wave meets ten new worlds in a row on its way down, and each time few
of its lanes do. Where Python enters them, the calls take ten times as long as all that is computed.

    walk ─▶ joint moves ─▶ successors, moves, percepts ─▶ paths ─▶ worlds ─▶ walk on ...

It returns to its caller where something is missing that only Python can provide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ggp.belief.paths import PathRows, number_paths
from ggp.machine.base import BoolArray, FloatArray, IntArray
from ggp.machine.compiling.jit import by_reference, inlined, kernel
from ggp.machine.propnet.play.kernels.lanes.growing import Listing, find_percepts, list_after
from ggp.machine.propnet.play.kernels.tapes import U64
from ggp.search.trees.growth_kernels import add_some
from ggp.search.trees.tree_kernels import walk_lanes
from ggp.search.trees.tree_tables import (
    ACTIONS,
    CHANCES,
    I32,
    LEAF,
    LISTED,
    NODES,
    ROWS,
    SIZE,
    WALKING,
    Nodes,
    Wave,
    Worlds,
)

DONE, PAUSED, RECORDS, ROOM, PERCEPTS, UNUSUAL = range(6)
"""Why it returns: no lane walks on; it was time to look at the clock, or there are new nodes and it
pauses there; records, or tables, need more room; percepts have no id yet; the joint moves must be
entered in another way. All but the first: it must be called again."""

STEPS_AT_ONCE = 64
"""Joint moves of a lane between two looks at the clock."""

STRAGGLERS = 32
"""When less than 1 / this of a wave still walks on, it is played out where it is: a step of few
lanes costs nearly as much as one of many."""

LISTED_MOVES, ENTERED, PENDING = range(3)
"""Indices into `Growth.sizes`."""


@by_reference
class Growth(NamedTuple):
    """What worlds consist of besides `Worlds`, and scratch for K of them.

    Attributes:
        sizes: out: most moves that were listed at once, and number of worlds entered; and whether
            all lanes have walked to joint moves that must be entered.
        packed: `[W, words]` their states.
        views: `[W, R]` the path of every role.
        node_of: node of each path, -1 for none.
        chances: probabilities of moves of chance.
        rows: `[K * R, 4]`; `found`: `[K * R]`; `paths`: `[K, R]`; `fresh`: `[K]`; scratch.
    """

    sizes: IntArray
    packed: U64
    views: IntArray
    node_of: I32
    chances: FloatArray
    rows: U64
    found: IntArray
    paths: IntArray
    fresh: BoolArray


@by_reference
class Terms(NamedTuple):
    """How lanes walk, and where they stop.

    Attributes:
        most_worlds, most_actions, most_depth: of a tree.
        chance_role: the role that chance plays, or -1.
        most_chance: most moves of chance that are listed in a world.
        alone: whether each world is a path of its own for each role: world * R + role.
        pauses: whether to return where nodes were added.
        exploration, weight, choices: see `walk`.
    """

    most_worlds: int
    most_actions: int
    most_depth: int
    chance_role: int
    most_chance: int
    alone: bool
    pauses: bool
    exploration: float
    weight: float
    choices: float


@kernel
def grow(
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    listing: Listing,
    paths: PathRows,
    growth: Growth,
    terms: Terms,
    prior: FloatArray,
    width: tuple[int, ...],
) -> int:
    """Send a wave down until all lanes have ended, or are where they are played out.

    Args:
        prior: see `walk`.

    Returns:
        why it returns. If joint moves are `PENDING`, the next call begins with entering them: until
        then, the slots of worlds must stay.
    """
    for _ in range(STEPS_AT_ONCE):
        known = int(worlds.sizes[SIZE])
        most = _most_worlds(worlds, nodes, terms)
        if not growth.sizes[PENDING]:
            wanted = min(known + len(wave.world), most) + 1
            if wanted > len(growth.views) or wanted > len(worlds.parent):
                return ROOM
            if 2 * wanted > len(worlds.slots):
                return ROOM
            if not walk_lanes(
                worlds,
                nodes,
                wave,
                most,
                terms.most_depth,
                terms.exploration,
                terms.weight,
                terms.choices,
                prior,
            ):
                return RECORDS
            growth.sizes[PENDING] = 1
        rows = int(wave.sizes[ROWS])
        if rows == 0:
            return DONE
        if known + rows > most or rows > len(listing.over):
            return UNUSUAL
        before = nodes.sizes[NODES]
        lacking = _enter(worlds, nodes, wave, listing, paths, growth, terms, width)
        if lacking != DONE:
            return lacking
        if not _go_on(wave, known, rows, growth.fresh):
            return DONE
        if terms.pauses and nodes.sizes[NODES] > before:
            return PAUSED
    return PAUSED


@inlined
def _most_worlds(worlds: Worlds, nodes: Nodes, terms: Terms) -> int:
    """See `PathsTree._most_worlds`."""
    known, actions = int(worlds.sizes[SIZE]), int(nodes.sizes[ACTIONS])
    left = max(terms.most_actions - actions, 0) // max(1, actions // max(known, 1))
    return max(min(terms.most_worlds, known + left), known)


@inlined
def _go_on(wave: Wave, known: int, rows: int, fresh: BoolArray) -> bool:
    """Let lanes walk no further that are at new nodes, or straggle.

    Returns:
        whether some walk on.
    """
    found = False
    for lane in range(len(wave.world)):
        if wave.status[lane] == WALKING:
            if STRAGGLERS * rows < len(wave.world) or fresh[wave.world[lane] - known]:
                wave.status[lane] = LEAF
            else:
                found = True
    return found


@inlined
def _enter(
    worlds: Worlds,
    nodes: Nodes,
    wave: Wave,
    listing: Listing,
    paths: PathRows,
    growth: Growth,
    terms: Terms,
    width: tuple[int, ...],
) -> int:
    """Create the worlds that joint moves lead to; `DONE`, or what is lacking: then none is."""
    count, known = int(wave.sizes[ROWS]), int(worlds.sizes[SIZE])
    num_roles = worlds.code.shape[1]
    listed = list_after(listing, growth.packed, wave.parent, wave.moves, count, width)
    if listed < 0 or _is_unusual(listing, terms, count):
        return UNUSUAL
    growth.sizes[LISTED_MOVES] = max(growth.sizes[LISTED_MOVES], listed)
    if not terms.alone and not find_percepts(listing, wave.moves, count):
        return PERCEPTS
    if (
        listed > min(len(listing.values), len(growth.chances))
        or worlds.sizes[LISTED] + listed > len(worlds.listed)
        or worlds.sizes[CHANCES] + listed > len(worlds.chance_move)
        or nodes.sizes[NODES] + count * num_roles > len(nodes.role)
        or nodes.sizes[ACTIONS] + listed > len(nodes.move)
        or known + count > len(growth.packed)
    ):
        return ROOM
    if not _extend_paths(wave, listing, paths, growth, terms, known):
        return ROOM
    _share_chances(listing, growth.chances, terms.chance_role, count)
    wave.sizes[ROWS] = growth.sizes[PENDING] = 0
    for k in range(count):
        if listing.over[k]:
            for role in range(num_roles):
                worlds.value[known + k, role] = listing.worth[k, role]
        for role in range(num_roles):
            growth.views[known + k, role] = growth.paths[k, role]
        for word in range(growth.packed.shape[1]):
            growth.packed[known + k, word] = listing.states[k, word]
    add_some(
        worlds,
        nodes,
        growth.node_of,
        count,
        listing.over,
        growth.paths,
        listing.offsets,
        listing.values,
        terms.chance_role,
        growth.chances,
        -1,
        growth.fresh,
    )
    growth.sizes[ENTERED] += count
    return DONE


@inlined
def _is_unusual(listing: Listing, terms: Terms, count: int) -> bool:
    """Whether a role has no move though the game is not over, or chance has too many."""
    for role in range(len(listing.wanted)):
        for k in range(count):
            found = listing.offsets[role, k + 1] - listing.offsets[role, k]
            if found > terms.most_chance and role == terms.chance_role:
                return True
            if found == 0 and not listing.over[k]:
                return True
    return False


@inlined
def _extend_paths(
    wave: Wave, listing: Listing, paths: PathRows, growth: Growth, terms: Terms, known: int
) -> bool:
    """Write the path of every role in new worlds; returns whether there was room."""
    count, num_roles = int(wave.sizes[ROWS]), growth.paths.shape[1]
    if terms.alone:
        for k in range(count):
            for role in range(num_roles):
                growth.paths[k, role] = (known + k) * num_roles + role
        return bool((known + count) * num_roles <= len(growth.node_of))
    at = 0
    for role in range(num_roles):
        if role == terms.chance_role:
            continue
        for k in range(count):
            growth.rows[at, 0] = np.uint64(growth.views[wave.parent[k], role])
            growth.rows[at, 1] = np.uint64(wave.moves[k, role])
            growth.rows[at, 2] = np.uint64(listing.percepts[k, role])
            growth.rows[at, 3] = np.uint64(wave.refused[k, role])
            at += 1
    if not number_paths(paths, growth.rows, at, growth.found):
        return False
    at = 0
    for role in range(num_roles):
        if role == terms.chance_role:
            for k in range(count):
                growth.paths[k, role] = growth.views[wave.parent[k], role]
            continue
        for k in range(count):
            growth.paths[k, role] = growth.found[at]
            at += 1
    return bool(paths.sizes[0] <= len(growth.node_of))


@inlined
def _share_chances(listing: Listing, chances: FloatArray, role: int, count: int) -> None:
    """Write the probabilities of moves of chance: all of a world are equally likely."""
    if role < 0:
        return
    first = listing.offsets[role, 0]
    for k in range(count):
        start, end = listing.offsets[role, k], listing.offsets[role, k + 1]
        for at in range(start - first, end - first):
            chances[at] = 1.0 / (end - start)
