"""Measures the properties by which paper 003 tells whether clairvoyant worlds suffice.

`walks` gives leaf correlation and bias, `shrinking` disambiguation, `clairvoyance` the gap and the
ties; this module samples, averages, and notes where a figure means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ggp.belief import PathTree
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, player_roles
from ggp.study.clairvoyance import Views, views_of
from ggp.study.matches import decisions_of, random_matches
from ggp.study.sets import KnownSets
from ggp.study.shrinking import shares_left
from ggp.study.walks import PreTerminal, classes, is_equal, pre_terminal_nodes

MOST_MATCHES = 500
"""Greatest number of random matches whose information sets are looked at; no more than walks."""

MOST_DECISIONS = 100
"""Greatest number of different decisions of each role whose worlds are valued; no more than a fifth
of the walks, but `LEAST_DECISIONS` at least."""

LEAST_DECISIONS = 10

MOST_PAIRS = 300
"""Most different decisions of each role that are compared with previous ones; at most walks."""

STEPS_A_WALK = 200
"""Number of joint moves, for each walk, that may be tried to value the decisions of a role."""

MOST_STATES = 1000
"""Size of the largest information set that is enumerated."""

ALMOST = 0.99


@dataclass(frozen=True, slots=True)
class SetSizes:
    """Sizes of a role's information sets at its decisions in random matches.

    Attributes:
        mean, largest: for sets that were enumerated, in states; None if none was.
        singletons: share of these that have a single state.
        too_large: share of all sets that have too many states to be enumerated.
    """

    mean: float | None
    largest: int | None
    singletons: float | None
    too_large: float


@dataclass(frozen=True, slots=True)
class RoleProperties:
    """The measurements of a role; None where there was nothing to measure.

    Attributes:
        leaf_correlation: share of pre-terminal nodes at which every move ends in the same way for
            it: won, drawn, or lost (above, at, below the middle of the goals).
        leaf_correlation_goals: share at which every move gives it exactly the same goal.
        bias: share of the correlated nodes that it wins.
        disambiguation: 1 - the mean share of its information set that is left from one decision to
            the next.
        clairvoyance_gap: mean of E_w[max_a V_w(a)] - max_a E_w[V_w(a)] over its decisions, in
            points.
        ties: share of its decisions in which several moves are best by E_w[V_w(a)].
        information_sets: sizes of the sets at its decisions.
    """

    leaf_correlation: float | None
    leaf_correlation_goals: float | None
    bias: float | None
    disambiguation: float | None
    clairvoyance_gap: float | None
    ties: float | None
    information_sets: SetSizes


@dataclass(frozen=True, slots=True)
class Properties:
    """The measurements of a game.

    Attributes:
        roles: every role except `random`.
        walks: number of random walks to pre-terminal nodes.
        notes: restrictions on the meaning of figures, one sentence each.
    """

    roles: Mapping[str, RoleProperties]
    walks: int
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The measurements as JSON values."""
        return {
            "roles": {name: asdict(each) for name, each in self.roles.items()},
            "walks": self.walks,
            "notes": list(self.notes),
        }


def measure_properties(machine: Machine, walks: int, seed: int) -> Properties:
    """Measure a game by random walks and random matches.

    Args:
        walks: number to pre-terminal nodes; all other work is in proportion, up to its bounds.

    Raises:
        NoLegalMoveError: a role has no legal move, and the game is not over.
        GoalError: a goal value is not a number.
    """
    rng = np.random.default_rng(seed)
    nodes = pre_terminal_nodes(machine, walks, rng)
    tree = PathTree(machine)
    turns = random_matches(machine, tree, min(walks, MOST_MATCHES), rng)
    known = KnownSets(machine, tree, MOST_STATES)
    roles: dict[str, RoleProperties] = {}
    notes = list(_notes_on_walks(machine, nodes))
    for role, name in enumerate(machine.roles):
        if role == machine.random_role:
            continue
        decisions = decisions_of(role, turns)
        pairs = decisions.take(np.flatnonzero(decisions.before >= 0)).some(
            min(MOST_PAIRS, walks), rng
        )
        left, sizes = shares_left(known, role, pairs)
        some = decisions.some(min(MOST_DECISIONS, max(LEAST_DECISIONS, walks // 5)), rng)
        views = views_of(known, role, some, rng, STEPS_A_WALK * walks)
        roles[name] = _of_role(machine, role, nodes, left, views)
        notes += _notes_on_sets(name, left, sizes, views)
    return Properties(roles, walks, tuple(notes))


def measure_gaps(
    machine: Machine, matches: int, decisions: int, most_states: int, seed: int
) -> dict[str, float]:
    """The clairvoyance gap of each role, as far as it can be measured, and nothing else.

    Args:
        matches: random matches that decisions are taken from.
        decisions: of each role that are looked at.
        most_states: size of the largest information set that is enumerated.

    Raises:
        NoLegalMoveError: a role has no legal move, and the game is not over.
        GoalError: a goal value is not a number.
    """
    rng = np.random.default_rng(seed)
    tree = PathTree(machine)
    turns = random_matches(machine, tree, matches, rng)
    known = KnownSets(machine, tree, most_states)
    gaps = {}
    for role in player_roles(machine):
        some = decisions_of(role, turns).some(decisions, rng)
        views = views_of(known, role, some, rng, STEPS_A_WALK * matches)
        gap = _mean(views.gaps)
        if gap is not None:
            gaps[machine.roles[role]] = max(gap, 0.0)
    return gaps


def _of_role(
    machine: Machine, role: int, nodes: PreTerminal, left: FloatArray, views: Views
) -> RoleProperties:
    outcomes = classes(machine, nodes.goals[:, role])
    equal = is_equal(nodes, outcomes)
    gap = _mean(views.gaps)
    won = outcomes[nodes.offsets[:-1][equal]] > 0
    return RoleProperties(
        leaf_correlation=_mean(equal),
        leaf_correlation_goals=_mean(is_equal(nodes, nodes.goals[:, role])),
        bias=_mean(won),
        disambiguation=_disambiguation(left, views),
        clairvoyance_gap=None if gap is None else max(gap, 0.0),  # below 0 it is only noise
        ties=_mean(views.tied),
        information_sets=_sizes(views.sizes),
    )


def _disambiguation(left: FloatArray, views: Views) -> float | None:
    if not len(views.gaps):
        return None
    if not len(left):
        return 0.0  # nothing shrinks between two decisions of a role that makes one; see the notes
    kept = _mean(left)
    return None if kept is None else 1.0 - kept


def _sizes(sizes: IntArray) -> SetSizes:
    known = sizes[sizes > 0]
    return SetSizes(
        mean=_mean(known),
        largest=int(known.max()) if len(known) else None,
        singletons=_mean(known == 1),
        too_large=float((sizes < 0).mean()) if len(sizes) else 0.0,
    )


def _mean(values: FloatArray | BoolArray | IntArray) -> float | None:
    """The mean of the values; None if there are none."""
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(known.mean()) if len(known) else None


def _notes_on_walks(machine: Machine, nodes: PreTerminal) -> Iterator[str]:
    if not len(nodes):
        yield (
            f"none of {nodes.walks} walks met a node at which every move ends the game: leaf "
            "correlation and bias cannot be measured"
        )
        return
    if len(nodes) < nodes.walks:
        yield (
            f"{nodes.walks - len(nodes)} of {nodes.walks} walks met no node at which every move "
            "ends the game"
        )
    alone = nodes.decides.sum(axis=1) == 1
    mover = nodes.decides.argmax(axis=1)
    owner = np.repeat(mover, np.diff(nodes.offsets))
    own = classes(machine, nodes.goals[np.arange(len(nodes.goals)), owner])
    wins = alone & is_equal(nodes, own) & (own[nodes.offsets[:-1]] > 0)
    goals = [is_equal(nodes, nodes.goals[:, role]) for role in range(nodes.goals.shape[1])]
    if wins.mean() >= ALMOST:
        yield (
            "leaf correlation and bias mean nothing: where every move ends the game, it ends with "
            "the mover's win, for walks avoid only what ends the game"
        )
    elif np.all(goals, axis=0).mean() >= ALMOST:
        yield (
            "leaf correlation means little: where every move ends the game, it is over but for "
            "moves that change nothing"
        )
    if nodes.by_chance.any():
        yield (
            f"at {nodes.by_chance.mean():.0%} of the pre-terminal nodes chance has a say after "
            "the last move, drawn for each move: moves also differ by luck there"
        )
    if nodes.cut.any():
        yield (
            f"{nodes.cut.mean():.0%} of the pre-terminal nodes have too many joint moves to try "
            "all: they look more correlated than they are"
        )


def _notes_on_sets(name: str, left: FloatArray, sizes: IntArray, views: Views) -> Iterator[str]:
    if not len(views.gaps):
        yield f"{name} never has a choice: nothing can be said of its information sets"
        return
    if (views.sizes == 1).all():
        yield (
            f"disambiguation of {name} means nothing: it always knows the state, so that no set "
            "can shrink; nor do clairvoyant worlds differ"
        )
    elif not len(left):
        yield (
            f"disambiguation of {name} means nothing: it never decides twice in a match, so that "
            "no set is seen to shrink"
        )
    elif (sizes == 1).any() and (sizes > 1).any():
        open_ = 1 - left[sizes > 1].mean()
        yield (
            f"{(sizes == 1).sum() / (sizes > 0).sum():.0%} of the sets of {name} hold one state "
            f"and cannot shrink; disambiguation of the others is {open_:.2f}"
        )
    unknown = (views.sizes < 0).mean()
    if unknown:
        yield (
            f"at {unknown:.0%} of the decisions of {name} its information set has more than "
            f"{MOST_STATES:,} states, now or before: these do not count"
        )
    if not views.solved:
        yield (
            f"the game is too large to be solved from all decisions of {name}: some values are "
            "means of random playouts, whose noise lowers the clairvoyance gap and hides ties"
        )
