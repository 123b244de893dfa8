"""Tournaments: planning, storing, continuing, summaries and refusals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from ggp.errors import ConfigError
from ggp.gdl.normalize import load
from ggp.run.clocks import Clock
from match_runner.cli import main
from match_runner.match.records import record_from_json
from match_runner.remote.wire import Replacement
from match_runner.series.plan import Series, plan_all
from match_runner.tournament import TournamentSummary, rate, read_tournament, summarize
from tests.match_runner.remote.http_player import HttpPlayer, free_port, playing
from tests.match_runner.series.comparisons import CrashingExecutor, StoppedError, play, stored
from tests.match_runner.support import timeless
from tests.support.games import REPOSITORY

PLAYERS = '[players]\nsmart = "hyperplay:n=2"\nplain = "legal"\ndice = "random"\n'
GAMES = 'games = ["kuhn_poker", { game = "exploding_bomb", rounds = 1 }]\nrounds = 2\n'


def read(text: str, folder: Path) -> Series:
    path = folder / "tournament.toml"
    path.write_text(text)
    return read_tournament(path)


def summed_up(
    series: Series,
    folder: Path,
    executor: CrashingExecutor | None = None,
    stop_after: int | None = None,
) -> tuple[TournamentSummary, tuple[str, ...]]:
    """The summary of a tournament, and the matches that failed."""
    snapshot, failures = play(series, folder, executor, stop_after)
    return summarize(snapshot), failures


# ---------------------------------------------------------------- the plan


def test_a_file_is_a_series_of_all_its_games(tmp_path: Path) -> None:
    series = read(GAMES + PLAYERS, tmp_path)
    counted = Counter(match.game for match in plan_all(series))
    assert counted == {"kuhn_poker": 6, "exploding_bomb": 3}
    fixed = read(
        'roles = "fixed"\ngames = ["meier"]\n[players]\na = "legal"\nb = "random"', tmp_path
    )
    (match,) = plan_all(fixed)
    assert list(match.seating.values()) == [0, 1]


def test_roles_may_be_kept_by_somebody(tmp_path: Path) -> None:
    text = 'games = [{ game = "kuhn_poker", fixed = { player2 = "legal" } }]\n' + PLAYERS
    summary, _ = summed_up(read(text, tmp_path), tmp_path / "out")
    assert summary.played == 3
    for match in stored(read(text, tmp_path), tmp_path / "out"):
        assert match.record.players["player2"] == "legal"


def test_states_may_be_equal_in_every_game(tmp_path: Path) -> None:
    series = read(
        'equal_states = true\ngames = ["kuhn_poker", "monty_hall"]\n'
        '[players]\nfirst = "hyperplay:n=3"\nsecond = "hyperplay2:n=2"\n',
        tmp_path,
    )
    snapshot, _ = play(series, tmp_path / "out")
    assert snapshot.budgets.keys() == {"kuhn_poker", "monty_hall"}
    for match in snapshot.matches:
        for role, player in match.planned.seating.items():
            assert ("states=" in match.record.players[role]) == (player == 1)


def test_games_may_have_settings_of_their_own(tmp_path: Path) -> None:
    rules = REPOSITORY / "games" / "monty_hall.gdl"
    (tmp_path / "mine.gdl").write_bytes(rules.read_bytes())
    plan = read(
        'games = ["kuhn_poker", { game = "mine.gdl", play_clock = 9, scramble = true, '
        'clock = "cpu" }]\n'
        'play_clock = 3\nstart_clock = 7\nreplacement = "first"\npause = 0.5\nseed = 4\n' + PLAYERS,
        tmp_path,
    )
    poker, mine = (game.conditions for game in plan.games)
    assert (poker.play_clock_s, mine.play_clock_s) == (3, 9)
    assert (poker.clock, mine.clock) == (Clock.WALL, Clock.CPU)
    assert (poker.remote.start_clock_s, mine.remote.start_clock_s) == (7, 7)
    assert (poker.remote.scramble, mine.remote.scramble) == (False, True)
    assert poker.replacement is Replacement.FIRST
    assert poker.pause_s == 0.5
    assert plan.games[1].roles == ("candidate", "random")
    assert plan.seed == 4


def test_bad_moves_of_remote_players_are_replaced_as_the_server_does(tmp_path: Path) -> None:
    text = 'games = ["tic_tac_toe"]\nplay_clock = 5\n{}[players]\na = "http://a"\nb = "random"\n'
    for extra, expected in (
        ("", Replacement.FIRST),
        ('server = "ggp-base"\n', Replacement.RANDOM),
        ('replacement = "random"\n', Replacement.RANDOM),
    ):
        plan = read(text.format(extra), tmp_path)
        assert plan.games[0].conditions.replacement is expected
    assert read(GAMES + PLAYERS, tmp_path).games[0].conditions.replacement is Replacement.RANDOM


def test_the_example_of_the_documentation_is_a_tournament(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "use" / "tournaments.md").read_text()
    plan = read(page.partition("```toml\n")[2].partition("```")[0], tmp_path)
    assert plan.names == ("ours", "rival", "dice")
    assert len(plan_all(plan)) == 15


def test_matches_and_rounds_of_a_file_say_the_same(tmp_path: Path) -> None:
    games = 'games = ["kuhn_poker", { game = "exploding_bomb", matches = 3 }]\n'
    by_rounds = read(GAMES + PLAYERS, tmp_path)
    for length in ("matches = 6\n", "rounds = 2\n"):
        assert plan_all(read(games + length + PLAYERS, tmp_path)) == plan_all(by_rounds)
    two = '[players]\nplain = "legal"\ndice = "random"\n'
    fixed = read('games = ["kuhn_poker"]\nroles = "fixed"\nmatches = 5\n' + two, tmp_path)
    assert len(plan_all(fixed)) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("games = [", "is not TOML"),
        (PLAYERS, 'games must be a list such as ["monty_hall", "kuhn_poker"]'),
        ("games = []\n" + PLAYERS, "games must be a list"),
        ("games = [3]\n" + PLAYERS, "a game must be a name or path"),
        ('games = ["kuhn_poker"]', "players must be a table"),
        (
            'games = ["kuhn_poker"]\n[players]\na = 3',
            "players.a must be a player's spec or address",
        ),
        ('games = ["kuhn_poker"]\n[players]\na = "god"', "players.a: unknown player 'god'"),
        (
            'games = ["kuhn_poker"]\n[players]\na = "http://"',
            "players.a: 'http://' is not the address",
        ),
        ('games = ["nowhere"]\n' + PLAYERS, "unknown game"),
        ('games = ["meier", "meier"]\n' + PLAYERS, "the game meier is given twice"),
        ("speed = 3\n" + GAMES + PLAYERS, "unknown setting 'speed'; settings: players, games,"),
        (
            'games = [{ game = "meier", seed = 3 }]\n' + PLAYERS,
            "unknown setting 'seed' of the game meier; settings: game, fixed, matches, rounds,",
        ),
        (
            "seed = -1\n" + GAMES + PLAYERS,
            "seed must be a whole number from 0 to 9223372036854775807",
        ),
        (f"seed = {2**63}\n" + GAMES + PLAYERS, "seed must be a whole number from 0 to"),
        (f"seed = 1{'0' * 5000}\n" + GAMES + PLAYERS, "is not TOML"),
        ("seed = true\n" + GAMES + PLAYERS, "seed must be a whole number"),
        ('backend = "x"\n' + GAMES + PLAYERS, "unknown backend 'x'; backends: auto,"),
        (
            'games = ["meier"]\nrounds = 0\n' + PLAYERS,
            "rounds must be a whole number above 0 (game",
        ),
        (
            'games = ["meier"]\nmatches = 4\n' + PLAYERS,
            "it must be a multiple of 3, such as 3 or 6",
        ),
        ("matches = 3\n" + GAMES + PLAYERS, "give matches or rounds, not both"),
        ('games = ["meier"]\nrounds = true\n' + PLAYERS, "rounds must be a whole number above 0"),
        ("start_clock = 1.5\n" + GAMES + PLAYERS, "start_clock must be a whole number of seconds"),
        ("play_clock = inf\n" + GAMES + PLAYERS, "play_clock must be a number of seconds above 0"),
        ("play_clock = 0\n" + GAMES + PLAYERS, "play_clock must be a number of seconds above 0"),
        ('dialect = "kif"\n' + GAMES + PLAYERS, "dialect must be one of gdl, gdl2-old, gdl2"),
        ('clock = "sun"\n' + GAMES + PLAYERS, "clock must be one of wall, cpu"),
        ('server = "x"\n' + GAMES + PLAYERS, "server must be one of dresden, ggp-base"),
        ('server = ["x"]\n' + GAMES + PLAYERS, "server must be one of dresden, ggp-base"),
        ('replacement = "x"\n' + GAMES + PLAYERS, "replacement must be one of first, random"),
        ('roles = "x"\n' + GAMES + PLAYERS, "roles must be one of rotate, fixed"),
        ("equal_states = 1\n" + GAMES + PLAYERS, "equal_states must be true or false"),
        ("scramble = 1\n" + GAMES + PLAYERS, "scramble must be true or false"),
        ("pause = 1000\n" + GAMES + PLAYERS, "pause must be a number of seconds"),
        (
            'games = ["meier"]\n[players]\na = "http://a"',
            "play_clock must be a whole number of seconds where players are remote (game meier)",
        ),
        (
            'dialect = "gdl"\nplay_clock = 2\ngames = ["meier"]\n[players]\na = "http://a"',
            "use gdl2 or gdl2-old (game meier)",
        ),
    ],
)
def test_a_faulty_file_is_a_one_line_error(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    result = run("tournament", str(path), "--out", str(tmp_path / "out"))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- playing, stopping, going on


@pytest.mark.verify
def test_a_tournament_that_was_stopped_gives_the_same_as_one_that_was_not(tmp_path: Path) -> None:
    plan = read(GAMES + PLAYERS, tmp_path)
    whole, failures = summed_up(plan, tmp_path / "whole")
    assert failures == ()
    assert whole.played == whole.planned == 9
    for stop_after in (2, 3, 2):
        with pytest.raises(StoppedError):
            summed_up(plan, tmp_path / "parts", stop_after=stop_after)
    parts, _ = summed_up(plan, tmp_path / "parts")
    assert parts == whole
    records = [
        [timeless(match.record) for match in stored(plan, tmp_path / name)]
        for name in ("whole", "parts")
    ]
    assert records[0] == records[1]


def test_nothing_is_played_twice_and_rounds_can_be_added(tmp_path: Path) -> None:
    plan = read(GAMES + PLAYERS, tmp_path)
    summed_up(plan, tmp_path / "out")
    executor = CrashingExecutor()
    summed_up(plan, tmp_path / "out", executor)
    assert executor.seeds == []
    longer = read(GAMES.replace("rounds = 2", "rounds = 3") + PLAYERS, tmp_path)
    summary, _ = summed_up(longer, tmp_path / "out", executor)
    assert len(executor.seeds) == 3
    assert summary.played == 12
    shorter, _ = summed_up(plan, tmp_path / "out", executor)
    assert shorter.played == shorter.planned == 9


@pytest.mark.verify
def test_a_worker_that_dies_costs_nothing_but_time(tmp_path: Path) -> None:
    plan = read(GAMES + PLAYERS, tmp_path)
    seeds = [match.seed for match in plan_all(plan)]
    summary, failures = summed_up(plan, tmp_path / "a", CrashingExecutor({seeds[0]: 2}))
    assert failures == ()
    assert summary.played == 9
    summary, failures = summed_up(plan, tmp_path / "b", CrashingExecutor({seeds[-1]: 99}))
    assert len(failures) == 3 * (seeds[-1] == seeds[0]) + seeds.count(seeds[-1])
    assert "was tried 3 times: a worker process died" in failures[0]
    assert summary.played == 9 - len(failures)
    summary, failures = summed_up(plan, tmp_path / "b")
    assert (summary.played, failures) == (9, ())


def test_another_tournament_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    plan = read(GAMES + PLAYERS, tmp_path)
    summed_up(plan, tmp_path / "out", CrashingExecutor())
    changes = {
        "seed was 0 and is now 1": "seed = 1\n" + GAMES + PLAYERS,
        "plays.dice was random and is now legal": GAMES + PLAYERS.replace('"random"', '"legal"'),
        "games.kuhn_poker.play_clock was not there and is now 5": "play_clock = 5\n"
        + GAMES
        + PLAYERS,
        "games.meier was not there and is now there": GAMES.replace("[", '["meier", ') + PLAYERS,
    }
    for message, text in changes.items():
        with pytest.raises(
            ConfigError, match=r"holds a series with other settings: .*; continue with"
        ) as e:
            stored(read(text, tmp_path), tmp_path / "out")
        assert message in str(e.value)


def test_a_remote_player_may_move_to_another_address(tmp_path: Path) -> None:
    text = 'games = ["meier"]\nplay_clock = 5\n[players]\na = "http://{}"\nb = "random"\n'
    assert stored(read(text.format("here:1"), tmp_path), tmp_path / "out") == []
    assert stored(read(text.format("there:2"), tmp_path), tmp_path / "out") == []


# ---------------------------------------------------------------- the summary


def test_scores_and_contests_are_counted_by_player(tmp_path: Path) -> None:
    plan = read(GAMES + PLAYERS, tmp_path)
    summary, _ = summed_up(plan, tmp_path / "out")
    matches = stored(plan, tmp_path / "out")
    assert summary.moves == sum(len(match.record.turns) for match in matches)
    assert {standing.player for standing in summary.standings} == {"smart", "plain", "dice"}
    for standing in summary.standings:
        number = plan.names.index(standing.player)
        goals = [
            match.scored[role]
            for match in matches
            for role, player in match.planned.seating.items()
            if player == number and match.planned.game == "kuhn_poker"
        ]
        assert standing.by_game["kuhn_poker"].value == pytest.approx(sum(goals) / len(goals))
        # four matches of poker, and one round of a game for one
        assert standing.tally.wins + standing.tally.draws + standing.tally.losses == 5
        assert standing.matches == 5
        assert standing.rating is not None
        assert standing.rating.contests == 5
        assert standing.faults == {}
    assert sum(standing.tally.wins for standing in summary.standings) <= 7


def test_a_single_player_has_scores_but_no_rating(tmp_path: Path) -> None:
    summary, _ = summed_up(
        read('games = ["kuhn_poker", "monty_hall"]\n[players]\na = "random"\n', tmp_path),
        tmp_path / "out",
    )
    (standing,) = summary.standings
    assert standing.rating is None
    assert standing.matches == summary.played == 2
    assert standing.tally.win_share.value is None


def test_who_wins_more_is_rated_higher() -> None:
    contests = [{0: 100.0, 1: 0.0}, {0: 100.0, 2: 50.0}, {1: 20.0, 2: 50.0}] * 10
    ratings = rate(range(4), contests)
    assert ratings[0].low > ratings[2].low > ratings[1].low
    assert ratings[0].low < ratings[0].mean < ratings[0].high
    assert ratings[0].deviation < 25 / 3
    assert ratings[0].contests == 20
    assert (ratings[3].mean, ratings[3].contests) == (25, 0)
    assert rate(range(4), contests) == ratings


def test_equal_scores_leave_ratings_equal() -> None:
    ratings = rate(range(2), [{0: 50.0, 1: 50.0}] * 5)
    assert ratings[0].mean == pytest.approx(ratings[1].mean)


@pytest.mark.parametrize("size", [2, 3])
def test_a_pool_of_equals_keeps_its_mean_and_mirror_matches_do_not_count(size: int) -> None:
    rng = np.random.default_rng(1)
    contests, mirrored = [], []
    for _ in range(300):
        players = rng.choice(6, size=size, replace=False).tolist()
        contest = dict(zip(players, rng.permutation([0.0, 50.0, 100.0]).tolist(), strict=False))
        contests.append(contest)
        mirrored += [contest, {players[0]: 50.0}]  # this one has all its seats
    ratings = rate(range(6), contests)
    assert np.mean([rating.mean for rating in ratings.values()]) == pytest.approx(25, abs=0.7)
    assert rate(range(6), mirrored) == ratings


# ---------------------------------------------------------------- the command, and remote players


def run(*args: str) -> Result:
    return CliRunner().invoke(main, list(args), prog_name="match-runner")


def test_the_command_plays_in_processes_and_writes_records(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text(
        'games = ["exploding_bomb"]\nrounds = 2\n[players]\na = "legal"\nb = "random"\n'
    )
    args = ("tournament", str(path), "--jobs", "2", "--clock", "cpu")
    result = run(*args, "--record", str(tmp_path / "records"), "--json")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "t" / "series.sqlite").exists()
    report = json.loads(result.stdout)
    assert (report["planned"], report["played"], report["problems"]) == (4, 4, [])
    assert report["games"] == [
        {"game": "exploding_bomb", "backend": "propnet", "play_clock": None, "clock": "cpu"}
    ]
    assert report["seed"] == 0
    names = {standing["player"] for standing in report["standings"]}
    assert names == {"a", "b"}
    records = sorted((tmp_path / "records").iterdir())
    assert len(records) == 4
    for record in records:
        held_by_it = record_from_json(json.loads(record.read_text()))
        assert held_by_it.game == "exploding_bomb"
        assert held_by_it.rules == load("exploding_bomb").source.text
    continued = run(*args)
    assert continued.exit_code == 0
    for word in ("4 matches, 12 turns", "rating [99 %]", "mean score in", "exploding_bomb", "none"):
        assert word in continued.stdout


def test_faults_of_remote_players_are_counted_and_cost_only_them(tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    with playing(HttpPlayer(["NOOP", "(LAUNCH MISSILES)", "(CUT RED)"])) as wrong:
        text = (
            'games = ["exploding_bomb"]\nplay_clock = 60\nstart_clock = 60\n[players]\n'
            f'wrong = "{wrong.address}"\nnobody = "{nobody}"\nlocal = "legal"\n'
        )
        plan = read(text, tmp_path)
        # "legal" needs no time, so the play clock is not used up
        summary, failures = summed_up(plan, tmp_path / "out")
    assert failures == ()
    faults = {standing.player: standing.faults for standing in summary.standings}
    assert faults == {"wrong": {"illegal": 1}, "nobody": {"unreachable": 4}, "local": {}}
    assert {problem.player for problem in summary.problems} == {"wrong", "nobody"}
    assert [p.game for p in summary.problems] == ["exploding_bomb"] * 5
