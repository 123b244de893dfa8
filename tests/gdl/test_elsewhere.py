"""What other engines read differently: our answers, the warnings, and the page that lists them.

Each file of tests/engines has rules, what ggp makes of them, and what other engines were seen to
make of them: ggp-base 44db132 with its prover, validator and network, the Dresden GameController
(766234c3b), clingo 5.7.1 on a translation term by term, with `or` as `(a; b)`, and pyggp 0.2.0a4
(994afd5) on the rules in infix syntax. Answers are the legal moves of each turn, in lower case,
when the first of them is played; then a goal other than 50. `specification` is what GDL says.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from ggp.cli import main
from ggp.errors import ConfigError, GDLValidationError
from ggp.gdl import parse
from ggp.gdl.elsewhere import CLINGO, ENGINES, ROWS
from ggp.gdl.normalize import normalize, validate
from ggp.gdl.source import Rulesheet
from ggp.machine import build_machine
from ggp.study.other_engines import hinted, unhinted
from tests.support.games import REPOSITORY, build_here

NAMES = re.compile(r"[^\s(),;]+")
"""Of an answer: engines write terms in different ways, and so sort them differently."""

SEEN = {path.stem: path for path in sorted((REPOSITORY / "tests" / "engines").glob("*.toml"))}


def read(name: str) -> dict[str, Any]:
    return tomllib.loads(SEEN[name].read_text(encoding="utf-8"))


def answer(rules: str, backend: str) -> str:
    """What a backend makes of a game for one role, as the files write it."""
    try:
        program = normalize(parse(rules))
    except GDLValidationError:
        return "not read: GDLValidationError"
    machine = build_here(program, backend)
    state, parts = machine.initial(1), []
    for turn in range(3):
        if machine.terminal(state)[0]:
            parts.append(f"turn {turn}: over")
            break
        moves = {machine.move_text(move): move for move in machine.legal(state, 0)[0].tolist()}
        parts.append(f"turn {turn}: {', '.join(sorted(moves))}")
        state = machine.step(state, np.array([[moves[min(moves)]]]))[0]
    goal = machine.goals(state)[0, 0]
    return "; ".join([*parts, *([f"goal {goal}"] if goal != 50 else [])])


def warnings_of(sheet: Rulesheet, engines: Sequence[str] = ENGINES) -> dict[str, str]:
    """The warnings of engines: row -> message."""
    found = (p for p in validate(sheet, engines=engines) if p.rule.startswith("for-"))
    return {problem.rule.removeprefix("for-"): problem.message for problem in found}


@pytest.mark.parametrize("name", SEEN)
def test_every_backend_reads_the_rules_as_the_page_says(name: str) -> None:
    seen = read(name)
    for backend in ("prolog", "propnet", "relational"):
        assert answer(seen["rules"], backend) == seen["ggp"]


@pytest.mark.parametrize("name", SEEN)
def test_an_engine_that_answered_differently_has_a_warning(name: str) -> None:
    seen = read(name)
    if "row" not in seen:  # which no look at the rules can find
        return
    rows = {*warnings_of(parse(seen["rules"])), *({seen["row"]} & {"hints", "circle"})}
    assert seen["row"] in rows
    for engine in ENGINES:
        views = [text for key, text in seen["engines"].items() if key.startswith(engine)]
        right = [NAMES.findall(view) for view in (seen["ggp"], "ok", "warns", "built")]
        differs = not all(sorted(NAMES.findall(view)) in map(sorted, right) for view in views)
        assert views
        assert not differs or any(engine in ROWS[row].engines for row in rows)


def test_every_row_was_seen_with_some_engine() -> None:
    assert {read(name).get("row") for name in SEEN} - {None} == {*ROWS}


def test_a_plain_game_has_no_differences() -> None:
    rules = "(role p) (legal p (a 1)) (<= (goal p 50) (true (n ?x)) (distinct ?x 2)) (init (n -1))"
    assert not warnings_of(parse(f"{rules} (<= terminal (true (n ?x)) (not (q ?x)))"))


def test_warnings_name_the_engine_and_what_to_write() -> None:
    sheet = parse("(role p) (legal p a) (<= terminal (or (true (n 1))))", "game.kif")
    assert warnings_of(sheet, ["gamecontroller"]) == {
        "single-or": "`(or ...)` of one condition: gamecontroller: never holds; write the "
        "condition alone"
    }
    assert [*warnings_of(sheet, [CLINGO])] == ["or"]
    assert not warnings_of(sheet, [])


@pytest.mark.parametrize(
    ("end", "row", "message"),
    [
        (
            "(<= terminal (not (or (legal p a) (legal p b))))",
            "negated-or",
            "GDL has no `(not (or ...))`; write a negation of each disjunct",
        ),
        ("(:- terminal (legal p a))", "arrow", "GDL has no `:-` in KIF; write `<=`"),
    ],
)
def test_strict_refuses_what_the_specification_does_not_have(
    end: str, row: str, message: str
) -> None:
    sheet = parse(f"(role p) (legal p a) (goal p 1) {end}")
    assert row not in {problem.rule for problem in validate(sheet)}
    (problem,) = (p for p in validate(sheet, strict=True) if p.rule == row)
    assert (problem.severity, problem.message) == ("error", message)


def test_the_command_takes_several_engines(tmp_path: Path) -> None:
    file = tmp_path / "game.kif"
    file.write_text(read("single-or")["rules"], encoding="utf-8")
    args = ["validate", str(file), "--for", "gamecontroller", "--for", "clingo", "--json"]
    run = CliRunner().invoke(main, args)
    assert run.exit_code == 0, run.output
    (sheet,) = json.loads(run.stdout)
    assert [problem["rule"] for problem in sheet["diagnostics"]] == ["for-or", "for-single-or"]
    assert CliRunner().invoke(main, ["validate", str(file)]).stdout.endswith(": ok\n")


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("hints", {"base": "(base (n 3))", "input": "(input p b)"}),
        ("hints-2", {"input": "(input p b)"}),
        ("hints-3", {"base": "(base (took b))"}),
        ("hints-complete", {}),
        ("name", {}),
    ],
)
def test_base_and_input_are_compared_with_what_play_reaches(
    name: str, missing: dict[str, str], tmp_path: Path
) -> None:
    rules = read(name.replace("complete", "2"))["rules"]
    if name == "hints-complete":  # by a rule, and with a fluent of the same name
        rules = rules.replace("(input p a)", "(<= (input p ?m) (base (took ?m)))")
        rules += "(init (base 1)) (base (base 1))"
    machine = build_machine(normalize(parse(rules)), "prolog")
    assert unhinted(machine, hinted(parse(rules)), seed=0) == missing
    file = tmp_path / "game.kif"
    file.write_text(rules, encoding="utf-8")
    for options, rule in ((["--for", "ggp-base"], "for-hints"), (["--strict"], "hints")):
        run = CliRunner().invoke(main, ["validate", str(file), *options, "--json"])
        (sheet,) = json.loads(run.stdout)
        found = [d["message"] for d in sheet["diagnostics"] if d["rule"] == rule]
        assert len(found) == len(missing)
        assert all(any(f"write {fact} too" in text for text in found) for fact in missing.values())


def test_base_and_input_that_depend_on_play_are_not_compared() -> None:
    rules = "(role a) (init (n 0)) (legal a go) (<= terminal (true (n 1))) (goal a 100)"
    for hint in (
        "(<= (input ?r ?m) (may ?r ?m)) (<= (may ?r ?m) (legal ?r ?m))",
        "(<= (base ?f) (init ?f))",
    ):
        with pytest.raises(ConfigError, match="depends on"):
            hinted(parse(f"{rules} {hint}"))


@pytest.mark.parametrize(
    ("rules", "place"),
    [
        ("(e 1 2) (e 2 1) (<= (r ?x ?z) (e ?x ?y) (r ?y ?z))", "(r ?y ?z)"),
        ("(e 1 2) (e 2 3) (<= (r ?x ?z) (e ?x ?y) (r ?y ?z))", ""),
        ("(e 1 2 up) (e 2 1 down) (<= (r ?x ?d) (e ?x ?y ?d) (r ?y ?d))", ""),
        ("(e 1 2) (e 2 1) (<= (r ?x) (true (f ?x)) (e ?x ?y) (r ?y))", "(r ?y)"),
        ("(e 1 2) (e 2 1) (<= (r ?x) (true (on ?x ?y)) (r ?y))", ""),
        ("(e 1 2) (e 2 1) (<= (r ?x) (e ?x ?y) (distinct ?x ?y) (not (e ?y ?x)) (r ?y))", ""),
        ("(e 1 2) (e 2 1) (<= (r ?x) (e ?x ?y) (q ?y)) (<= (q ?x) (e ?x ?y) (r ?y))", "(q ?y)"),
        ("(s 1 2) (<= (r ?x 1) (s ?x ?y)) (<= (r ?x ?n) (s ?m ?n) (s ?x ?y) (r ?y ?m))", ""),
        ("(<= r q) (<= q r)", "q"),
        ("(<= (r ?x) (does a ?x) (r ?x))", ""),
    ],
)
def test_recursion_in_a_circle_is_found_where_facts_lead_into_it(
    rules: str, place: str, tmp_path: Path
) -> None:
    text = f"(role a) (legal a go) (goal a 50) (<= terminal (true (f 9))) (init (f 1)) {rules}"
    file = tmp_path / "game.kif"
    file.write_text(text, encoding="utf-8")
    run = CliRunner().invoke(main, ["validate", str(file), "--for", "gamecontroller", "--json"])
    (sheet,) = json.loads(run.stdout)
    found = [d for d in sheet["diagnostics"] if d["rule"] == "for-circle"]
    assert [text[d["column"] - 1 :].startswith(place) for d in found] == [True] * bool(place)
    assert all("write an argument more, which counts steps" in d["message"] for d in found)
    other = CliRunner().invoke(main, ["validate", str(file), "--for", "ggp-base", "--json"])
    assert "for-circle" not in other.stdout


@pytest.mark.parametrize(
    ("rule", "is_left"),
    [
        ("(<= (p ?x (f ?y)) (p (f ?x) ?y))", True),
        ("(<= (p ?x ?y) (q ?x ?y) (p ?y ?x))", False),
        ("(<= p r p)", False),
    ],
)
def test_a_recursive_condition_is_found_whatever_its_variables_are_called(
    rule: str, is_left: bool
) -> None:
    found = warnings_of(parse(f"(role a) (q a a) r {rule}"))
    assert ("left-recursion" in found) == is_left
