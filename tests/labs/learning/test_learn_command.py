"""`ggp learn` and `ggp policies`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from ggp.labs.learning.selfplay import Learner
from tests.support.commands import json_of, run

QUICK = ("--lanes", "32", "--updates", "2")


def listed(*arguments: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", json_of("policies", *arguments))


def test_a_learnt_policy_is_listed_and_learning_continues(tmp_path: Path) -> None:
    out = str(tmp_path / "k.policy.npz")
    report = json_of("learn", "kuhn_poker", *QUICK, "--out", out, "--seed", "1")
    assert report["file"] == out
    assert report["updates"] == len(report["curve"]) == 2
    assert report["seed"] == 1
    (entry,) = listed(str(tmp_path))
    assert entry["game"] == "kuhn_poker"
    assert entry["roles"] == ["player1", "player2"]
    continued = run("learn", "kuhn_poker", *QUICK, "--out", out, "--continue")
    assert continued.exit_code == 0
    assert f"learned:policy={out}" in continued.stdout
    (entry,) = listed(out)
    assert entry["updates"] == 4
    assert "kuhn_poker" in run("policies", str(tmp_path)).stdout


def test_a_file_of_another_game_is_refused(tmp_path: Path) -> None:
    out = str(tmp_path / "k.policy.npz")
    json_of("learn", "kuhn_poker", *QUICK, "--out", out)
    result = run("learn", "krieg_tic_tac_toe", *QUICK, "--out", out, "--continue")
    assert result.exit_code != 0
    assert "other rules" in result.stderr


def test_files_without_a_policy_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.policy.npz"
    path.write_text("nothing")
    result = run("policies", str(path))
    assert result.exit_code != 0
    assert "no policy file" in result.stderr
    assert "no policy file" in listed(str(tmp_path))[0]["error"]
    path.unlink()
    assert "ggp learn" in run("policies", str(tmp_path)).stdout
    assert "neither" in run("policies", str(path)).stderr


def test_a_folder_that_is_not_there_is_told_before_learning(tmp_path: Path) -> None:
    result = run("learn", "kuhn_poker", "--minutes", "999", "--out", str(tmp_path / "no" / "k.npz"))
    assert result.exit_code != 0
    assert "there is no folder" in result.stderr


def test_an_interrupt_keeps_the_policy_learnt_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "k.policy.npz"
    segment, most = Learner._segment, 2

    def interrupted(self: Learner, stop: Callable[[], bool]) -> None:
        if self.updates == most:
            raise KeyboardInterrupt
        segment(self, stop)

    monkeypatch.setattr(Learner, "_segment", interrupted)
    arguments = ("learn", "kuhn_poker", "--lanes", "32", "--updates", "5", "--out", str(out))
    result = run(*arguments)
    assert result.exit_code != 0
    assert "resume with --continue" in result.stderr
    assert listed(str(out))[0]["updates"] == 2
    saved = out.read_bytes()
    assert run(*arguments, "--continue").exit_code != 0
    assert out.read_bytes() == saved


@pytest.mark.verify
def test_of_several_seeds_the_least_exploitable_is_kept(tmp_path: Path) -> None:
    out = str(tmp_path / "k.policy.npz")
    report = json_of("learn", "kuhn_poker", *QUICK, "--seeds", "2", "--seed", "5", "--out", out)
    assert {run["seed"] for run in report["runs"]} == {5, 6}
    assert all(run["exact"] for run in report["runs"])
    best = min(report["runs"], key=lambda run: run["given_away"])
    assert report["seed"] == best["seed"]
    (entry,) = listed(out)
    assert entry["seed"] == best["seed"]
    refusal = run("learn", "kuhn_poker", *QUICK, "--seeds", "2", "--out", out, "--continue")
    assert "leave out --seeds" in refusal.stderr


def test_places_are_for_several_seeds() -> None:
    assert "are for --seeds" in run("learn", "kuhn_poker", "--jobs", "2", "--out", "x.npz").stderr
