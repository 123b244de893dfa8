"""Players: evidence, clocks, and decisions after errors."""

from __future__ import annotations

import time
from itertools import count, cycle

import numpy as np
import pytest

from ggp.errors import ConfigError, ReasonerLimitError
from ggp.machine import Machine, role_index
from ggp.players import BeliefPlayer, SearchPlayer, make_player, parse_spec
from ggp.search.anytime import Deadline
from ggp.search.estimates import Ties
from tests.support.effort import rarely
from tests.support.followed import Looks
from tests.support.games import (
    MODEST_GAMES,
    backend_for_search,
    machine_of_game,
    machine_of_rules,
)

HIDDEN_BIT = """
(role seer) (role random) (bit 0) (bit 1)
(init (at 0))
(<= (legal random (pick ?b)) (bit ?b) (true (at 0)))
(<= (legal random noop) (not (true (at 0))))
(<= (legal seer wait) (true (at 0)))
(<= (legal seer wait) (true (at 1)))
(<= (legal seer (guess ?b)) (bit ?b) (true (at 2)))
(<= (sees seer (told ?b)) (does random (pick ?b)))
(<= (next (at 1)) (true (at 0)))
(<= (next (at 2)) (true (at 1)))
(<= (next (at 3)) (true (at 2)))
(<= (next (picked ?b)) (does random (pick ?b)))
(<= (next (picked ?b)) (true (picked ?b)))
(<= (next right) (does seer (guess ?b)) (true (picked ?b)))
(<= terminal (true (at 3)))
(<= (goal seer 100) (true right))
(<= (goal seer 0) (not (true right)))
(goal random 0)
"""

WIDE = (
    "(role left) (role right)"
    + "".join(f"(number {i})" for i in range(30))
    + """
    (init (turn 0)) (succ 0 1) (succ 1 2) (succ 2 3)
    (<= (legal left (set ?a ?b)) (number ?a) (number ?b))
    (legal right wait)
    (<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
    (<= terminal (true (turn 3)))
    (goal left 50) (goal right 50)
    """
)
"""900 moves a turn."""


def player(spec: str, machine: Machine, role: int = 0, seed: int = 0) -> BeliefPlayer:
    belief_player = make_player(parse_spec(spec), machine, role, np.random.default_rng(seed))
    assert isinstance(belief_player, BeliefPlayer)
    return belief_player


def fail(*args: object, **kwargs: object) -> object:
    raise ReasonerLimitError("inferences", 1, "a test")


def test_simulated_self_knows_no_more_than_the_player() -> None:
    machine = machine_of_rules(HIDDEN_BIT)
    thinker = player("hyperplay2:n=8", machine)
    thinker.observe("wait", None)
    decision = thinker.choose(value_forced=True)
    assert [v.move for v in decision.values] == ["wait"]
    value, stderr = decision.values[0].value, decision.values[0].stderr
    assert value is not None
    assert stderr is not None
    # The percept was missed, so the guess two turns later is worth 50; had it been seen, 100.
    assert value == pytest.approx(50, abs=4 * stderr + 1)


def test_simulated_self_uses_the_percepts_of_the_player() -> None:
    thinker = player("hyperplay2:n=8", machine_of_rules(HIDDEN_BIT))
    thinker.observe("wait", ["(told 1)"])
    assert thinker.choose(value_forced=True).values[0].value == 100


def test_submitted_move_in_another_spelling_is_not_a_refusal() -> None:
    thinker = player("hyperplay:n=2", machine_of_game("exploding_bomb"))
    thinker.observe("NOOP", [], submitted="noop")
    assert thinker.choose().fault is None


def test_a_failed_observation_does_not_lose_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    thinker = player("hyperplay:n=2", machine_of_game("exploding_bomb"))
    advance = thinker.tracker.belief.advance
    monkeypatch.setattr(thinker.tracker.belief, "advance", fail)
    thinker.observe("noop", [])
    assert thinker.choose().fault is not None
    monkeypatch.setattr(thinker.tracker.belief, "advance", advance)
    thinker.observe("ask", ["red"])
    decision = thinker.choose()
    assert decision.fault is None
    assert decision.move == "(cut red)"


@pytest.mark.parametrize("spec", ["hyperplay:n=2,exact=3", "hyperplay2:n=2"])
def test_forgetting_paths_changes_nothing(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game("krieg_tic_tac_toe", "propnet")
    turns = [("(mark 2 2)", []), ("noop", ["your_move"]), ("(mark 1 1)", []), ("noop", [])]
    runs = []
    for min_nodes in (0, 1 << 60):
        monkeypatch.setattr("ggp.players.parts.tracker.MIN_NODES", min_nodes)
        thinker = player(spec, machine, seed=2)
        decisions = []
        for move, percepts in turns:
            thinker.observe(move, percepts)
            decisions.append(thinker.choose(value_forced=True))
        runs.append(([d.values for d in decisions], len(thinker.tracker.tree)))
        assert all(d.fault is None for d in decisions)
    assert runs[0][0] == runs[1][0]
    assert runs[0][1] <= runs[1][1] - (100 if spec.startswith("hyperplay2") else 0)


@pytest.mark.parametrize("spec", ["hyperplay", "hyperplay2"])
@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_player_with_a_clock_answers_whatever_the_time(spec: str, seconds: float) -> None:
    machine = machine_of_game("krieg_tic_tac_toe")
    thinker = player(spec, machine)
    decision = thinker.choose(Deadline(time.monotonic() + seconds, time.monotonic))
    assert decision.fault is None
    legal = machine.legal(machine.initial(1), 0).values.tolist()
    assert decision.move in {machine.move_text(m) for m in legal}


def test_slow_machine_with_many_moves_is_not_stepped_in_all_of_them_at_once() -> None:
    machine = machine_of_rules(WIDE)
    looks = count()

    def clock() -> float:
        return 0.01 * machine.states_visited + 1e-5 * next(looks)

    deadline = Deadline(clock() + 3.0, clock)
    decision = player("hyperplay2", machine).choose(deadline)
    assert decision.fault is None
    assert len(decision.values) == 900
    assert deadline.left_s() > -0.5  # all side by side would take 9 seconds more


@pytest.mark.parametrize(
    ("game", "spec"),
    list(
        zip(
            MODEST_GAMES,
            cycle(["hyperplay:n=2", "resolve:trials=60", "hyperplay2:n=2", "ismcts:trials=60"]),
            strict=False,
        )
    ),
)
def test_same_seed_gives_the_same_decision(game: str, spec: str) -> None:
    machine = machine_of_game(game, "propnet" if "hyperplay2" in spec else backend_for_search(game))
    role = role_index(machine, next(r for r in machine.roles if r != "random"))
    decisions = [player(spec, machine, role, seed=3).choose(value_forced=True) for _ in range(2)]
    assert decisions[0].values == decisions[1].values
    assert decisions[0].move == decisions[1].move


@pytest.mark.parametrize(
    ("text", "particles", "trials"),
    [
        ("hyperplay", 64, 4096),
        ("hyperplay:n=4", 16, 256),
        ("hyperplay:particles=100,playouts=50", 100, 5000),
        ("hyperplay:particles=100", 100, 6400),
        ("hyperplay:playouts=50", 64, 3200),
        ("hyperplay2", 4, 16),
        ("hyperplay2:n=8", 8, 64),
    ],
)
def test_spec_gives_the_budgets_of_the_definitions(text: str, particles: int, trials: int) -> None:
    search_player = player(text, machine_of_game("monty_hall"), 0)
    assert isinstance(search_player, SearchPlayer)
    assert (search_player.capacity, search_player.trials) == (particles, trials)


def test_ties_are_broken_promptly_unless_the_spec_says_otherwise() -> None:
    for name in ("hyperplay", "hyperplay2"):
        assert parse_spec(name).options.ties is Ties.PROMPT
        assert parse_spec(f"{name}:n=2,ties=random").options.ties is Ties.RANDOM
        assert parse_spec(f"{name}:ties=prompt,n=2").options.ties is Ties.PROMPT
        assert parse_spec(f"{name}:ties=prompt,n=2").text == f"{name}:ties=prompt,n=2"


NOW_OR_LATER = """
(role us) (init (at 0)) (init fresh)
(succ 0 1) (succ 1 2) (succ 2 3)
(<= (legal us now) (true fresh)) (<= (legal us later) (true fresh))
(<= (legal us wait) (not (true fresh)))
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= (next over) (does us now)) (<= (next over) (true (at 2)))
(<= terminal (true over))
(<= (sees us nothing) (true (at 7)))
"""
"""Both moves lead to the same goal, one of them at once."""


@pytest.mark.parametrize("name", ["hyperplay", "hyperplay2"])
@pytest.mark.parametrize(("goal", "prompt"), [(100, "now"), (0, "later")])
@pytest.mark.parametrize("looks", rarely([None, 50], {50}))
def test_prompt_players_win_now_and_lose_late(
    name: str, goal: int, prompt: str, looks: int | None
) -> None:
    """Where there is a clock, it runs out after so many looks at it."""
    machine = machine_of_rules(NOW_OR_LATER + f"(goal us {goal})")

    def moves(ties: str, seeds: int) -> set[str]:
        choices = set()
        for seed in range(seeds):
            deadline = None if looks is None else Deadline(looks, Looks(1.0))
            choices.add(player(f"{name}:n=2{ties}", machine, seed=seed).choose(deadline).move)
        return choices

    assert moves(",ties=prompt", 5) == moves("", 5) == {prompt}
    assert moves(",ties=random", 20) == {"now", "later"}


def test_a_single_trial_has_no_standard_error() -> None:
    machine = machine_of_game("exploding_bomb")
    values = player("hyperplay:particles=1,playouts=1", machine).choose(value_forced=True).values
    assert [(v.visits, v.stderr) for v in values] == [(1, None)] * len(values)
    assert all(v.value is not None for v in values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "hyper",
            "unknown player 'hyper'; did you mean 'hyperplay'? players: legal, random,",
        ),
        ("hyperplay:ties=soon", "option 'ties' of player hyperplay must be ties=random or ties="),
        (
            "hyperplay2:ties",
            "option 'ties' of player hyperplay2 must be ties=random or ties=prompt",
        ),
        ("hyperplay:ties=prompt,ties=random", "option 'ties' of player hyperplay is given twice"),
        ("random:ties=prompt", "unknown option 'ties' of player random; options: boards, risk"),
        ("hyperplay2:m=3", "unknown option 'm' of player hyperplay2; options: n, exact"),
        ("hyperplay:n=x", "option 'n' of player hyperplay needs a whole number: n=N"),
        ("hyperplay:n=0", "option 'n' of player hyperplay must be from 1 to"),
        ("hyperplay:n=2,particles=3", "give either n, or particles and playouts"),
        ("legal:n=2", "unknown option 'n' of player legal; options: risk"),
    ],
)
def test_bad_spec_is_explained(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_spec(text)
    assert message in str(caught.value)


def test_a_player_without_particles_finds_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own bag is lost; it draws a larger one of states without paths."""
    machine = machine_of_game("kriegspiel_king_rook", "propnet")
    thinker = player("hyperplay2:n=2", machine, role_index(machine, "black"))
    monkeypatch.setattr(thinker.tracker.belief, "advance", fail)
    monkeypatch.setattr(thinker.tracker.belief, "at", fail)
    for move, percepts in [
        ("noop", ("(placed 4 4)",)),
        *[("noop", ("your_move",)), ("(king 3 4)", ())],
        *[("noop", ("your_move",)), ("(king 3 3)", ("refused",))],
    ]:
        thinker.observe(move, percepts)
    assert thinker.tracker.bag.depleted[0]
    decision = thinker.choose()
    assert decision.particles > 2
    assert decision.is_sound
    assert decision.fault is not None
    assert f"; decided in {decision.particles} states found anew" in decision.fault
    moves = {value.move for value in decision.values}
    assert "(king 3 3)" not in moves
    assert "(king 2 4)" in moves
    assert decision.move in moves


# ---------------------------------------------------------------- probabilities


def test_random_reports_the_probabilities_of_its_moves() -> None:
    machine = machine_of_rules(HIDDEN_BIT)
    seer = player("random", machine)
    seer.observe("wait", None)
    assert seer.choose().probabilities is None  # it has no choice
    seer.observe("wait", ())
    assert seer.choose().probabilities == {"(guess 0)": 0.5, "(guess 1)": 0.5}


def test_doubtful_moves_are_as_likely_as_the_states_that_allow_them() -> None:
    rules = HIDDEN_BIT.replace(
        "(<= (legal seer (guess ?b)) (bit ?b) (true (at 2)))",
        "(<= (legal seer (guess ?b)) (bit ?b) (true (at 2)))"
        "(<= (legal seer pass) (true (at 2)) (true (picked 1)))",
    )
    seer = player("random:risk=play", machine_of_rules(rules))
    seer.observe("wait", None)
    seer.observe("wait", ())
    chances = seer.choose().probabilities
    assert chances == pytest.approx({"(guess 0)": 5 / 12, "(guess 1)": 5 / 12, "pass": 1 / 6})


def test_players_that_do_not_mix_report_no_probabilities() -> None:
    machine = machine_of_game("kuhn_poker")
    first = player("hyperplay:n=2", machine)
    first.observe("noop", ["(dealt queen)"])
    assert first.choose().probabilities is None


def test_random_gives_up_soon_where_no_board_can_be_drawn() -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    random = player("random:boards=kriegspiel", machine)
    visited = machine.states_visited
    random.observe("(move b 1 a 3)", ["(captured e 5)"])  # it went elsewhere
    assert random.choose().fault is not None
    assert machine.states_visited - visited < 50_000


@pytest.mark.verify
def test_random_knows_its_moves_from_a_drawn_board() -> None:
    machine = machine_of_game("kriegspiel_5x5", "propnet")
    rng = np.random.default_rng(3)
    players = [
        make_player(parse_spec("random:boards=kriegspiel"), machine, role, rng) for role in range(2)
    ]
    state = machine.initial(1)
    several = 0
    for _ in range(60):
        if machine.terminal(state)[0]:
            break
        moves = []
        for role, player in enumerate(players):
            decision = player.choose()
            legal = machine.legal(state, role).values.tolist()
            move = machine.move_id(decision.move)
            assert move is not None
            moves.append(move)
            assert decision.fault is None
            assert {value.move for value in decision.values or ()} <= {
                machine.move_text(move) for move in legal
            }
            assert moves[-1] in legal
            several += len(legal) > 1
        stepped = machine.step(state, np.array([moves]))
        state = stepped.states
        for role, player in enumerate(players):
            percepts = machine.percept_texts(int(stepped.percepts[0, role]))
            player.observe(machine.move_text(moves[role]), percepts)
    assert several > 20
