"""Measures the properties that predict, by paper 003, whether clairvoyant search suffices.

`ggp properties` and `ggp advise` call `measure_properties` with a machine; players that choose a
method call `measure_gaps`. Random walks give leaf correlation and bias; information sets along
random matches give disambiguation, the clairvoyance gap and ties. Notes say where a figure means
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from ggp.belief import PathTree
from ggp.belief.bags import Segments
from ggp.belief.sampler import Setting
from ggp.belief.turns.one_turn import TurnLimits, advance
from ggp.machine.arrays import first_seen, first_seen_columns, segment_ids
from ggp.machine.base import BoolArray, FloatArray, IntArray, Machine, States, player_roles
from ggp.report import Report, Table
from ggp.search.clairvoyant import clairvoyant_values, table_of
from ggp.search.estimates import candidates, equally_best
from ggp.study.matches import (
    Decisions,
    KnownSets,
    PreTerminal,
    classes,
    decisions_of,
    is_equal,
    pre_terminal_nodes,
    random_matches,
)

MAX_MATCHES = 500
"""Greatest number of random matches whose information sets are enumerated; at most one a walk."""

MAX_DECISIONS = 100
"""Greatest number of distinct decisions of each role whose worlds are valued; at most one for every
five walks, but at least `MIN_DECISIONS`."""

MIN_DECISIONS = 10

MAX_PAIRS = 300
"""Greatest number of distinct decisions of each role that are compared with their previous ones; at
most one a walk."""

STEPS_A_WALK = 200
"""Greatest number of joint moves, for each walk, to value the decisions of a role."""

MAX_STATES = 1000
"""Greatest size of an information set that is enumerated."""

ALMOST = 0.99


@dataclass(frozen=True, slots=True)
class SetSizes:
    """Sizes of a role's information sets at its decisions in random matches.

    Attributes:
        mean, largest: number of states of enumerated sets; None if there are none.
        singletons: share of enumerated sets with a single state.
        too_large: share of all sets that have too many states to enumerate.
    """

    mean: float | None
    largest: int | None
    singletons: float | None
    too_large: float


@dataclass(frozen=True, slots=True)
class RoleProperties:
    """The measurements of a role; None where there was nothing to measure.

    Attributes:
        leaf_correlation: share of pre-terminal nodes at which every move ends alike for the role:
            won, drawn, or lost (above, at, below the middle of the goals).
        leaf_correlation_goals: share at which every move gives it exactly the same goal.
        bias: share of the correlated nodes that it wins.
        disambiguation: 1 - the mean share of its information set that remains from one decision to
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

    >>> from ggp.machine.games import build_machine, load_program
    >>> machine = build_machine(load_program("exploding_bomb"), "prolog")
    >>> properties = measure_properties(machine, walks=50, seed=1)
    >>> agent = properties.roles["agent"]
    >>> agent.clairvoyance_gap > 0, agent.information_sets.largest
    (True, 2)

    Attributes:
        roles: every role except `random`.
        walks: number of random walks to pre-terminal nodes.
        notes: restrictions on the meaning of figures, one sentence each.
    """

    roles: Mapping[str, RoleProperties]
    walks: int
    notes: tuple[str, ...]

    def report(self) -> Report:
        """The measurements as a report, for `ggp properties`."""
        head = (
            *("role", ("#leaf correlation", ".2f"), ("#of goals", ".2f"), ("#bias", ".2f")),
            *(("#disambiguation", ".2f"), ("#clairvoyance gap", ".1f"), ("#ties", ".2f")),
            ("#set size", ".1f"),
        )
        rows = [
            (
                *(name, measures.leaf_correlation, measures.leaf_correlation_goals, measures.bias),
                *(measures.disambiguation, measures.clairvoyance_gap, measures.ties),
                measures.information_sets.mean,
            )
            for name, measures in self.roles.items()
        ]
        notes = [f"note: {note}" for note in self.notes]
        return Report(asdict(self), [Table(head, rows), f"{self.walks:,} walks", *notes])


def measure_properties(machine: Machine, walks: int, seed: int) -> Properties:
    """Measure a game by random walks and random matches.

    Args:
        walks: number of walks; all other work is in proportion, up to its bounds.

    Raises:
        NoLegalMoveError: a role has no legal move, and the game is not over.
        GoalError: a goal value is not a number.
    """
    rng = np.random.default_rng(seed)
    nodes = pre_terminal_nodes(machine, walks, rng)
    tree = PathTree(machine)
    turns = random_matches(machine, tree, min(walks, MAX_MATCHES), rng)
    exact = KnownSets(machine, tree, MAX_STATES)
    roles: dict[str, RoleProperties] = {}
    notes = list(_notes_on_walks(machine, nodes))
    for role, name in enumerate(machine.roles):
        if role == machine.random_role:
            continue
        decisions = decisions_of(role, turns)
        pairs = decisions.take(np.flatnonzero(decisions.before >= 0)).sample(
            min(MAX_PAIRS, walks), rng
        )
        shares, sizes = shares_left(exact, role, pairs)
        sample = decisions.sample(min(MAX_DECISIONS, max(MIN_DECISIONS, walks // 5)), rng)
        views = views_of(exact, role, sample, rng, STEPS_A_WALK * walks)
        roles[name] = _of_role(machine, role, nodes, shares, views)
        notes += _notes_on_sets(name, shares, sizes, views)
    return Properties(roles, walks, tuple(notes))


def measure_gaps(
    machine: Machine, matches: int, decisions: int, most_states: int, seed: int
) -> dict[str, float]:
    """The clairvoyance gap of each role in which it can be measured.

    Args:
        matches: number of random matches.
        decisions: greatest number of decisions of each role.
        most_states: greatest size of an information set that is enumerated.

    Raises:
        NoLegalMoveError: a role has no legal move, and the game is not over.
        GoalError: a goal value is not a number.
    """
    rng = np.random.default_rng(seed)
    tree = PathTree(machine)
    turns = random_matches(machine, tree, matches, rng)
    exact = KnownSets(machine, tree, most_states)
    gaps = {}
    for role in player_roles(machine):
        sample = decisions_of(role, turns).sample(decisions, rng)
        views = views_of(exact, role, sample, rng, STEPS_A_WALK * matches)
        gap = _mean(views.gaps)
        if gap is not None:
            gaps[machine.roles[role]] = max(gap, 0.0)
    return gaps


def _of_role(
    machine: Machine, role: int, nodes: PreTerminal, shares: FloatArray, views: Views
) -> RoleProperties:
    outcomes = classes(machine, nodes.goals[:, role])
    equal = is_equal(nodes, outcomes)
    gap = _mean(views.gaps)
    won = outcomes[nodes.offsets[:-1][equal]] > 0
    return RoleProperties(
        leaf_correlation=_mean(equal),
        leaf_correlation_goals=_mean(is_equal(nodes, nodes.goals[:, role])),
        bias=_mean(won),
        disambiguation=_disambiguation(shares, views),
        clairvoyance_gap=None if gap is None else max(gap, 0.0),  # below 0 it is only noise
        ties=_mean(views.tied),
        information_sets=_sizes(views.sizes),
    )


def _disambiguation(shares: FloatArray, views: Views) -> float | None:
    if not len(views.gaps):
        return None
    if not len(shares):
        return 0.0  # the role never decides twice in a match; see the notes
    mean = _mean(shares)
    return None if mean is None else 1.0 - mean


def _sizes(sizes: IntArray) -> SetSizes:
    enumerated = sizes[sizes > 0]
    return SetSizes(
        mean=_mean(enumerated),
        largest=int(enumerated.max()) if len(enumerated) else None,
        singletons=_mean(enumerated == 1),
        too_large=float((sizes < 0).mean()) if len(sizes) else 0.0,
    )


def _mean(values: FloatArray | BoolArray | IntArray) -> float | None:
    """The mean of the values, without NaN; None if there are none."""
    valid = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(valid.mean()) if len(valid) else None


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
    one_mover = nodes.decides.sum(axis=1) == 1
    mover = nodes.decides.argmax(axis=1)
    owner = np.repeat(mover, np.diff(nodes.offsets))
    mover_outcomes = classes(machine, nodes.goals[np.arange(len(nodes.goals)), owner])
    wins = one_mover & is_equal(nodes, mover_outcomes) & (mover_outcomes[nodes.offsets[:-1]] > 0)
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


def _notes_on_sets(name: str, shares: FloatArray, sizes: IntArray, views: Views) -> Iterator[str]:
    if not len(views.gaps):
        yield f"{name} never has a choice: nothing can be said of its information sets"
        return
    if (views.sizes == 1).all():
        yield (
            f"disambiguation of {name} means nothing: it always knows the state, so that no set "
            "can shrink; nor do clairvoyant worlds differ"
        )
    elif not len(shares):
        yield (
            f"disambiguation of {name} means nothing: it never decides twice in a match, so that "
            "no set is seen to shrink"
        )
    elif (sizes == 1).any() and (sizes > 1).any():
        open_ = 1 - shares[sizes > 1].mean()
        yield (
            f"{(sizes == 1).sum() / (sizes > 0).sum():.0%} of the sets of {name} hold one state "
            f"and cannot shrink; disambiguation of the others is {open_:.2f}"
        )
    unknown = (views.sizes < 0).mean()
    if unknown:
        yield (
            f"at {unknown:.0%} of the decisions of {name} its information set has more than "
            f"{MAX_STATES:,} states, now or before: these do not count"
        )
    if not views.solved:
        yield (
            f"the game is too large to be solved from all decisions of {name}: some values are "
            "means of random playouts, whose noise lowers the clairvoyance gap and hides ties"
        )


# ------------------------------------------------------------------------
# Measures how fast information sets shrink: disambiguation in real games (paper 003).
#
# Of the states in a role's information set at its last decision, some have a descendant in the set
# at its next decision. Their share is the remaining share of the set; the number of a state's
# descendants, which may be large, does not count.
#
#     last decision     the set has 3 states: s1, s2, s3
#     percepts since    agree with two continuations of s1 and one of s3
#     next decision     the set has 3 states; 2/3 of the old set remain

_MOST = 1 << 20
"""Greatest number of continuations of one state in one turn."""


def shares_left(exact: KnownSets, role: int, decisions: Decisions) -> tuple[FloatArray, IntArray]:
    """The share of the last decision's set that remains at each decision.

    Args:
        exact: enumerates the sets.
        decisions: each has a previous decision.

    Returns:
        `[D]` the share, NaN if a set on the way is too large to enumerate; and `[D]` the size of
        the last decision's set, 0 in that case.
    """
    shares = np.full(len(decisions), np.nan)
    sizes = np.zeros(len(decisions), dtype=np.int64)
    for turn in np.unique(decisions.turns).tolist():
        indices = np.flatnonzero(decisions.turns == turn)
        of_turn = decisions.take(indices)
        first, group = first_seen_columns([of_turn.paths, of_turn.before])
        turn_shares, size = _of_one_turn(exact, role, of_turn.take(first))
        shares[indices], sizes[indices] = turn_shares[group], size[group]
    return shares, sizes


def _of_one_turn(exact: KnownSets, role: int, decisions: Decisions) -> tuple[FloatArray, IntArray]:
    """`shares_left` for decisions of one turn: go back from each, turn by turn, to the one before.

    A state is alive if it has a descendant in the set of its decision; in each step back, a state
    is alive if it has a child that agrees with the path and is alive.
    """
    shares = np.full(len(decisions), np.nan)
    sizes = np.zeros(len(decisions), dtype=np.int64)
    active = np.arange(len(decisions))
    paths = decisions.paths
    alive: tuple[States, IntArray] | None = None
    for back in range(1, int((decisions.turns - decisions.before).max(initial=0)) + 1):
        rows, bags = exact.find(role, exact.tree.parents(paths))
        if bags is None:
            break
        sets = bags.sets
        owner = rows[segment_ids(sets.offsets)]
        lives = _has_living_child(exact, role, sets.states, paths[owner], active[owner], alive)
        is_last = (decisions.turns - decisions.before)[active[rows]] == back
        count = np.bincount(active[owner[lives]], minlength=len(decisions))
        ended = active[rows[is_last]]
        sizes[ended] = sets.counts[is_last]
        shares[ended] = count[ended] / sets.counts[is_last]
        alive = sets.states.take(np.flatnonzero(lives)), active[owner[lives]]
        paths = bags.paths[~is_last]
        active = active[rows[~is_last]]
        if not len(active):
            break
    return shares, sizes


def _has_living_child(
    exact: KnownSets,
    role: int,
    states: States,
    paths: IntArray,
    decision: IntArray,
    alive: tuple[States, IntArray] | None,
) -> BoolArray:
    """`[N]` whether a state has a child that agrees with a path and is alive.

    Args:
        paths: `[N]` path one turn after each state.
        decision: `[N]` the decision of each state.
        alive: living states of the next turn, and the decision of each; None if all live.
    """
    machine = exact.machine
    num = len(states)
    if not num:
        return np.zeros(0, dtype=np.bool_)
    runs = Segments(
        np.arange(num + 1),
        states,
        np.zeros(num),
        np.ones(num, dtype=np.bool_),
        np.ones(num),
        np.zeros(num),
    )
    setting = Setting(machine, exact.tree, capacity=_MOST)
    rng = np.random.default_rng(0)  # nothing is drawn where sets are only enumerated
    children = advance(setting, role, runs, paths, TurnLimits(_MOST, expansions=_MOST), rng).sets
    if alive is None:
        return np.asarray(children.counts > 0)
    parent = segment_ids(children.offsets)
    living, owner = alive
    groups = machine.groups(machine.concatenate([living, children.states]))
    keys = first_seen_columns([groups, np.concatenate([owner, decision[parent]])])[1]
    lives = np.isin(keys[len(owner) :], keys[: len(owner)])
    return np.bincount(parent, lives, minlength=num) > 0


# ------------------------------------------------------------------------
# Measures the clairvoyance gap, and ties.
#
# V_w(a) is the value of move a in world w if everybody knows w from then on. Perfect information
# Monte Carlo search makes the move with the highest E_w[V_w(a)]. A player who knew w before
# choosing would get E_w[max_a V_w(a)]. The difference is the clairvoyance gap.

MAX_WORLDS = 64
"""Greatest number of worlds for one decision; of more, this many are drawn."""


class Views(NamedTuple):
    """Clairvoyance gaps and ties of D decisions.

    Attributes:
        gaps: `[D]` clairvoyance gap, in points.
        tied: `[D]` 1 if several moves have the highest mean value, else 0.
        sizes: `[D]` number of states in the information set; -1 if it is too large to enumerate:
            then gaps and ties are NaN.
        solved: whether no value needed a playout.
    """

    gaps: FloatArray
    tied: FloatArray
    sizes: IntArray
    solved: bool


def views_of(
    exact: KnownSets,
    role: int,
    decisions: Decisions,
    rng: np.random.Generator,
    most_steps: int,
) -> Views:
    """Solve the worlds of every decision of a role.

    Args:
        exact: enumerates the sets.
        most_steps: see `clairvoyant_values`.
    """
    machine = exact.machine
    num = len(decisions)
    gaps, tied = np.full(num, np.nan), np.full(num, np.nan)
    sizes = np.full(num, -1, dtype=np.int64)
    cases: list[tuple[IntArray, FloatArray, IntArray]] = []
    worlds: list[States] = []
    for turn in np.unique(decisions.turns).tolist():
        indices = np.flatnonzero(decisions.turns == turn)
        first, group = first_seen(decisions.paths[indices])
        rows, bags = exact.find(role, decisions.paths[indices[first]])
        if bags is None:
            continue
        options = candidates(machine, bags)
        for bag, path in enumerate(rows.tolist()):
            same_path = indices[group == path]
            sizes[same_path] = bags.sets.counts[bag]
            lanes, weights = bags.lanes_of(bag), bags.weights_of(bag)
            if len(lanes) > MAX_WORLDS:
                lanes = bags.draw(bag, MAX_WORLDS, rng)
                weights = np.full(MAX_WORLDS, 1 / MAX_WORLDS)
            cases.append((same_path, weights, options[bag]))
            worlds.append(bags.sets.states.take(lanes))
    if not worlds:
        return Views(gaps, tied, sizes, True)
    states = machine.concatenate(worlds)
    values, solved = clairvoyant_values(machine, states, role, rng, most_steps)
    repeat = values
    if not solved:
        repeat, _ = clairvoyant_values(machine, states, role, rng, most_steps)
    middle = sum(machine.goal_range) / 2
    start = 0
    for same_path, weights, moves in cases:
        lanes = np.arange(start, start + len(weights))
        start += len(weights)
        tables = [table_of(view.take(lanes), moves, middle)[0] for view in (values, repeat)]
        gaps[same_path] = gap_of(tables, weights)
        tied[same_path] = len(equally_best(weights @ tables[0])) > 1
    return Views(gaps, tied, sizes, solved)


def gap_of(tables: Sequence[FloatArray], weights: FloatArray) -> float:
    """The clairvoyance gap of a decision.

    Args:
        tables: twice the same values, or two independent estimates. One selects the best moves, the
            other gives their values, so that the maximum of noisy values is not biased upwards.
        weights: `[N]` probabilities of the worlds.
    """
    gaps = []
    for chosen_by, valued_by in (tables, tables[::-1]):
        informed = np.take_along_axis(valued_by, chosen_by.argmax(axis=1)[:, None], axis=1)[:, 0]
        uninformed = valued_by[:, (weights @ chosen_by).argmax()]
        gaps.append(float(weights @ (informed - uninformed)))
    return sum(gaps) / 2
