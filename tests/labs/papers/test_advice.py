"""What properties say for and against kinds of players."""

from __future__ import annotations

import pytest

from ggp.labs.papers.advise_command import Reason, _by_rules, balance, reasons_of
from ggp.machine.games import load_program
from ggp.players import PLAYERS, kinds_of
from ggp.search.parts import CLAIRVOYANT, INFORMED, SIMULATIONS, TREES
from ggp.study.properties import Properties, RoleProperties, SetSizes, measure_properties
from tests.support.games import machine_of_game


def role(
    gap: float | None = 3.0,
    ties: float = 0.2,
    disambiguation: float = 0.3,
    correlation: float = 0.8,
    singletons: float = 0.1,
) -> RoleProperties:
    return RoleProperties(
        leaf_correlation=correlation,
        leaf_correlation_goals=correlation,
        bias=0.5,
        disambiguation=disambiguation,
        clairvoyance_gap=gap,
        ties=ties,
        information_sets=SetSizes(mean=4.0, largest=9, singletons=singletons, too_large=0.0),
    )


def reasons(**figures: float) -> tuple[Reason, ...]:
    return reasons_of(Properties({"me": role(**figures)}, walks=1, notes=()))


def verdicts_of(all_reasons: tuple[Reason, ...]) -> list[tuple[str, bool]]:
    return [(reason.kind, reason.favours) for reason in all_reasons]


def test_figures_in_the_middle_say_nothing() -> None:
    assert reasons() == ()


def test_a_large_gap_speaks_for_players_that_know_what_others_know() -> None:
    against = reasons(gap=12.5)
    assert verdicts_of(against) == [(INFORMED, True), (CLAIRVOYANT, False)]
    assert "12.5 points to me" in against[0].text


def test_a_small_gap_and_sets_that_shrink_speak_for_clairvoyant_worlds() -> None:
    all_reasons = reasons(gap=0.5, disambiguation=0.7)
    assert verdicts_of(all_reasons) == [(CLAIRVOYANT, True), (CLAIRVOYANT, True)]
    assert balance(all_reasons, frozenset({CLAIRVOYANT, TREES})) == 2
    assert balance(all_reasons, frozenset()) == 0


def test_ties_and_low_correlation_speak_against_them() -> None:
    assert verdicts_of(reasons(ties=0.6, correlation=0.2)) == [(CLAIRVOYANT, False)] * 2
    assert balance(reasons(ties=0.6), frozenset({CLAIRVOYANT})) == -1


def test_a_reason_is_given_once_for_all_roles_that_have_it() -> None:
    roles = {"ann": role(ties=0.6), "bob": role(ties=0.6), "eve": role(ties=0.7)}
    all_reasons = reasons_of(Properties(roles, walks=1, notes=()))
    assert [reason.roles for reason in all_reasons] == [("ann", "bob"), ("eve",)]
    assert "of ann and bob several" in all_reasons[0].text
    assert balance(all_reasons, frozenset({CLAIRVOYANT})) == -3


@pytest.mark.parametrize(
    ("game", "player"),
    [("tic_tac_toe", "mcts"), ("kuhn_poker", "ismcts"), ("exploding_bomb", "hyperplay2")],
)
def test_the_rules_alone_suggest_a_player(game: str, player: str) -> None:
    assert _by_rules(load_program(game))[0] == player


def test_where_nothing_is_hidden_simulations_only_cost_time() -> None:
    all_reasons = reasons_of(
        measure_properties(machine_of_game("tic_tac_toe", "propnet"), 200, seed=0)
    )
    assert verdicts_of(all_reasons) == [(TREES, True), (SIMULATIONS, False)]
    assert all("nothing is hidden" in reason.text for reason in all_reasons)


def test_the_bomb_is_no_game_for_clairvoyants() -> None:
    properties = measure_properties(machine_of_game("exploding_bomb", "propnet"), 200, seed=0)
    all_reasons = reasons_of(properties)
    simulations, worlds = kinds_of("hyperplay2"), kinds_of("pimc")
    assert simulations is not None
    assert worlds is not None
    assert balance(all_reasons, simulations) > 0 > balance(all_reasons, worlds)


def test_every_player_that_thinks_has_a_kind() -> None:
    thinking = {name for name in PLAYERS if kinds_of(name) is not None}
    # Advice is for games of several roles, or of chance.
    assert set(PLAYERS) - {"legal", "random", "policy", "learned", "auto", "puzzle"} == thinking
