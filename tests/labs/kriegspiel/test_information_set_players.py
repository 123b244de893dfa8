"""`over` and `para`: what paper 000's models make of games whose values are known, and clocks."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from ggp.errors import ConfigError, GoalError
from ggp.machine import Machine, role_index
from ggp.players import BeliefPlayer, Decision, make_player, parse_spec
from ggp.search.anytime import Deadline
from tests.support.games import machine_of_game

Told = tuple[str, tuple[str, ...]]

NOTHING: Told = ("noop", ())
CHOSEN: Told = ("(choose 1)", ())
OPENED: Told = ("noop", ("(opened 3)",))

STATES_A_SECOND = 30_000
"""The clock of a machine, which tells the states visited: slow, so that little fits in."""


def new_player(machine: Machine, role: str, spec: str, seed: int = 0) -> BeliefPlayer:
    rng = np.random.default_rng(seed)
    player = make_player(parse_spec(spec), machine, role_index(machine, role), rng)
    assert isinstance(player, BeliefPlayer)
    return player


def decide(
    game: str, role: str, spec: str, *history: Told, seconds: float | None = None
) -> Decision:
    machine = machine_of_game(game, "propnet")
    player = new_player(machine, role, spec)
    for move, percepts in history:
        player.observe(move, percepts)
    looks = count()

    def clock() -> float:
        return machine.states_visited / STATES_A_SECOND + 1e-5 * next(looks)

    deadline = None if seconds is None else Deadline(clock() + seconds, clock)
    decision = player.choose(deadline, value_forced=True)
    assert decision.fault is None
    if deadline is not None:
        assert deadline.left_s() > -0.3
    return decision


def values(decision: Decision) -> dict[str, float]:
    numbers = {value.move: value.value for value in decision.values}
    assert all(value.stderr == 0 for value in decision.values)
    return numbers  # type: ignore[return-value]


# ---------------------------------------------------------------- what follows from the formulas


@pytest.mark.parametrize("depth", [2, 3, 7])
@pytest.mark.parametrize("seconds", [None, 1.0])
def test_the_bomb_is_valued_by_overconfidence_and_paranoia(
    depth: int, seconds: float | None
) -> None:
    over = decide("exploding_bomb", "agent", f"over:depth={depth}", NOTHING, seconds=seconds)
    assert (over.move, values(over)) == ("ask", {"ask": 90, "wait": 50})
    para = decide("exploding_bomb", "agent", f"para:depth={depth}", NOTHING, seconds=seconds)
    assert (para.move, values(para)) == ("ask", {"ask": 90, "wait": 0})


def test_the_bomb_from_the_start() -> None:
    for player in ("over", "para"):
        assert values(decide("exploding_bomb", "agent", f"{player}:depth=3")) == {"noop": 90}


def test_the_doors_are_valued_by_overconfidence_and_paranoia() -> None:
    over = decide("monty_hall", "candidate", "over:depth=3")
    assert values(over) == {f"(choose {door})": pytest.approx(200 / 3) for door in (1, 2, 3)}
    over = decide("monty_hall", "candidate", "over", CHOSEN, OPENED)
    assert over.move == "switch"
    assert values(over) == {"stay": pytest.approx(100 / 3), "switch": pytest.approx(200 / 3)}
    assert set(values(decide("monty_hall", "candidate", "para:depth=3")).values()) == {0}
    para = decide("monty_hall", "candidate", "para", CHOSEN, OPENED)
    assert values(para) == {"stay": 0, "switch": 0}


def test_the_spies_are_valued_by_overconfidence_and_paranoia() -> None:
    for player, hide, tell in (("over", 40, 60), ("para", 0, 20)):
        by_move = values(decide("spy_vs_spy", "spy1", f"{player}:depth=2"))
        assert by_move == {
            "(arm red hide)": hide,
            "(arm blue hide)": hide,
            "(arm red tell)": tell,
            "(arm blue tell)": tell,
        }


def test_overconfidence_looks_for_mistakes_where_paranoia_looks_for_draws() -> None:
    """O has the corners 1 1 and 3 3 for all X knows, X the middle: a late position."""
    history: tuple[Told, ...] = (
        ("(mark 2 2)", ()),
        ("noop", ("your_move",)),
        ("(mark 1 1)", ("refused",)),
        ("(mark 2 1)", ()),
        ("noop", ("your_move",)),
    )
    over = decide("krieg_tic_tac_toe", "xplayer", "over:depth=1,tries=0,histories=4000", *history)
    move_values = {value.move: value.value or 0 for value in over.values}
    # Where O is not, this wins at once.
    assert over.move == "(mark 2 3)"
    assert move_values["(mark 2 3)"] > 80
    para = decide("krieg_tic_tac_toe", "xplayer", "para:depth=1,tries=0,histories=4000", *history)
    assert {value.move for value in para.values} == move_values.keys()
    assert all((value.value or 0) <= move_values[value.move] + 5 for value in para.values)


def test_moves_that_win_now_come_before_those_that_win_later() -> None:
    history: tuple[Told, ...] = (
        ("(drop 1)", ("(landed 1)",)),
        ("noop", ("your_move",)),
        ("(drop 2)", ("(landed 1)",)),
        ("noop", ("your_move",)),
        ("(drop 3)", ("(landed 1)",)),
        ("noop", ("your_move",)),
        ("(drop 4)", ("(landed 2)",)),
        ("noop", ("your_move",)),
        ("(drop 5)", ("(landed 1)",)),
        ("noop", ("your_move",)),
        ("(drop 3)", ("(landed 2)",)),
        ("noop", ("your_move",)),
        ("(drop 2)", ("(landed 2)",)),
        ("noop", ("your_move",)),
    )
    decision = decide("phantom_connect_four", "first", "over:depth=2,histories=300", *history)
    worth = {value.move: value.value or 0 for value in decision.values}
    assert worth[decision.move] == max(worth.values())


# ---------------------------------------------------------------- options and budgets


@pytest.mark.parametrize("spec", ["over:histories=20", "para:histories=20", "over:states=2000"])
@pytest.mark.parametrize("game", ["krieg_tic_tac_toe", "kuhn_poker"])
def test_same_seed_gives_the_same_decision(game: str, spec: str) -> None:
    machine = machine_of_game(game, "propnet")
    role = next(r for r in machine.roles if r != "random")
    decisions = [
        new_player(machine, role, spec, seed=3).choose(value_forced=True) for _ in range(2)
    ]
    assert decisions[0].fault is None
    assert decisions[0].values == decisions[1].values
    assert decisions[0].move == decisions[1].move


@pytest.mark.parametrize("budget", [300, 3_000, 30_000])
@pytest.mark.parametrize("depth", [1, 3])
def test_budgets_of_states_are_kept(budget: int, depth: int) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    player = new_player(machine, "xplayer", f"over:depth={depth},states={budget}")
    decision = player.choose()
    assert decision.states_visited < 1.5 * budget + 500
    assert all(value.visits for value in decision.values)


@pytest.mark.parametrize("player", ["over", "para"])
@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.3])
def test_it_looks_as_far_ahead_as_there_is_time_for(player: str, seconds: float) -> None:
    decision = decide("krieg_tic_tac_toe", "xplayer", f"{player}:depth=4", seconds=seconds)
    assert len(decision.values) == 9
    if seconds > 0.1:
        assert all(value.visits for value in decision.values)


def test_options_that_do_not_go_together() -> None:
    with pytest.raises(ConfigError, match="give either histories or states"):
        parse_spec("over:histories=5,states=5")
    with pytest.raises(ConfigError, match="must be leaf=mean or leaf=min"):
        parse_spec("para:leaf=max")
    with pytest.raises(ConfigError, match="must be from 1 to 50"):
        parse_spec("over:depth=0")


def test_a_search_that_fails_leaves_hyperplay_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = machine_of_game("exploding_bomb", "propnet")
    player = new_player(machine, "agent", "over")
    player.observe(*NOTHING)

    def fail(*_: object) -> None:
        raise GoalError("a goal value that is no number")

    monkeypatch.setattr(machine, "goals", fail)
    decision = player.choose()
    assert decision.fault is None
    move_values = {value.move: value.value for value in decision.values}
    assert move_values == {"wait": pytest.approx(50, abs=8), "ask": pytest.approx(45, abs=8)}


@pytest.mark.verify
@pytest.mark.parametrize(("retry", "low", "high"), [(100, 0.7, 1.1), (10, 0.0, 0.3)])
def test_another_try_gets_as_much_of_the_clock_as_the_option_says(
    retry: int, low: float, high: float
) -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    spec = f"over:depth=1,retry={retry}"
    player = new_player(machine, "white", spec)
    looks = count()

    def clock() -> float:
        return machine.states_visited / 2_000_000 + 1e-5 * next(looks)

    def seconds() -> float:
        began_s = clock()
        player.choose(Deadline(clock() + 1.0, clock))
        return clock() - began_s

    first = seconds()
    # A pawn may always try to take, and there is nothing to take in the beginning.
    player.observe("(move a 2 b 3)", ("refused",))
    assert low <= seconds() / first <= high
    # The other moves, and then it is a new turn.
    player.observe("(move a 2 a 3)", ())
    player.choose(Deadline(clock() + 1.0, clock))
    player.observe("noop", ())
    assert seconds() / first > 0.7


COUNTED = {
    "over": "over:depth=1,histories=20",
    "para": "para:depth=1,histories=20,leaf=min",
    "los": "los:worlds=20",
    "aosp": "aosp:worlds=20",
    "hs": "hs:worlds=20",
}
"""Players of papers 000 and 001, each with a number of samples for a decision."""


def moves_and_visits(spec: str, seed: int) -> list[tuple[str, tuple[float | None, ...], int]]:
    """A player's first decision, and its decision in another try after a refused one."""
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    player = new_player(machine, "xplayer", f"{spec},exact=0,rescue=none", seed)
    for mark in ("(mark 2 2)", "(mark 1 1)"):
        player.observe(mark, ())
        player.observe("noop", ("your_move",))
    first = player.choose()
    player.observe(first.move, ("refused",))
    return [
        (
            decision.move,
            tuple(v.value for v in decision.values),
            max(v.visits for v in decision.values),
        )
        for decision in (first, player.choose())
    ]


@pytest.mark.parametrize("name", COUNTED)
def test_by_count_the_seed_alone_decides_and_another_try_gets_its_share(name: str) -> None:
    spec = COUNTED[name]
    first, second = moves_and_visits(f"{spec},retry=10", 1)
    assert [first, second] == moves_and_visits(f"{spec},retry=10", 1)
    assert first[2] > 5
    assert second[2] <= 2
    whole = moves_and_visits(spec, 1)
    assert whole[0] == first
    assert whole[1][2] > 2
