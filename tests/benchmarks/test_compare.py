"""`python -m benchmarks.compare`: ratios of two results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.compare import main


def result(folder: Path, name: str, **speeds: float) -> str:
    rows = [{"game": game, "states_per_s": speed} for game, speed in speeds.items()]
    path = folder / name
    path.write_text(json.dumps({"circuits": rows}))
    return str(path)


def test_ratios_are_those_of_common_games_and_their_geometric_mean(tmp_path: Path) -> None:
    older = result(tmp_path, "a.json", chess=100, go=200, old=1)
    newer = result(tmp_path, "b.json", chess=200, go=1600, new=5)
    report = json.loads(CliRunner().invoke(main, [older, newer, "--json"]).stdout)
    assert report["ratios"] == {"chess": 2.0, "go": 8.0}
    assert report["geometric_mean"] == pytest.approx(4.0)
    table = CliRunner().invoke(main, [older, newer]).stdout
    assert "geometric mean" in table
    assert "4.000" in table


def test_results_without_a_common_game_are_refused(tmp_path: Path) -> None:
    older, newer = result(tmp_path, "a.json", chess=1), result(tmp_path, "b.json", go=1)
    answer = CliRunner().invoke(main, [older, newer])
    assert answer.exit_code == 2
    assert "no game in common" in answer.output


def test_circuits_are_compared_by_playouts_or_by_single_states(tmp_path: Path) -> None:
    paths = []
    for name, speed, single in (("a.json", 100.0, 50.0), ("b.json", 300.0, 10.0)):
        row = {"game": "hex", "states_per_s": speed, "single_us": single}
        paths.append(tmp_path / name)
        paths[-1].write_text(json.dumps({"circuits": [row]}))
    for option, ratio in (("--circuits", 3.0), ("--single", 5.0)):
        arguments = [*map(str, paths), option, "--json"]
        report = json.loads(CliRunner().invoke(main, arguments).stdout)
        assert report["ratios"] == {"hex": pytest.approx(ratio)}
