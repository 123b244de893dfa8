"""Playouts side by side: every lane is a legal match of its own, whatever its neighbours do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ggp.errors import MachineError
from ggp.gdl.normalize import load
from ggp.machine.abilities import PlayoutLimits, TrialBatch
from ggp.machine.base import UNKNOWN, BoolArray, IntArray
from ggp.machine.compiling.vectors import WIDTH, words_of
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.optimise import MAX_STEPS, optimise
from ggp.machine.propnet.play.kernels.block_playouts import play
from ggp.machine.propnet.play.kernels.blocks import Block, begin, new_block
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.play.turns import PropnetStates
from ggp.search.moves import is_legal, random_moves
from tests.support.comparing.batches import mixed_states
from tests.support.games import (
    GAMES,
    MODEST_GAMES,
    machine_of_game,
    machine_of_rules,
    machine_of_shared,
    path_of_shared,
)

SHARED = ["gdl1/connectFour.kif", "gdl2/kriegTTT_4x4.gdl", "gdl2/transit.gdl"]

LOTTERY = """
(role a) (role random)
(init (left 9))
(succ 0 1) (succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5) (succ 5 6) (succ 6 7) (succ 7 8) (succ 8 9)
(legal a wait)
(<= (legal random ?x) (succ ?x ?y) (true (left ?z)))
(<= (next (left ?x)) (true (left ?y)) (succ ?x ?y))
(<= (next (drawn ?x)) (does random ?x))
(<= terminal (true (drawn 0)))
(<= terminal (true (left 0)))
(<= (goal a 100) (true (drawn 0)))
(<= (goal a 0) (not (true (drawn 0))))
"""
"""Nine equal chances a step: lanes end one by one. Won with probability 1 - (8/9)^9."""


def machine_of(name: str) -> PropnetMachine:
    if name == "lottery":
        machine = machine_of_rules(LOTTERY, "propnet")
    elif name in GAMES:
        machine = machine_of_game(name, "propnet")
    else:
        machine = machine_of_shared(name, "propnet")
    assert isinstance(machine, PropnetMachine)
    return machine


def bits(block: Block, rows: NDArray[np.int32], words: int) -> BoolArray:
    """`[K, lanes]` the bits of some rows."""
    picked = block.rows.reshape(-1, words)[rows]
    return np.unpackbits(picked.view(np.uint8), axis=-1, bitorder="little").astype(np.bool_)


def lanes_of(masks: NDArray[np.uint64]) -> IntArray:
    return np.flatnonzero(np.unpackbits(masks.view(np.uint8), bitorder="little"))


def moves_of_role(machine: PropnetMachine, role: int) -> IntArray:
    """The ids of all moves of a role, in the order of the circuit."""
    return np.array([machine.move_id(text) for text in machine.circuit.legal[role].names])


def moves_made(machine: PropnetMachine, states: PropnetStates, rows: list[BoolArray]) -> IntArray:
    """`[L, R]` the move of each role, of which `[moves, L]` rows are given; one in every lane.

    Rows of moves that the phase of the game does not have keep what the phase before left in them;
    nobody reads them. So a move counts if it is legal too.
    """
    columns = []
    for role, role_moves in enumerate(rows):
        numbers, legal = moves_of_role(machine, role), machine.legal(states, role)
        lanes = np.repeat(np.arange(len(states)), legal.counts)
        moves_taken = np.zeros(role_moves.shape, dtype=np.bool_)
        moves_taken[np.searchsorted(numbers, legal.values), lanes] = True
        moves_taken &= role_moves
        assert (moves_taken.sum(axis=0) == 1).all()
        columns.append(numbers[moves_taken.argmax(axis=0)])
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", [*MODEST_GAMES, *SHARED, "lottery"])
def test_every_lane_of_a_block_plays_a_legal_match(name: str) -> None:
    machine = machine_of(name)
    words = words_of(WIDTH)
    num = 3 * 64 * words + 77
    plan = machine.playout_plan
    role_moves = [moves_of_role(machine, role) for role in range(len(machine.roles))]
    current = machine.initial(num).packed.copy()
    queue = machine.queue_of(PropnetStates(machine, current.copy()))
    for sums in (queue.goals, queue.spread, queue.unfinished):
        sums[:] = 0
    block = new_block(plan, WIDTH)
    begin(block, (0, num), (12345,))
    steps = np.zeros(num, dtype=np.int64)
    ended_all = False
    first = True
    while not ended_all:
        if first:  # lanes come in within the first step
            lanes_before, places = np.arange(64 * words), np.arange(64 * words)
        else:
            lanes_before, places = lanes_of(block.masks[:words]), block.entry_of.astype(np.int64)
        first = False
        ended_all = play(plan, queue, block, 1000, 1, WIDTH)
        playing = np.intersect1d(lanes_before, lanes_of(block.masks[:words]))
        moved = playing[block.entry_of[playing] == places[playing]]
        if not len(moved):
            continue
        lanes = places[moved]
        states = PropnetStates(machine, current[lanes])
        rows = [
            bits(block, plan.move_rows[first_move:][: len(numbers)], words)[:, moved]
            for first_move, numbers in zip(plan.role_moves[0], role_moves, strict=False)
        ]
        joint = moves_made(machine, states, rows)
        successors = machine.step(states, joint).states
        assert isinstance(successors, PropnetStates)
        current[lanes] = successors.packed
        steps[lanes] += 1
    final = PropnetStates(machine, current)
    assert not queue.unfinished.any()
    assert machine.terminal(final).all()
    assert np.array_equal(queue.spread[:, 0], steps)
    assert np.array_equal(queue.goals, machine.goals(final))


def test_moves_are_uniform_and_lanes_independent() -> None:
    machine = machine_of("lottery")
    won = machine.playout(machine.initial(200_000), np.random.default_rng(1)).goals[:, 0] == 100
    expected = 1 - (8 / 9) ** 9
    assert won.mean() == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 2e5) ** 0.5)
    # Neighbours, and lanes one word apart, win together as often as any two lanes.
    for distance in (1, 64, 512, 1024):
        together = (won[distance:] & won[:-distance]).mean()
        assert together == pytest.approx(expected**2, abs=0.006)


@pytest.mark.parametrize("choices", [1, 2, 3, 5, 7, 8, 9, 31, 33, 100])
def test_each_of_many_moves_is_as_likely_as_the_others(choices: int) -> None:
    rules = "(role a) (init start)" + "".join(
        f"(legal a m{i}) (<= (next (got {i})) (does a m{i})) (<= terminal (true (got {i})))"
        f"(<= (goal a {i + 1}) (true (got {i})))"
        for i in range(choices)
    )
    machine = machine_of_rules(rules, "propnet")
    num = 40_000
    goals = machine.playout(machine.initial(num), np.random.default_rng(choices)).goals[:, 0]
    counts = np.bincount(goals.astype(np.int64), minlength=choices + 1)[1:]
    assert counts.sum() == num
    expected = num / choices
    # Chi-squared: mean `choices - 1`, variance twice that.
    freedom = choices - 1
    assert ((counts - expected) ** 2 / expected).sum() <= freedom + 5 * (2 * freedom) ** 0.5


@pytest.mark.parametrize("threads", [2, 3])
def test_number_of_threads_changes_nothing(threads: int) -> None:
    machine = machine_of("krieg_tic_tac_toe")
    threaded = PropnetMachine(machine.circuit, is_gdl2=True, threads=threads)
    num = 40_000
    playouts = [m.playout(m.initial(num), np.random.default_rng(7)) for m in (machine, threaded)]
    for a, b in zip(playouts[0], playouts[1], strict=True):
        assert np.array_equal(a, b)
    over = [m.terminal(m.initial(num)) for m in (machine, threaded)]
    assert np.array_equal(over[0], over[1])


def test_threads_add_up_trials_as_one_does() -> None:
    sole = machine_of("krieg_tic_tac_toe")
    threaded = PropnetMachine(sole.circuit, is_gdl2=True, threads=3)
    role, num = 0, 90
    trials = []
    for machine in (sole, threaded):
        states = machine.initial(num)
        moves = machine.legal(states, role)
        size = len(moves.values)
        batch = TrialBatch(
            np.repeat(np.arange(num), moves.counts), moves.values, np.full(size, 100)
        )
        rng = np.random.default_rng(7)
        trials.append(machine.playouts_after(states, role, batch, rng, cut_value=50.0, spread=True))
    for a, b in zip(*trials, strict=True):
        assert np.array_equal(a, b)


def test_playouts_stop_in_time_and_say_how_far_they_came() -> None:
    endless = "(role a) (init p) (legal a m) (<= (next p) (true p)) (goal a 0)"
    endless += "(<= terminal (true q)) (<= (next q) (true q))"
    machine = machine_of_rules(endless, "propnet")
    playouts = machine.playout(machine.initial(1000), np.random.default_rng(0), 1 << 40, 0.3)
    assert not playouts.finished.any()
    assert (playouts.steps > 0).all()


def test_garbage_in_other_lanes_changes_nothing() -> None:
    machine = machine_of("gdl2/kriegTTT_4x4.gdl")
    rng = np.random.default_rng(3)
    words = machine.initial(1).packed.shape[1]
    last_bits = np.uint64(2 ** (len(machine.circuit.fluents) % 64) - 1)
    garbage = rng.integers(0, 1 << 64, size=(900, words), dtype=np.uint64)
    garbage[:, -1] &= last_bits
    mixed = garbage.copy()
    lanes = np.arange(0, 900, 7)
    mixed[lanes] = machine.initial(1).packed[0]
    plain_states, among = machine.initial(len(lanes)), PropnetStates(machine, mixed)
    assert np.array_equal(machine.terminal(among)[lanes], machine.terminal(plain_states))
    legal = [machine.legal(plain_states, role) for role in range(2)]
    crowd = [machine.legal(among, role, allow_stuck=True) for role in range(2)]
    for role in range(2):
        for i, lane in enumerate(lanes.tolist()):
            assert np.array_equal(crowd[role][lane], legal[role][i])
    moves = np.stack([np.zeros(900, dtype=np.int64) + legal[r][0][0] for r in range(2)], axis=1)
    moves[lanes] = np.stack([legal[r].values[legal[r].offsets[:-1]] for r in range(2)], axis=1)
    stepped, expected = machine.step(among, moves), machine.step(plain_states, moves[lanes])
    assert machine.fluents(stepped.states.take(lanes)) == machine.fluents(expected.states)
    assert np.array_equal(stepped.percepts[lanes], expected.percepts)


@pytest.mark.parametrize("name", ["tic_tac_toe", "krieg_tic_tac_toe", "gdl1/connectFour.kif"])
def test_playouts_do_not_depend_on_how_far_the_circuit_was_optimised(name: str) -> None:
    program = load(name if name in GAMES else path_of_shared(name))
    raw = build_circuit(ground(program))
    playout_lists = []
    for steps in (0, 50_000, MAX_STEPS):
        circuit = optimise(raw, max_steps=steps).circuit
        machine = PropnetMachine(circuit, is_gdl2=program.is_gdl2)
        playouts = machine.playout(machine.initial(100), np.random.default_rng(1))
        playout_lists.append((playouts.goals.tolist(), playouts.steps.tolist()))
    assert playout_lists[0] == playout_lists[1] == playout_lists[2]


def test_joint_moves_must_fit_the_batch() -> None:
    machine = machine_of("tic_tac_toe")
    states = machine.initial(3)
    moves = np.array([[machine.legal(states, role)[0][0] for role in range(2)]] * 3)
    for wrong in (moves[:1], moves[:, :1], np.vstack([moves, moves])):
        with pytest.raises(MachineError, match="joint moves of shape"):
            machine.step(states, wrong)


def trial_batch(machine: PropnetMachine, seed: int) -> tuple[PropnetStates, int, TrialBatch]:
    """Moves of a role, legal or not, in states of a few random matches."""
    rng = np.random.default_rng(seed)
    role = next(r for r in range(len(machine.roles)) if r != machine.random_role)
    mixed = mixed_states(machine, seed=seed)
    states = mixed.take(np.flatnonzero(~machine.terminal(mixed)))
    assert isinstance(states, PropnetStates)
    legal = machine.legal(states, role, allow_stuck=True).values
    size = 60
    batch = TrialBatch(
        np.sort(rng.integers(0, len(states), size)),
        rng.choice(legal, size),
        rng.integers(0, 400, size) >> rng.integers(0, 9, size),
    )
    return states, role, batch


@pytest.mark.parametrize("name", [*MODEST_GAMES, "kriegspiel_5x5", *SHARED])
def test_trials_are_worth_what_they_are_step_by_step(name: str) -> None:
    """Against moves made one by one, with the machine's own `legal` and `step`."""
    machine = machine_of(name)
    states, role, batch = trial_batch(machine, seed=4)
    rng = np.random.default_rng(1)
    sums = machine.playouts_after(states, role, batch, rng, cut_value=50.0, spread=True)
    assert sums.finished
    lanes = np.repeat(batch.lanes, batch.counts)
    states_before = states.take(lanes)
    submitted = {role: np.repeat(batch.moves, batch.counts)}
    joint_moves = np.zeros((len(lanes), len(machine.roles)), dtype=np.int64)
    for j in range(len(machine.roles)):
        role_moves = random_moves(machine, states_before, j, rng)
        if j in submitted:
            legal = is_legal(machine, states_before, j, submitted[j])
            role_moves = np.where(legal, submitted[j], role_moves)
        joint_moves[:, j] = role_moves
    playouts = machine.playout(machine.step(states_before, joint_moves).states, rng)
    # Groups of entries, with enough playouts to compare.
    group = np.arange(len(batch.counts)) % 20
    owner = np.repeat(group, batch.counts)
    goals, steps = playouts.goals[:, role], 1.0 + playouts.steps
    for estimated, values in (
        (sums.goals, goals),
        (sums.squares, goals**2),
        (sums.steps, steps),
        (sums.goal_steps, goals * steps),
    ):
        expected = np.bincount(owner, values, minlength=20)
        # Both are random: each has about the variance of the one that is known lane by lane.
        spread = np.bincount(owner, (values - values.mean()) ** 2, minlength=20)
        distance = np.abs(np.bincount(group, estimated) - expected)
        assert (distance <= 5 * np.sqrt(2 * spread) + 1e-6).all()


def test_moves_that_are_given_are_made() -> None:
    rules = "(role a) (init start)" + "".join(
        f"(legal a m{i}) (<= (next (got {i})) (does a m{i})) (<= terminal (true (got {i})))"
        f"(<= (goal a {i}) (true (got {i})))"
        for i in range(11)
    )
    machine = machine_of_rules(rules, "propnet")
    assert isinstance(machine, PropnetMachine)
    moves = machine.legal(machine.initial(1), 0).values
    values = np.array([float(machine.move_text(int(m))[1:]) for m in moves])
    counts = np.array([1, 0, 3000, 7, 64, 65, 1, 1, 500, 2, 1024])
    batch = TrialBatch(np.zeros(11, dtype=np.int64), moves, counts)
    rng = np.random.default_rng(0)
    trials = machine.playouts_after(machine.initial(1), 0, batch, rng, cut_value=50.0, spread=True)
    assert trials.goals.tolist() == (values * counts).tolist()
    assert trials.squares.tolist() == (values**2 * counts).tolist()
    assert trials.steps.tolist() == counts.tolist()


def test_trials_that_do_not_end_count_as_they_are_told_to() -> None:
    endless = "(role a) (init p) (legal a m) (<= (next p) (true p)) (goal a 0)"
    endless += "(<= terminal (true q)) (<= (next q) (true q))"
    machine = machine_of_rules(endless, "propnet")
    assert isinstance(machine, PropnetMachine)
    moves = machine.legal(machine.initial(1), 0).values[[0, 0]]
    batch = TrialBatch(np.zeros(2, dtype=np.int64), moves, np.array([3, 2000]))
    rng = np.random.default_rng(0)
    trials = machine.playouts_after(
        machine.initial(1), 0, batch, rng, cut_value=50.0, spread=True, limits=PlayoutLimits(10)
    )
    assert not trials.finished
    assert trials.goals.tolist() == [150.0, 100_000.0]
    assert trials.steps.tolist() == [30.0, 20_000.0]
    assert trials.goal_steps.tolist() == [1_500.0, 1_000_000.0]


@pytest.mark.parametrize("name", [*MODEST_GAMES, "kriegspiel_5x5", *SHARED])
def test_steps_that_match_are_those_of_all_steps_that_do(name: str) -> None:
    machine = machine_of(name)
    rng = np.random.default_rng(6)
    mixed = mixed_states(machine, seed=6)
    states = mixed.take(np.flatnonzero(~machine.terminal(mixed)))
    lanes = np.sort(rng.integers(0, len(states), 3_000))
    states_before = states.take(lanes)
    joint_moves = np.stack(
        [random_moves(machine, states_before, j, rng) for j in range(len(machine.roles))], axis=1
    )
    stepped = machine.step(states_before, joint_moves)
    for role in range(len(machine.roles)):
        # What one of the moves of a state shows, or anything.
        percept_wanted = np.full(len(states), UNKNOWN)
        percept_wanted[lanes] = stepped.percepts[:, role]
        percept_wanted[rng.random(len(states)) < 0.2] = UNKNOWN
        matching = machine.step_matching(states, lanes, joint_moves, role, percept_wanted)
        if matching is None:
            assert not machine.circuit.sees[role].names or not machine._is_gdl2
            continue
        target = percept_wanted[lanes]
        expected = np.flatnonzero((stepped.percepts[:, role] == target) | (target == UNKNOWN))
        assert matching[0].tolist() == expected.tolist()
        assert isinstance(matching[1], PropnetStates)
        assert isinstance(stepped.states, PropnetStates)
        assert np.array_equal(matching[1].packed, stepped.states.packed[expected])
