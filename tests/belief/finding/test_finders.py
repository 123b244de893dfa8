"""What finds particles keeps what it promises: sound, never fewer, stopped when asked.

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
from ggp.belief.finding.last_resorts import Larger
from ggp.belief.sampler import Finder, Setting
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

THROWN, TOLD = 20, 14

COINS = (
    "(role seer) (role random) (init (at 0)) "
    + "".join(f"(succ {i} {i + 1}) " for i in range(THROWN + TOLD + 1))
    + "".join(f"(thrown {i}) " for i in range(THROWN))
    + "".join(f"(tells {THROWN + i} {i}) " for i in range(TOLD))
    + f"""
    (legal random heads) (legal random tails) (legal seer wait)
    (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
    (<= (next (tails ?n)) (does random tails) (true (at ?n)) (thrown ?n))
    (<= (next (tails ?n)) (true (tails ?n)))
    (<= (sees seer heads) (true (at ?t)) (tells ?t ?n) (not (true (tails ?n))))
    (<= terminal (true (at {THROWN + TOLD + 1}))) (goal seer 50) (goal random 0)
    """
)
"""Twenty coins are thrown, and then it is told of one after the other whether it showed heads."""

ALL_HEADS: Path = [*[("wait", ())] * THROWN, *[("wait", ("heads",))] * TOLD]


def showing_tails(machine: Machine, states: States) -> set[int]:
    """The coins that show tails in some of the states."""
    held = {fluent for fluents in machine.fluents(states) for fluent in fluents}
    return {n for n in range(THROWN) if f"(tails {n})" in held}


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
            setting.machine, HyperPlaySampler(setting.machine, setting.tree, capacity=1)
        ),
    }


def after_coins(told: int) -> tuple[Setting, BagHistory, Bags]:
    """A bag of 64 that was followed until so many coins were told."""
    machine = machine_of_rules(COINS, "propnet")
    setting, trail = (
        Setting(machine, PathTree(machine), capacity=64, max_attempts=100_000),
        BagHistory(),
    )
    rng = np.random.default_rng(0)
    path, sets = np.zeros(1, dtype=np.int64), setting.beginning(1)
    for depth, (move, percepts) in enumerate(ALL_HEADS[: THROWN + told], start=1):
        turn = move_array(machine, move), percept_array(machine, percepts)
        path = setting.tree.extend(path, *turn)
        sets = advance(setting, 0, sets, path, TurnLimits(64), rng).sets
        trail.keep(int(path[0]), depth, sets)
    return setting, trail, Bags(0, path, np.arange(1), sets)


def of(bags: Bags, sets: Segments) -> Bags:
    return Bags(bags.role, bags.paths, bags.segment, sets)


@pytest.mark.parametrize("name", makers())
def test_what_is_found_agrees_with_the_path_and_is_never_less(name: str) -> None:
    setting, trail, few = after_coins(4)
    before = few.sets.counts[0]
    assert 0 < before < 16
    for bags in (few, of(few, setting.nothing(1))):
        finder = makers()[name](setting, trail)
        assert finder.is_sound
        if not finder.helps(bags)[0]:
            assert name in ("solved", "larger")  # which are for bags without any particle
            continue
        found = finder.fill(bags, np.random.default_rng(1))
        assert len(found.states) > len(bags.sets.states)
        assert showing_tails(setting.machine, found.states) <= set(range(4, THROWN))
        assert np.exp(found.log_weights).sum() == pytest.approx(1)


@pytest.mark.parametrize("name", makers())
def test_who_is_stopped_gives_back_what_there_is(name: str) -> None:
    setting, trail, few = after_coins(4)
    for bags in (few, of(few, setting.nothing(1))):
        finder = makers()[name](setting, trail)
        setting.stop = lambda: True
        if isinstance(finder, Larger):
            finder._belief.stop = setting.stop
        visited = setting.machine.states_visited
        if finder.helps(bags)[0]:
            found = finder.fill(bags, np.random.default_rng(1))
            assert len(found.states) >= len(bags.sets.states)
        assert finder.add_sample(few, 8, np.random.default_rng(1)) is None
        assert setting.machine.states_visited <= visited + 256


def test_whole_histories_are_never_fewer_and_stop_when_asked() -> None:
    turns, _ = walked(fresh("skat"), 2, 34)
    machine = fresh("skat")
    tree, rng = PathTree(machine), np.random.default_rng(0)
    setting = Setting(machine, tree, capacity=4, max_attempts=1000)
    histories = HistoryFinder(setting, BagHistory())
    bags = Bags(ROLE, path_of(machine, tree, turns), np.arange(1), setting.nothing(1))
    assert histories.helps(bags)[0]
    found = histories.fill(bags, rng)
    assert len(found.states) >= 4
    assert not histories.helps(of(bags, found))[0]
    more = histories.add_sample(of(bags, found), 8, rng)
    assert more is not None
    assert len(more.states) >= len(found.states)
    setting.stop = lambda: True
    assert histories.fill(of(bags, found), rng) is found


Turns = list[tuple[int, How, int, How]]
"""Entries of a bag, and how it was made, before and after it was added to in the time left."""


def followed(*, solves: bool) -> tuple[Turns, int]:
    """What becomes of a player's bag, and how often there was no particle."""
    machine = machine_of_rules(COINS, "propnet")
    belief = HyperPlaySampler(
        machine, PathTree(machine), capacity=16, exact=0, follows=True, solves=solves
    )
    tracker = Tracker(belief, machine, 0, np.random.default_rng(0), most=16)
    clock, found, lost = Stopwatch(machine, 1e5), [], 0
    for turn, (move, percepts) in enumerate(ALL_HEADS, start=1):
        try:
            tracker.observe(move, percepts, Submission(), Deadline(clock() + 0.1, clock))
        except BeliefDepletedError:
            lost += 1
        before = len(tracker.bag.sets.states), tracker.quality().how
        tracker.grow(Deadline(clock() + 0.1, clock))
        found.append((*before, len(tracker.bag.sets.states), tracker.quality().how))
        known = range(turn - THROWN)
        assert not showing_tails(machine, tracker.bag.sets.states) & set(known)
    return found, lost


@pytest.mark.verify
def test_a_bag_with_few_survivors_for_some_turns_recovers_before_it_dies() -> None:
    found, lost = followed(solves=True)
    recovered = [turn for turn in found if turn[1] is How.SAMPLED and turn[3] is How.SOLVED]
    assert recovered
    for before, _, after, _ in recovered:
        assert 0 < before < 8
        assert after > 4 * before
    assert lost == 0
    sampled, lost = followed(solves=False)
    assert lost > 0
    assert all(how is How.SAMPLED for *_, how in sampled[THROWN:])


def test_without_a_clock_nothing_is_solved_for_while_there_is_a_particle() -> None:
    setting, trail, few = after_coins(4)
    finder = Solving(setting, ExactSets(setting, 0), trail)
    setting.at_risk = True
    assert not finder.adds(few.paths)
    setting.timed = True
    assert finder.adds(few.paths)
    added = finder.add_sample(few, 8, np.random.default_rng(0))
    assert added is not None
    assert len(added.states) > 2 * len(few.sets.states)
    assert not finder.adds(few.paths)  # once is enough


def test_time_that_was_too_short_to_solve_in_is_not_spent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_rules(COINS, "propnet")
    belief = HyperPlaySampler(machine, PathTree(machine), capacity=16, exact=0, solves=True)
    tracker = Tracker(belief, machine, 0, np.random.default_rng(0), most=16)
    tried: list[bool] = []

    def in_vain(bags: Bags, size: int, rng: np.random.Generator) -> Bags:
        tried.append(belief.at_risk)
        return bags

    monkeypatch.setattr(belief, "grown", in_vain)
    monkeypatch.setattr(belief, "would_solve", lambda _: True)
    for left_s in (1.0, 1.0, 1.9, 4.0):
        tracker._solve(Deadline(left_s, lambda: 0.0))
    assert tried == [True, True]
