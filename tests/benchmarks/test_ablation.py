"""The benchmark that leaves parts of the fast backend out."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import ablation
from benchmarks.ablation import AGAINST, Effort, Row, costs, measure_sheet, pays, summary
from benchmarks.apart.ablation import ALL, measure
from benchmarks.apart.ablation_parts import APART, PARTS, TRICKS, left_out
from ggp.gdl import find_game
from ggp.machine.propnet import optimise
from ggp.machine.propnet.compile.rewriting import splits


def row(states_per_s: float, build_s: float) -> Row:
    """A sheet of which something was left out: with it 100 states a second, and built in 1 s."""
    return {
        ALL: {"states_per_s": 100.0, "build_s": 1.0, "literals": 10},
        "extract": {"states_per_s": states_per_s, "build_s": build_s, "literals": 12},
    }


def test_what_is_left_out_costs_in_playouts_and_in_loading() -> None:
    rows = {"one": row(50.0, 1.0), "other": row(200.0, 0.5)}
    found = costs(rows, "extract")
    assert found == {
        "playouts": {"one": 2.0, "other": 0.5},
        "loading": {"one": 1.0, "other": 0.5},
    }
    told = summary(rows, "extract")
    assert (told["playouts"], told["playouts_most"], told["playouts_where"]) == (1.0, 2.0, "one")
    assert (told["loading_most"], told["loading_where"]) == (1.0, "one")


def test_a_part_pays_in_the_mean_or_on_some_sheet() -> None:
    assert not pays(costs({"one": row(98.0, 1.0), "other": row(100.0, 0.9)}, "extract"))
    assert pays(costs({"one": row(95.0, 1.0), "other": row(95.0, 1.0)}, "extract"))
    assert pays(costs({"one": row(100.0, 1.2), "other": row(100.0, 0.5)}, "extract"))


def test_what_never_ends_costs_loading_only() -> None:
    never = {"states_per_s": math.nan, "build_s": math.inf, "literals": math.inf}
    compared = row(50.0, 1.0) | {f"{AGAINST}split rules": row(50.0, 1.0)[ALL], "split rules": never}
    found = costs({"one": compared}, "split rules")
    assert found == {"playouts": {}, "loading": {"one": math.inf}}
    assert pays(found)
    assert summary({"one": compared}, "split rules")["playouts"] == 1.0


@pytest.mark.verify
def test_variants_are_circuits_of_the_same_game() -> None:
    before = optimise.PASSES
    variants = ["extract", "fusing+phases", "reach"]
    found = measure(str(find_game("meier")), variants, "", 0.001, 1, 1)
    assert found["extract"]["literals"] > found[ALL]["literals"]
    assert found["fusing+phases"]["literals"] == found[ALL]["literals"]
    assert all(each["states_per_s"] > 0 and each["build_s"] > 0 for each in found.values())
    # Nothing that is evaluated changes: it is not played twice.
    assert found["reach"]["states_per_s"] == found[ALL]["states_per_s"]
    assert optimise.PASSES is before
    assert {*TRICKS} < {*PARTS}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_left_out_and_back(part: str) -> None:
    before = optimise.PASSES, splits.LARGE, splits.__dict__["decompose"]
    with left_out([part]):
        if part.endswith(" 2"):
            assert len(optimise.PASSES) == len(before[0]) - 1
        if part == "split rules":
            assert splits.__dict__["decompose"] is not before[2]
    assert before == (optimise.PASSES, splits.LARGE, splits.__dict__["decompose"])


def test_what_needs_a_process_of_its_own_is_compared_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[list[str], str]] = []
    speeds = iter([90.0, 100.0, 50.0, 120.0, 60.0, 80.0, 40.0])

    def note(_: Path, variants: list[str], apart: str, __: Effort) -> Row:
        asked.append((variants, apart))
        made = {"states_per_s": next(speeds), "build_s": 1.0, "literals": 10}
        return dict.fromkeys((ALL, *variants), made)

    monkeypatch.setattr(ablation, "_child", note)
    found = measure_sheet(Path(), ["extract", "split rules"], Effort(0.1, 3, 2))
    assert asked == [(["extract"], ""), *[([], ""), ([], "split rules")] * 3]
    assert found is not None
    assert costs({"one": found}, "split rules")["playouts"] == {"one": 2.0}
    assert costs({"one": found}, "extract")["playouts"] == {"one": 1.0}
    assert "split rules" in APART


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def note(path: Path, variants: tuple[str, ...], *_: object) -> Row | None:
        asked.append(path.stem)
        found = row(50.0, 1.0)
        made = {ALL: found[ALL], **dict.fromkeys(variants, found["extract"])}
        return None if path.stem == "three_cards" else made

    monkeypatch.setattr(ablation, "measure_sheet", note)
    arguments = ["--without", "extract", "--out", str(tmp_path / "out.json"), "--json"]
    first = CliRunner().invoke(ablation.main, arguments, catch_exceptions=False)
    assert json.loads(first.output)["summary"][0]["pays"]
    before = len(asked)
    CliRunner().invoke(ablation.main, arguments, catch_exceptions=False)
    assert asked[before:] == ["three_cards"]
    other = ["--without", "factor", *arguments]
    assert len(json.loads(CliRunner().invoke(ablation.main, other).output)["summary"]) == 2
    assert len(asked) == 2 * before + 1  # all again: with and without take turns
    wrong = CliRunner().invoke(ablation.main, ["--without", "nothing"])
    assert "there is no nothing" in wrong.output
