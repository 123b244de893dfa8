"""Matches of OpenSpiel's games: players, records, series, and OpenSpiel's own bots."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

import ggp
from ggp.errors import ConfigError, MatchError
from ggp.labs.openspiel.machine.games import is_open, load_game
from ggp.labs.openspiel.spiel_bot import refuse_without_bot
from ggp.machine.games import load_program
from ggp.players import check_game, make_player, parse_spec
from match_runner.match.conditions import Conditions
from match_runner.match.records import check_record, record_from_json, rules_of
from match_runner.match.referee import play_match
from match_runner.match.seats import read_players, set_up
from match_runner.series.match_task import rehearse
from match_runner.tournament import read_tournament
from tests.match_runner.series.comparisons import play
from tests.support.effort import rarely
from tests.support.games import machine_of_game, spiel_names

BOT = "ggp.players.spiel_bot:OpenSpielBot"

CLOCK_S = 1.0

QUICK = ("kuhn_poker", "goofspiel(num_cards=3,imp_info=True)", "liars_dice(dice_sides=2)")
SHORT = (
    "leduc_poker",
    "liars_dice",
    "goofspiel(num_cards=6,imp_info=True)",
    "phantom_ttt",
    "dark_hex",
    "battleship(board_width=3,board_height=3,ship_sizes=[1;2],ship_values=[1;2],num_shots=4)",
    "tic_tac_toe",
    "connect_four",
    "breakthrough(rows=5,columns=4)",
)
WHOLE = (*SHORT[:-1], "breakthrough")


def faults_of(name: str, player: str, clock_s: float | None = None) -> list[str]:
    game = f"openspiel:{name}"
    program = load_program(game)
    arena = set_up(game, program, read_players((f"p0={player}", f"p1={player}"), program.roles))
    if clock_s is not None:
        # As `match-runner` does: nothing is to be compiled while a clock runs.
        rehearse(arena, game, own_process=False)
    record = play_match(arena, 0, Conditions(play_clock_s=clock_s))
    assert record.game == game
    return list(record.errors)


@pytest.mark.parametrize(
    "player", ["hyperplay2:n=1", "ismcts:trials=20", "pimc:steps=100,worlds=2"]
)
@pytest.mark.parametrize("name", rarely([*QUICK, *SHORT], SHORT[1:]))
def test_players_play_whole_matches_without_a_fault(name: str, player: str) -> None:
    assert faults_of(name, player) == []


@pytest.mark.timed
@pytest.mark.parametrize("player", ["hyperplay2", "ismcts", "pimc"])
@pytest.mark.parametrize("name", [*QUICK, *WHOLE])
def test_players_play_whole_matches_in_time(name: str, player: str) -> None:
    assert faults_of(name, player, CLOCK_S) == []


@pytest.mark.timed
@pytest.mark.parametrize("player", ["hyperplay2", "ismcts", "pimc"])
@pytest.mark.parametrize(("name", "num_players"), [("skat", 3), ("hearts", 4)])
def test_players_play_whole_matches_of_many_cards_in_time(
    name: str, num_players: int, player: str
) -> None:
    game = f"openspiel:{name}"
    program = load_program(game)
    players = {f"p{place}": player if place == 0 else "random" for place in range(num_players)}
    arena = set_up(game, program, players)
    rehearse(arena, game, own_process=False)
    assert list(play_match(arena, 0, Conditions(play_clock_s=CLOCK_S)).errors) == []


def test_record_names_the_game_and_can_be_replayed() -> None:
    record = ggp.play_match("openspiel:phantom_ttt", {"p0": "random", "p1": "random"})
    assert record.game == "openspiel:phantom_ttt"
    assert "obstype=reveal-numturns" in record.rules
    reread = record_from_json(record.to_json())
    states = check_record(reread, rules_of(reread))
    assert len(states) == len(record.turns) + 1
    bare = replace(reread, rules="")
    assert len(check_record(bare, rules_of(bare))) == len(states)
    wrong = replace(reread, goals=dict.fromkeys(reread.goals, 7.0))
    with pytest.raises(MatchError, match="the rules give p0"):
        check_record(wrong, rules_of(wrong))


def test_series_is_kept_and_continued(tmp_path: Path) -> None:
    text = 'games = ["openspiel:kuhn_poker"]\nrounds = 2\n[players]\na = "random"\nb = "legal"\n'
    (tmp_path / "tournament.toml").write_text(text)
    series = read_tournament(tmp_path / "tournament.toml")
    for _ in range(2):
        snapshot, failures = play(series, tmp_path, None, None)
        assert not failures
        assert [match.record.game for match in snapshot.matches] == ["openspiel:kuhn_poker"] * 4


@pytest.mark.parametrize("name", ["leduc_poker", "connect_four"])
def test_bots_of_openspiel_play_by_what_their_role_knows(name: str) -> None:
    assert faults_of(name, f"{BOT}:simulations=30") == []
    assert faults_of("tic_tac_toe", BOT, 0.3) == []


def test_bots_refuse_games_that_they_cannot_play() -> None:
    bot = parse_spec(BOT)
    for game, backend, message in (
        ("openspiel:liars_dice", "openspiel", "does not say how to draw a state"),
        ("openspiel:crazy_eights", "openspiel", "does not say how to draw a state"),
        ("openspiel:matrix_rps", "openspiel", "players move at once"),
        ("openspiel:goofspiel", "openspiel", "players move at once"),
        ("monty_hall", "prolog", "plays? only games named openspiel:NAME"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_player(bot, machine_of_game(game, backend), 0, np.random.default_rng(0))
        with pytest.raises(ConfigError, match=message):  # before the match
            check_game(bot, load_program(game))


DRAWS = (
    "bargaining", "blackjack", "bridge", "colored_trails", "euchre", "gin_rummy", "hearts",
    "kuhn_poker", "leduc_poker", "oh_hell", "universal_poker",
)  # fmt: skip


@pytest.mark.verify
def test_openspiel_draws_states_in_few_games() -> None:
    playable = []
    for name in spiel_names():
        game = load_game(name)
        if not is_open(game):
            with suppress(ConfigError):
                refuse_without_bot(game, Random(0).random)
                playable.append(name)
    assert playable == list(DRAWS)
