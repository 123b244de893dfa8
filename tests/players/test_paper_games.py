"""The decisions of both players in the games of the paper."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from ggp.machine import role_index
from ggp.players import Decision, make_player, parse_spec
from ggp.search.anytime import Deadline
from tests.support.games import machine_of_game

SEEDS = range(20)

Turn = tuple[str, tuple[str, ...]]


STATES_A_SECOND = 30_000
"""States a second on the clock of these tests: slow, so that few trials fit in."""


def decide(
    game: str, role: str, spec: str, seed: int, *history: Turn, seconds: float | None = None
) -> Decision:
    """A player's decision after these moves and percepts of its role."""
    machine = machine_of_game(game, "propnet")
    rng = np.random.default_rng(seed)
    player = make_player(parse_spec(spec), machine, role_index(machine, role), rng)
    for move, percepts in history:
        player.observe(move, percepts)
    looks = count()

    def clock() -> float:
        return machine.states_visited / STATES_A_SECOND + 1e-5 * next(looks)

    decision = player.choose(None if seconds is None else Deadline(clock() + seconds, clock))
    assert decision.fault is None
    return decision


PLACED: tuple[Turn, ...] = (("noop", ("(placed 2 2)",)), ("noop", ()))
EAST: Turn = ("noop", ("(own east)",))


@pytest.mark.verify
def test_hyperplay2_scans_first_in_the_fog() -> None:
    moves = [
        decide("battleships_in_fog", "admiral", "hyperplay2:n=4", seed, *PLACED).move
        for seed in range(8)
    ]
    assert moves.count("scan") >= 7


def test_hyperplay_sees_no_use_in_scanning() -> None:
    for seed in SEEDS:
        decision = decide("battleships_in_fog", "admiral", "hyperplay:n=6", seed, *PLACED)
        assert decision.move.startswith("(fire ")


@pytest.mark.verify
def test_a_ship_that_was_found_is_hit_at_once() -> None:
    """Many moves win in all simulations; a prompt player chooses the one that wins now."""
    history: tuple[Turn, ...] = (*PLACED, ("scan", ("(enemy 3 4)",)), ("noop", ("(shot 1 1)",)))
    for seed in SEEDS:
        decision = decide(
            "battleships_in_fog", "admiral", "hyperplay2:n=4,ties=prompt", seed, *history
        )
        assert decision.move == "(fire 3 4)"


@pytest.mark.parametrize(
    ("spec", "deposit"),
    [("hyperplay:n=8", "(deposit 100 0)"), ("hyperplay2:n=8", "(deposit 40 60)")],
)
def test_hyperplay_banks_greedily_and_hyperplay2_keeps_secrets(spec: str, deposit: str) -> None:
    for seed in SEEDS:
        assert decide("banker_and_thief", "banker", spec, seed, EAST).move == deposit


@pytest.mark.parametrize("spec", ["hyperplay:n=8", "hyperplay2:n=8"])
def test_thieves_raid_the_bank_that_holds_more(spec: str) -> None:
    holdings: Turn = ("noop", ("(holds east 30)", "(holds west 70)"))
    for seed in SEEDS:
        decision = decide("banker_and_thief", "thief", spec, seed, ("noop", ()), holdings)
        assert decision.move == "(raid west)"


@pytest.mark.parametrize("seconds", [0.2, 1.0, 3.0])
def test_hyperplay2_asks_and_hides_against_a_clock_too(seconds: float) -> None:
    """Random playouts reveal the value of neither move, however many there are."""
    armed: Turn = ("noop", ())
    for seed in range(5):
        decision = decide("exploding_bomb", "agent", "hyperplay2", seed, armed, seconds=seconds)
        assert decision.move == "ask"
        values = {value.move: value for value in decision.values}
        for move, truth in (("ask", 90), ("wait", 50)):
            # A move that looks bad is soon left alone: its value is one of a few simulations.
            off = max(15.0, 4 * (values[move].stderr or 0.0))
            assert values[move].value == pytest.approx(truth, abs=off)
        decision = decide("spy_vs_spy", "spy1", "hyperplay2", seed, seconds=seconds)
        assert decision.move.endswith(" hide)")


def test_hyperplay_announces_at_once_and_hyperplay2_asks() -> None:
    start: Turn = ("noop", ())
    for seed in SEEDS:
        decision = decide("number_guessing", "agent", "hyperplay:n=6", seed, start)
        assert decision.move == "ready"
    for seed in range(3):
        decision = decide("number_guessing", "agent", "hyperplay2:n=8", seed, start)
        assert decision.move.startswith("(lessthan ")


@pytest.mark.verify
def test_hyperplay2_announces_when_one_number_is_left() -> None:
    history: tuple[Turn, ...] = (
        ("noop", ()),
        ("(lessthan 9)", ("no",)),
        ("(lessthan 10)", ("yes",)),
    )
    for seed in SEEDS:
        decision = decide("number_guessing", "agent", "hyperplay2:n=4", seed, *history)
        assert decision.particles == 1
        assert decision.move == "ready"


@pytest.mark.parametrize("spec", ["hyperplay:n=8", "hyperplay2:n=8"])
def test_a_signalled_word_says_nothing_about_the_wire(spec: str) -> None:
    """By the rules, both cuts are equally good after either word."""
    for word in ("red", "blue"):
        signal: Turn = ("noop", (f"(signalled {word})",))
        cuts = {
            decide("cooperative_spies", "spy2", spec, seed, ("noop", ()), signal).move
            for seed in SEEDS
        }
        assert cuts == {"(cut red)", "(cut blue)"}
