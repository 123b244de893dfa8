"""Players without any particle, for many turns: their memory and their decisions."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.errors import BeliefDepletedError, ReasonerLimitError
from ggp.machine import Machine
from ggp.players import BeliefPlayer, make_player, parse_spec
from ggp.players.parts.tracker import Submission, Tracker
from ggp.players.parts.without_belief import GUESSED, ROUNDS
from ggp.search.anytime import Deadline
from tests.support.games import machine_of_game, machine_of_rules

LENGTH = 40

PlayerMaker = Callable[[Machine, str, int], BeliefPlayer]

HAYSTACK = (
    "(role seer) (role random) (role other) (init (at 0)) (init fresh) "
    + "".join(f"(succ {i} {i + 1}) " for i in range(LENGTH + 1))
    + "".join(f"(number {i}) " for i in range(30))
    + f"""
    (<= (legal random (pick ?n)) (number ?n))
    (<= (legal other (choose ?n)) (number ?n))
    (legal seer wait) (legal seer watch)
    (<= (next (picked ?n)) (does random (pick ?n)))
    (<= (next (chosen ?n)) (does other (choose ?n)))
    (<= (next broken) (true (at 37)))
    (<= (sees seer broken) (true broken))
    (<= (sees other (hint ?n)) (does random (pick ?n)))
    (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
    (<= terminal (true (at {LENGTH})))
    (goal seer 50) (goal random 0) (goal other 0)
    """
)
"""Nothing is broken until the last turns; 900 joint moves a turn."""


@pytest.fixture(name="player_of")
def _player_of(monkeypatch: pytest.MonkeyPatch) -> PlayerMaker:
    """A function that makes players whose samplers make this many attempts without a clock."""

    def make(machine: Machine, spec: str, attempts: int) -> BeliefPlayer:
        monkeypatch.setattr(HyperPlaySampler, "usual_attempts", attempts)
        monkeypatch.setattr("ggp.players.parts.belief_player.FEW_ATTEMPTS", attempts)
        player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(0))
        assert isinstance(player, BeliefPlayer)
        return player

    return make


def fail(*args: object, **kwargs: object) -> object:
    raise ReasonerLimitError("inferences", 1, "a test")


@pytest.mark.parametrize("recovers", [False, True])
def test_turns_without_particles_use_bounded_memory(
    recovers: bool, player_of: PlayerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ggp.players.parts.tracker.MIN_NODES", 0)
    monkeypatch.setattr("ggp.belief.samplers.hyperplay_sampler.ATTEMPTS", 1_000)
    machine = machine_of_rules(HAYSTACK, "propnet")
    player = player_of(machine, "hyperplay2:n=4,exact=0", 1_000)
    for _ in range(3):
        player.observe("wait", [])
    tracker = player.tracker
    advance, sizes = tracker.belief.advance, []

    def fail_once(*args: object, **kwargs: object) -> object:
        monkeypatch.setattr(tracker.belief, "advance", advance)
        return fail()

    for turn in range(30):
        if recovers and turn % 4 == 0:  # lost, then found again
            monkeypatch.setattr(tracker.belief, "advance", fail_once)
        player.observe("wait", [] if recovers else ["broken"])
        assert tracker.bag.depleted[0] == (not recovers or turn % 4 == 0)
        sizes.append(len(tracker.tree))
    # A path is forgotten before there are twice as many as are needed: ours, and while there are
    # particles, those of two other roles along each of four.
    num_needed = (1 + 4 * 2) * 33 if recovers else 33 + 4 * 2 * 3
    assert max(sizes) <= 2 * num_needed + 100


@pytest.mark.parametrize("exact", [0, 2_000])
@pytest.mark.parametrize("backend", ["prolog", "propnet"])
def test_what_was_proved_impossible_is_not_searched_again(
    exact: int, backend: str, player_of: PlayerMaker
) -> None:
    machine = machine_of_rules(HAYSTACK, backend)
    player = player_of(machine, f"hyperplay2:n=2,exact={exact}", 400_000)
    player.observe("wait", ["broken"])
    assert player.tracker.bag.exact[0]
    first = player.choose()
    assert first.fault is not None
    for _ in range(5):
        player.observe("watch", [])
        decision = player.choose()
        assert decision.fault is not None
        assert "no complete path agrees" in decision.fault
        assert decision.states_visited <= ROUNDS * GUESSED  # which are played on for a fallback
        assert decision.move in ("wait", "watch")
        assert player.tracker.bag.exact[0]


def test_a_lost_bag_causes_one_warning_a_match(
    player_of: PlayerMaker, caplog: pytest.LogCaptureFixture
) -> None:
    machine = machine_of_rules(HAYSTACK, "propnet")
    for _ in range(2):
        caplog.clear()
        player = player_of(machine, "hyperplay:n=1,exact=2000", 400_000)
        player.observe("wait", ["broken"])
        with caplog.at_level(logging.INFO, logger="ggp"):
            faults = 0
            for _ in range(5):
                faults += player.choose().fault is not None
                player.observe("watch", [])
        levels = [record.levelno for record in caplog.records if "agrees" in record.message]
        assert faults == 5
        assert levels == [logging.WARNING, *[logging.INFO] * (len(levels) - 1)]
        assert len(levels) >= 5


def test_a_long_path_is_walked_once_for_each_turn(
    player_of: PlayerMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each of its beginnings: long matches would take the square of their length."""
    machine = machine_of_rules(HAYSTACK, "propnet")
    player = player_of(machine, "hyperplay:n=1,exact=0", 1)
    tree = player.tracker.tree
    looks = 0
    parents = tree.parents

    def counted(nodes: object) -> object:
        nonlocal looks
        looks += 1
        return parents(nodes)  # type: ignore[arg-type]

    for _ in range(30):
        player.observe("wait", [])
    monkeypatch.setattr(tree, "parents", counted)
    player.tracker.belief.at(player.tracker.bag.paths, 0, np.random.default_rng(0))
    assert looks < 6 * 30


@pytest.mark.parametrize("spec", ["random", "legal", "hyperplay:n=2", "ismcts:trials=10"])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_fallback_knows_whose_turn_it_is(
    spec: str, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any particle, and without any hope of finding one."""
    machine = machine_of_game("phantom_connect_four", "propnet")
    second = machine.roles.index("second")
    player = make_player(parse_spec(spec), machine, second, np.random.default_rng(3))
    assert isinstance(player, BeliefPlayer)
    tracker = player.tracker
    monkeypatch.setattr(tracker.belief, "advance", fail)
    monkeypatch.setattr(tracker.belief, "at", fail)
    monkeypatch.setattr(tracker, "spare_bag", lambda deadline: None)
    for turn in range(turns):
        player.observe("(drop 3)" if turn % 2 else "noop", ())
    decision = player.choose()
    assert decision.fault is not None
    assert (decision.move == "noop") == (turns % 2 == 0)


def test_states_are_guessed_with_own_moves_and_anew_when_particles_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_game("tic_tac_toe", "propnet")
    role = machine.roles.index("xplayer")
    player = make_player(parse_spec("random"), machine, role, np.random.default_rng(3))
    assert isinstance(player, BeliefPlayer)
    tracker = player.tracker
    with monkeypatch.context() as patch:
        patch.setattr(tracker.belief, "advance", fail)
        player.observe("(mark 2 2)", None)
    assert tracker.bag.depleted[0]
    guessed = machine.fluents(tracker.guesses().states)
    assert guessed
    assert all("(marked 2 2 xplayer)" in fluents for fluents in guessed)
    player.observe("noop", ["(did xplayer noop)", "(did oplayer (mark 1 1))"])
    assert not tracker.bag.depleted[0]
    (state,) = {frozenset(fluents) for fluents in machine.fluents(tracker.guesses().states)}
    assert {"(marked 2 2 xplayer)", "(marked 1 1 oplayer)", "(control xplayer)"} <= state


REVEALED_LATE = (
    "(role seer) (role random) (init (at 0)) "
    + "".join(f"(succ {i} {i + 1}) " for i in range(5))
    + "".join(f"(number {i}) " for i in range(12))
    + """
    (<= (legal random (pick ?n)) (number ?n)) (legal seer wait)
    (<= (legal seer (name ?a)) (true (picked 0 ?a)))
    (<= (next (picked ?t ?n)) (does random (pick ?n)) (true (at ?t)))
    (<= (next (picked ?t ?n)) (true (picked ?t ?n)))
    (<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
    (<= (sees seer (all ?a ?b ?c)) (true (at 3)) (true (picked 0 ?a)) (true (picked 1 ?b))
        (true (picked 2 ?c)))
    (<= terminal (true (at 5))) (goal seer 50) (goal random 0)
    """
)
"""Three of twelve numbers, all revealed at once in the end: one path in 1,728."""


@pytest.mark.verify
@pytest.mark.parametrize("is_timed", [False, True])
def test_search_for_particles_is_bounded_by_the_clock_where_there_is_one(is_timed: bool) -> None:
    machine = machine_of_rules(REVEALED_LATE, "propnet")
    sampler = HyperPlaySampler(
        machine, PathTree(machine), capacity=16, exact=0, max_attempts=10_000
    )
    tracker = Tracker(sampler, machine, 0, np.random.default_rng(100))
    looks = count()
    for percepts in ([], [], [], ["(all 7 8 9)"]):
        now_s = 0.0005 * next(looks)
        deadline = Deadline(now_s + 0.2, lambda: 0.0005 * next(looks)) if is_timed else None
        with nullcontext() if is_timed or not percepts else pytest.raises(BeliefDepletedError):
            tracker.observe("wait", percepts, Submission(), deadline)
    assert bool(tracker.bag.depleted[0]) is not is_timed


def test_one_path_in_many_is_found_with_few_attempts(player_of: PlayerMaker) -> None:
    machine = machine_of_rules(REVEALED_LATE, "propnet")
    player = player_of(machine, "random", 100)
    for percepts in ([], [], [], ["(all 7 8 9)"]):
        player.observe("wait", percepts)
    assert not player.tracker.bag.depleted[0]


@pytest.mark.parametrize(("rescue", "is_lost"), [("all", False), ("none", True)])
def test_without_rescue_there_is_forward_sampling_alone(rescue: str, is_lost: bool) -> None:
    machine = machine_of_rules(REVEALED_LATE, "propnet")
    spec = f"hyperplay:particles=4,playouts=2,exact=0,rescue={rescue}"
    player = make_player(parse_spec(spec), machine, 0, np.random.default_rng(1))
    assert isinstance(player, BeliefPlayer)
    nothing: list[str] = []
    for percepts in (nothing, nothing, nothing, ["(all 7 8 9)"]):
        player.observe("wait", percepts)
    assert bool(player.tracker.bag.depleted[0]) is is_lost
    decision = player.choose()
    assert (decision.fault is not None) is is_lost
    assert (decision.particles == 0) is is_lost
