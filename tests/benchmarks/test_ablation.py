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


def test_a_pass_left_out_costs_playouts_and_loading_time() -> None:
    rows = {"one": row(50.0, 1.0), "other": row(200.0, 0.5)}
    ratios = costs(rows, "extract")
    assert ratios == {
        "playouts": {"one": 2.0, "other": 0.5},
        "loading": {"one": 1.0, "other": 0.5},
    }
    report = summary(rows, "extract")
    assert (report["playouts"], report["playouts_most"], report["playouts_where"]) == (
        1.0,
        2.0,
        "one",
    )
    assert (report["loading_most"], report["loading_where"]) == (1.0, "one")


def test_a_part_pays_in_the_mean_or_on_some_sheet() -> None:
    assert not pays(costs({"one": row(98.0, 1.0), "other": row(100.0, 0.9)}, "extract"))
    assert pays(costs({"one": row(95.0, 1.0), "other": row(95.0, 1.0)}, "extract"))
    assert pays(costs({"one": row(100.0, 1.2), "other": row(100.0, 0.5)}, "extract"))


def test_a_variant_that_never_ends_costs_loading_only() -> None:
    never = {"states_per_s": math.nan, "build_s": math.inf, "literals": math.inf}
    compared = row(50.0, 1.0) | {f"{AGAINST}split rules": row(50.0, 1.0)[ALL], "split rules": never}
    ratios = costs({"one": compared}, "split rules")
    assert ratios == {"playouts": {}, "loading": {"one": math.inf}}
    assert pays(ratios)
    assert summary({"one": compared}, "split rules")["playouts"] == 1.0


@pytest.mark.verify
def test_variants_are_circuits_of_the_same_game() -> None:
    passes = optimise.PASSES
    variants = ["extract", "fusing+phases", "reach"]
    rows = measure(str(find_game("meier")), variants, "", 0.001, 1, 1)
    assert rows["extract"]["literals"] > rows[ALL]["literals"]
    assert rows["fusing+phases"]["literals"] == rows[ALL]["literals"]
    assert all(row["states_per_s"] > 0 and row["build_s"] > 0 for row in rows.values())
    # Nothing that is evaluated changes: it is not played twice.
    assert rows["reach"]["states_per_s"] == rows[ALL]["states_per_s"]
    assert optimise.PASSES is passes
    assert {*TRICKS} < {*PARTS}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_left_out_and_back(part: str) -> None:
    originals = optimise.PASSES, splits.LARGE, splits.__dict__["decompose"]
    with left_out([part]):
        if part.endswith(" 2"):
            assert len(optimise.PASSES) == len(originals[0]) - 1
        if part == "split rules":
            assert splits.__dict__["decompose"] is not originals[2]
    assert originals == (optimise.PASSES, splits.LARGE, splits.__dict__["decompose"])


def test_a_variant_that_needs_its_own_process_is_compared_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[list[str], str]] = []
    speeds = iter([90.0, 100.0, 50.0, 120.0, 60.0, 80.0, 40.0])

    def note(_: Path, variants: list[str], part: str, __: Effort) -> Row:
        calls.append((variants, part))
        numbers = {"states_per_s": next(speeds), "build_s": 1.0, "literals": 10}
        return dict.fromkeys((ALL, *variants), numbers)

    monkeypatch.setattr(ablation, "measure_in_child", note)
    measured = measure_sheet(Path(), ["extract", "split rules"], Effort(0.1, 3, 2))
    assert calls == [(["extract"], ""), *[([], ""), ([], "split rules")] * 3]
    assert measured is not None
    assert costs({"one": measured}, "split rules")["playouts"] == {"one": 2.0}
    assert costs({"one": measured}, "extract")["playouts"] == {"one": 1.0}
    assert "split rules" in APART


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sheets: list[str] = []

    def note(path: Path, variants: tuple[str, ...], *_: object) -> Row | None:
        sheets.append(path.stem)
        numbers = row(50.0, 1.0)
        measured = {ALL: numbers[ALL], **dict.fromkeys(variants, numbers["extract"])}
        return None if path.stem == "three_cards" else measured

    monkeypatch.setattr(ablation, "measure_sheet", note)
    arguments = ["--without", "extract", "--out", str(tmp_path / "out.json"), "--json"]
    first = CliRunner().invoke(ablation.main, arguments, catch_exceptions=False)
    assert json.loads(first.output)["summary"][0]["pays"]
    num_measured = len(sheets)
    CliRunner().invoke(ablation.main, arguments, catch_exceptions=False)
    assert sheets[num_measured:] == ["three_cards"]
    changed = ["--without", "factor", *arguments]
    assert len(json.loads(CliRunner().invoke(ablation.main, changed).output)["summary"]) == 2
    assert len(sheets) == 2 * num_measured + 1  # all again: with and without take turns
    wrong = CliRunner().invoke(ablation.main, ["--without", "nothing"])
    assert "there is no nothing" in wrong.output
