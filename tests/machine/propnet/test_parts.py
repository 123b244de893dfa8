"""Moves of `random` that are made part by part: the same game as where they are listed."""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest

from ggp.errors import NoLegalMoveError, ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.machine import Machine, build_machine
from ggp.machine.base import UNKNOWN, States
from ggp.machine.propnet.compile.rewriting.parting import in_parts
from ggp.machine.propnet.play import parted_machine
from ggp.machine.propnet.play.parted_machine import PartedMachine, machine_of
from ggp.machine.propnet.play.propnet_machine import PropnetMachine
from tests.support.sheets.part_sheets import DEAL, SHEETS, SHIPS, STUCK, machine_listing

APART = {"deal": (0, 1, 1), "order": (1, 1, 1, 1, 1), "ships": (0,) * 6, "draw": (0, 0, 0)}

NUM_MOVES = {"deal": 56, "order": 120, "ships": 450, "draw": 35}
"""Moves of `random` in the initial state."""


@cache
def parted(name: str) -> PartedMachine:
    machine = machine_listing(SHEETS[name], 10)
    assert isinstance(machine, PartedMachine)
    return machine


@cache
def on_prolog(name: str) -> Machine:
    return build_machine(program_of(name), "prolog")


def program_of(name: str) -> Program:
    return normalize(parse(SHEETS[name]))


def is_uniform(counts: np.ndarray) -> bool:
    """Whether chi-square is within five standard deviations of what it is on average."""
    expected = counts.sum() / len(counts)
    freedom = len(counts) - 1
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    return abs(chi_square - freedom) < 5 * sqrt(2 * freedom)


def texts(machine: Machine, moves: np.ndarray) -> list[str]:
    return sorted(map(machine.move_text, moves.tolist()))


@pytest.mark.parametrize("name", SHEETS)
class TestAgreement:
    def test_parts_are_found(self, name: str) -> None:
        assert parted(name).parts.apart == APART[name]
        assert parted(name).roles == program_of(name).roles

    def test_states_moves_percepts_and_goals_are_those_of_prolog(self, name: str) -> None:
        machine, reference = parted(name), on_prolog(name)
        rng = np.random.default_rng(1)
        for _ in range(4):
            state: States = machine.initial()
            other = reference.initial()
            while not reference.terminal(other)[0]:
                assert machine.fluents(state) == reference.fluents(other)
                lists = [
                    texts(reference, reference.legal(other, role)[0])
                    for role in range(len(machine.roles))
                ]
                for role, legal in enumerate(lists):
                    assert texts(machine, machine.legal(state, role)[0]) == legal
                chosen = [str(rng.choice(legal)) for legal in lists]
                stepped = machine.step(state, np.array([list(map(machine.move_id, chosen))]))
                wanted = reference.step(other, np.array([list(map(reference.move_id, chosen))]))
                for seen, told in zip(stepped.percepts[0], wanted.percepts[0], strict=True):
                    assert machine.percept_texts(int(seen)) == reference.percept_texts(int(told))
                state, other = stepped.states, wanted.states
            assert machine.terminal(state)[0]
            assert (machine.goals(state) == reference.goals(other)).all()

    def test_moves_are_drawn_evenly(self, name: str) -> None:
        machine = parted(name)
        legal = machine.legal(machine.initial(), int(machine.random_role))[0]
        assert len(legal) == NUM_MOVES[name]
        drawn = machine.draw_chance(machine.initial(40_000), np.random.default_rng(3))
        counts = np.array([(drawn == move).sum() for move in legal])
        assert counts.sum() == len(drawn)
        assert is_uniform(counts)

    def test_moves_are_legal_by_the_same_rules(self, name: str) -> None:
        machine = parted(name)
        legal = machine.legal(machine.initial(), int(machine.random_role))[0]
        states = machine.initial(len(legal))
        assert machine.is_legal_chance(states, legal).all()
        after = machine.step(machine.initial(), _any_joint_move(machine)).states
        later = machine.legal(after, int(machine.random_role))[0]
        every = np.union1d(legal, later)
        found = machine.is_legal_chance(after.take(np.zeros(len(every), dtype=np.int64)), every)
        assert set(every[found].tolist()) == set(later.tolist())

    def test_playouts_end_as_where_moves_are_listed(self, name: str) -> None:
        size = 40_000
        machine, listing = parted(name), machine_listing(SHEETS[name], None)
        assert type(listing) is PropnetMachine
        found = machine.playout(machine.initial(size), np.random.default_rng(5))
        wanted = listing.playout(listing.initial(size), np.random.default_rng(6))
        assert found.finished.all()
        assert (found.steps == wanted.steps).all()
        errors = np.sqrt((found.goals.var(axis=0) + wanted.goals.var(axis=0)) / size)
        assert (np.abs(found.goals.mean(axis=0) - wanted.goals.mean(axis=0)) <= 5 * errors).all()


def _any_joint_move(machine: PartedMachine) -> np.ndarray:
    state, rng = machine.initial(), np.random.default_rng(0)
    return np.array(
        [
            [
                int(machine.draw_chance(state, rng)[0])
                if role == machine.random_role
                else int(machine.legal(state, role)[0][0])
                for role in range(len(machine.roles))
            ]
        ]
    )


class TestDrawing:
    def test_playouts_draw_every_card_as_often(self) -> None:
        machine = parted("draw")
        played = machine.playout(machine.initial(200_000), np.random.default_rng(2))
        # One of 2 to 7 is guessed, and each is in 15 of 35 moves.
        share = played.goals[:, 0].mean() / 100
        assert abs(share - 15 / 35) < 5 * sqrt(0.25 / 200_000)

    def test_a_move_has_one_number_however_it_is_named(self) -> None:
        machine = parted("deal")
        legal = machine.legal(machine.initial(), int(machine.random_role))[0]
        assert machine.move_id("(Deal  left 3 5)") in legal
        assert "(deal left 3 5)" in texts(machine, legal)
        assert machine.move_id("(deal left 3 9)") is None
        assert machine.move_id("left") is None

    def test_joint_moves_are_told_as_in_plain_gdl(self) -> None:
        machine = machine_of(parted("deal").circuit, is_gdl2=False)
        row = np.array([[machine.move_id(x) for x in ("wait", "wait", "(deal left 3 5)")]])
        percepts = machine.step(machine.initial(), row).percepts[0]
        told = ("(did left wait)", "(did random (deal left 3 5))", "(did right wait)")
        assert machine.percept_texts(int(percepts[0])) == told
        assert machine.percept_id(told) == percepts[1]
        assert machine.percept_id(["(did random (deal left 3 9))"]) is None
        found = machine.told_moves(percepts[:1])
        assert found is not None
        assert (found == row).all()

    def test_what_is_illegal_is_told(self) -> None:
        machine = parted("draw")
        moves = np.array([machine.move_id(f"(draw {x})") for x in ("1 2 3", "3 2 4", "2 2 3")])
        found = machine.is_legal_chance(machine.initial(3), moves)
        assert found.tolist() == [True, False, False]

    def test_random_is_stuck_where_nothing_is_left(self) -> None:
        machine = machine_listing(STUCK, 5)
        assert isinstance(machine, PartedMachine)
        state, rng = machine.initial(), np.random.default_rng(0)
        after = machine.step(state, _any_joint_move(machine)).states
        assert machine.draw_chance(after, rng).tolist() == [UNKNOWN]
        assert machine.count_chance(after).tolist() == [0]
        with pytest.raises(NoLegalMoveError, match="random"):
            machine.legal(after, int(machine.random_role))
        played = machine.playout(machine.initial(100), rng)
        assert not played.finished.any()
        assert (played.steps == 1).all()

    def test_too_many_moves_are_not_listed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        machine = parted("order")
        monkeypatch.setattr(parted_machine, "MOST_LISTED", 1000)
        with pytest.raises(ReasonerLimitError, match=r"3,125 moves of random"):
            machine.legal(machine.initial(), int(machine.random_role))
        assert machine.count_chance(machine.initial()).tolist() == [120]

    def test_many_rows_are_tried_to_count_moves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parted_machine, "AT_ONCE", 100)
        (found,) = parted("draw").count_chance(parted("draw").initial())
        assert found != 35
        assert found == pytest.approx(35, rel=0.15)

    def test_moves_that_do_not_fit_are_not_counted(self) -> None:
        for name, number in NUM_MOVES.items():
            machine = parted(name)
            (found,) = machine.count_chance(machine.initial())
            assert found == number

    def test_steps_that_do_not_fit_match_nothing(self) -> None:
        machine = parted("draw")
        rows = [["noop", "(draw 1 2 3)"], ["noop", "(draw 2 2 3)"]]
        joint = np.array([list(map(machine.move_id, row)) for row in rows])
        wanted = np.array([UNKNOWN])
        found = machine.step_matching(machine.initial(), np.zeros(2, np.int64), joint, 0, wanted)
        assert found is not None
        assert found[0].tolist() == [0]


class TestWhatIsMadeOfParts:
    def test_few_moves_are_listed(self) -> None:
        program = normalize(parse(DEAL))
        assert in_parts(program, dict, 200) is program
        assert in_parts(program, dict, 10) is not program

    @pytest.mark.parametrize(
        "rule",
        [
            "(<= (next (odd ?m)) (succ ?m 3) (legal random ?m))",
            "(<= (next odd) (not (does random ?m)) (strange ?m)) (strange (deal left 1 2))",
            "(<= (next odd) (not (does random (deal ?p ?x ?x))))",
        ],
    )
    def test_rules_that_do_not_tell_parts_apart_leave_moves_listed(self, rule: str) -> None:
        program = normalize(parse(f"{DEAL}\n{rule}"))
        assert in_parts(program, dict, 10) is program

    def test_moves_stay_listed_where_few_rows_would_fit(self) -> None:
        edges = " ".join(f"(edge {k} {k + 1})" for k in range(80))
        rules = f"""(role left) (role random) (init here) {edges}
        (<= (legal random (go ?a ?b)) (edge ?a ?b)) (legal left noop)
        (<= (next (at ?b)) (does random (go ?a ?b))) (<= terminal (true (at ?b))) (goal left 0)"""
        program = normalize(parse(rules))
        assert in_parts(program, dict, 70) is program
        every = rules.replace("(edge ?a ?b)) (legal", "(edge ?a ?x) (edge ?y ?b)) (legal")
        assert in_parts(normalize(parse(every)), dict, 70).roles[2:] == ("random;1;0", "random;2;0")

    def test_nested_terms_are_taken_apart(self) -> None:
        program = in_parts(normalize(parse(SHIPS)), dict, 10)
        assert len(program.roles) == 2 + 6
