"""`ggp players`, its page, and completion: all from what players declare."""

from __future__ import annotations

import dataclasses

import click
import pytest
from click.shell_completion import ShellComplete

from ggp.cli import main
from ggp.cli.arguments import PlayerText
from ggp.cli.histories import evaluate
from ggp.cli.players import markdown_of
from ggp.players import PLAYERS, describe_player, known_players
from match_runner.cli.play import play
from tests.support.commands import error_line, json_of, run
from tests.support.games import REPOSITORY


def test_every_player_is_listed_with_its_options() -> None:
    players = json_of("players")
    assert [info["name"] for info in players[: len(PLAYERS)]] == list(PLAYERS)
    for info in players:
        assert list(info) == ["name", "summary", "source", "options"]
        assert info["summary"].endswith(".")
    options = {option["name"]: option for option in players[2]["options"]}
    searching = ["exact", "sampler", "states", "ties", "model", "boards", "ponder"]
    last = ["rescue", "risk"]
    assert list(options) == ["n", "particles", "playouts", *searching, *last]
    assert options["n"] == {
        "name": "n",
        "form": "N",
        "default": "8",
        "meaning": "resource index: n^2 particles, n^4 playouts a candidate",
        "low": 1,
        "high": 100,
    }
    assert options["ties"]["form"] == "random|prompt"
    table = run("players").stdout
    for info in players:
        assert f"{info['name']}: {info['summary']}" in table
        assert all(option["meaning"] in table for option in info["options"])


def test_one_player_can_be_asked_for() -> None:
    (info,) = json_of("players", "hyperplay2")
    assert info == dataclasses.asdict(describe_player("hyperplay2")) | {
        "options": [dataclasses.asdict(option) for option in describe_player("hyperplay2").options]
    }
    assert "unknown player 'oracle'; players: legal, random," in error_line("players", "oracle")
    assert "there is no module 'oracle'" in error_line("players", "oracle:Of")
    assert "json:dumps is no player: it must be a class" in error_line("players", "json:dumps")


def test_the_page_of_players_is_printed_by_the_command() -> None:
    page = (REPOSITORY / "docs" / "reference" / "players.md").read_text()
    tables = "\n".join(markdown_of([describe_player(name) for name in known_players()]))
    assert tables.strip() in page


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("hyper", ["hyperplay", "hyperplay2"]),
        ("agent=leg", ["agent=legal"]),
        ("hyperplay:p", ["hyperplay:particles=", "hyperplay:playouts="]),
        ("agent=hyperplay2:n=4,t", ["agent=hyperplay2:n=4,ties="]),
        ("nobody:x", []),
    ],
)
def test_specs_are_completed(typed: str, completed: list[str]) -> None:
    completions = PlayerText().shell_complete(click.Context(play), None, typed)
    assert [item.value for item in completions if item.value in completed] == completed
    assert typed or len(completions) == len(known_players())


def test_games_and_roles_are_completed() -> None:
    def completed(typed: list[str], incomplete: str) -> list[tuple[str, str]]:
        completion = ShellComplete(main, {}, "ggp", "_GGP_COMPLETE")
        items = completion.get_completions(["evaluate", *typed], incomplete)
        return [(item.type, item.value) for item in items]

    assert completed([], "monty") == [("plain", "monty_hall")]
    assert completed([], "./my") == [("file", "./my")]
    assert completed(["monty_hall", "--role"], "") == [("plain", "candidate"), ("plain", "random")]
    assert completed(["no_such_game", "--role"], "") == []


def test_people_are_completed_where_they_can_play() -> None:
    def completed(command: click.Command, typed: str) -> list[str]:
        (player,) = (option for option in command.params if option.name in ("player", "players"))
        return [item.value for item in player.shell_complete(click.Context(command), typed)]

    assert completed(play, "agent=hu") == ["agent=human"]
    assert completed(evaluate, "hu") == []
