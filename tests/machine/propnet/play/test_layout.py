"""However gates are ordered, put together and given rows, kernels agree with the circuit."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.apart.generated import turning_stones
from ggp.machine import circuit as circuits
from ggp.machine.abilities import TrialBatch
from ggp.machine.arrays import unpack
from ggp.machine.base import IntArray
from ggp.machine.circuit import Circuit, Literals, cone
from ggp.machine.compiling.vectors import aligned_words
from ggp.machine.propnet.play.answers import FEW, NARROW, run_plainly
from ggp.machine.propnet.play.kernels.blocks import PlayoutPlan
from ggp.machine.propnet.play.kernels.tapes import WHOLE
from ggp.machine.propnet.play.layout import phases, queries, tape_layout
from ggp.machine.propnet.play.layout.phases import phases_of
from ggp.machine.propnet.play.layout.queries import Queries, playout_plan
from ggp.machine.propnet.play.layout.tape_layout import Stage, lay_out
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from ggp.machine.propnet.play.turns import PropnetStates
from tests.machine.propnet.circuits import circuit_of, dealing, random_circuit
from tests.machine.propnet.evaluate import Bits, evaluate, read
from tests.support.effort import rarely

LANES = (1, FEW, FEW + 1, NARROW, NARROW + 1)


def stepped(machine: PropnetMachine, states: Bits, moves: IntArray) -> Bits:
    """Next states and percepts of all roles as bits, by the kernels for so many states."""
    next_step = machine.step(machine.from_fluent_bits(states), moves)
    assert isinstance(next_step.states, PropnetStates)
    seen = [
        [name in machine.percept_texts(int(percept)) for name in outputs.names]
        for lane in next_step.percepts
        for percept, outputs in zip(lane, machine.circuit.sees, strict=True)
    ]
    bits = np.array(seen, dtype=np.bool_).reshape(len(states), -1)
    return np.concatenate([unpack(next_step.states.packed, states.shape[1]), bits], axis=1)


def by_gates(circuit: Circuit, states: Bits, moves: IntArray) -> tuple[Bits, Bits]:
    """The next state, percepts, end and legal moves, gate by gate."""
    num_moves = len(circuit.legal[0].names)
    move_bits = np.zeros((len(states), 2 * num_moves), dtype=np.bool_)
    for role in range(2):
        move_bits[np.arange(len(states)), role * num_moves + moves[:, role]] = True
    nets = evaluate(circuit, states, move_bits)
    percepts_read = [read(nets, outputs.literals) for outputs in circuit.sees]
    literals = [np.array([circuit.terminal]), *(outputs.literals for outputs in circuit.legal)]
    return np.concatenate([read(nets, circuit.next), *percepts_read], axis=1), read(
        nets, np.concatenate(literals).astype(np.int32)
    )


@pytest.mark.parametrize("with_loop", [False, True])
def test_few_and_many_states_agree_with_the_gates(with_loop: bool) -> None:
    for seed in range(12):
        circuit = random_circuit(seed, with_loop=with_loop)
        machine = PropnetMachine(circuit, is_gdl2=True)
        rng = np.random.default_rng(seed)
        for lanes in LANES:
            states = rng.random((lanes, len(circuit.fluents))) < 0.5
            moves = rng.integers(0, 3, (lanes, 2))
            next_bits, answers = by_gates(circuit, states, moves)
            assert np.array_equal(stepped(machine, states, moves), next_bits)
            batch = machine.from_fluent_bits(states)
            over = answers[:, 0]
            assert np.array_equal(machine.terminal(batch), over)
            for role in range(2):
                legal = machine.legal(batch, role, allow_stuck=True)
                expected = answers[:, 1 + 3 * role : 4 + 3 * role] & ~over[:, None]
                texts = [machine.move_text(int(move)) for move in legal.values]
                names = circuit.legal[role].names
                assert texts == [names[k] for k in np.nonzero(expected)[1]]
                assert legal.counts.tolist() == expected.sum(axis=1).tolist()


@pytest.mark.parametrize("lanes", [1, 2000])
@pytest.mark.parametrize("dealt", rarely([False, True], {False}))
def test_playouts_are_the_same_whatever_is_put_together(
    lanes: int, dealt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the longest runs of gates, and nothing put inside others, left out, or written early."""
    circuit = dealing() if dealt else turning_stones(6)
    rng = np.random.default_rng(5)
    # Some that no match comes to.
    stray = np.repeat(circuit.initial[None], 200, axis=0)
    stray[::3] ^= rng.random((67, stray.shape[1])) < 0.1
    monkeypatch.setattr(phases, "MIN_REACH_LITERALS", 0)
    monkeypatch.setattr(phases, "MIN_LITERALS", 0)
    monkeypatch.setattr(queries, "SPARSE", 8)
    playout_lists = []
    for plain in (False, True):
        if plain:
            monkeypatch.setattr(tape_layout, "written_straight", written_nowhere)
            monkeypatch.setattr(phases, "MIN_LITERALS", 1 << 30)
            monkeypatch.setattr(tape_layout, "INSIDE", 0)
            monkeypatch.setattr(queries, "SPARSE", 1 << 30)
        machine = PropnetMachine(circuit, is_gdl2=False)
        plan = machine.playout_plan
        assert (len(plan.phases) > 0) != plain
        assert (len(plan.excluded) > 0) == (dealt and not plain)
        assert plan.always.all() == plain
        assert (plan.act.segments[:, 8] == WHOLE).all() == plain
        for states in (machine.initial(lanes), machine.from_fluent_bits(stray)):
            playouts = machine.playout(states, np.random.default_rng(3), 40)
            playout_lists.append([column.tolist() for column in playouts])
    assert playout_lists[:2] == playout_lists[2:]


def written_nowhere(*arguments: object) -> Bits:
    """No target is written straight."""
    targets = arguments[3]
    assert isinstance(targets, np.ndarray)
    return np.zeros(len(targets), dtype=np.bool_)


def test_given_moves_are_made_in_phases_too(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = turning_stones(6)
    results_by_role = []
    for smallest in (phases.MIN_LITERALS, 1 << 30):
        monkeypatch.setattr(phases, "MIN_LITERALS", smallest)
        machine = PropnetMachine(circuit, is_gdl2=False)
        start = machine.initial(1)
        waits, moves = machine.legal(start, 1).values, machine.legal(start, 0).values
        second_states = machine.step(start, np.array([[moves[0], waits[0]]])).states
        for role, states in ((0, start), (1, second_states)):
            legal = machine.legal(states, role).values
            size = len(legal)
            trials = TrialBatch(np.zeros(size, dtype=np.int64), legal, np.full(size, 700))
            sums = machine.playouts_after(
                states, role, trials, np.random.default_rng(1), cut_value=50.0, spread=True
            )
            results_by_role.append((sums.goals.tolist(), sums.steps.tolist()))
    assert results_by_role[:2] == results_by_role[2:]


def test_phases_are_those_of_whose_turn_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phases, "MIN_LITERALS", 0)
    circuit = circuit_of("tic_tac_toe")
    phases_found = phases_of(circuit)
    assert len(phases_found.circuits) == 2
    assert all("control" in circuit.fluents[fluent] for fluent in phases_found.fluents)
    for fluents_held, part in zip(phases_found.values, phases_found.circuits, strict=True):
        assert part.num_literals < 0.8 * circuit.num_literals
        states = np.random.default_rng(0).random((50, len(circuit.fluents))) < 0.5
        states[:, phases_found.fluents] = fluents_held
        idle = np.zeros((50, circuit.num_inputs - len(circuit.fluents)), dtype=np.bool_)
        whole, part_nets = evaluate(circuit, states, idle), evaluate(part, states, idle)
        for whole_outputs, part_outputs in zip(circuit.legal, part.legal, strict=True):
            assert np.array_equal(
                read(whole, whole_outputs.literals), read(part_nets, part_outputs.literals)
            )
    # Whose turn it is here depends on moves.
    assert not phases_of(circuit_of("krieg_tic_tac_toe")).circuits


def test_plans_with_phases_are_of_the_same_types_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Playouts are compiled once: with an array in another order they would be compiled again."""
    monkeypatch.setattr(phases, "MIN_LITERALS", 0)
    plan = playout_plan(circuit_of("tic_tac_toe"))
    assert plan.phases.shape == (2, 2)
    parts = [part if isinstance(part, tuple) else (part,) for part in plan]
    arrays = [array for part in parts for array in part if isinstance(array, np.ndarray)]
    assert all(array.flags.c_contiguous for array in arrays)


def test_small_circuits_have_no_phases() -> None:
    plan = playout_plan(circuit_of("tic_tac_toe"))
    assert len(plan.phases) == 0
    assert len(plan.look.parts) == len(plan.act.parts) == 1


def test_rows_are_used_again() -> None:
    circuit = turning_stones(12)
    plan = playout_plan(circuit)
    inputs = 1 + circuit.num_inputs
    assert plan.num_rows - inputs < 0.5 * circuit.num_gates
    step = Queries(circuit).step
    assert step.num_rows - inputs < 0.5 * circuit.num_gates


def test_rows_read_by_a_later_stage_outlive_an_optional_stage() -> None:
    for seed in range(20):
        circuit = random_circuit(seed)
        look = np.concatenate([outputs.literals for outputs in circuit.legal])
        goals = np.concatenate([outputs.literals for outputs in circuit.goals])
        stages = [Stage(look), Stage(goals, optional=True), Stage(circuit.next)]
        inputs = range(1, 1 + circuit.num_inputs)
        laid = lay_out(circuit, inputs, stages)
        rng = np.random.default_rng(seed)
        bits = rng.random(circuit.num_inputs) < 0.5
        fluents, moves = np.split(bits, [len(circuit.fluents)])
        nets = evaluate(circuit, fluents[None], moves[None])
        for tapes in ((0, 1, 2), (0, 2)):
            rows = [False, *bits.tolist(), *[True] * (laid.num_rows - circuit.num_inputs - 1)]
            for number in tapes:
                run_plainly(laid.tapes[number], rows)
                wires = laid.wires[number]
                values = np.array(rows)[wires.rows] ^ (wires.inverted != 0)
                assert np.array_equal(values, read(nets, stages[number].targets)[0])
                if number == 1:  # these are still needed
                    wires = laid.wires[0]
                    values = np.array(rows)[wires.rows] ^ (wires.inverted != 0)
                    assert np.array_equal(values, read(nets, look)[0])


def test_blocks_begin_with_a_line_of_a_cache() -> None:
    for count in (1, 7, 64, 1000):
        words = aligned_words(count)
        assert len(words) == count
        assert words.ctypes.data % 64 == 0
        assert not words.any()


def test_states_of_a_whole_word_that_are_alike_play_like_others() -> None:
    """Lanes are let in by the word where 64 states are alike, and one by one elsewhere."""
    machine = PropnetMachine(circuit_of("tic_tac_toe"), is_gdl2=False)
    first = machine.initial(1)
    moves = [machine.legal(first, role).values[0] for role in range(2)]
    later = machine.step(first, np.array([moves])).states
    mixed = np.repeat([0, 1, 0, 1], [130, 3, 64, 1000])
    batch = machine.concatenate([first, later]).take(mixed)
    playouts = machine.playout(batch, np.random.default_rng(0))
    # Of nine cells, five moves at least end a match.
    assert (playouts.steps[mixed == 0] >= 5).all()
    assert (playouts.steps[mixed == 1] >= 4).all()
    assert (playouts.steps[mixed == 0] <= 9).all()
    assert (playouts.steps[mixed == 1] <= 8).all()
    assert (playouts.steps == 9).any()
    assert playouts.goals.sum(axis=1).tolist() == [100.0] * len(mixed)


def cone_of(
    circuit: Circuit, targets: Literals, known_nets: Bits, *, through_time: bool
) -> set[int]:
    """What literals depend on, net by net."""
    base = 1 + circuit.num_inputs
    pending = [net for net in (targets >> 1).tolist() if not known_nets[net]]
    reached: set[int] = set()
    while pending:
        net = pending.pop()
        if net in reached:
            continue
        reached.add(net)
        nets_needed: list[int] = []
        if net >= base:
            first, end = circuit.offsets[net - base : net - base + 2]
            nets_needed += (circuit.literals[first:end] >> 1).tolist()
            for loop in circuit.loops:
                if loop.start <= net - base < loop.end:
                    nets_needed += range(base + loop.start, base + loop.end)
        elif through_time and 0 < net <= len(circuit.fluents):
            nets_needed.append(int(circuit.next[net - 1] >> 1))
        pending += [net for net in nets_needed if not known_nets[net]]
    return reached


@pytest.mark.parametrize("large", [False, True])
def test_a_cone_has_all_that_literals_depend_on(
    large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circuits, "LARGE", 0 if large else 1 << 30)
    for seed in range(20):
        circuit = random_circuit(seed, with_loop=seed % 2 == 1)
        rng = np.random.default_rng(seed)
        nets = 1 + circuit.num_inputs + circuit.num_gates
        targets = rng.integers(0, 2 * nets, 3).astype(np.int32)
        # Gates of a loop are known together.
        known_nets = (rng.random(nets) < 0.2) & (np.arange(nets) <= circuit.num_inputs)
        for through_time in (False, True):
            for excluded_nets in (known_nets, np.zeros(nets, dtype=np.bool_)):
                cone_nets = cone(
                    circuit, targets, excluded=excluded_nets, through_time=through_time
                )
                expected = cone_of(circuit, targets, excluded_nets, through_time=through_time)
                assert set(np.flatnonzero(cone_nets).tolist()) == expected


def laid_out(circuit: Circuit) -> list[IntArray]:
    """All arrays in the layout of a circuit."""
    queries = Queries(circuit)
    roles = range(len(circuit.roles))
    queries_laid_out = [queries.terminal, queries.goals, queries.step, *map(queries.legal, roles)]
    pending: list[object] = [*queries_laid_out, queries.playout]
    arrays = []
    while pending:
        part = pending.pop()
        if isinstance(part, tuple):
            pending += part
        else:
            arrays.append(np.asarray(part))
    return arrays


def test_kernels_lay_out_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phases, "MIN_LITERALS", 0)
    random = [random_circuit(seed, with_loop=seed % 2 == 1) for seed in range(8)]
    for circuit in (*random, circuit_of("tic_tac_toe"), turning_stones(5)):
        layouts = []
        for smallest in (0, 1 << 30):
            monkeypatch.setattr(circuits, "LARGE", smallest)
            layouts.append(laid_out(circuit))
        for kernel, written in zip(*layouts, strict=True):
            assert kernel.dtype == written.dtype
            assert np.array_equal(kernel, written)


def moved(plan: PlayoutPlan, state: Bits, moves: Bits) -> Bits:
    """The next state of one lane; fluents and moves have the first rows."""
    rows = [False, *state.tolist(), *moves.tolist()]
    rows += [False] * (plan.num_rows - len(rows))
    run_plainly(plan.look, rows)
    run_plainly(plan.act, rows)
    for k, fluent in enumerate(plan.changed):
        rows[fluent] = rows[plan.next.rows[k]] != bool(plan.next.inverted[k])
    return np.array(rows[1 : 1 + len(state)])


def test_fluents_are_overwritten_when_nobody_reads_them() -> None:
    written = copied = 0
    for seed in range(20):
        circuit = random_circuit(seed, with_loop=seed % 2 == 1)
        plan = playout_plan(circuit)
        if len(plan.state_rows) < len(circuit.fluents):
            continue
        written += int(np.count_nonzero(plan.act.segments[:, 8] != WHOLE))
        copied += len(plan.changed)
        rng = np.random.default_rng(seed)
        for _ in range(10):
            state = rng.random(len(circuit.fluents)) < 0.5
            moves = rng.random(circuit.num_inputs - len(circuit.fluents)) < 0.5
            nets = evaluate(circuit, state[None], moves[None])
            assert np.array_equal(moved(plan, state, moves), read(nets, circuit.next)[0])
    assert written > 0
    assert copied > 0
