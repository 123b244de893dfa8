"""`los`, `aos`, `aosp` and `hs`: searches of sampled boards; and the option `sampler`."""

from __future__ import annotations

import numpy as np
import pytest

from ggp import play_match
from ggp.belief import SAMPLERS
from ggp.errors import ConfigError
from ggp.labs.kriegspiel.choose_move import ChooseMove
from ggp.machine import Machine, role_index
from ggp.players import PLAYERS, BeliefPlayer, Decision, SearchPlayer, make_player, parse_spec
from ggp.search.anytime import Deadline
from ggp.search.clairvoyant import WorldSearch
from ggp.search.layers import CountLimit, DepthLimit
from tests.support.games import machine_of_game

SAMPLED = ["los", "aos", "aosp", "hs"]

Told = tuple[str, tuple[str, ...]]

LANDED_HIGHER: tuple[Told, ...] = (
    ("(drop 3)", ("(landed 1)",)),
    ("noop", ("your_move",)),
    ("(drop 3)", ("(landed 3)",)),
    ("noop", ("your_move",)),
)
"""The other's first disc fell on ours."""


def new_player(machine: Machine, role: str, spec: str, seed: int = 0) -> BeliefPlayer:
    rng = np.random.default_rng(seed)
    player = make_player(parse_spec(spec), machine, role_index(machine, role), rng)
    assert isinstance(player, BeliefPlayer)
    return player


@pytest.mark.parametrize("name", SAMPLED)
def test_boards_are_searched_openly(name: str) -> None:
    player = new_player(machine_of_game("exploding_bomb", "propnet"), "agent", name)
    player.observe("noop", ())
    decision = player.choose()
    assert decision.fault is None
    # A clairvoyant need not ask. The last bit of a mean depends on how a processor adds up.
    expected = pytest.approx({"ask": 90, "wait": 100}, rel=1e-12)
    assert {v.move: v.value for v in decision.values} == expected
    assert decision.move == "wait"
    assert not decision.exact


@pytest.mark.parametrize("name", SAMPLED)
def test_a_player_samples_as_its_name_says_unless_it_is_told_otherwise(name: str) -> None:
    assert parse_spec(name).options.sampler == name
    assert parse_spec(f"{name}:sampler=hyperplay").options.sampler == "hyperplay"
    player = new_player(
        machine_of_game("phantom_connect_four", "propnet"), "first", f"{name}:worlds=9"
    )
    assert isinstance(player, ChooseMove)
    assert player.capacity == player.tracker.belief.capacity == 9


def test_no_more_turns_are_gone_through_than_the_depth_says() -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    bag = new_player(machine, "xplayer", "pimc").tracker.bag
    for depth in (1, 2, 3):
        limit = DepthLimit(CountLimit(10**6), depth)
        search = WorldSearch(machine, bag, np.random.default_rng(0), limit)
        assert len(search.worlds.layers.layers) == depth
    # The other limit counts as well: there are 9, 72 and 504 joint moves.
    shallow = WorldSearch(machine, bag, np.random.default_rng(0), DepthLimit(CountLimit(500), 9))
    assert len(shallow.worlds.layers.layers) == 2


def test_without_a_board_a_random_move_is_made() -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    moves = set()
    dead = 0
    for seed in range(30):
        player = new_player(machine, "first", "aosp:pool=4", seed)
        for move, percepts in LANDED_HIGHER:
            player.observe(move, percepts)
        decision = player.choose()
        if decision.fault is None:
            continue
        dead += 1
        assert "no complete path was found" in decision.fault
        assert "found anew" in decision.fault
        assert {value.value for value in decision.values} == {None}
        moves.add(decision.move)
    assert dead
    assert len(moves) > 1 or dead == 1


class Ticking:
    """A clock that goes on by a little whenever it is looked at."""

    def __init__(self, step_s: float = 0.001) -> None:
        self.now_s, self._step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self._step_s
        return self.now_s

    def deadline(self, seconds: float) -> Deadline:
        return Deadline(self.now_s + seconds, self)


def searched(decision: Decision) -> int:
    return max(value.visits for value in decision.values)


def timed(name: str, seconds: float, seed: int = 0) -> tuple[ChooseMove, Decision, Ticking]:
    """A decision in phantom_connect_four after two turns, with so much time for each."""
    machine, clock = machine_of_game("phantom_connect_four", "propnet"), Ticking()
    player = new_player(machine, "first", name, seed)
    for move, percepts in LANDED_HIGHER:
        player.observe(move, percepts, deadline=clock.deadline(seconds))
    assert isinstance(player, ChooseMove)
    return player, player.choose(clock.deadline(seconds)), clock


@pytest.mark.verify
@pytest.mark.parametrize("name", ["los:worlds=2", "aos:worlds=2"])
def test_where_there_is_time_more_boards_are_found_and_searched(name: str) -> None:
    player, decision, _ = timed(name, 0.6)
    assert decision.fault is None
    assert searched(decision) > 2
    assert searched(decision) <= len(player.tracker.bag.sets.states)
    # The estimate of how many there was time for is what the next bag should have.
    assert player.tracker.belief.capacity >= searched(decision)
    none, hasty, _ = timed(name, 0.08)
    assert searched(hasty) < searched(decision)
    assert none.tracker.belief.capacity < player.tracker.belief.capacity


@pytest.mark.parametrize("name", SAMPLED)
def test_a_decision_ends_in_time(name: str) -> None:
    for seconds in (0.02, 0.2):
        player, decision, clock = timed(name, seconds)
        began_s = clock.now_s
        deadline = clock.deadline(seconds)
        decision = player.choose(deadline)
        assert decision.move in {value.move for value in decision.values}
        # What goes on between two looks at the clock takes no time here.
        assert clock.now_s - began_s <= seconds + 0.01


def test_a_ply_of_a_few_boards_decides_where_there_is_no_time_for_more() -> None:
    machine = machine_of_game("kriegspiel", "propnet")
    clock = Ticking(0.02)
    player = new_player(machine, "white", "aosp:evaluation=kriegspiel,depth=3", 1)
    decision = player.choose(clock.deadline(0.8))
    assert decision.fault is None
    assert searched(decision) == 1
    assert sum(value.visits for value in decision.values) == 20  # others would be refused


@pytest.mark.parametrize("spec", ["hs", "over:depth=1", "hyperplay"])
def test_without_time_after_a_refused_try_the_next_best_of_before_is_tried(spec: str) -> None:
    machine, clock = machine_of_game("krieg_tic_tac_toe", "propnet"), Ticking()
    for seed in range(3):
        player = new_player(machine, "oplayer", spec, seed)
        player.observe("noop", ["your_move"])
        values = {candidate.move: candidate.value or 0.0 for candidate in player.choose().values}
        best = max(values, key=values.__getitem__)
        player.observe(best, ["refused"])
        decision = player.choose(clock.deadline(-1.0))
        remaining = {candidate.move: values[candidate.move] for candidate in decision.values}
        assert best not in remaining
        assert not any(candidate.visits for candidate in decision.values)
        assert remaining[decision.move] == max(remaining.values())


@pytest.mark.verify
def test_remaining_time_adds_boards_to_a_pool() -> None:
    num_grown = 0
    for seed in range(8):
        machine, clock = machine_of_game("phantom_connect_four", "propnet"), Ticking()
        player = new_player(machine, "first", "aosp:pool=4", seed)
        for move, percepts in LANDED_HIGHER:
            player.observe(move, percepts)
        size = len(player.tracker.bag.sets.states)
        if not size:
            continue
        decision = player.choose(clock.deadline(1.0))
        assert searched(decision) == size
        num_grown += len(player.tracker.bag.sets.states) - size
    assert num_grown


@pytest.mark.parametrize("kind", list(SAMPLERS))
@pytest.mark.parametrize(
    "spec",
    ["hyperplay:n=2", "hyperplay2:n=2", "ismcts:trials=50", "pimc:steps=500", "over:depth=1"],
)
def test_every_player_that_searches_can_sample_in_every_way(spec: str, kind: str) -> None:
    machine = machine_of_game("phantom_connect_four", "propnet")
    player = new_player(machine, "first", f"{spec},sampler={kind}")
    for move, percepts in LANDED_HIGHER:
        player.observe(move, percepts)
    decision = player.choose()
    assert decision.fault is None
    assert len(decision.values) == 6
    assert all(value.visits for value in decision.values)
    if kind != "hs":  # whose bag is sound if the pool fills it
        assert player.tracker.bag.sound is (kind != "los")


def test_states_are_sampled_as_hyperplay_does_unless_the_spec_says_otherwise() -> None:
    for name, player in PLAYERS.items():
        if isinstance(player, type) and issubclass(player, SearchPlayer) and name not in SAMPLED:
            assert parse_spec(name).options.sampler == "hyperplay"
    with pytest.raises(ConfigError, match="must be sampler=hyperplay or sampler=los"):
        parse_spec("hyperplay:sampler=rejection")


@pytest.mark.parametrize("name", SAMPLED)
def test_a_sampler_that_has_boards_needs_no_rescue(name: str) -> None:
    """Players named by their samplers make the same moves with and without."""
    moves = []
    for rescue in ("all", "none"):
        spec = f"{name}:worlds=8,steps=200,rescue={rescue}"
        record = play_match("krieg_tic_tac_toe", {"xplayer": spec, "oplayer": "random"}, seed=1)
        assert not any(turn.faults for turn in record.turns)
        moves.append([turn.joint_move for turn in record.turns])
    assert moves[0] == moves[1]
