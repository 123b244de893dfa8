"""Finders keep their contract: sound particles, never fewer, and they stop when asked.

And a bag that is likely to die recovers while there is time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ggp.belief import Bags, How, HyperPlaySampler, PathTree
from ggp.belief.bags import Segments
from ggp.belief.finding.earlier import BagHistory, Earlier, Forward, HistoryFinder
from ggp.belief.finding.exact import ExactSets
from ggp.belief.sampler import Finder, Setting
from ggp.belief.samplers.hyperplay_sampler import Larger
from ggp.belief.solving.finder import Solving
from ggp.belief.turns.one_turn import TurnLimits, advance
from ggp.errors import BeliefDepletedError
from ggp.machine import Machine
from ggp.machine.base import States
from ggp.players.parts.tracker import Submission, Tracker
from ggp.search.anytime import Deadline
from tests.belief.finding.test_redraw import ROLE, fresh, path_of, walked
from tests.belief.test_bags import move_array, percept_array
from tests.belief.test_cuts import Stopwatch
from tests.support.games import machine_of_rules
from tests.support.plain.enumeration import Path

THROWN, REVEALED = 20, 14

COINS = (
    "(role seer) (role random) (init (at 0)) "
    + "".join(f"(succ {i} {i + 1}) " for i in range(THROWN + REVEALED + 1))
    + "".join(f"(thrown {i}) " for i in range(THROWN))
    + "".join(f"(reveals {THROWN + i} {i}) " for i in range(REVEALED))
    + f"""
    (legal random heads) (legal random tails) (legal seer wait)
    (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
    (<= (next (tails ?n)) (does random tails) (true (at ?n)) (thrown ?n))
    (<= (next (tails ?n)) (true (tails ?n)))
    (<= (sees seer heads) (true (at ?t)) (reveals ?t ?n) (not (true (tails ?n))))
    (<= terminal (true (at {THROWN + REVEALED + 1}))) (goal seer 50) (goal random 0)
    """
)
"""Twenty coins are thrown; then percepts reveal one coin a turn, if it shows heads."""

ALL_HEADS: Path = [*[("wait", ())] * THROWN, *[("wait", ("heads",))] * REVEALED]


def showing_tails(machine: Machine, states: States) -> set[int]:
    """The coins that show tails in some of the states."""
    true_fluents = {fluent for fluents in machine.fluents(states) for fluent in fluents}
    return {n for n in range(THROWN) if f"(tails {n})" in true_fluents}


def makers() -> dict[str, Callable[[Setting, BagHistory], Finder]]:
    def forward(setting: Setting, trail: BagHistory) -> Forward:
        return Forward(setting, ExactSets(setting, 0))

    def earlier(setting: Setting, trail: BagHistory) -> Earlier:
        return Earlier(setting, ExactSets(setting, 0), forward(setting, trail), trail)

    return {
        "forward": forward,
        "earlier": earlier,
        "solved": lambda setting, trail: Solving(setting, ExactSets(setting, 0), trail),
        "larger": lambda setting, trail: Larger(
            setting.machine,
            HyperPlaySampler(
                setting.machine, setting.tree, capacity=1, stop=lambda: setting.stop()
            ),
        ),
    }


def after_coins(num_revealed: int) -> tuple[Setting, BagHistory, Bags]:
    """A bag of 64 that was followed until this many coins were revealed."""
    machine = machine_of_rules(COINS, "propnet")
    setting, trail = (
        Setting(machine, PathTree(machine), capacity=64, max_attempts=100_000),
        BagHistory(),
    )
    rng = np.random.default_rng(0)
    path, sets = np.zeros(1, dtype=np.int64), setting.beginning(1)
    for depth, (move, percepts) in enumerate(ALL_HEADS[: THROWN + num_revealed], start=1):
        turn = move_array(machine, move), percept_array(machine, percepts)
        path = setting.tree.extend(path, *turn)
        sets = advance(setting, 0, sets, path, TurnLimits(64), rng).sets
        trail.keep(int(path[0]), depth, sets)
    return setting, trail, Bags(0, path, np.arange(1), sets)


def of(bags: Bags, sets: Segments) -> Bags:
    return Bags(bags.role, bags.paths, bags.segment, sets)


@pytest.mark.parametrize("name", makers())
def test_finders_add_only_particles_that_agree_with_the_path(name: str) -> None:
    setting, trail, thin_bag = after_coins(4)
    old_count = thin_bag.sets.counts[0]
    assert 0 < old_count < 16
    for bags in (thin_bag, of(thin_bag, setting.nothing(1))):
        finder = makers()[name](setting, trail)
        assert finder.is_sound
        if not finder.helps(bags)[0]:
            assert name in ("solved", "larger")  # which are for bags without any particle
            continue
        sets_found = finder.fill(bags, np.random.default_rng(1))
        assert len(sets_found.states) > len(bags.sets.states)
        assert showing_tails(setting.machine, sets_found.states) <= set(range(4, THROWN))
        assert np.exp(sets_found.log_weights).sum() == pytest.approx(1)


@pytest.mark.parametrize("name", makers())
def test_a_stopped_finder_returns_at_least_the_particles_it_got(name: str) -> None:
    setting, trail, thin_bag = after_coins(4)
    for bags in (thin_bag, of(thin_bag, setting.nothing(1))):
        finder = makers()[name](setting, trail)
        setting.stop = lambda: True
        visited = setting.machine.states_visited
        if finder.helps(bags)[0]:
            sets_found = finder.fill(bags, np.random.default_rng(1))
            assert len(sets_found.states) >= len(bags.sets.states)
        assert finder.add_sample(thin_bag, 8, np.random.default_rng(1)) is None
        assert setting.machine.states_visited <= visited + 256


def test_history_finder_never_loses_particles_and_stops_when_asked() -> None:
    turns, _ = walked(fresh("skat"), 2, 34)
    machine = fresh("skat")
    tree, rng = PathTree(machine), np.random.default_rng(0)
    setting = Setting(machine, tree, capacity=4, max_attempts=1000)
    histories = HistoryFinder(setting, BagHistory())
    bags = Bags(ROLE, path_of(machine, tree, turns), np.arange(1), setting.nothing(1))
    assert histories.helps(bags)[0]
    sets_found = histories.fill(bags, rng)
    assert len(sets_found.states) >= 4
    assert not histories.helps(of(bags, sets_found))[0]
    larger_sets = histories.add_sample(of(bags, sets_found), 8, rng)
    assert larger_sets is not None
    assert len(larger_sets.states) >= len(sets_found.states)
    setting.stop = lambda: True
    assert histories.fill(of(bags, sets_found), rng) is sets_found


Turns = list[tuple[int, How, int, How]]
"""The size of a bag and how it was made, before and after samples are added in the time left."""


def followed(*, solves: bool) -> tuple[Turns, int]:
    """The turns of a player's bag, and how often it had no particle."""
    machine = machine_of_rules(COINS, "propnet")
    belief = HyperPlaySampler(
        machine, PathTree(machine), capacity=16, exact=0, follows=True, solves=solves
    )
    tracker = Tracker(belief, machine, 0, np.random.default_rng(0), most=16)
    clock, turns, num_lost = Stopwatch(machine, 1e5), [], 0
    for turn, (move, percepts) in enumerate(ALL_HEADS, start=1):
        try:
            tracker.observe(move, percepts, Submission(), Deadline(clock() + 0.1, clock))
        except BeliefDepletedError:
            num_lost += 1
        old_size, old_how = len(tracker.bag.sets.states), tracker.quality().how
        tracker.grow(Deadline(clock() + 0.1, clock))
        turns.append((old_size, old_how, len(tracker.bag.sets.states), tracker.quality().how))
        revealed = range(turn - THROWN)
        assert not showing_tails(machine, tracker.bag.sets.states) & set(revealed)
    return turns, num_lost


@pytest.mark.verify
def test_a_bag_with_few_survivors_for_some_turns_recovers_before_it_dies() -> None:
    turns, num_lost = followed(solves=True)
    recovered = [turn for turn in turns if turn[1] is How.SAMPLED and turn[3] is How.SOLVED]
    assert recovered
    for old_size, _, new_size, _ in recovered:
        assert 0 < old_size < 8
        assert new_size > 4 * old_size
    assert num_lost == 0
    sampled, num_lost = followed(solves=False)
    assert num_lost > 0
    assert all(how is How.SAMPLED for *_, how in sampled[THROWN:])


def test_solving_needs_a_clock_while_a_particle_is_left() -> None:
    setting, trail, thin_bag = after_coins(4)
    finder = Solving(setting, ExactSets(setting, 0), trail)
    setting.at_risk = True
    assert not finder.adds(thin_bag.paths)
    setting.timed = True
    assert finder.adds(thin_bag.paths)
    added = finder.add_sample(thin_bag, 8, np.random.default_rng(0))
    assert added is not None
    assert len(added.states) > 2 * len(thin_bag.sets.states)
    assert not finder.adds(thin_bag.paths)  # once is enough


def test_solving_is_retried_only_with_twice_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_rules(COINS, "propnet")
    belief = HyperPlaySampler(machine, PathTree(machine), capacity=16, exact=0, solves=True)
    tracker = Tracker(belief, machine, 0, np.random.default_rng(0), most=16)
    for move, percepts in ALL_HEADS[:6]:  # 64 states are too many to be exact
        tracker.observe(move, percepts, Submission(), None)
    attempts: list[bool] = []

    def in_vain(bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        attempts.append(belief.at_risk)
        return bags

    monkeypatch.setattr(belief, "enlarge", in_vain)
    monkeypatch.setattr(belief, "would_solve", lambda _: True)
    for left_s in (1.0, 1.0, 1.9, 4.0):
        tracker._solve(Deadline(left_s, lambda: 0.0))
    assert attempts == [True, True]
