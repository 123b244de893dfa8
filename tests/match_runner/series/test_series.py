"""Series: seeds and summaries."""

from __future__ import annotations

import pytest

from ggp.errors import ConfigError
from ggp.gdl.normalize import load
from match_runner.cli.play import PlaySummary, summarize
from match_runner.match.records import MatchRecord
from match_runner.match.referee import play_match
from match_runner.match.seats import read_players, set_up
from match_runner.series.plan import series_of_roles
from tests.match_runner.series.comparisons import play
from tests.match_runner.support import arena_of, timeless

PLAYERS = ("player1=hyperplay:n=3", "player2=hyperplay2:n=2")


def play_series(seed: int, matches: int, players: tuple[str, ...] = PLAYERS) -> PlaySummary:
    """Matches of kuhn_poker."""
    program = load("kuhn_poker")
    specs = read_players(players, program.roles)
    snapshot, failures = play(
        series_of_roles("kuhn_poker", program, specs, matches, seed=seed), None
    )
    assert failures == ()
    return summarize(snapshot)


def records_of(summary: PlaySummary) -> list[MatchRecord]:
    return [timeless(record) for record in summary.records]


def test_a_series_is_the_same_each_time() -> None:
    first = records_of(play_series(5, 4))
    assert first == records_of(play_series(5, 4))
    assert [record.seed for record in first] == [5, 6, 7, 8]


def test_a_match_of_a_series_can_be_played_alone() -> None:
    arena = arena_of("kuhn_poker", *PLAYERS)
    series = records_of(play_series(20, 5))
    program = load("kuhn_poker")
    for i in (4, 0, 2):
        fresh = set_up("kuhn_poker", program, read_players(PLAYERS, program.roles))
        assert timeless(play_match(fresh, series[i].seed)) == series[i]
        assert timeless(play_match(arena, series[i].seed)) == series[i]


@pytest.mark.verify
def test_other_seeds_are_other_matches() -> None:
    records = play_series(0, 30, ("player1=random",)).records
    deals = {record.turns[0].joint_move["random"] for record in records}
    assert len(deals) == 6


def test_states_visited_are_counted_for_each_role() -> None:
    arena = arena_of("kuhn_poker", "player1=hyperplay:n=3", "player2=legal")
    record = play_match(arena, 1)
    assert record.states_visited["random"] == 0
    decided = sum(turn.decisions["player1"].states_visited for turn in record.turns)
    assert record.states_visited["player1"] == decided > record.states_visited["player2"]


def test_a_summary_adds_up_all_matches() -> None:
    summary = play_series(3, 12, ("player1=hyperplay:n=2",))
    goals = [record.goals["player1"] for record in summary.records]
    assert None not in goals
    score = summary.scores["player1"]
    assert score.value is not None
    assert score.value == pytest.approx(sum(goal or 0.0 for goal in goals) / 12)
    assert score.low is not None
    assert score.high is not None
    assert 0 <= score.low < score.value < score.high <= 100
    visited = [record.states_visited["player1"] for record in summary.records]
    assert summary.states_visited["player1"] == sum(visited) > 0
    report = summary.report().values
    assert report["matches"][1] == {
        "seed": 4,
        "goals": dict(summary.records[1].goals),
        "turns": len(summary.records[1].turns),
        "errors": [],
    }
    mean = report["mean"]["player1"]
    assert (mean["mean"], mean["low"], mean["high"]) == (score.value, score.low, score.high)
    assert mean["ci99"] == max(score.value - score.low, score.high - score.value)


def test_auto_plays_the_roles_that_nobody_was_named_for() -> None:
    roles = ("player1", "player2", "random")
    assert read_players(("PLAYER2 = legal",), roles) == {"player1": "auto", "player2": "legal"}


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
