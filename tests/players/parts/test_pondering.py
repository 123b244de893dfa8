"""Players with a clock have as many particles as there is time for, and use idle time for more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from time import process_time

import numpy as np
import pytest

from ggp.belief import Bags, HyperPlaySampler
from ggp.belief.turns.completions import LANES_AT_ONCE
from ggp.machine import Machine
from ggp.machine.base import IntArray
from ggp.players import BeliefPlayer, make_player, parse_spec
from ggp.players.auto import Auto
from ggp.players.parts.tracker import FIRST_LANES, MIN_LANES, BeliefWatch, Slices
from ggp.players.parts.tree_player import TreePlayer
from ggp.players.player import Pondering, Preparing
from ggp.search.anytime import Deadline
from tests.players.parts.test_depletion import HAYSTACK, fail
from tests.support.effort import rarely
from tests.support.games import machine_of_game, machine_of_rules

RARE = (
    "(role seer) (role random) (role other) (init (at 0)) (fifth 0) "
    + "".join(f"(succ {i} {i + 1}) " for i in range(20))
    + "".join(f"(number {i}) " for i in range(60))
    + "".join(f"(fifth {i}) " for i in range(5, 60, 5))
    + """
    (<= (legal random (pick ?n)) (number ?n) (true (at 0)))
    (<= (legal random noop) (not (true (at 0))))
    (<= (legal other (choose ?n)) (number ?n) (true (at 0)))
    (<= (legal other noop) (not (true (at 0))))
    (legal seer wait) (legal seer watch)
    (<= (next (picked ?n)) (does random (pick ?n)))
    (<= (next (picked ?n)) (true (picked ?n)))
    (<= (next (chosen ?n)) (does other (choose ?n)))
    (<= (next (chosen ?n)) (true (chosen ?n)))
    (<= (sees seer hit) (true (at 1)) (true (picked ?n)) (fifth ?n) (true (chosen ?m)) (fifth ?m))
    (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
    (<= terminal (true (at 20)))
    (goal seer 50) (goal random 0) (goal other 0)
    """
)
"""Of 3,600 states 144 agree with the second turn, if there is a hit."""

LANE_S = 1e-4
"""Seconds for a lane on the clock of these tests: ten thousand lanes a second, as on Prolog."""

FAR_S = 1e15


@dataclass
class Clock:
    """Time that passes with the lanes stepped, and a little with every look."""

    machine: Machine
    interrupted_at_s: float = FAR_S
    looks: int = 0

    def __post_init__(self) -> None:
        # Each lane takes time.
        self.machine.side_by_side = 1  # type: ignore[attr-defined]

    def __call__(self) -> float:
        now_s = self.true_s()
        self.looks += 1
        return FAR_S if now_s >= self.interrupted_at_s else now_s

    def true_s(self) -> float:
        return LANE_S * self.machine.states_visited + 1e-5 * self.looks

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(self.true_s() + seconds, self)


def player_of(spec: str, machine: Machine) -> BeliefPlayer:
    player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(0))
    assert isinstance(player, BeliefPlayer)
    return player


def particles(player: BeliefPlayer) -> int:
    return len(player.tracker.bag.sets.states)


@pytest.mark.verify
@pytest.mark.parametrize(
    "spec", rarely(["hyperplay2:exact=0", "hyperplay:n=2,exact=0"], {"hyperplay2:exact=0"})
)
def test_a_bag_that_is_thin_after_a_short_deadline_is_fuller_after_idle_time(spec: str) -> None:
    machine = machine_of_rules(RARE, "propnet")
    player, clock = player_of(spec, machine), Clock(machine)
    assert isinstance(player, Pondering)
    for percepts in ([], ["hit"]):
        deadline = clock.deadline(1.0)
        player.observe("wait", percepts, deadline=deadline)
        thin = player.choose(deadline)
        assert deadline.left_s() > -0.1
    assert 0 < thin.particles <= 100
    player.ponder(clock.deadline(60.0))
    assert particles(player) > 120
    deadline = clock.deadline(1.0)
    player.observe("wait", [], deadline=deadline)
    decision = player.choose(deadline)
    assert decision.particles > 120
    assert deadline.left_s() > -0.1


def test_a_bag_has_n_particles_without_a_clock_and_more_with_one() -> None:
    machine = machine_of_rules(HAYSTACK, "propnet")
    clocked, counted = player_of("hyperplay2:n=4", machine), player_of("hyperplay2:n=4", machine)
    clock = Clock(machine)
    for _ in range(3):
        clocked.observe("wait", [], deadline=clock.deadline(10.0))
        counted.observe("wait", [])
    assert particles(clocked) >= 256
    assert particles(counted) == 4
    (nested,) = clocked.simulated()
    assert isinstance(nested, HyperPlaySampler)
    assert nested.capacity == 4


def test_particles_are_found_while_others_think_where_there_was_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_rules(HAYSTACK, "propnet")
    player, clock = player_of("hyperplay2:exact=0", machine), Clock(machine)
    with monkeypatch.context() as patch:
        patch.setattr(player.tracker.belief, "advance", fail)
        player.observe("wait", [], deadline=clock.deadline(1.0))
    assert not particles(player)
    player.ponder(clock.deadline(60.0))
    assert particles(player) >= 256
    assert player.tracker.last_known is player.tracker.bag


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.1, 0.5])
def test_pondering_ends_within_milliseconds_of_an_interruption(after_s: float) -> None:
    machine = machine_of_rules(HAYSTACK, "propnet")
    player, clock = player_of("hyperplay2", machine), Clock(machine)
    for _ in range(6):
        player.observe("wait", [], deadline=clock.deadline(0.01))
    clock.interrupted_at_s = clock.true_s() + after_s
    player.ponder(clock.deadline(60.0))
    late_s = clock.true_s() - clock.interrupted_at_s
    assert late_s < FIRST_LANES * LANE_S + 0.005
    assert particles(player)
    assert player.choose().move in ("wait", "watch")  # the bag is whole


def test_pondering_is_bounded_and_leaves_no_paths_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ggp.players.parts.tracker.MIN_NODES", 0)
    machine = machine_of_rules(HAYSTACK, "propnet")
    player, clock = player_of("hyperplay2:exact=0", machine), Clock(machine)
    for _ in range(4):
        player.observe("wait", [], deadline=clock.deadline(0.05))
        player.ponder(clock.deadline(60.0))
    assert particles(player) <= 1000
    # Two other roles' paths of five turns for each particle, and for those of another sample.
    assert len(player.tracker.tree) < 2 * (2 * 5 * 2000)
    visited = machine.states_visited
    player.ponder(clock.deadline(60.0))
    player.ponder(clock.deadline(60.0))
    assert machine.states_visited == visited  # it is full


def test_nothing_is_pondered_with_an_exact_bag_or_a_budget_of_states() -> None:
    machine = machine_of_rules(HAYSTACK, "propnet")
    clock = Clock(machine)
    exact = player_of("hyperplay2:exact=1000", machine)
    counted = player_of("hyperplay2:states=100", machine)
    for player in (exact, counted):
        player.observe("wait", [], deadline=clock.deadline(1.0))
        visited = machine.states_visited
        player.ponder(clock.deadline(10.0))
        assert machine.states_visited == visited
    assert exact.tracker.bag.exact[0]


@pytest.mark.parametrize("spec", ["random", "legal"])
def test_players_that_do_not_search_keep_few_particles(spec: str) -> None:
    machine = machine_of_rules(HAYSTACK, "propnet")
    player, clock = player_of(spec, machine), Clock(machine)
    # There is no time to enumerate the set, as it is for players that search.
    player.observe("wait", [], deadline=clock.deadline(0.1))
    player.ponder(clock.deadline(10.0))
    assert particles(player) == 16


def looks(slices: Slices, seconds: list[float]) -> list[int]:
    """The lanes allowed after each of these times between looks."""
    now_s, sizes = 0.0, []
    slices.begin(now_s, now_s)
    for took_s in seconds:
        now_s += took_s
        slices.look(now_s, slices.lanes)
        sizes.append(slices.lanes)
    return sizes


def test_slices_grow_where_looks_come_fast_and_shrink_where_they_come_late() -> None:
    first = FIRST_LANES
    assert looks(Slices(), [0.0005, 0.0005, 0.002, 0.02]) == [2 * first, 4 * first] * 1 + [
        4 * first,
        2 * first,
    ]
    assert looks(Slices(), [1.0] * 20)[-1] == MIN_LANES


@pytest.mark.parametrize(
    ("seconds", "changes"), [(0.0005, np.greater), (0.003, np.equal), (0.01, np.less)]
)
def test_samples_grow_as_long_as_looks_come_fast(
    seconds: float, changes: Callable[[int, int], bool]
) -> None:
    slices = Slices()
    old_size = slices.size
    looks(slices, [seconds] * 5)
    slices.end()
    assert changes(slices.size, old_size)


def test_a_watch_says_when_it_is_over_and_looks_more_often_where_lanes_are_slow() -> None:
    machine, now_s = machine_of_rules(HAYSTACK, "prolog"), [0.0]
    watch = BeliefWatch(machine)
    watch.begin(None)
    assert watch.lanes() == LANES_AT_ONCE  # nobody waits
    assert not watch.is_over()
    watch.begin(Deadline(1.0, lambda: now_s[0]))
    lanes = [watch.lanes()]
    while not watch.is_over():
        now_s[0] += 0.125
        lanes.append(watch.lanes())
    assert now_s[0] == 1.0
    assert lanes[0] == FIRST_LANES
    assert lanes[-1] == MIN_LANES


def root_visits(player: TreePlayer, bag: Bags | None = None) -> IntArray:
    """The visits of each candidate of a bag, by default the player's own, in its tree."""
    return player.search(bag or player.tracker.bag, None).estimates().visits


def first_percepts(machine: Machine) -> tuple[str, ...]:
    """The second role's percepts after the first one has marked a cell."""
    state = machine.initial(1)
    joint = [int(machine.legal(state, 0)[0][4]), int(machine.legal(state, 1)[0][0])]
    return machine.percept_texts(int(machine.step(state, np.array([joint])).percepts[0, 1]))


@pytest.mark.parametrize(
    ("spec", "game", "thinks"),
    [
        ("mcts", "tic_tac_toe", True),
        ("mcts:ponder=0", "tic_tac_toe", False),
        ("mcts:states=500", "tic_tac_toe", False),
        ("ismcts", "krieg_tic_tac_toe", True),
        ("resolve", "krieg_tic_tac_toe", True),
    ],
)
def test_trees_grow_while_others_think(spec: str, game: str, thinks: bool) -> None:
    machine = machine_of_game(game, "propnet")
    player = make_player(parse_spec(spec), machine, 1, np.random.default_rng(0))
    assert isinstance(player, TreePlayer)
    assert player.choose(Deadline.after(5.0)).move == "noop"
    visited, states_visited = player.visited_since_decision, machine.states_visited
    player.ponder(Deadline.after(0.3))
    assert (machine.states_visited > states_visited) == thinks
    # What others' time was used for is no part of the next decision.
    assert player.visited_since_decision == visited
    percepts = first_percepts(machine)
    player.observe("noop", percepts, deadline=Deadline.after(5.0))
    walks = int(root_visits(player).sum())
    assert bool(walks) == thinks
    assert player.choose(Deadline.after(0.2)).fault is None
    assert root_visits(player).sum() > walks


@pytest.mark.parametrize(
    ("spec", "game", "grows"),
    [
        ("mcts", "tic_tac_toe", True),
        ("mcts:ponder=0", "tic_tac_toe", True),
        ("mcts", "krieg_tic_tac_toe", False),
        ("auto:solve=0", "tic_tac_toe", True),
    ],
)
def test_open_trees_grow_from_the_start_on_the_start_clock(
    spec: str, game: str, grows: bool
) -> None:
    machine = machine_of_game(game, "propnet")
    player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(0))
    assert isinstance(player, Preparing)
    player.prepare(Deadline(process_time() + 0.3, process_time))
    decides = player.player if isinstance(player, Auto) else player
    assert isinstance(decides, TreePlayer)
    assert decides.visited_since_decision == 0
    walks = int(root_visits(decides).sum())
    assert bool(walks) == grows
    # The first decision goes on with them.
    values = player.choose(Deadline.after(0.1)).values
    assert sum(estimate.visits for estimate in values) >= walks


def test_pondering_searches_only_the_submitted_move() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    player = make_player(parse_spec("ismcts:trials=500"), machine, 0, np.random.default_rng(0))
    assert isinstance(player, TreePlayer)
    decision = player.choose()
    old_visits = root_visits(player)
    player.ponder(Deadline.after(0.3))
    is_pondered = root_visits(player) > old_visits
    moves = player.search(player.tracker.bag, None).moves.values[is_pondered]
    assert [machine.move_text(int(move)) for move in moves] == [decision.move]


def test_walks_pondered_for_the_actual_percepts_are_kept() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    player = make_player(parse_spec("ismcts:outside=0"), machine, 1, np.random.default_rng(0))
    assert isinstance(player, TreePlayer)
    assert player.choose(Deadline.after(5.0)).move == "noop"
    looks = count()
    player.ponder(Deadline(1000, lambda: next(looks)))
    walks = root_visits(player, player.tracker.belief.start(0)).sum()
    # Whatever the first one does, the second sees the same; lanes of a wave that find a node new
    # end there.
    player.observe("noop", first_percepts(machine), deadline=Deadline.after(5.0))
    kept_walks = root_visits(player).sum()
    assert walks > 256
    assert walks - 128 <= kept_walks <= walks
