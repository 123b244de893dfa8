"""Options whose bounds are mistakes of their authors, and files that options name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from ggp.belief.policy_models import write_strategies
from ggp.errors import ConfigError
from ggp.gdl.games import find_companion
from ggp.players import digests_of_files, parse_spec
from ggp.players.options.option_fields import (
    describe_options,
    files_read,
    read_options,
    whole,
    wholes,
)


def test_option_without_a_choice_is_refused_where_it_is_declared() -> None:
    with pytest.raises(ConfigError, match=r"from 1 to 1 leaves no choice.*low=0, high=1"):
        whole(1, "whether to look ahead", high=1)
    with pytest.raises(ConfigError, match="from 3 to 2 leaves no choice"):
        wholes("how far", low=3, high=2)


def test_default_must_be_possible() -> None:
    with pytest.raises(ConfigError, match="0 is the default of an option from 1 to 9"):
        whole(0, "how far", high=9)


def test_option_may_be_on_or_off() -> None:
    @dataclass(frozen=True)
    class Options:
        look_ahead: int = whole(1, "whether to look ahead", low=0, high=1)
        depth: int | None = whole(None, "how far", usual="as far as there is time")

    assert read_options(Options, "mine", "look_ahead=0") == Options(look_ahead=0)
    assert next((option.low, option.high) for option in describe_options(Options)) == (0, 1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("learned:policy=none.npz", "option 'policy' of player learned: cannot read none.npz: No"),
        ("policy:file=none.json", "option 'file' of player policy: the strategies in none.json"),
        ("pimc:model=policy:none.json", "the strategies in none.json cannot be read: No such"),
        ("hs:evaluation=none.toml", "option 'evaluation' of player hs: there is no file 'none"),
        ("over:evaluation=none.toml", "option 'evaluation' of player over: there is no file"),
    ],
)
def test_files_are_read_with_the_spec(spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_spec(spec)


def test_policies_are_not_taken_for_strategies(tmp_path: Path) -> None:
    strategy_file = tmp_path / "learnt.npz"
    strategy_file.write_bytes(b"PK\x03\x04\xff")
    with pytest.raises(ConfigError, match=r"it is no text; .* learned:policy=.*learnt.npz plays"):
        parse_spec(f"policy:file={strategy_file}")


def test_files_that_decide_what_a_player_does_are_known(tmp_path: Path) -> None:
    strategy_file, piece_file = str(tmp_path / "told.json"), str(tmp_path / "mine.toml")
    write_strategies(strategy_file, {"player1": {}})
    Path(piece_file).write_text(find_companion("kriegspiel", ".toml").read_text())
    assert files_read(parse_spec(f"policy:file={strategy_file}").options) == {"file": strategy_file}
    assert files_read(parse_spec(f"hyperplay:model=policy:{strategy_file}").options) == {
        "model": strategy_file
    }
    hs_options = parse_spec(f"hs:evaluation={piece_file},boards={piece_file}").options
    assert files_read(hs_options) == {"evaluation": piece_file, "boards": piece_file}
    # Files of ggp change with its version, and matches add to the counts of opponents.
    for spec in (
        "hs:evaluation=kriegspiel,boards=kriegspiel",
        f"hyperplay:model=learned:{strategy_file}",
    ):
        assert files_read(parse_spec(spec).options) == {}
    old_digests = digests_of_files(parse_spec(f"policy:file={strategy_file}"))
    assert old_digests == digests_of_files(parse_spec(f"pimc:model=policy:{strategy_file}"))
    write_strategies(strategy_file, {"player2": {}})
    assert old_digests != digests_of_files(parse_spec(f"policy:file={strategy_file}"))


def test_the_code_of_a_third_party_player_determines_its_decisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "edited_player.py"
    code.write_text(
        "from ggp.players.random_legal import RandomLegal\n\n\nclass Mine(RandomLegal): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    spec = parse_spec("edited_player:Mine")
    old = digests_of_files(spec)
    assert list(old) == ["edited_player"]
    code.write_text(code.read_text() + "# edited\n")
    assert digests_of_files(spec) != old
    assert digests_of_files(parse_spec("random")) == {}
