"""Plans: who plays what when, with which seeds."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from ggp.errors import ConfigError
from match_runner.comparison.plan import (
    MEASURED_ROUNDS,
    Options,
    check_options,
    plan_matches,
    plan_measurements,
    with_states,
)

BASE = Options("game", "0", ("a", "b", "random"), ("legal", "random"), 12)
THREE = replace(BASE, players=("legal", "random", "hyperplay"))
ALONE = replace(BASE, roles=("a",))


def test_a_plan_is_a_function_of_its_options() -> None:
    assert plan_matches(BASE) == plan_matches(replace(BASE))
    assert plan_matches(BASE) == plan_matches(replace(BASE, matches=24))[:12]


@pytest.mark.parametrize("options", [BASE, THREE, ALONE, replace(BASE, roles=("a", "b", "c"))])
def test_in_every_round_every_player_plays_every_role_once(options: Options) -> None:
    played = Counter(
        (match.round, role, player)
        for match in plan_matches(options)
        for role, player in match.seating.items()
    )
    num_rounds = options.matches // len(options.players)
    assert set(played.values()) == {1}
    assert len(played) == num_rounds * len(options.seats) * len(options.players)


def test_matches_of_a_round_share_a_seed_and_rounds_do_not() -> None:
    seeds: defaultdict[int, set[int]] = defaultdict(set)
    for match in plan_matches(THREE):
        seeds[match.round].add(match.seed)
    assert all(len(some) == 1 for some in seeds.values())
    assert len(set().union(*seeds.values())) == len(seeds) == 4
    others = {match.seed for match in plan_matches(replace(THREE, seed=1))}
    assert not others & set().union(*seeds.values())


def test_three_players_meet_in_every_order() -> None:
    met = Counter((match.seating["a"], match.seating["b"]) for match in plan_matches(THREE))
    assert met == {(i, j): 2 for i in range(3) for j in range(3) if i != j}


def test_fixed_players_keep_their_roles_and_every_match_has_its_seed() -> None:
    planned = plan_matches(replace(BASE, rotate=False))
    assert all(match.seating == {"a": 0, "b": 1} for match in planned)
    assert len({match.seed for match in planned}) == 12


def test_measuring_has_seeds_of_its_own_and_the_first_player_everywhere() -> None:
    options = replace(BASE, players=("hyperplay", "hyperplay2"), equal_states=True, matches=100)
    measured = plan_measurements(options)
    assert len(measured) == MEASURED_ROUNDS
    assert all(match.seating == {"a": 0, "b": 0} for match in measured)
    assert not {m.seed for m in measured} & {m.seed for m in plan_matches(options)}
    assert len(plan_measurements(replace(options, matches=4))) == 2
    assert plan_measurements(BASE) == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"players": ("legal",)}, "give at least two players"),
        ({"players": ("legal", "legal")}, "the player legal is given twice"),
        ({"players": ("legal", "god")}, "unknown player 'god'"),
        ({"matches": 5}, "it must be a multiple of 2, such as 4 or 6"),
        ({"matches": 1}, "it must be a multiple of 2, such as 2"),
        ({"roles": ("random",)}, "game has no role for a player"),
        ({"roles": ("a",), "rotate": False}, "there are 2 players and the roles a; use --roles"),
        ({"equal_states": True}, "cannot give legal a budget of states; players that can"),
        (
            {"equal_states": True, "players": ("hyperplay", "hyperplay:n=2,states=5")},
            "hyperplay:n=2,states=5 has a budget of states already",
        ),
        (
            {"equal_states": True, "players": ("hyperplay", "hyperplay:playouts=5")},
            "give either playouts or states",
        ),
    ],
)
def test_comparisons_that_make_no_sense_are_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_options(replace(BASE, **changes))  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_budget_is_added_to_a_spec() -> None:
    assert with_states("hyperplay", (7,)) == "hyperplay:states=7"
    assert with_states("hyperplay2:n=2", (9, 5, 5, 5)) == "hyperplay2:n=2,states=9/5"
