"""Untrusted specs: they may name players of this package, but neither files nor modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggp.errors import ConfigError
from ggp.players import PLAYERS, describe_player, parse_spec


@pytest.mark.parametrize(
    "text",
    [
        "hyperplay2:n=4,model=late:20",
        "hyperplay:model=threshold",
        "los:evaluation=kriegspiel",
        "over:evaluation=playouts",
        "hyperplay2:boards=kriegspiel",
        "policy",
    ],
)
def test_players_of_this_package_can_be_named(text: str) -> None:
    assert parse_spec(text, trusted=False) == parse_spec(text)


@pytest.mark.parametrize("name", list(PLAYERS))
def test_no_option_takes_a_file(name: str, tmp_path: Path) -> None:
    """The declarations of options are complete: an option that reads a file says so."""
    file = tmp_path / "secret"
    file.write_text("a = 1")
    for option in describe_player(name).options:
        for value in (file, f"policy:{file}", f"learned:{file}"):
            with pytest.raises(ConfigError) as caught:
                parse_spec(f"{name}:{option.name}={value}", trusted=False)
            assert "names a file" in str(caught.value) or "FILE" not in option.form
            # Only a reader of the file can say this.
            assert "does not say" not in str(caught.value)


@pytest.mark.parametrize(
    "option", ["policy:file={}", "pimc:model=policy:{}", "los:evaluation={}", "over:boards={}"]
)
def test_errors_do_not_reveal_whether_a_file_exists(option: str, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("")
    messages = []
    for name in ("there", "not"):
        with pytest.raises(ConfigError, match="names a file, which only a command line may") as why:
            parse_spec(option.format(tmp_path / name), trusted=False)
        messages.append(str(why.value))
    assert messages[0] == messages[1]


def test_a_file_named_like_a_game_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kriegspiel").write_text("a = 1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="names a file"):
        parse_spec("los:evaluation=kriegspiel", trusted=False)


def test_modules_and_players_of_other_packages_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    for text in ("evil:P", "evil", "ggp.players.spiel_bot:OpenSpielBot"):
        with pytest.raises(ConfigError, match="unknown player"):
            parse_spec(text, trusted=False)
    assert not (tmp_path / "ran").exists()
