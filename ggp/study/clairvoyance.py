"""Measures how a clairvoyant sees decisions: the clairvoyance gap, and ties.

V_w(a) is the value of move a in world w if everybody knows w from then on. Perfect information
Monte Carlo search makes the move with the highest E_w[V_w(a)]. A player who knew w before it chose
would get E_w[max_a V_w(a)]. The difference is the clairvoyance gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ggp.machine.arrays import first_seen
from ggp.machine.base import FloatArray, IntArray, States
from ggp.search.estimates import candidates, equally_best
from ggp.search.worlds.clairvoyant import clairvoyant_values, table_of
from ggp.study.matches import Decisions
from ggp.study.sets import KnownSets

MOST_WORLDS = 64
"""Greatest number of worlds looked at for one decision; of more, this many are drawn."""


class Views(NamedTuple):
    """A clairvoyant's view of D decisions.

    Attributes:
        gaps: `[D]` clairvoyance gap, in points.
        tied: `[D]` 1 if several moves have the highest mean value, else 0.
        sizes: `[D]` number of states in the information set; -1 if it is too large to be
            enumerated, and gaps and ties are NaN.
        solved: whether no value needed a playout.
    """

    gaps: FloatArray
    tied: FloatArray
    sizes: IntArray
    solved: bool


def views_of(
    known: KnownSets,
    role: int,
    decisions: Decisions,
    rng: np.random.Generator,
    most_steps: int,
) -> Views:
    """Look at every decision of a role.

    Args:
        known: enumerates the sets.
        most_steps: see `clairvoyant_values`.
    """
    machine = known.machine
    num = len(decisions)
    gaps, tied = np.full(num, np.nan), np.full(num, np.nan)
    sizes = np.full(num, -1, dtype=np.int64)
    places: list[tuple[IntArray, FloatArray, IntArray]] = []
    worlds: list[States] = []
    for turn in np.unique(decisions.turns).tolist():
        which = np.flatnonzero(decisions.turns == turn)
        first, group = first_seen(decisions.paths[which])
        found, bags = known.find(role, decisions.paths[which[first]])
        if bags is None:
            continue
        options = candidates(machine, bags)
        for bag, path in enumerate(found.tolist()):
            here = which[group == path]
            sizes[here] = bags.sets.counts[bag]
            lanes, weights = bags.lanes_of(bag), bags.weights_of(bag)
            if len(lanes) > MOST_WORLDS:
                lanes = bags.draw(bag, MOST_WORLDS, rng)
                weights = np.full(MOST_WORLDS, 1 / MOST_WORLDS)
            places.append((here, weights, options[bag]))
            worlds.append(bags.sets.states.take(lanes))
    if not worlds:
        return Views(gaps, tied, sizes, True)
    states = machine.concatenate(worlds)
    seen, solved = clairvoyant_values(machine, states, role, rng, most_steps)
    again = seen
    if not solved:
        again, _ = clairvoyant_values(machine, states, role, rng, most_steps)
    middle = sum(machine.goal_range) / 2
    start = 0
    for here, weights, moves in places:
        lanes = np.arange(start, start + len(weights))
        start += len(weights)
        tables = [table_of(each.take(lanes), moves, middle)[0] for each in (seen, again)]
        gaps[here] = gap_of(tables, weights)
        tied[here] = len(equally_best(weights @ tables[0])) > 1
    return Views(gaps, tied, sizes, solved)


def gap_of(tables: Sequence[FloatArray], weights: FloatArray) -> float:
    """The clairvoyance gap of a decision.

    Args:
        tables: twice the same values, or two independent estimates. The best moves are taken from
            one and their values from the other: the best of noisy values looks better than it is.
        weights: `[N]` probabilities of the worlds.
    """
    gaps = []
    for chosen_by, valued_by in (tables, tables[::-1]):
        known = np.take_along_axis(valued_by, chosen_by.argmax(axis=1)[:, None], axis=1)[:, 0]
        unknown = valued_by[:, (weights @ chosen_by).argmax()]
        gaps.append(float(weights @ (known - unknown)))
    return sum(gaps) / 2
