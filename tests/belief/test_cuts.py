"""A clock cuts turns short at random, and sets are enumerated while time allows."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.belief.bags import Segments
from ggp.belief.sampler import Setting
from ggp.belief.turns.one_turn import TurnLimits, advance
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN
from ggp.players import make_player, parse_spec
from ggp.players.parts.tracker import BeliefWatch, Submission, Tracker
from ggp.search.anytime import Deadline
from tests.support.games import machine_of_rules

NUMBERS = 40

PAIRS = (
    "(role seer) (role random) (init (at 0)) "
    + "".join(f"(succ {i} {i + 1}) " for i in range(6))
    + "".join(f"(number {i}) " for i in range(NUMBERS))
    + "".join(f"(low {i}) " for i in range(NUMBERS // 4))
    + """
    (<= (legal random (pick ?n)) (number ?n)) (legal seer wait)
    (<= (next (picked ?t ?n)) (does random (pick ?n)) (true (at ?t)))
    (<= (next (picked ?t ?n)) (true (picked ?t ?n)))
    (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
    (<= (sees seer low) (does random (pick ?n)) (low ?n) (true (picked 0 ?m)) (low ?m))
    (<= (sees seer (both ?m ?n)) (true (at 3)) (true (picked 0 ?m)) (true (picked 1 ?n)))
    (<= terminal (true (at 6))) (goal seer 50) (goal random 0)
    """
)
"""Two of forty numbers are picked: percepts say when both are of the lowest ten, and later which
they are."""


def turn(machine: Machine, *percepts: str) -> tuple[int, int]:
    percepts_id = machine.percept_id(tuple(percepts))
    assert percepts_id is not None
    return machine.move_id("wait") or 0, percepts_id


def after_one_turn(machine: Machine, tree: PathTree) -> Segments:
    sampler = HyperPlaySampler(machine, tree, capacity=1, exact=1000)
    move, nothing = turn(machine)
    rng = np.random.default_rng(0)
    bag = sampler.advance(sampler.start(0), np.array([move]), np.array([nothing]), rng)
    assert bag.exact[0]
    return bag.sets


@pytest.mark.parametrize("looks", [1, 4])
def test_weights_account_for_pairs_that_are_left_out(looks: int) -> None:
    machine = machine_of_rules(PAIRS, "propnet")
    tree = PathTree(machine)
    old_sets = after_one_turn(machine, tree)
    move, low = turn(machine, "low")
    first = tree.extend(np.zeros(1, dtype=np.int64), *(np.array([x]) for x in turn(machine)))
    path = tree.extend(first, np.array([move]), np.array([low]))
    setting = Setting(machine, tree, capacity=10_000)
    setting.lanes_at_once = lambda: 64
    masses, seen = [], np.zeros(0)
    for seed in range(400):
        looked, rng = count(1), np.random.default_rng(seed)
        setting.stop = lambda looked=looked: next(looked) >= looks  # type: ignore[misc]
        step = advance(setting, 0, old_sets, path, TurnLimits(10_000), rng)
        assert step.stepped.tolist() == [64 * looks]
        assert not step.sets.exact[0]
        size = len(step.sets.states)
        # A capacity of draws is a factor of masses, see `Segments`.
        masses.append(np.exp(step.sets.log_masses[0]) / 10_000 if size else 0.0)
        seen = np.append(seen, size)
    # 100 of 1,600 pairs agree.
    error = np.std(masses) / np.sqrt(len(masses))
    assert np.mean(masses) == pytest.approx(1 / 16, abs=4 * error)
    assert seen.mean() == pytest.approx(64 * looks / 16, rel=0.15)


def test_a_turn_cut_short_samples_from_all_parents() -> None:
    machine = machine_of_rules(PAIRS, "propnet")
    tree = PathTree(machine)
    old_sets = after_one_turn(machine, tree)
    move = machine.move_id("wait") or 0
    path = tree.extend(np.zeros(1, dtype=np.int64), *(np.array([x]) for x in turn(machine)))
    path = tree.extend(path, np.array([move]), np.array([UNKNOWN]))
    setting = Setting(machine, tree, capacity=10_000, stop=lambda: True)
    setting.lanes_at_once = lambda: 256
    step = advance(setting, 0, old_sets, path, TurnLimits(10_000), np.random.default_rng(0))
    texts = machine.fluents(step.sets.states)
    firsts = {fluent for state in texts for fluent in state if fluent.startswith("(picked 0 ")}
    assert len(step.sets.states) == 256
    assert len(firsts) == NUMBERS


class Stopwatch:
    """A clock that advances with the lanes stepped."""

    def __init__(self, machine: Machine, lanes_per_s: float) -> None:
        self._machine, self._lanes_per_s = machine, lanes_per_s

    def __call__(self) -> float:
        return self._machine.states_visited / self._lanes_per_s


@pytest.mark.parametrize(("lanes_per_s", "is_exact"), [(1e6, True), (2e3, False)])
def test_a_set_is_enumerated_if_there_is_time(lanes_per_s: float, is_exact: bool) -> None:
    machine = machine_of_rules(PAIRS, "propnet")
    player = make_player(parse_spec("legal"), machine, 0, np.random.default_rng(0))
    clock = Stopwatch(machine, lanes_per_s)
    bags = []
    for percepts in (nothing := list[str](), nothing, nothing):
        player.observe("wait", percepts, deadline=Deadline(clock() + 1.0, clock))
        bag = player.tracker.bag  # type: ignore[attr-defined]
        bags.append((len(bag.sets.states), bool(bag.exact[0])))
    # 40 numbers, then 1,500 pairs with at least one high number; the last turn adds nothing.
    assert bags[0] == (NUMBERS, True)
    if is_exact:
        assert bags[1] == (1500, True)
    else:
        assert not bags[1][1]
        assert 0 < bags[1][0] < 1500


def test_slow_enumeration_leaves_time_to_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    # It expects a fast machine.
    monkeypatch.setattr("ggp.players.parts.tracker.FIRST_LANES_PER_S", 1e9)
    machine = machine_of_rules(PAIRS, "propnet")
    sampler = HyperPlaySampler(machine, PathTree(machine), capacity=16, follows=True)
    tracker = Tracker(sampler, machine, 0, np.random.default_rng(0))
    clock = Stopwatch(machine, 2e3)
    for percepts in (nothing := list[str](), nothing):
        began_s = clock()
        tracker.observe("wait", percepts, Submission(), Deadline(began_s + 0.25, clock))
    assert not tracker.bag.depleted[0]
    assert not tracker.bag.exact[0]
    assert clock() - began_s < 0.3


def test_affordable_lanes_follow_the_speed_of_full_slices() -> None:
    machine = machine_of_rules(PAIRS, "propnet")
    watch, now = BeliefWatch(machine), [0.0]
    assert watch.affordable(0.5) is None
    watch.begin(Deadline(1.0, lambda: now[0]))
    speed = watch.slices
    first = watch.affordable(0.5)
    for _ in range(40):
        now[0] += 0.004
        speed.look(now[0], speed.lanes)
    slow = speed.lanes / 0.004
    assert watch.affordable(0.5) == pytest.approx(0.5 * slow, rel=0.01)
    assert first is not None
    assert first > slow
    assert not watch.is_past(0.5)
    now[0] = 0.6
    assert watch.is_past(0.5)
