"""What `ggp validate` says of conditions that never hold, of names, and of foreign notation."""

from __future__ import annotations

import re
import time
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings

from ggp.gdl import list_games, parse, parse_term, print_kif, read_rulesheet
from ggp.gdl.analysis.domains import Domains, position
from ggp.gdl.normalize import load, normalize, validate
from ggp.gdl.source import Diagnostic
from ggp.gdl.terms import Rule
from ggp.search.moves import random_moves
from match_runner.terminal import rules_in_words
from tests.gdl.syntax import strategies
from tests.support.effort import examples
from tests.support.games import machine_of_game
from tests.support.sheets.programs import FRAME

FOUND = FRAME.replace("(<= terminal (true over))", "(<= terminal (true start))")
"""The frame without its own condition that never holds."""


def diagnostics_of(rules: str, *, strict: bool = False) -> list[Diagnostic]:
    return list(validate(parse(FOUND + rules), strict=strict))


def messages_of(rules: str) -> list[tuple[str, str]]:
    """(rule, message) of the warnings; each has its place, and is an error when strict.

    Relations that are not defined are only warned of.
    """
    reported = diagnostics_of(rules)
    assert {d.severity for d in reported} <= {"warning"}
    strict = [d for d in diagnostics_of(rules, strict=True) if d.severity == "warning"]
    assert {d.rule for d in strict} <= {"undefined"}
    assert all(d.line and d.column for d in reported)
    return [(d.rule, d.message) for d in reported]


@pytest.mark.parametrize(
    ("rules", "rule", "message"),
    [
        (
            "(init (found 1)) (<= (goal white 1) (true (fuond 1)))",
            "never-true",
            "(fuond 1) is never true: no `init` or `next` makes it; did you mean `found`?",
        ),
        (
            "(init (at 1)) (<= (goal white 1) (not (true (at 1 2))))",
            "never-true",
            "(at 1 2) is never true: no `init` or `next` makes it; elsewhere `at` has 1 argument",
        ),
        (
            "(<= (goal white 1) (or (true start) (not (true stat))))",
            "never-true",
            "stat is never true: no `init` or `next` makes it; did you mean `start`?",
        ),
        (
            "(init (cell 1 blank)) (init (cell 2 blank)) (<= (goal white 1) (true (cell ?x blnk)))",
            "never-true",
            "(cell ?x blnk) is never true: argument 2 of `cell` is never blnk; did you mean "
            "`blank`?",
        ),
        (
            "(succ 1 2) (succ 2 3) (init (step 1)) (<= (goal white 1) (true (step 4)))"
            "(<= (next (step ?n)) (true (step ?m)) (succ ?m ?n))",
            "never-true",
            "(step 4) is never true: argument 1 of `step` is never 4, only 1, 2 and 3",
        ),
        (
            "(init (at a 1)) (init (at b 2)) (<= (goal white 1) (true (at a 2)))",
            "never-true",
            "(at a 2) is never true: no `init` or `next` makes it",
        ),
        (
            "(init (on (box 1))) (<= (goal white 1) (true (on (bxo 1))))",
            "never-true",
            "(on (bxo 1)) is never true: argument 1 of `on` is never (bxo 1); did you mean `box`?",
        ),
        (
            "(cell 1) (<= (legal ?r (mark ?c)) (role ?r) (cell ?c))"
            "(<= (next start) (does ?r (makr ?c)))",
            "never-legal",
            "(makr ?c) is never played: no `legal` allows it; did you mean `mark`?",
        ),
        (
            "(cell 1) (cell 2) (<= (legal ?r (mark ?c)) (role ?r) (cell ?c))"
            "(<= (next start) (does ?r (mark 3)))",
            "never-legal",
            "(mark 3) is never played: argument 1 of `mark` is never 3, only 1 and 2",
        ),
        (
            "(<= (goal whit 1) (true start))",
            "no-such-role",
            "whit is no role; did you mean `white`?",
        ),
        (
            "(<= (next start) (does green noop))",
            "no-such-role",
            "green is no role: the roles are white and black",
        ),
        ("(legal (f white) noop)", "no-such-role", "(f white) is no role: the roles are white and"),
        ("(<= (sees blak x) (does white noop))", "no-such-role", "blak is no role; did you mean"),
        ("(<= (goal white 1) (role red))", "no-such-role", "red is no role: the roles are"),
        (
            "(<= (legal ?r [mark]) (role ?r))",
            "notation",
            "`[mark]` is read as a name; brackets mean nothing in GDL",
        ),
        ("(init (at 1, 2))", "notation", "`1,` is read as a name; arguments are separated by"),
        (
            "(=> (true start) (next start))",
            "notation",
            "`=>` means nothing in GDL; a rule is written (<= head condition ...)",
        ),
        (
            "(init (step 1)) (<= (next (step (+ ?n 1))) (true (step ?n)))",
            "notation",
            "`+` does not calculate: it is a name like any other; GDL has no arithmetic: write "
            "facts like (less 1 2) and (succ 1 2)",
        ),
        (
            "(init (step 1)) (<= (goal white 1) (true (step ?n)) (> ?n 3))",
            "undefined",
            "relation `>` with 2 arguments is not defined: it is false; GDL has no arithmetic",
        ),
        (
            "(init (step 1)) (<= (goal white 1) (true (step ?n)) (= ?n 1))",
            "undefined",
            "relation `=` with 2 arguments is not defined: it is false; GDL has no `=`: write",
        ),
        (
            "(<= (even ?x) (role ?x)) (<= (goal ?r 1) (evne ?r))",
            "undefined",
            "relation `evne` with 1 argument is not defined: it is false; did you mean `even`?",
        ),
        (
            "(<= (goal white 1) (knows white (true start)))",
            "undefined",
            "relation `knows` with 2 arguments is not defined: it is false; it is of GDL-III",
        ),
        (
            "(init (turn white)) (<= (goal white 1) (turn ?r))",
            "undefined",
            "relation `turn` with 1 argument is not defined: it is false; ask for a fluent: "
            "(true (turn ...))",
        ),
        (
            "(legal white (mark 1)) (<= (goal white 1) (mark ?x))",
            "undefined",
            "relation `mark` with 1 argument is not defined: it is false; ask for a move: "
            "(does role (mark ...))",
        ),
        (
            "(init (turn white)) (<= (turn black) (true (turn white)))",
            "unused",
            "nothing uses the relation `turn`; a fluent is made by (next (turn ...))",
        ),
        (
            "(<= (true (turn white)) (does white go))",
            "keyword-head",
            "`true` cannot be defined by a rule: rule dropped; (next ...) says what holds after",
        ),
        (
            "(<= (goal white X) (points X)) (points 1)",
            "notation",
            "`X` is a constant; a variable is written ?X",
        ),
        (
            "(init (control white))",
            "control",
            "no `legal` depends on `control`, which alone means nothing in GDL: all roles move in",
        ),
        ("(<= termnial (true start))", "unused", "nothing uses the relation `termnial`; did you"),
    ],
)
def test_impossible_rules_are_reported_with_a_suggestion(
    rules: str, rule: str, message: str
) -> None:
    messages = [(r, m) for r, m in messages_of(rules) if r == rule]
    assert len(messages) == 1
    assert messages[0][1].startswith(message)


def test_control_that_moves_depend_on_is_meant() -> None:
    turns = "(init (control white)) (<= (legal white (mine)) (has white)) "
    goal_rule = "(<= (has ?r) (or (true (control ?r)) (true start)))"
    assert "control" not in [rule for rule, _ in messages_of(turns + goal_rule)]


def test_one_keyword_in_capitals_does_not_make_constants_of_variables() -> None:
    sheet = parse("(ROLE white) (legal white go) (<= (goal white X) (points X)) (points 1)")
    assert any("a variable is written ?X" in diagnostic.message for diagnostic in validate(sheet))


def test_control_that_is_asked_for_as_a_relation_is_told_once() -> None:
    rules = "(init (control white)) (<= (legal white (mine)) (control white))"
    reported = [rule for rule, _ in messages_of(rules)]
    assert "control" not in reported
    assert "undefined" in reported


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (next (at ?x X)) (true (at ?x X)))(init (at 1 X))",  # a fact has it
        "(<= (next (at ?x X)) (true (at ?x ?y)))",  # a rule has it once
        "(<= (next X) (true X))",  # it is a fluent
        "(<= (next (road X X)) (true start))",  # a single term has it
    ],
)
def test_capitals_may_be_constants(rules: str) -> None:
    for text in (FOUND + rules, (FOUND + "(<= (goal white x) (points x))").upper()):
        assert not any(
            "is a constant" in diagnostic.message for diagnostic in validate(parse(text))
        )


@pytest.mark.parametrize("name", [">", "=", "+"])
def test_undefined_operator_is_an_error_when_strict(name: str) -> None:
    (diagnostic,) = diagnostics_of(f"(<= (goal white 1) (true start) ({name} 1 2))", strict=True)
    assert (diagnostic.severity, diagnostic.rule) == ("error", "undefined")


def test_caret_stands_under_the_wrong_name() -> None:
    (diagnostic,) = diagnostics_of(
        "\n(init (cell 1 blank))\n(<= (goal white 1)\n  (true (cell ?x blnk)))"
    )
    assert str(diagnostic).splitlines()[1:] == ["  (true (cell ?x blnk)))", " " * 17 + "^"]


def test_one_wrong_name_is_told_once_and_does_not_make_others_wrong() -> None:
    rules = """
    (init (step 1)) (succ 1 2)
    (<= (next (stpe ?n)) (true (step ?m)) (succ ?m ?n))
    (<= (next (at ?n)) (true (setp ?n)))
    (<= (goal white 1) (true (at 2)))
    (<= (goal white 2) (true (setp 2)) (not (true (setp 3))))
    (<= (goal white 3) (true (at 1)) (succc 1 ?x) (true (at ?x)))
    (<= (next (far ?x)) (succc 1 ?x)) (<= (goal white 4) (true (far 7)))
    """
    assert messages_of(rules) == [
        (
            "never-true",
            "(setp ?n) is never true: no `init` or `next` makes it; did you mean `step`?",
        ),
        (
            "undefined",
            "relation `succc` with 2 arguments is not defined: it is false; did you mean `succ`?",
        ),
    ]


@pytest.mark.parametrize(
    "rules",
    [
        # What a variable of a head can be, also one that nothing binds.
        "(init (at 1)) (<= (next (at ?x)) (does white ?x)) (<= (goal white 1) (true (at noop)))",
        "(init (at 1)) (<= (next ?f) (true ?f)) (<= (goal white 1) (true (at 1)))",
        "(kind (at 5)) (<= (next ?f) (kind ?f)) (<= (goal white 1) (true (at 5)))",
        "(<= (legal ?r ?m) (role ?r) (can ?m)) (can (go 1)) (<= (next start) (does ?r (go 1)))",
        # Alternatives, each of which may bind the variable.
        "(a 1) (b 2) (<= (next (at ?x)) (or (a ?x) (b ?x))) (<= (goal white 1) (true (at 2)))",
        # Terms that grow.
        "(init (n 0)) (<= (next (n (s ?x))) (true (n ?x)))"
        "(<= (goal white 1) (true (n (s (s (s (s (s (s (s 0))))))))))",
        # Names of their own, whatever they are.
        "(> 2 1) (init (step 2)) (<= (goal white 1) (true (step ?n)) (> ?n 1))",
        "(init (sum (+ 1 2))) (<= (goal white 1) (true (sum (+ ?x 2))))",
        "(init (sign +)) (<= (goal white 1) (true (sign +)))",
        "(role random) (<= (next start) (does random noop))",
        # Hints for other programs.
        "(base (step 1)) (input white [noop])",
    ],
)
def test_possible_rules_are_not_reported(rules: str) -> None:
    assert diagnostics_of(rules, strict=True) == []


@pytest.mark.parametrize("name", list_games())
def test_our_games_have_no_warnings(name: str) -> None:
    assert validate(read_rulesheet(name), strict=True) == ()


@pytest.mark.parametrize("name", ["banker_and_thief", "krieg_tic_tac_toe", "spy_vs_spy"])
def test_slip_in_a_fluent_or_move_is_found_where_it_is(name: str) -> None:
    text = read_rulesheet(name).source.text
    slips = 0
    for match in re.finditer(r"(?<=\(true \()\w{4,}|(?<=\(does \?r \()\w{4,}", text):
        word = match.group()
        wrong = word[:1] + word[2:]
        sheet = parse(text[: match.start()] + wrong + text[match.end() :])
        line, column = sheet.source.position(match.start() - 1)
        reported = [d for d in validate(sheet) if (d.line, d.column) == (line, column)]
        assert [d.rule for d in reported] == [
            d.rule for d in reported if d.rule.startswith("never-")
        ]
        assert len(reported) == 1
        assert reported[0].message.endswith(f"did you mean `{word}`?")
        slips += 1
    assert slips >= 5


@pytest.mark.parametrize(
    "name", ["exploding_bomb", "krieg_tic_tac_toe", "leduc_poker", "meier", "monty_hall"]
)
def test_events_of_a_real_match_are_never_impossible(name: str) -> None:
    machine = machine_of_game(name, "propnet")
    domains = Domains(load(name).rules)
    fluents: set[str] = set()
    moves: set[int] = set()
    states = machine.initial(32)
    rng = np.random.default_rng(0)
    while len(open_ := np.flatnonzero(~machine.terminal(states))):
        states = states.take(open_)
        fluents.update(chain.from_iterable(machine.fluents(states)))
        joint = [random_moves(machine, states, r, rng) for r in range(len(machine.roles))]
        moves.update(m for column in joint for m in column.tolist())
        states = machine.step(states, np.stack(joint, axis=1)).states
    for relation, argument, texts in (
        (("true", 1), 0, fluents),
        (("does", 2), 1, set(map(machine.move_text, moves))),
    ):
        at = position(relation, argument)
        assert [t for t in texts if domains.impossible(parse_term(t), at) is not None] == []


@settings(deadline=None, max_examples=examples(25))
@given(strategies.rulesheets)
def test_validation_accepts_any_rules_without_raising(rules: tuple[Rule, ...]) -> None:
    sheet = parse(FOUND + print_kif(rules))
    assert all(isinstance(diagnostic, Diagnostic) for diagnostic in validate(sheet, strict=True))
    assert all(lines for lines in rules_in_words(sheet.rules).values())


def test_only_validation_looks_for_what_no_formal_rule_forbids() -> None:
    sheet = parse(FOUND + "(<= (goal white 1) (true (fuond 1)))")
    assert normalize(sheet, strict=True).diagnostics == ()
    assert validate(sheet, strict=True) != ()


@pytest.mark.parametrize(
    "rules",
    [
        " ".join(
            f"(<= (next (cell ?x {i} b)) (true (cell ?x {i} b)) (not (true (cell {i} {i} ?x))))"
            for i in range(800)
        ),
        " ".join(f"(init (at {i})) (<= (goal white 1) (true (ta {i} {i})))" for i in range(800)),
        " ".join(f"(r{i} c{i}) (<= (r{i + 1} ?x) (r{i} ?x))" for i in range(800))
        + "(<= (next (at ?x)) (r800 ?x)) (<= (goal white 1) (true (at 7)))",
        " ".join(f"(init (at ?x ?x {i} ?x)) (<= p (true (at a ?y ?y b)))" for i in range(500)),
    ],
    ids=["cells", "names", "chain", "unbound"],
)  # fmt: skip
def test_large_sheets_are_looked_through_in_bounded_time(rules: str) -> None:
    sheet = parse(FOUND + rules)
    plain = _seconds(lambda: _normalized(sheet))
    whole = _seconds(lambda: validate(sheet))
    assert whole < 3 * plain + 2


def _normalized(sheet: object) -> None:
    try:
        normalize(sheet)  # type: ignore[arg-type]
    except Exception:
        return


def _seconds(do: object) -> float:
    started = time.process_time()
    do()  # type: ignore[operator]
    return time.process_time() - started
