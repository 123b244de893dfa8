"""Series: seeds, and what a series adds up to."""

from __future__ import annotations

import pytest

from ggp.errors import ConfigError
from ggp.gdl.normalize import load
from match_runner.records import MatchResult
from match_runner.referee import play_match
from match_runner.seats import read_players, set_up
from match_runner.series import play_series, summarize
from match_runner.statistics import Mean
from tests.match_runner.support import arena_of, timeless

PLAYERS = ("player1=hyperplay:n=3", "player2=hyperplay2:n=2")


def test_a_series_is_the_same_each_time() -> None:
    program = load("kuhn_poker")
    once, again = (
        set_up("kuhn_poker", program, read_players(PLAYERS, program.roles)) for _ in range(2)
    )
    first = [timeless(record) for record in play_series(once, 5, 4)]
    assert first == [timeless(record) for record in play_series(again, 5, 4)]
    assert [record.seed for record in first] == [5, 6, 7, 8]


def test_a_match_of_a_series_can_be_played_alone() -> None:
    arena = arena_of("kuhn_poker", *PLAYERS)
    series = [timeless(record) for record in play_series(arena, 20, 5)]
    program = load("kuhn_poker")
    for i in (4, 0, 2):
        fresh = set_up("kuhn_poker", program, read_players(PLAYERS, program.roles))
        assert timeless(play_match(fresh, series[i].seed)) == series[i]
        assert timeless(play_match(arena, series[i].seed)) == series[i]


def test_other_seeds_are_other_matches() -> None:
    arena = arena_of("kuhn_poker", *PLAYERS)
    deals = {record.turns[0].joint_move["random"] for record in play_series(arena, 0, 30)}
    assert len(deals) == 6


def test_states_visited_are_counted_for_each_role() -> None:
    arena = arena_of("kuhn_poker", "player1=hyperplay:n=3", "player2=legal")
    record = play_match(arena, 1)
    assert record.states_visited["random"] == 0
    decided = sum(turn.decisions["player1"].states_visited for turn in record.turns)
    assert record.states_visited["player1"] == decided > record.states_visited["player2"]


def test_a_summary_adds_up_all_matches() -> None:
    results = [
        MatchResult(3, {"a": 0, "random": 0}, 5, (), {"a": 10, "random": 0}),
        MatchResult(4, {"a": 100, "random": 0}, 7, ("turn 1, a: late",), {"a": 5, "random": 0}),
    ]
    summary = summarize("game", ("a", "random"), results)
    assert summary.means["a"].mean == 50.0
    assert summary.means["random"] == Mean(0.0, 0.0)
    assert summary.states_visited == {"a": 15, "random": 0}
    assert summary.to_json()["matches"][1] == {
        "seed": 4,
        "goals": {"a": 100, "random": 0},
        "turns": 7,
        "errors": ["turn 1, a: late"],
    }


def test_unnamed_roles_play_random() -> None:
    roles = ("player1", "player2", "random")
    assert read_players(("PLAYER2 = legal",), roles) == {"player1": "random", "player2": "legal"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("player3=legal", "unknown role 'player3'; roles of this game: player1, player2"),
        ("random=legal", "the role random is played by chance; roles: player1, player2"),
        ("player1", "player 'player1' must be ROLE=SPEC, for example player1=hyperplay:n=8"),
    ],
)
def test_bad_players_say_what_is_possible(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_players((text,), ("player1", "player2", "random"))
    assert str(caught.value) == message


def test_a_role_cannot_have_two_players() -> None:
    with pytest.raises(ConfigError, match="the role a is given two players"):
        read_players(("a=legal", "a=random"), ("a",))
