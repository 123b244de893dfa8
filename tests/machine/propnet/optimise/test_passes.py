"""Passes make circuits smaller, and never change their meaning."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine.circuit import Circuit, Outputs
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.optimise import MAX_STEPS, PASSES, Pass, optimise
from ggp.machine.propnet.optimise import draft as drafting
from ggp.machine.propnet.optimise.draft import Draft
from ggp.machine.propnet.optimise.passes import (
    complement,
    extract,
    factor,
    flatten,
    fold_constants,
    use_invariants,
)
from ggp.machine.propnet.optimise.proofs import Evaluator
from ggp.machine.propnet.optimise.work import Work, WorkDeadline
from tests.machine.propnet.circuits import (
    circuit_of,
    differences,
    outputs_of,
    random_circuit,
    random_walk,
    reachable,
)
from tests.machine.propnet.evaluate import evaluate
from tests.machine.propnet.test_circuit import REACH, assert_well_made
from tests.support.effort import rarely
from tests.support.games import MODEST_GAMES

LARGE = ("kriegspiel_king_rook",)
SHARED = (
    "gdl2/kriegTTT_4x4.gdl",
    "gdl2/transit.gdl",
    "gdl1/connectFour.kif",
    "gdl1/eightPuzzle.kif",
)


def work() -> Work:
    return Work(MAX_STEPS)


def circuit_of_rules(rules: str) -> Circuit:
    return build_circuit(ground(normalize(parse(rules))))


@pytest.mark.parametrize(
    "game",
    rarely(
        [*(game for game in MODEST_GAMES[::2] if game not in LARGE), *SHARED],
        {"gdl1/eightPuzzle.kif", "gdl2/transit.gdl", "breakthrough"},
    ),
)
def test_every_pass_leaves_games_as_they_are(game: str) -> None:
    circuit = circuit_of(game)
    steps = work()
    for seed, (name, run) in enumerate(PASSES):
        original, circuit = circuit, run(circuit, steps)
        if circuit is not original:
            walk = random_walk(original, seed, lanes=10, depth=10)
            assert differences(original, circuit, walk) == [], name
            assert_well_made(circuit)
    walk = random_walk(circuit_of(game), 99, lanes=10, depth=30)
    assert differences(circuit_of(game), circuit, walk) == []
    assert circuit.num_literals <= circuit_of(game).num_literals


@pytest.mark.parametrize("with_loop", [False, True], ids=["plain", "loop"])
@pytest.mark.parametrize("seed", rarely(range(16), range(8, 16)))
def test_circuits_stay_the_same_wherever_a_game_can_get(seed: int, with_loop: bool) -> None:
    circuit = random_circuit(seed, with_loop=with_loop)
    everywhere = reachable(circuit)
    steps = work()
    for name, run in PASSES:
        circuit = run(circuit, steps)
        messages = differences(random_circuit(seed, with_loop=with_loop), circuit, everywhere)
        assert messages == [], name
    assert_well_made(circuit)


@pytest.mark.parametrize("game", ["breakthrough", "mastermind", "krieg_tic_tac_toe"])
def test_kernels_of_passes_make_the_same_gates(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = circuit_of(game)
    for run in (factor, fold_constants, flatten, factor, extract, use_invariants, flatten):
        with monkeypatch.context() as changed:
            changed.setattr(drafting, "FOR_KERNELS", 0)
            by_kernels = run(circuit, work())
        circuit = run(circuit, work())
        assert_equal(circuit, by_kernels)


@pytest.mark.parametrize("seed", range(16))
def test_kernels_of_passes_make_the_same_gates_of_anything(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    circuit = random_circuit(seed, with_loop=False)
    expected = [run(circuit, work()) for run in (factor, fold_constants, flatten)]
    monkeypatch.setattr(drafting, "FOR_KERNELS", 0)
    circuits = [run(circuit, work()) for run in (factor, fold_constants, flatten)]
    for plain_circuit, kernel_circuit in zip(expected, circuits, strict=True):
        assert_equal(plain_circuit, kernel_circuit)


def test_wide_gates_are_sorted_and_folded_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = circuit_of("mastermind")
    rng = np.random.default_rng(0)
    finished = []
    for threshold in (0, circuit.num_literals + 1):
        monkeypatch.setattr(drafting, "FOR_KERNELS", threshold)
        draft = Draft(circuit)
        rng = np.random.default_rng(0)
        for net in list(draft.free_gates())[1::3]:
            draft.change(net, rng.integers(0, net - 1, rng.integers(1, 90)).tolist())
        draft.becomes[3] = 1
        draft.becomes[draft.first_net + 7] = 5
        finished.append(draft.finish())
    assert_equal(*finished)


def test_circle_is_an_error_for_the_kernel_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "FOR_KERNELS", 0)
    draft = Draft(circuit_of("breakthrough"))
    net = draft.roots[-1] >> 1
    draft.change(net, [2 * net, 2])
    with pytest.raises(ValueError, match=f"net {net} depends on itself"):
        draft.finish()


def assert_equal(first: Circuit, second: Circuit) -> None:
    """Fail unless two circuits have the same gates and outputs."""
    for name, value in vars(first).items():
        for left_array, like in zip(_arrays(value), _arrays(vars(second)[name]), strict=True):
            np.testing.assert_equal(left_array, like, err_msg=name)


def _arrays(value: object) -> list[object]:
    """The arrays, texts and numbers that a field of a circuit is made of."""
    if isinstance(value, tuple):
        return [array for part in value for array in _arrays(part)]
    if isinstance(value, Outputs):
        return [value.names, value.literals]
    return [value]


@pytest.mark.parametrize("run", [factor, flatten, extract])
@pytest.mark.parametrize("seed", range(20))
def test_boolean_passes_hold_for_any_input(run: Pass, seed: int) -> None:
    circuit = random_circuit(seed, with_loop=seed % 2 == 1)
    optimised = run(circuit, work())
    rng = np.random.default_rng(seed)
    states = rng.random((200, 5)) < 0.5
    moves = rng.random((200, 6)) < 0.5
    never = np.zeros(200, dtype=np.bool_)
    expected = outputs_of(circuit, evaluate(circuit, states, moves), never)
    got = outputs_of(optimised, evaluate(optimised, states, moves), never)
    for key in expected:
        assert np.array_equal(expected[key], got.get(key, never)), key


@pytest.mark.parametrize(
    "game",
    rarely([game for game in MODEST_GAMES if game not in LARGE][::4], {"breakthrough", "meier"}),
)
def test_optimising_is_repeatable(game: str) -> None:
    first, reports, complete = optimise(circuit_of(game))
    second = optimise(circuit_of(game)).circuit
    assert complete
    assert first.literals.tolist() == second.literals.tolist()
    assert first.offsets.tolist() == second.offsets.tolist()
    assert [report.name for report in reports] == [name for name, _ in PASSES]
    assert (reports[-1].gates_after, reports[-1].literals_after) == (
        first.num_gates,
        first.num_literals,
    )


def test_without_time_nothing_is_done_and_that_is_said() -> None:
    circuit = circuit_of("tic_tac_toe")
    assert optimise(circuit, WorkDeadline(0.0)) == (circuit, [], False)
    assert optimise(circuit, WorkDeadline(clock_s=0.0)) == (circuit, [], False)


def test_without_work_nothing_is_done_and_that_is_final() -> None:
    circuit = circuit_of("tic_tac_toe")
    assert optimise(circuit, max_steps=0) == (circuit, [], True)


@pytest.mark.verify
def test_where_passes_stop_does_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = circuit_of("kriegspiel_king_rook")
    steps = MAX_STEPS // 1000
    expected = optimise(circuit, max_steps=steps)
    assert expected.circuit.num_literals > optimise(circuit).circuit.num_literals
    # A clock that is ten times as fast: what a busy machine looks like from inside.
    started_s = time.monotonic()
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: started_s + 10 * (now() - started_s))
    optimised = optimise(circuit, max_steps=steps)
    assert optimised.circuit.literals.tolist() == expected.circuit.literals.tolist()
    assert optimised.circuit.offsets.tolist() == expected.circuit.offsets.tolist()


def test_a_pass_in_vain_is_not_run_again_on_the_same_circuit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[str] = []

    def idle(circuit: Circuit, _: Work) -> Circuit:
        ran.append("idle")
        return circuit

    def changing(circuit: Circuit, _: Work) -> Circuit:
        ran.append("changing")
        return replace(circuit)

    passes = (("idle", idle), ("idle", idle), ("changing", changing), ("idle", idle))
    monkeypatch.setattr("ggp.machine.propnet.optimise.PASSES", passes)
    optimised = optimise(circuit_of("breakthrough"))
    assert ran == ["idle", "changing", "idle"]
    assert [report.name for report in optimised.reports] == [name for name, _ in passes]


def test_a_pass_the_clock_breaks_off_counts_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = circuit_of("tic_tac_toe")

    def spin(*_: object) -> Circuit:
        while True:
            pass

    monkeypatch.setattr("ggp.machine.propnet.optimise.PASSES", (("spin", spin),))
    assert optimise(circuit, WorkDeadline(time.process_time() + 0.2)) == (circuit, [], False)


def test_a_pass_that_runs_out_of_memory_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    circuit = circuit_of("tic_tac_toe")

    def hoard(*_: object) -> Circuit:
        raise MemoryError

    monkeypatch.setattr("ggp.machine.propnet.optimise.PASSES", (("hoard", hoard),))
    assert optimise(circuit) == (circuit, [], False)


def test_the_only_move_is_always_made() -> None:
    rules = """
    (role player) (role random) (init awake) (legal random tick) (legal player wait)
    (<= (next awake) (true awake) (does random tick))
    (<= terminal (not (true awake))) (goal player 50)
    """
    circuit = complement(circuit_of_rules(rules), work())
    assert circuit.next.tolist() == [2]


def test_no_move_but_some_becomes_one_of_the_others() -> None:
    rules = """
    (role player) (init start) (number 1) (number 2) (number 3) (number 4) (number 5)
    (<= (legal player (say ?n)) (number ?n))
    (<= (next (small)) (does player (say ?n)) (distinct ?n 5))
    (<= terminal (true (small))) (goal player 50)
    """
    circuit = complement(circuit_of_rules(rules), work())
    five = 1 + len(circuit.fluents) + circuit.legal[0].names.index("(say 5)")
    assert circuit.next[circuit.fluents.index("small")] == 2 * five + 1


def test_common_factors_are_taken_out() -> None:
    # not (f1 & f2) & not (f1 & f3) & not (f1 & f4), which is: not (f1 & (f2 or f3 or f4)).
    circuit = gates_on_fluents([[2, 4], [2, 6], [2, 8], [13, 15, 17]], terminal=18)
    factored = factor(circuit, work())
    assert (factored.num_gates, factored.num_literals) == (2, 5)


def test_factors_are_taken_out_where_several_leave_the_same() -> None:
    # f1 & f3 or f1 & f4 & f5 alone stays as it is, beside f2 & f3 or f2 & f4 & f5 it does not:
    # f3 or f4 & f5 is made only once.
    bodies = [[2, 6], [2, 8, 10], [13, 15]]
    single = gates_on_fluents(bodies, terminal=16)
    assert factor(single, work()) is single
    pair = gates_on_fluents([*bodies, [4, 6], [4, 8, 10], [19, 21]], terminal=16)
    pair = replace(pair, next=np.array([22, 4, 6, 8, 10], dtype=np.int32))
    factored = factor(pair, work())
    assert (factored.num_gates, factored.num_literals) == (4, 8)


def test_common_parts_are_shared() -> None:
    inner = [2, 4, 6, 8]
    gates = [[*inner, 10], [*inner, 11], [3, *inner[1:], 10]]
    circuit = gates_on_fluents(gates, terminal=12, goals=(14, 16))
    circuit = replace(circuit, next=np.array([12, 14, 16, 2, 4], dtype=np.int32))
    shared = extract(circuit, work())
    assert shared.num_literals < circuit.num_literals


def gates_on_fluents(
    gates: list[list[int]], *, terminal: int, goals: tuple[int, ...] = ()
) -> Circuit:
    """A circuit of five fluents and no roles; its gates are nets 6 and up."""
    return Circuit(
        roles=(),
        fluents=tuple(f"f{place}" for place in range(1, 6)),
        initial=np.zeros(5, dtype=np.bool_),
        constant=(),
        offsets=np.cumsum([0, *map(len, gates)], dtype=np.int64),
        literals=np.array([x for gate in gates for x in gate], dtype=np.int32),
        loops=(),
        next=np.arange(2, 12, 2, dtype=np.int32),
        legal=(),
        sees=(),
        goals=(),
        terminal=terminal,
    )


@pytest.mark.parametrize(
    "rules",
    [
        "(role a) (legal a x) (goal a 50) terminal",
        "(role a) (role b) (init p) (legal a x) (<= (legal b y) (true q)) "
        "(<= (next q) (does b y)) (goal a 1) (<= terminal (true q))",
        "(role a) (init p) (<= (legal a x) (true p)) (<= (next p) (true p)) "
        "(<= (goal a 100) (true p)) (<= terminal (not (true p)))",
        "(role a) (init p) (<= (legal a x) (not (true p))) (<= (next r) (does a x)) "
        "(goal a 10) (<= terminal (true r))",
    ],
    ids=["over", "one is stuck", "nothing changes", "stuck"],
)
def test_games_in_which_nothing_happens_are_optimised(rules: str) -> None:
    circuit = circuit_of_rules(rules)
    optimised, reports, _ = optimise(circuit)
    assert len(reports) == len(PASSES)
    assert differences(circuit, optimised, random_walk(circuit, 1, lanes=3, depth=4)) == []


def test_loops_are_kept_and_broken_up() -> None:
    circuit = circuit_of_rules(REACH)
    optimised = optimise(circuit).circuit
    assert differences(circuit, optimised, random_walk(circuit, 7, depth=6)) == []
    assert len(optimised.loops) == 1


@pytest.mark.parametrize("game", ["gdl1/cubicup_3player.kif", "gdl2/transit.gdl"])
def test_many_lanes_are_evaluated_like_one(game: str) -> None:
    circuit = circuit_of(game)
    rng = np.random.default_rng(4)
    words = rng.integers(0, 1 << 63, size=(1 + circuit.num_inputs + circuit.num_gates, 2))
    nets = words.astype(np.uint64)
    nets[0] = 0
    evaluator = Evaluator(circuit)
    evaluator.look(nets)
    evaluator.act(nets)
    bits = np.unpackbits(nets.view(np.uint8), axis=1, bitorder="little").astype(np.bool_).T
    num_fluents = len(circuit.fluents)
    inputs = bits[:, 1 : 1 + circuit.num_inputs]
    expected = evaluate(circuit, inputs[:, :num_fluents], inputs[:, num_fluents:])
    assert np.array_equal(bits, expected)
