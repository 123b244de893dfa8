"""Plans: who plays what when, with which seeds."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest

from ggp.errors import ConfigError
from ggp.gdl.normalize import load
from match_runner.match.conditions import Conditions
from match_runner.series.plan import (
    MEASURED_ROUNDS,
    Series,
    SeriesGame,
    check_series,
    measured_rounds,
    plan_all,
    plan_matches,
    plan_measurements,
    with_states,
)

POKER = SeriesGame("kuhn_poker", load("kuhn_poker"), 6)
ALONE = SeriesGame("monty_hall", load("monty_hall"), 6)
TWO = {"legal": "legal", "random": "random"}
BASE = Series(TWO, (POKER,))
THREE = replace(BASE, players={**TWO, "third": "hyperplay"})


def with_rounds(series: Series, rounds: int) -> Series:
    return replace(series, games=tuple(replace(game, rounds=rounds) for game in series.games))


def test_more_rounds_leave_the_first_ones_as_they_are() -> None:
    assert plan_all(BASE) == plan_all(with_rounds(BASE, 12))[:12]
    assert plan_all(THREE) == plan_all(with_rounds(THREE, 12))[:18]


@pytest.mark.parametrize("series", [BASE, THREE, replace(BASE, games=(ALONE,))])
def test_in_every_round_every_player_plays_every_role_once(series: Series) -> None:
    (game,) = series.games
    seatings = Counter(
        (match.round, role, player)
        for match in plan_matches(series, game)
        for role, player in match.seating.items()
    )
    assert set(seatings.values()) == {1}
    assert len(seatings) == game.rounds * len(game.seats) * len(series.players)


def test_matches_of_a_round_share_a_seed_and_rounds_do_not() -> None:
    seeds: defaultdict[int, set[int]] = defaultdict(set)
    for match in plan_all(THREE):
        seeds[match.round].add(match.seed)
    assert all(len(round_seeds) == 1 for round_seeds in seeds.values())
    assert len(set().union(*seeds.values())) == len(seeds) == 6
    other_seeds = {match.seed for match in plan_all(replace(THREE, seed=1))}
    assert not other_seeds & set().union(*seeds.values())


def test_three_players_meet_in_every_order() -> None:
    pairings = Counter((m.seating["player1"], m.seating["player2"]) for m in plan_all(THREE))
    assert pairings == {(i, j): 3 for i in range(3) for j in range(3) if i != j}


def test_fixed_players_keep_their_roles_and_every_match_has_its_seed() -> None:
    planned = plan_all(replace(BASE, rotate=False))
    assert all(match.seating == {"player1": 0, "player2": 1} for match in planned)
    assert len({match.seed for match in planned}) == 6


def test_counted_seeds_count_on_from_that_of_the_series() -> None:
    planned = plan_all(replace(BASE, rotate=False, counted_seeds=True, seed=40))
    assert [match.seed for match in planned] == [40, 41, 42, 43, 44, 45]


def test_a_role_that_is_kept_is_nobodys_seat() -> None:
    game = replace(POKER, fixed={"player2": "random"})
    planned = plan_all(replace(BASE, games=(game,)))
    assert [dict(match.seating) for match in planned[:2]] == [{"player1": 0}, {"player1": 1}]


def test_games_are_played_round_by_round() -> None:
    planned = plan_all(replace(BASE, games=(POKER, replace(ALONE, rounds=2))))
    assert [(m.round, m.game) for m in planned[:8]] == [
        (round_, game) for round_ in (0, 1) for game in ("kuhn_poker", "monty_hall") for _ in "ab"
    ]
    assert len({match.key for match in planned}) == len(planned) == 16


def test_measuring_has_seeds_of_its_own_and_the_first_player_everywhere() -> None:
    series = with_rounds(replace(BASE, equal_states=True), 50)
    (game,) = series.games
    assert measured_rounds(game) == MEASURED_ROUNDS
    measured = plan_measurements(series, game, MEASURED_ROUNDS)
    assert all(match.seating == {"player1": 0, "player2": 0} for match in measured)
    assert not {m.seed for m in measured} & {m.seed for m in plan_all(series)}
    assert measured_rounds(replace(game, rounds=2)) == 2
    assert plan_measurements(BASE, POKER, 2) == ()


CHANCE_ALONE = replace(
    POKER, name="chance", fixed={"player1": "random", "player2": "http://localhost:1"}
)
EQUAL = {"equal_states": True}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"players": {"a": "legal", "b": "god"}}, "players.b: unknown player 'god'"),
        ({"players": {"god": "god"}}, "unknown player 'god'"),
        ({"games": (POKER, POKER)}, "the game kuhn_poker is given twice"),
        ({"games": (CHANCE_ALONE,)}, "chance has no role for a player"),
        (
            {"games": (replace(POKER, fixed={"random": "legal"}),)},
            "kuhn_poker has no role 'random' for a player; roles: player1, player2",
        ),
        (
            {"games": (ALONE,), "rotate": False},
            "there are 2 players and monty_hall has the roles candidate; let roles rotate",
        ),
        ({"players": {"a": "http://localhost:1"}}, "remote players need a clock"),
        (
            {
                "players": {"a": "http://localhost:1"},
                "games": (replace(POKER, conditions=Conditions(play_clock_s=2.5)),),
            },
            "remote players need whole seconds",
        ),
        (EQUAL, "legal takes no budget of states, which equal states need; players that"),
        (
            {**EQUAL, "players": {"a": "hyperplay", "b": "hyperplay:n=2,states=5"}},
            "hyperplay:n=2,states=5 already has a budget of states",
        ),
        (
            {**EQUAL, "players": {"a": "hyperplay", "b": "hyperplay:playouts=5"}},
            "give either playouts or states",
        ),
        ({**EQUAL, "players": {"a": "http://localhost:1"}}, "takes no budget of states"),
    ],
)
def test_series_that_make_no_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    series = replace(BASE, **changes)
    if "clock" not in message and "whole" not in message:
        games = tuple(replace(g, conditions=Conditions(play_clock_s=1)) for g in series.games)
        series = replace(series, games=games)
    with pytest.raises(ConfigError) as caught:
        check_series(series)
    assert message in str(caught.value)


def test_a_budget_is_added_to_a_spec() -> None:
    assert with_states("hyperplay", (7,)) == "hyperplay:states=7"
    assert with_states("hyperplay2:n=2", (9, 5, 5, 5)) == "hyperplay2:n=2,states=9/5"
