"""Names that a page may use: games and players, and no other file of the user's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ggp.errors import ConfigError
from match_runner.table.options import Offers, read_offers

RULES = "(role solo) (legal solo go) terminal (goal solo 1)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Games in a folder, and a secret beside it to which links and names lead."""
    (tmp_path / "secret.gdl").write_text("a secret")
    games = tmp_path / "games"
    (games / "small").mkdir(parents=True)
    (games / "mine.gdl").write_text(RULES)
    (games / "mine.picture.toml").write_text("")
    (games / "small" / "other.kif").write_text(RULES)
    (games / "notes.txt").write_text("a secret")
    (games / "link.gdl").symlink_to(tmp_path / "secret.gdl")
    (games / "away").symlink_to(tmp_path)
    (games / "linked.gdl").write_text(RULES)
    (games / "linked.picture.toml").symlink_to(tmp_path / "secret.gdl")
    os.mkfifo(games / "pipe.gdl")
    return games


def test_games_of_the_package_and_of_the_folder_are_named(folder: Path) -> None:
    offers = Offers(games=folder)
    names = offers.game_names()
    assert names[:3] == ["linked.gdl", "mine.gdl", "small/other.kif"]
    assert "tic_tac_toe" in names
    assert offers.rules_of("mine.gdl", None) == (RULES, folder / "mine.picture.toml")
    assert offers.rules_of("small/other.kif", None) == (RULES, None)
    assert offers.rules_of("linked.gdl", None) == (RULES, None)
    assert "xplayer" in offers.rules_of("tic_tac_toe", None)[0]
    assert offers.rules_of("../whatever it is called", RULES) == (RULES, None)


def test_files_outside_the_offered_games_are_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    names = ["secret.gdl", "link.gdl", "away/secret.gdl", "../secret.gdl", "notes.txt", "pipe.gdl"]
    names += ["games/mine.gdl", str(folder / "mine.gdl"), "./mine.gdl", "small/../mine.gdl", ""]
    names += ["../games/tic_tac_toe", "openspiel:kuhn_poker", "x" * 5000 + ".gdl", "\0.gdl"]
    for offers in (Offers(games=folder), Offers(game="tic_tac_toe")):
        for name in names:
            with pytest.raises(ConfigError) as caught:
                offers.rules_of(name, None)
            assert "a secret" not in str(caught.value)


def test_the_game_of_the_command_line_is_whatever_it_names(folder: Path) -> None:
    path = str(folder.parent / "secret.gdl")
    assert Offers(game=path).game_names()[0] == path
    assert Offers(game=path).rules_of(path, None)[0] == "a secret"
    spiel = "openspiel:efg_game(filename=x)"
    assert Offers(game=spiel).rules_of("anything", spiel) == (spiel, None)
    for arguments in (
        ("x", spiel),
        (spiel, None),
        ("x", f" {spiel}"),
        ("x", "openspiel:kuhn_poker"),
    ):
        with pytest.raises(ConfigError, match="must be named on the command line"):
            Offers(game="openspiel:leduc_poker").rules_of(*arguments)


def test_long_files_are_no_rulesheets(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("match_runner.table.options.MAX_RULES", 10)
    with pytest.raises(ConfigError, match="too long for rules"):
        Offers(games=folder).rules_of("mine.gdl", None)


def test_players_of_the_package_and_what_is_offered_are_named(tmp_path: Path) -> None:
    specs = {"learner": f"pimc:model=learned:{tmp_path / 'x'}", "far": "http://localhost:9147"}
    offers = Offers(players=read_offers(f"{name}={spec}" for name, spec in specs.items()))
    assert {name: offers.spec_of(name) for name in specs} == specs
    assert offers.spec_of("hyperplay2:n=4") == "hyperplay2:n=4"
    for text, message in [
        ("http://localhost:9147", "must be offered"),
        ("hyperplay:80", "must be offered"),
        ("ftp://x", "must be offered"),
        (specs["learner"], "names a file"),
        ("evil:P", "unknown player.*, auto, .*, para, learner, far; offer other players"),
        ("human", "unknown player"),
    ]:
        with pytest.raises(ConfigError, match=message):
            offers.spec_of(text)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["random"], "must be NAME=SPEC"),
        (["=random"], "must be NAME=SPEC"),
        (["a b=random"], "must be NAME=SPEC"),
        (["random=legal"], "already the name of a player"),
        (["human=legal"], "already the name of a player"),
        (["x=legal", "x=random"], "given twice"),
        (["x=nothing"], "--offer x: unknown player"),
        (["x=https://there"], "--offer x: .* is not the address"),
    ],
)
def test_offers_are_checked(texts: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_offers(texts)
