"""Drawing completions of many particles side by side."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.belief.turns.completions import (
    LANES_AT_ONCE,
    Completions,
    OpenTurn,
    Polling,
    draw_completions,
    list_completions,
    sample_completions,
    share_completions,
)
from ggp.belief.turns.open_moves import Learnt, open_moves
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, FloatArray, IntArray
from ggp.search.moves import random_moves
from tests.support.games import machine_of_game, machine_of_rules

NUMBERS = 60

PICKS = (
    "(role random) (role left) (role seer)"
    + "".join(f"(number {i})" for i in range(NUMBERS))
    + "".join(f"(special {i})" for i in range(0, NUMBERS, 4))
    + """
    (init (at 0))
    (<= (legal random (pick ?x)) (number ?x))
    (legal left a) (legal left b)
    (legal seer wait)
    (<= (next (at 1)) (true (at 0)))
    (<= (next (at 2)) (true (at 1)))
    (<= (next (picked ?x)) (does random (pick ?x)))
    (<= (next (did ?x)) (does left ?x))
    (<= (sees seer special) (does random (pick ?x)) (special ?x))
    (<= (sees seer rare) (does random (pick 8)) (does left b))
    (<= terminal (true (at 2)))
    (goal random 0) (goal left 0) (goal seer 0)
    """
)
"""A turn has 120 completions: 29 of them give `special`, 1 gives `rare special`."""

SEER = 2


@pytest.fixture(name="machine")
def _machine() -> Machine:
    return machine_of_rules(PICKS)


def opened(machine: Machine, percept_ids: IntArray) -> OpenTurn:
    count = len(percept_ids)
    states = machine.initial(count)
    wait = np.full(count, machine.move_id("wait"))
    unknown = np.full(count, UNKNOWN)
    options = open_moves(machine, SEER, states, Learnt(wait, unknown, unknown))
    return OpenTurn(machine, SEER, states, options, percept_ids)


def draw(
    machine: Machine, percept_ids: IntArray, shares: IntArray, limits: IntArray, seed: int
) -> tuple[Completions, IntArray]:
    turn, rng = opened(machine, percept_ids), np.random.default_rng(seed)
    return draw_completions(turn, np.arange(len(percept_ids)), shares, limits, rng, Polling())


def percepts(machine: Machine, *texts: str) -> int:
    percepts_id = machine.percept_id(texts)
    assert percepts_id is not None
    return percepts_id


def estimates(completions: Completions, lanes: int) -> FloatArray:
    """`[L]` estimated number of matching completions of each lane."""
    return np.asarray(
        np.bincount(completions.lanes, completions.stands_for, minlength=lanes), np.float64
    )


class TestDraws:
    @pytest.mark.parametrize("share", [1, 2, 10, 100])
    @pytest.mark.parametrize(("texts", "number"), [(("special",), 29), (("rare", "special"), 1)])
    @pytest.mark.parametrize("limit", [16, 1000])
    def test_number_of_matches_is_estimated_without_bias(
        self, machine: Machine, share: int, texts: tuple[str, ...], number: int, limit: int
    ) -> None:
        lanes = 1_000
        percept_ids = np.full(lanes, percepts(machine, *texts))
        completions, num_drawn = draw(
            machine, percept_ids, np.full(lanes, share), np.full(lanes, limit), 0
        )
        estimate = estimates(completions, lanes)
        error = estimate.std() / np.sqrt(lanes)
        assert estimate.mean() == pytest.approx(number, abs=4 * error + 1e-9)
        assert (num_drawn <= min(limit, 2 * NUMBERS)).all()
        assert (np.bincount(completions.lanes, minlength=lanes) <= share).all()

    def test_every_completion_is_drawn_as_often_as_any(self, machine: Machine) -> None:
        lanes = 8_000
        percept_ids = np.full(lanes, percepts(machine, "special"))
        completions, _ = draw(machine, percept_ids, np.full(lanes, 2), np.full(lanes, 1000), 1)
        _, counts = np.unique(completions.joint_moves, axis=0, return_counts=True)
        assert len(counts) == 29
        mean = counts.mean()
        assert np.abs(counts - mean).max() < 5 * np.sqrt(mean)

    def test_no_completion_is_drawn_twice_and_all_are_if_there_is_room(
        self, machine: Machine
    ) -> None:
        percept_ids = np.full(50, percepts(machine, "special"))
        completions, num_drawn = draw(machine, percept_ids, np.full(50, 29), np.full(50, 1000), 2)
        rows = np.column_stack([completions.lanes, completions.joint_moves])
        assert len(np.unique(rows, axis=0)) == len(rows) == 50 * 29
        assert completions.stands_for == pytest.approx(np.ones(len(rows)))
        assert (num_drawn == 2 * NUMBERS).all()

    def test_lanes_of_different_kinds_do_not_disturb_each_other(self, machine: Machine) -> None:
        kinds = [percepts(machine, "special"), percepts(machine, "rare", "special"), UNKNOWN]
        percept_ids = np.array(kinds * 40)
        shares = np.arange(120) % 7 + 1
        completions, num_drawn = draw(machine, percept_ids, shares, np.full(120, 1000), 3)
        number = np.bincount(completions.lanes, minlength=120)
        assert (number == np.minimum(shares, np.array([29, 1, 120] * 40))).all()
        successors = machine.step(machine.initial(len(completions.lanes)), completions.joint_moves)
        for lane, percept in zip(completions.lanes, successors.percepts[:, SEER], strict=True):
            assert percept_ids[lane] in (UNKNOWN, percept)
        assert (num_drawn[2::3] == shares[2::3] + 1).all()  # the first draws all match

    def test_a_stop_keeps_the_completions_drawn_so_far(self, machine: Machine) -> None:
        completions, num_drawn = draw_completions(
            opened(machine, np.full(3_000, percepts(machine, "special"))),
            np.arange(3_000),
            np.full(3_000, 5),
            np.full(3_000, 1000),
            np.random.default_rng(0),
            Polling(lambda: True),
        )
        assert 0 < len(completions.lanes) < 15_000
        assert (num_drawn[: completions.lanes.max()] > 0).all()


class TestSamples:
    @pytest.mark.parametrize("number", [4, 40, 400])
    @pytest.mark.parametrize(("texts", "matches"), [(("special",), 29), (("rare", "special"), 1)])
    def test_number_of_matches_is_estimated_without_bias(
        self, machine: Machine, number: int, texts: tuple[str, ...], matches: int
    ) -> None:
        turn = opened(machine, np.full(21, percepts(machine, *texts)))
        lanes, weights = np.arange(1, 21), np.arange(20.0) + 1
        every, rng, found = [], np.random.default_rng(0), []
        for _ in range(300):
            completions, num_tried, _ = sample_completions(
                turn, lanes, weights, number, rng, Polling()
            )
            assert (num_tried > 0).all()
            every.append(estimates(completions, 21))
            found.append(len(completions.lanes))
            pairs = np.column_stack([completions.lanes, completions.joint_moves])
            assert len(np.unique(pairs, axis=0)) == len(pairs)
        error = np.std(every, axis=0) / np.sqrt(len(every))
        expected = matches * (np.arange(21) > 0)
        assert (np.abs(np.mean(every, axis=0) - expected) <= 4 * error + 1e-9).all()
        assert np.mean(found) >= min(number, 20 * matches) * 0.9

    def test_every_completion_is_drawn_as_often_as_any(self, machine: Machine) -> None:
        turn = opened(machine, np.full(2_000, percepts(machine, "special")))
        completions, _, is_whole = sample_completions(
            turn, np.arange(2_000), np.ones(2_000), 4_000, np.random.default_rng(1), Polling()
        )
        assert not is_whole
        _, counts = np.unique(completions.joint_moves, axis=0, return_counts=True)
        assert len(counts) == 29
        assert np.abs(counts - counts.mean()).max() < 5 * np.sqrt(counts.mean())

    def test_what_is_rare_is_found_by_trying_all(self, machine: Machine) -> None:
        turn = opened(machine, np.full(300, percepts(machine, "rare", "special")))
        completions, num_tried, is_whole = sample_completions(
            turn, np.arange(300), np.ones(300), 10_000, np.random.default_rng(2), Polling()
        )
        assert is_whole
        assert sorted(completions.lanes.tolist()) == list(range(300))
        assert (num_tried >= 2 * NUMBERS).all()

    def test_a_stop_leaves_out_random_lanes(self, machine: Machine) -> None:
        turn = opened(machine, np.full(3_000, UNKNOWN))
        completions, _, is_whole = sample_completions(
            turn,
            np.arange(3_000),
            np.ones(3_000),
            300_000,
            np.random.default_rng(3),
            Polling(lambda: True),
        )
        assert not is_whole
        reached = np.unique(completions.lanes)
        assert 0 < len(reached) < 3_000
        assert reached.max() > 2_900
        assert completions.stands_for.sum() == pytest.approx(3_000 * 2 * NUMBERS, rel=0.01)


def test_lanes_share_draws_without_bias() -> None:
    machine = machine_of_rules(PICKS, "propnet")
    kinds = [percepts(machine, "rare", "special"), percepts(machine, "special")]
    percept_ids = np.array([kinds[lane % 5 == 0] for lane in range(10)])
    turn, lanes, rng = opened(machine, percept_ids), np.arange(1, 10), np.random.default_rng(4)
    rounds = 400
    every, sizes = [], []
    for _ in range(rounds):
        completions, num_drawn = share_completions(turn, lanes, 5 + lanes, rng, Polling())
        assert (num_drawn >= 5 + lanes).all()
        every.append(estimates(completions, 10))
        sizes.append(np.bincount(completions.lanes, minlength=10))
        pairs = np.column_stack([completions.lanes, completions.joint_moves])
        assert len(np.unique(pairs, axis=0)) == len(pairs)
    error = np.std(every, axis=0) / np.sqrt(rounds)
    expected = np.where(percept_ids == kinds[1], 29, 1) * (np.arange(10) > 0)
    assert (np.abs(np.mean(every, axis=0) - expected) <= 4 * error).all()
    # The lanes that share the rare match have it several times as often as each draws it.
    assert np.mean(sizes, axis=0)[1:5].min() > 3 * 9 / 120


def test_listing_finds_exactly_the_matches(machine: Machine) -> None:
    percept_ids = np.array(
        [percepts(machine), percepts(machine, "special"), UNKNOWN, percepts(machine, "rare")]
    )
    turn = opened(machine, percept_ids)
    completions, num_drawn = list_completions(turn, np.array([0, 1, 2, 3]), Polling())
    assert (num_drawn == turn.options.counts).all()
    assert np.bincount(completions.lanes, minlength=4).tolist() == [90, 29, 120, 0]
    assert completions.log_factors == pytest.approx(np.full(239, -np.log(2 * NUMBERS)))


def test_a_stop_leaves_out_the_last_lanes(machine: Machine) -> None:
    turn = opened(machine, np.full(1_000, UNKNOWN))
    completions, num_drawn = list_completions(turn, np.arange(1_000), Polling(lambda: True))
    num_lanes = np.count_nonzero(num_drawn)
    assert 0 < num_lanes < 1_000
    assert np.bincount(completions.lanes).tolist() == [2 * NUMBERS] * num_lanes


def test_a_stop_leaves_out_random_pairs_if_shuffled(machine: Machine) -> None:
    turn, rng = opened(machine, np.full(1_000, UNKNOWN)), np.random.default_rng(3)
    completions, num_drawn = list_completions(turn, np.arange(1_000), Polling(lambda: True), rng)
    assert len(completions.lanes) == num_drawn.sum() == LANES_AT_ONCE
    # Of every lane some 33 in 240: the children of all of them are there.
    assert num_drawn.min() > 0
    assert num_drawn.std() == pytest.approx(np.sqrt(LANES_AT_ONCE / 1_000), rel=0.2)
    pairs = np.column_stack([completions.lanes, completions.joint_moves])
    assert len(np.unique(pairs, axis=0)) == len(pairs)


def test_stopped_draws_leave_out_random_lanes_if_shuffled(machine: Machine) -> None:
    _, num_drawn = draw_completions(
        opened(machine, np.full(5_000, UNKNOWN)),
        np.arange(5_000),
        np.full(5_000, 4),
        np.full(5_000, 64),
        np.random.default_rng(0),
        Polling(lambda: True),
        shuffle=True,
    )
    drawn_lanes = np.flatnonzero(num_drawn)
    assert 0 < len(drawn_lanes) < 5_000
    assert drawn_lanes.mean() == pytest.approx(
        2_500, abs=6 * 5_000 / np.sqrt(12 * len(drawn_lanes))
    )


@pytest.mark.parametrize("game", ["krieg_tic_tac_toe", "leduc_poker", "battleships_in_fog"])
def test_open_moves_are_the_same_however_they_are_listed(
    game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of_game(game, "propnet")
    states, rng = machine.initial(300), np.random.default_rng(0)
    for _ in range(2):
        legal = machine.legal(states, 0, allow_stuck=True)
        drawn = [random_moves(machine, states, role, rng) for role in range(len(machine.roles))]
        states = machine.step(states, np.column_stack(drawn)).states
        states = states.take(np.flatnonzero(~machine.terminal(states)))
    moves = np.resize(np.where(rng.random(300) < 0.5, drawn[0][0], legal.values[:1]), len(states))
    moves[::3] = UNKNOWN
    refused = np.full(len(states), UNKNOWN)
    refused[::5] = legal.values[-1]
    evidence = Learnt(moves, np.full(len(states), UNKNOWN), refused)
    monkeypatch.setattr("ggp.machine.compiling.jit.SPARED_STEPS", -1)  # the kernel is used
    runs = [open_moves(machine, 0, states, evidence)]
    monkeypatch.setattr("ggp.belief.turns.open_moves.MANY_LANES", 0)  # lists of each role
    for first, most in ((1000, 1), (2, 1), (2, 50)):
        monkeypatch.setattr("ggp.belief.turns.open_moves.FIRST_LANES", first)
        monkeypatch.setattr("ggp.belief.turns.open_moves.MOVES_AT_ONCE", most)
        runs.append(open_moves(machine, 0, states, evidence))
    for run in runs[1:]:
        assert run.counts.tolist() == runs[0].counts.tolist()
        for role in range(len(machine.roles)):
            assert run.moves[role][0].tolist() == runs[0].moves[role][0].tolist()
            assert run.moves[role].offsets.tolist() == runs[0].moves[role].offsets.tolist()
            assert run.moves[role].values.tolist() == runs[0].moves[role].values.tolist()
            assert (run.log_probabilities[role] == runs[0].log_probabilities[role]).all()
    # Where our move was drawn for us, it may have been any that is legal; where it is unknown, it
    # is what we submitted if that is legal.
    legal = machine.legal(states, 0, allow_stuck=True)
    for lane in range(len(states)):
        ours = legal[lane].tolist()
        expected = ours if moves[lane] == UNKNOWN else [m for m in ours if m == moves[lane]]
        if refused[lane] in ours:
            expected = [refused[lane]] if moves[lane] == UNKNOWN else []
        assert runs[0].moves[0][lane].tolist() == expected


def test_no_lanes_have_no_moves() -> None:
    machine = machine_of_game("krieg_tic_tac_toe")
    none = np.zeros(0, dtype=np.int64)
    options = open_moves(machine, 0, machine.initial(1).take(none), Learnt(none, none, none))
    assert len(options.counts) == 0
    assert [len(moves.values) for moves in options.moves] == [0, 0]
