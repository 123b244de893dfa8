"""Invariants of the fluents of a game, and the simplifications that follow from them."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.machine.circuit import FALSE, TRUE, Circuit, Outputs
from ggp.machine.propnet.compile.gates import build_circuit
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.optimise import passes as invariants
from ggp.machine.propnet.optimise.passes import (
    complement,
    fold_constants,
    use_invariants,
)
from ggp.machine.propnet.optimise.proofs import (
    Guess,
    equal_fluents,
    equality,
    prove,
    sample,
    strongest,
)
from ggp.machine.propnet.optimise.work import Work
from tests.machine.propnet.circuits import circuit_of

STEPS = 10_000_000

WALKER = """
(role walker) (role random)
(cell 1) (cell 2) (cell 3) (cell 4) (cell 5) (cell 6)
(succ 1 2) (succ 2 3) (succ 3 4) (succ 4 5)
(init (at 1)) (init awake) (init (wall 6)) (init (coin 3)) (init (coin 4))
(<= (legal walker right) (true (at ?x)) (succ ?x ?y))
(legal walker stay)
(<= (legal walker (jump ?x)) (cell ?x) (true (at 7)))
(legal random tick)
(<= (next (at ?y)) (does walker right) (true (at ?x)) (succ ?x ?y))
(<= (next (at ?x)) (does walker stay) (true (at ?x)))
(<= (next (at ?x)) (does walker (jump ?x)))
(<= (next (coin ?x)) (true (coin ?x)) (not (stepped ?x)))
(<= (stepped ?y) (does walker right) (true (at ?x)) (succ ?x ?y))
(<= (next (wall 6)) (true (wall 6)))
(<= (next awake) (true awake) (does random tick))
(<= (next (been ?x)) (true (at ?x)))
(<= (next (been ?x)) (true (been ?x)))
(<= elsewhere (true (at ?x)) (distinct ?x 2))
(<= (goal walker 100) elsewhere)
(<= (goal walker 0) (not elsewhere))
(<= (goal random 100) (true (at ?x)) (true (coin ?x)))
(<= terminal (true (at 5)) (true awake))
"""
"""Cell 6 is never reached and the walker never jumps; `awake` and `(wall 6)` always hold."""


def work() -> Work:
    return Work(STEPS)


def walker() -> Circuit:
    circuit = build_circuit(ground(normalize(parse(WALKER))))
    return fold_constants(complement(circuit, work()), work())


def net(circuit: Circuit, fluent: str) -> int:
    return 1 + circuit.fluents.index(fluent)


def test_facts_that_never_change_are_no_fluents() -> None:
    circuit = walker()
    assert circuit.constant == ("(wall 6)", "awake")
    assert circuit.legal[0].names == ("right", "stay")


def test_gates_of_constants_are_constant() -> None:
    a, b, c, d, go, jump = (2 * net for net in range(1, 7))
    circuit = Circuit(
        roles=("r",),
        fluents=("a", "b", "c", "d"),
        initial=np.array([False, False, False, True]),
        constant=(),
        offsets=np.zeros(1, dtype=np.int64),
        literals=np.zeros(0, dtype=np.int32),
        loops=(),
        next=np.array([FALSE, jump, b, d], dtype=np.int32),  # a never holds, so nobody jumps
        legal=(Outputs(("go", "jump"), np.array([TRUE, a], dtype=np.int32)),),
        sees=(Outputs((), np.zeros(0, dtype=np.int32)),),
        goals=(Outputs(("0", "100"), np.array([c ^ 1, c], dtype=np.int32)),),
        terminal=go,
    )
    circuit = fold_constants(circuit, work())
    assert circuit.fluents == ()
    assert circuit.constant == ("d",)
    assert circuit.legal[0].names == ("go",)
    assert circuit.goals[0].names == ("0",)


def test_fluents_that_never_hold_leave() -> None:
    circuit = use_invariants(walker(), work())
    assert "(at 6)" not in circuit.fluents
    assert set(circuit.fluents) < set(walker().fluents)


def test_wrong_guesses_are_not_proved() -> None:
    circuit = walker()
    at = {cell: 2 * net(circuit, f"(at {cell})") for cell in range(1, 6)}
    true = Guess(2, tuple(at.values()))
    wrong = [
        Guess(1, (at[4],)),
        Guess(0, (at[1], at[2], at[3])),
        Guess(2, (at[1] ^ 1, at[2] ^ 1)),
        *equality(at[2] >> 1, at[3]),
    ]
    assert prove(circuit, [*wrong, true], Work(STEPS), STEPS) == [true]


def test_a_guess_may_rest_on_others() -> None:
    rules = """
    (role player) (init (a)) (init (b)) (legal player wait)
    (<= (next (a)) (true (b))) (<= (next (b)) (true (a))) (<= (next (c)) (not (true (b))))
    (<= (next (d)) (true (c)))
    (<= terminal (true (d))) (goal player 50)
    """
    circuit = build_circuit(ground(normalize(parse(rules))))
    fluents = [2 * (1 + place) for place in range(len(circuit.fluents))]
    a, b, c, d = fluents
    never_d = Guess(1, (d,))
    rest = [Guess(1, (a ^ 1,)), Guess(1, (b ^ 1,)), Guess(1, (c,))]
    assert prove(circuit, [never_d], Work(STEPS), STEPS) == []
    assert prove(circuit, [never_d, *rest], Work(STEPS), STEPS) == [never_d, *rest]


def test_nothing_is_proved_without_work() -> None:
    circuit = walker()
    guess = Guess(1, (2 * net(circuit, "(been 5)"),))
    assert prove(circuit, [guess], Work(0), 0) == []


def test_nothing_is_guessed_where_too_little_could_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    circuit = circuit_of("breakthrough")
    few = Work(invariants.MIN_QUESTIONS * circuit.num_gates)
    assert invariants.use_invariants(circuit, few) is circuit
    assert not few.spent


def test_guesses_beyond_the_work_limit_are_not_proved() -> None:
    circuit = circuit_of("tic_tac_toe")
    wrong = [
        Guess(1, (2 * net(circuit, name),))
        for name in ("(marked 1 1 xplayer)", "(marked 3 3 oplayer)")
    ]
    work = Work(0)
    assert prove(circuit, wrong, work, 0) == []
    # Work that ends while the solver is told of the guesses.
    for steps in range(work.spent, work.spent + 10):
        assert prove(circuit, wrong, Work(steps), steps) == []


def test_only_the_strongest_guesses_about_groups_are_kept() -> None:
    wide, narrow, third = (2, 4, 6, 8), (4, 6), (8, 10)
    at_most = [Guess(2, narrow), Guess(2, wide), Guess(2, third)]
    at_least = [Guess(0, wide), Guess(0, narrow)]
    assert set(strongest(at_most)) == {Guess(2, wide), Guess(2, third)}
    assert strongest(at_least) == [Guess(0, narrow)]


def test_fluents_that_were_always_alike_are_guessed_to_be_equal() -> None:
    circuit = circuit_of("tic_tac_toe")
    values = sample(circuit, num_words=1, num_steps=12, seed=3)
    becomes = equal_fluents(circuit, values)
    first, second = (1 + place for place, name in enumerate(circuit.fluents) if "control" in name)
    assert becomes == {second: 2 * first + 1}


def test_sampled_states_are_reachable() -> None:
    circuit = walker()
    values = sample(circuit, num_words=1, num_steps=30, seed=5)
    at = values[[net(circuit, f"(at {cell})") - 1 for cell in range(1, 6)]]
    bits = np.unpackbits(at.view(np.uint8), axis=-1)
    assert (bits.sum(axis=0) == 1).all()
