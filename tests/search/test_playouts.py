"""Random moves, and the first steps of playouts."""

from __future__ import annotations

import time
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ggp.belief import HyperPlaySampler, PathTree
from ggp.errors import NoLegalMoveError
from ggp.machine import Machine
from ggp.machine.abilities import GoalTexts
from ggp.machine.base import Chance, FloatArray, IntArray, Playouts, States
from ggp.machine.base import Machine as MachineProtocol
from ggp.machine.games import load_program
from ggp.run import clocks
from ggp.run.clocks import TellsTime
from ggp.search.anytime import Deadline, OutOfTime, Pace
from ggp.search.estimates import Estimates, candidates, plan_trials
from ggp.search.moves import MoveLists
from ggp.search.playouts import PlayoutSearch, RandomPlayouts, first_steps
from tests.support.comparing.batches import mixed_states
from tests.support.games import MODEST_GAMES, build_here, machine_of_game, machine_of_rules

TWO_DICE = (
    "(role random) (role player)"
    + "".join(f"(number {i})" for i in range(1, 4))
    + """
    (init start)
    (<= (legal random (roll ?x)) (number ?x))
    (<= (legal player (bet ?x)) (number ?x) (or (distinct ?x 3) (true start)))
    (<= (next (rolled ?x)) (does random (roll ?x)))
    (<= (next (betted ?x)) (does player (bet ?x)))
    (<= terminal (not (true start)))
    (<= (goal player 100) (true (rolled ?x)) (true (betted ?x)))
    (<= (goal player 0) (true (rolled ?x)) (not (true (betted ?x))))
    (goal random 0)
    (<= (sees player nothing) (true (rolled 9)))
    """
)


class Loaded:
    """A machine whose `random` prefers later moves."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def __getattr__(self, name: str) -> object:
        return getattr(self._machine, name)

    def chance(self, states: States) -> Chance:
        offsets, moves, _ = self._machine.chance(states)
        place = np.arange(len(moves)) - np.repeat(offsets[:-1], np.diff(offsets)) + 1.0
        total = np.repeat(np.add.reduceat(place, offsets[:-1]), np.diff(offsets))
        return Chance(offsets, moves, place / total)


class TestMoveLists:
    @pytest.mark.parametrize("game", MODEST_GAMES)
    def test_moves_are_found_where_they_are_legal(self, game: str) -> None:
        machine = machine_of_game(game)
        states = mixed_states(machine, seed=1)
        rng = np.random.default_rng(0)
        for role in range(len(machine.roles)):
            legal = machine.legal(states, role, allow_stuck=True)
            lists = MoveLists(machine, states, role)
            lanes = rng.integers(0, len(states), 300)
            moves = rng.choice(np.append(legal.values, [-1, 10**6]), 300)
            for lane, move, at in zip(
                lanes.tolist(), moves.tolist(), lists.find(lanes, moves).tolist(), strict=True
            ):
                listed = legal[lane].tolist()
                assert at == (listed.index(move) if move in listed else -1)

    def test_draws_follow_the_chances(self) -> None:
        machine: MachineProtocol = Loaded(machine_of_rules(TWO_DICE))  # type: ignore[assignment]
        states = machine.initial(2)
        lists = MoveLists(machine, states, 0)
        draws = lists.draw(np.tile([0, 1], 30_000), np.random.default_rng(0))
        for lane in (0, 1):
            shares = np.bincount(draws[lane::2]) / 30_000
            assert shares == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.02)

    def test_a_lane_without_moves_is_an_error(self) -> None:
        machine = machine_of_rules(
            "(role a) (init (at 0)) (<= (legal a go) (true (at 0))) (<= (next (at 1)) (does a go))"
            "(<= terminal (true (at 2))) (goal a 0) (<= (sees a x) (true (at 5)))"
        )
        go = np.array([[machine.move_id("go")]])
        stuck = machine.step(machine.initial(1), go).states
        lists = MoveLists(machine, machine.concatenate([machine.initial(1), stuck]), 0)
        lists.draw(np.array([0]), np.random.default_rng(0))
        with pytest.raises(NoLegalMoveError):
            lists.draw(np.array([0, 1]), np.random.default_rng(0))


def start_of(machine: MachineProtocol, role: int) -> HyperPlaySampler:
    return HyperPlaySampler(machine, PathTree(machine), capacity=8)


class TestFirstSteps:
    def test_the_others_move_by_chance_and_equal_steps_are_made_once(self) -> None:
        machine: MachineProtocol = Loaded(machine_of_rules(TWO_DICE))  # type: ignore[assignment]
        bag = start_of(machine, 1).start(1)
        search = PlayoutSearch(machine, bag, np.random.default_rng(0))
        trials = plan_trials(bag, search.moves, 6_000, np.random.default_rng(0))
        visited = machine.states_visited
        states = first_steps(machine, bag, trials, 0, len(trials), np.random.default_rng(0))
        assert machine.states_visited - visited == 9
        columns_of = np.array([[int(f.split()[1][0]) for f in s] for s in machine.fluents(states)])
        assert columns_of[:, 0].tolist() == np.repeat([1, 2, 3], 6_000).tolist()
        for bet in (1, 2, 3):
            shares = np.bincount(columns_of[columns_of[:, 0] == bet, 1])[1:] / 6_000
            assert shares == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=0.03)

    def test_an_illegal_candidate_becomes_a_random_legal_move(self) -> None:
        machine = machine_of_rules(TWO_DICE)
        bag = start_of(machine, 1).start(1)
        search = PlayoutSearch(machine, bag, np.random.default_rng(0))
        trials = plan_trials(bag, search.moves, 3_000, np.random.default_rng(0))
        noop: IntArray = np.full_like(trials.moves, -1)
        noop[:] = machine.legal(machine.initial(1), 0).values[0]  # a move of the other role
        illegal = type(trials)(trials.offsets, trials.candidate, trials.share, trials.lanes, noop)
        states = first_steps(machine, bag, illegal, 0, len(trials), np.random.default_rng(0))
        bets = [next(f for f in s if "betted" in f) for s in machine.fluents(states)]
        _, counts = np.unique(bets, return_counts=True)
        assert counts / len(bets) == pytest.approx([1 / 3] * 3, abs=0.03)

    def test_parts_of_strata_give_as_many_states_as_trials(self) -> None:
        machine = machine_of_game("krieg_tic_tac_toe")
        bag = start_of(machine, 0).start(0)
        search = PlayoutSearch(machine, bag, np.random.default_rng(0))
        trials = plan_trials(bag, search.moves, 5, np.random.default_rng(0))
        whole = first_steps(machine, bag, trials, 0, len(trials), np.random.default_rng(0))
        part = first_steps(machine, bag, trials, 3, 17, np.random.default_rng(0))
        assert machine.fluents(part) == machine.fluents(whole)[3:17]


class TestPace:
    def test_without_a_deadline_batches_are_always_the_same(self) -> None:
        assert list(Pace(None, 2, 5).batches(12)) == [(0, 5), (5, 10), (10, 12)]

    def test_batches_follow_the_measured_speed_until_the_deadline(self) -> None:
        now = 0.0
        pace = Pace(Deadline(100.0, lambda: now), 2, 1_000)
        sizes = []
        batches = pace.batches(10**9)
        while now < 100:
            start, end = next(batches)
            sizes.append(end - start)
            now += (end - start) * (0.0001 if len(sizes) < 20 else 0.05)
        assert sizes[:8] == [2, 4, 8, 16, 32, 64, 128, 128]
        assert sizes[-1] == 1
        with pytest.raises(OutOfTime):
            next(batches)


def test_a_round_cut_short_keeps_what_is_finished() -> None:
    machine = machine_of_game("krieg_tic_tac_toe")
    looks = iter([0.0] * 6 + [2.0] * 100)
    bag = start_of(machine, 0).start(0)
    deadline = Deadline(1.0, lambda: next(looks))
    search = PlayoutSearch(machine, bag, np.random.default_rng(0), deadline)
    with pytest.raises(OutOfTime):
        search.round(20)
    visits = search.estimates().visits
    assert set(visits.tolist()) == {0, 20}
    assert visits.tolist() == sorted(visits.tolist(), reverse=True)


def test_a_first_round_that_is_broken_off_counts_as_far_as_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One of its own: a machine remembers how long steps took.
    machine = build_here(load_program("blind_breakthrough"), "propnet")
    bag = start_of(machine, machine.roles.index("white")).start(0)
    looks = count(step=0.001)
    monkeypatch.setattr(clocks, "time", SimpleNamespace(monotonic=lambda: next(looks)))

    def round_within(seconds: float, count: int, rounds: int = 1) -> Estimates:
        deadline = Deadline(seconds, lambda: 0.0)
        search = PlayoutSearch(machine, bag, np.random.default_rng(0), deadline)
        for _ in range(rounds):
            search.round(count)
        return search.estimates()

    side_by_side = PlayoutSearch(machine, bag, np.random.default_rng(0)).side_by_side
    trials = side_by_side // len(candidates(machine, bag).values)
    cut, whole = round_within(0.0045, trials), round_within(9.0, trials)
    assert set(whole.visits.tolist()) == set(cut.visits.tolist()) == {trials}
    assert set(cut.values.tolist()) == {50.0}  # a few turns on nobody has won
    assert np.ptp(whole.values) > 1
    assert (cut.stderrs == 0).all()


class Slow:
    """A machine on which a whole playout takes 2 s of a clock of its own, and does not end."""

    def __init__(self, rules: str) -> None:
        self._machine, self.now_s = machine_of_rules(rules), 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def goal_texts(self, states: States) -> list[tuple[tuple[str, ...], ...]]:
        assert isinstance(self._machine, GoalTexts)
        return self._machine.goal_texts(states)

    def playout(
        self,
        states: States,
        rng: np.random.Generator,
        max_steps: int = 8,
        max_seconds: float | None = None,
        clock: TellsTime = time.monotonic,
    ) -> Playouts:
        if not max_steps:
            return self._machine.playout(states, rng, 0)
        self.now_s += 2.0
        num = len(states)
        return Playouts(np.zeros((num, 2)), np.full(num, 8), np.zeros(num, dtype=np.bool_))

    def after(self, *moves: str) -> States:
        """The states after these moves of the first role, a lane each."""
        (noop,) = self.legal(self.initial(), 1).values
        joint = np.array([[self.move_id(move), noop] for move in moves])
        return self.step(self.initial(len(moves)), joint).states  # type: ignore[no-any-return]

    def goals_within(
        self, evaluation: RandomPlayouts, states: States, seconds: float
    ) -> tuple[FloatArray, IntArray]:
        deadline = Deadline(self.now_s + seconds, lambda: self.now_s)
        return evaluation.goals(states, np.random.default_rng(0), deadline)


EARNING = """
    (role earner) (role other) (init (points 20)) (add 20 40) (add 40 60) (add 60 80) (add 80 80)
    (<= (legal earner earn) (not (true stuck))) (<= (legal earner wait) (not (true stuck)))
    (legal other noop) (init start) (<= (legal earner lose) (true start))
    (<= (legal earner halt) (true start))
    (<= (next (points ?y)) (does earner earn) (true (points ?x)) (add ?x ?y))
    (<= (next (points ?x)) (not (does earner earn)) (true (points ?x)))
    (<= (next lost) (does earner lose)) (<= (next stuck) (does earner halt))
    (<= terminal (true lost)) (<= (goal earner -10) (true lost))
    (<= (goal earner ?x) (true (points ?x)) (not (true lost)))
"""


class TestShortPlayouts:
    """Where no playout ends in time."""

    def test_points_so_far_count(self) -> None:
        machine = Slow(EARNING)
        evaluation = RandomPlayouts(machine)
        states = machine.after(*["earn"] * 50, *["wait"] * 50, "lose", "halt")
        goals, turns = machine.goals_within(evaluation, states, 8.0)
        assert set(turns[:100].tolist()) == {3}
        assert set(goals[:100, 1].tolist()) == {50.0}  # no rule gives any
        assert 80 >= goals[:50, 0].mean() > 5 + goals[50:100, 0].mean() > 25
        # Lanes that are over have the usual goals, and others go on beside one that is stuck.
        assert goals[100:].tolist() == [[-10.0, 0.0], [20.0, 50.0]]
        assert turns[100:].tolist() == [0, 0]

    def test_they_last_until_the_deadline(self) -> None:
        machine = Slow(EARNING)
        evaluation = RandomPlayouts(machine)
        states = machine.after("earn", "wait")
        assert machine.goals_within(evaluation, states, 8.0)[1].max() == 3
        goals, turns = evaluation.goals(states, np.random.default_rng(0))
        assert (goals == 50).all()
        assert (turns == 8).all()
        now_s = machine.now_s
        assert machine.goals_within(evaluation, states, 8.0)[1].max() == 3
        assert machine.now_s == now_s  # not tried again
        assert (machine.goals_within(evaluation, states, 80.0)[1] == 8).all()

    def test_not_where_points_do_not_change(self) -> None:
        machine = Slow(EARNING.replace("(add 20 40)", "(add 20 20)"))
        evaluation = RandomPlayouts(machine)
        with pytest.raises(OutOfTime):
            machine.goals_within(evaluation, machine.after("earn", "wait"), 3.0)
