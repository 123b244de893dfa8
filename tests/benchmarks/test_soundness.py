"""The benchmark that counts decisions which rest on sound particles."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from benchmarks import soundness
from benchmarks.soundness import is_sound, main
from ggp.players import Decision

pytestmark = pytest.mark.usefixtures("compiled")


def test_a_decision_is_sound_if_it_rests_on_particles_none_of_which_was_guessed() -> None:
    sound = Decision("noop", (), particles=3, exact=False, states_visited=0, seconds=0.0)
    assert is_sound(sound)
    assert is_sound(replace(sound, fault="decided in 3 states found anew"))
    assert not is_sound(replace(sound, particles=0))
    assert not is_sound(replace(sound, guessed=1))
    assert not is_sound(replace(sound, quality={"sound": False}))


def test_players_are_asked_in_every_turn_of_random_matches() -> None:
    arguments = [
        "kuhn_poker",
        "--player",
        "random",
        "--player",
        "legal",
        "--matches",
        "3",
        "--json",
    ]
    rows = json.loads(CliRunner().invoke(main, arguments, catch_exceptions=False).output)
    assert [row["player"] for row in rows] == ["random", "legal"]
    for row in rows:
        assert row["matches"] == 3
        assert row["decisions"] == row["sound"] == row["exact"] >= 6


def test_matches_with_a_referee_count_the_decisions_of_one_role() -> None:
    arguments = ["kuhn_poker", "--player", "random", "--against", "legal", "--matches", "3"]
    (row,) = json.loads(CliRunner().invoke(main, [*arguments, "--seconds", "5", "--json"]).output)
    assert row["player"] == "random"
    assert row["decisions"] == row["sound"] == row["exact"] >= 6
    assert row["latest_s"] < 0


def test_unsound_decisions_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundness, "is_sound", lambda decision: decision.states_visited < 0)
    arguments = ["kuhn_poker", "--player", "legal", "--matches", "1"]
    (row,) = json.loads(CliRunner().invoke(main, [*arguments, "--json"]).output)
    assert row["sound"] == 0 < row["decisions"]
    assert " 0.0 " in CliRunner().invoke(main, arguments, catch_exceptions=False).output
