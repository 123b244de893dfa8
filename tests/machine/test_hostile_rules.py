"""Rules are data: nothing in them is executed, and no rulesheet hangs or kills the process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from ggp.errors import GDLValidationError, MachineError, ReasonerLimitError
from ggp.gdl import parse, print_infix, read_rulesheet
from ggp.gdl.normalize import normalize
from ggp.machine import Limits, Machine, States, build_machine
from ggp.machine.base import IntArray
from tests.support.comparing.walks import walk_together
from tests.support.effort import rarely
from tests.support.games import BACKENDS, build_here, machine_of_game
from tests.support.plain.reference import Reference

SMALL = Limits(
    inferences=100_000,
    stack_bytes=1 << 25,
    table_bytes=1 << 25,
    setup_inferences=500_000,
    grounding_seconds=1.0,
    grounding_bytes=1 << 30,
)
ENOUGH = replace(SMALL, grounding_seconds=20.0)
"""For rules that can be ground, on a machine that has other work."""

MAX_SECONDS = 20.0
"""A call takes at most a second or two; machines may be busy."""

PROLOG_NAMES = [
    *("shell", "halt", "consult", "assert", "assertz", "retract", "abolish", "call", "findall"),
    *("print_message", "$set_source_module", "$clause", "user:halt", "system:halt", "module"),
    *("listing", "catch", "throw", "once", "forall", "table", "dynamic", "initialization"),
    *("term_expansion", "goal_expansion", "portray", "prolog_load_file", "exception"),
    *("member", "append", "length", "write", "nl", "tell", "open", "is", "=", "==", "\\=", "=.."),
    *("\\==", "\\+", "->", "*->", "!", ",", "|", "[]", "{}", "[a|b]", "-->", "^", "@"),
    *("fail", "false", "repeat", "otherwise", "nil", "end_of_file", "garbage_collect"),
]

OUR_NAMES = [
    *("k", "d", "n", "i", "fl", "f1", "f2", "r2", "r3", "v_1", "_", "_1", "c", "ok", "limit"),
    *("ggp_state", "ggp_hash", "ggp_fluent", "ggp_tables", "ggp_move", "ggp_percepts"),
    *("ggp_tries", "ggp_game_1", "ggp_runtime", "ggp_growing", "did", "equal", "domain", "one"),
]

ODD_NAMES = [
    *("'", "''", "'a", "\\", "\\n", "\\x41\\", '"', '"a"', "`", "`a`", "0'a", "0x1f", "1e10", "1."),
    *(".", "..", "a.b", "-1", "--", "+", "1_000", "01", "0.8", "$", "$$", "#", "%", "/*", "*/"),
    *("\0", "a\0b", "\x01", "\x7f", "é", "日本", "ß", "\U0001f4a3", "\ud7ff", "a?", "a?b", "=>"),
    *("nan", "inf", "1inf", "<", "<<=", "~", "&", "x" * 300),
]
KEYWORDS = [
    *("role", "true", "does", "next", "init", "legal", "goal", "sees", "terminal", "distinct"),
    *("not", "and", "or", "base", "input"),
]

USED_EVERYWHERE = """
(role {n}) (role other) (role random)
({n} {n}) ({n} b) ({n} {n} b) (pair ({n} {n}) {n})
(init {n}) (init ({n} {n})) (init ({n} 1 2))
(<= (legal {n} ({n} ?x)) ({n} ?x))
(<= (legal other {n}) (true {n}))
(legal random {n})
(<= (next {n}) (true {n}) (not ({n} {n} {n})))
(<= (next ({n} ({n} ?x))) (does {n} ({n} ?x)) ({n} ?x ?y))
(<= (next (last ?m)) (does ?r ?m) (distinct ?m {n}))
(<= (sees other ({n} ?m)) (does {n} ?m))
(<= (sees {n} ?f) (true ?f))
(<= terminal (true ({n} ({n} {n}))))
(<= (goal other 100) (pair ({n} ?x) ?x) (true {n}))
(<= (goal ?r 25) (role ?r) (distinct ?r other))
"""
"""A name as role, relation, constant, function, fluent, move and percept at once."""

KEYWORD_AS_CONSTANT = """
(role player) (role random)
(named {n}) (init (holds {n})) (init {n})
(<= (legal player (play {n})) (true (holds ?x)))
(<= (legal player {n}) (true {n}))
(<= (legal random ({n} ?x)) (named ?x))
(<= (next (holds ?m)) (does player ?m))
(<= (next (was ?m)) (does random ?m))
(<= (sees player ({n} ?m)) (does player ?m))
(<= (sees player ?f) (true ?f))
(<= terminal (true (was ({n} {n}))))
(<= (goal player 70) (true (holds {n})))
"""

BASE = "(role a) (init (at z)) (legal a m) (goal a 50) "
NEVER = "(<= terminal (true never)) "
STAY = "(<= (next (at ?x)) (true (at ?x))) "


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def _others_live_on() -> Iterator[None]:
    """After every test, whatever it did, another game must still play, and soon."""
    started = time.process_time()
    yield
    for name in BACKENDS:
        machine = machine_of_game("tic_tac_toe", name)
        walk_together(machine, _TIC_TAC_TOE, seed=0, max_steps=1)
        assert machine.playout(machine.initial(1), np.random.default_rng(0)).finished.all()
    assert time.process_time() - started < MAX_SECONDS


_TIC_TAC_TOE = Reference(read_rulesheet("tic_tac_toe").rules)


def machine_of(text: str, backend: str, limits: Limits = SMALL) -> Machine:
    return build_here(normalize(parse(text)), backend, limits)


def play(text: str, backend: str) -> None:
    """Play a rulesheet that means something, against the reference."""
    rulesheet = parse(text)
    machine = build_here(normalize(rulesheet), backend)
    assert walk_together(machine, Reference(rulesheet.rules), seed=0, max_steps=3)
    machine.playout(machine.initial(2), np.random.default_rng(0), 3)
    for move in machine.legal(machine.initial(1), 0).values.tolist():
        assert machine.move_id(machine.move_text(move)) == move
    machine.close()


# -------------------------------------------------------------------- names

NAMES = [
    *((name, "prolog") for name in (*PROLOG_NAMES, *OUR_NAMES, *ODD_NAMES)),
    *((name, "propnet") for name in (*PROLOG_NAMES[::4], *OUR_NAMES[::4], *ODD_NAMES)),
]


@pytest.mark.parametrize(("name", "backend"), rarely(NAMES, {*NAMES} - {*NAMES[::5]}))
def test_name_is_a_name_like_any_other(name: str, backend: str) -> None:
    play(USED_EVERYWHERE.replace("{n}", name), backend)


@pytest.mark.parametrize("name", KEYWORDS)
def test_keyword_inside_a_term_is_a_constant(name: str, backend: str) -> None:
    play(KEYWORD_AS_CONSTANT.replace("{n}", name), backend)


@pytest.mark.parametrize("name", ["shell", "'", "\\", "user:halt", "|", "[]", "é"])
def test_name_quoted_in_infix_syntax_is_a_name_like_any_other(name: str, backend: str) -> None:
    play(print_infix(parse(USED_EVERYWHERE.replace("{n}", name)).rules), backend)


@pytest.mark.parametrize(
    "variable", ["?_", "?", "?V_1", "?v_2", "??x", "?'", "?\\", "?a,b", "?1", "?\0", "?é", "?[]"]
)
def test_variable_may_have_any_name(variable: str, backend: str) -> None:
    text = """
    (role a) (init (pair 1 2)) (init (pair 2 2)) (item 1) (item 2) (item 3)
    (<= (legal a (take ?x ?y)) (true (pair ?x ?y)) (item ?x))
    (<= (legal a (twice ?x)) (true (pair ?x ?x)))
    (<= (next (pair ?y ?x)) (does a (take ?x ?y)))
    (<= (next (free ?x)) (item ?x) (not (true (pair ?x ?y))))
    (<= (next (pair ?x ?x)) (does a (twice ?x)))
    (<= terminal (true (free ?x)) (distinct ?x 1) (distinct ?x 2) (true (pair ?x ?x)))
    (<= (goal a ?x) (true (pair ?x ?y)))
    """
    play(text.replace("?x", variable), backend)


def test_underscore_is_one_variable_and_no_wildcard(backend: str) -> None:
    text = BASE + "(init (on 1 2)) (init (on 3 3)) (<= (legal a (p ?_)) (true (on ?_ ?_)))" + NEVER
    machine = machine_of(text, backend)
    moves = {machine.move_text(m) for m in machine.legal(machine.initial(1), 0).values.tolist()}
    assert moves == {"m", "(p 3)"}


GOALS = (
    "(shell touch${{IFS}}{path})",
    "(shell 'touch${{IFS}}{path}')",
    "(tell {path})",
    "(open {path} write ?s)",
    "(open '{path}' append s)",
    "(call (open {path} write ?s))",
    "(user:tell {path})",
    "(: user (tell {path}))",
    "(system:open {path} write ?s)",
    "(\\+ (tell {path}))",
    "(-> (tell {path}) true)",
    "(with_output_to_file {path} halt)",
    "(assertz (--> p (tell {path})))",
    "(initialization (tell {path}))",
    "(term_expansion a (tell {path}))",
    "(process_create (path touch) {path} ?x)",
    "(py_call (open {path} w))",
)
SHAPES = ("(init {fact})", "{fact}", "(<= {fact} (true (at z)))")


@pytest.mark.parametrize(
    ("goal", "shape", "backend"),
    [
        *((goal, shape, "prolog") for goal in GOALS for shape in SHAPES),
        *((goal, shape, "propnet") for goal, shape in zip(GOALS, cycle(SHAPES), strict=False)),
    ],
)
def test_rules_cannot_execute_prolog_goals(
    goal: str, shape: str, backend: str, tmp_path: Path
) -> None:
    path = tmp_path / "made_by_rules"
    goal = goal.format(path=path)
    fact = goal.replace("?s", "s").replace("?x", "x")
    text = (
        BASE
        + STAY
        + NEVER
        + shape.format(fact=fact)
        + f"(<= (legal a {fact}) {goal}) (<= (legal a seen) (not {goal}))"
        f"(<= (next (ran {fact})) {goal} (does a m)) (<= terminal {goal} (true never))"
        f"(<= (sees a {fact}) {goal})"
    )
    machine = machine_of(text, backend)
    states = machine.initial(1)
    assert not machine.terminal(states)[0]
    for move in machine.legal(states, 0).values.tolist():
        machine.step(states, np.array([[move]]))
    machine.playout(states, np.random.default_rng(0), 3)
    machine.goals(states)
    # A backend may or may not know the move that no rule can make.
    assert machine.move_id(fact) is not None or shape.startswith("(init")
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "halt", "(halt)", "X", "_", "'", "m)", "m,halt", "m),halt,(", "0),halt", "]),halt,x([",
        "\0", "m\0", "é", "\ud800", "?x", "(m ?x)", "m m", ";", "m;", "(" * 5000, "(m " * 5000,
        "x" * 1_000_000, "(s " * 90 + "z" + ")" * 90,
    ],
)  # fmt: skip
def test_move_texts_are_data_too(text: str, backend: str) -> None:
    machine = machine_of(BASE + STAY + NEVER, backend)
    move_id = machine.move_id("m")
    assert machine.move_id(text) in (None, move_id)
    assert machine.percept_id([text, text]) in (None, machine.percept_id(["m"]))


# -------------------------------------------------------------------- loops and explosions


def numbers(last: int, relation: str = "number") -> str:
    return "".join(f"({relation} {i})" for i in range(last))


DOUBLING = "(<= (big0 ?x) (true (at ?x)))" + "".join(
    f"(<= (big{i + 1} (f ?x ?x)) (big{i} ?x))" for i in range(80)
)
"""Terms whose size doubles with every rule, 80 times."""

PRODUCT = " ".join(f"(number ?{v})" for v in "bcdefghi")

ENDLESS_LEGAL = {
    "static recursion through a function": (
        "(p z) (<= (p (s ?x)) (p ?x) (distinct ?x no)) (<= (legal a ?x) (p ?x))"
    ),
    "recursion through a function from the state": (
        "(<= (p ?x) (true (at ?x))) (<= (p (s ?x)) (p ?x)) (<= (legal a ?x) (p ?x))"
    ),
    "legal that makes itself longer": "(<= (legal a (s ?x)) (legal a ?x))",
    "calls that get longer": (
        "(<= (p ?x) (p (s ?x)) (true (at z))) (<= (p z) (true never)) "
        "(<= (legal a (n ?x)) (true (at ?x)) (p ?x))"
    ),
    "pairs of pairs": "(<= (p ?x) (true (at ?x))) (<= (p (f ?x ?y)) (p ?x) (p ?y)) "
    "(<= (legal a ?x) (p ?x))",
    "product of a state": numbers(30)
    + f"(<= (legal a ?b) (true (at ?x)) {PRODUCT} (distinct ?b ?b) (true never))"
    + f"(<= (legal a (j ?b ?c ?d ?e ?f ?g ?h ?i)) (true (at ?x)) {PRODUCT})",
    "static product": numbers(30) + f"(<= (legal a (j ?b ?c ?d ?e ?f ?g ?h ?i)) {PRODUCT})",
    "terms that double": DOUBLING + "(<= (legal a ?x) (big80 ?x))",
    "static terms that double": DOUBLING.replace("(true (at ?x))", "(number ?x)")
    + numbers(1)
    + "(<= (legal a ?x) (big80 ?x))",
}
"""Rules that give `a` no end of legal moves."""


@pytest.mark.parametrize(
    "rules", rarely(ENDLESS_LEGAL.values(), [*ENDLESS_LEGAL.values()][::2]), ids=ENDLESS_LEGAL
)
def test_endless_legal_moves_pass_a_limit(rules: str) -> None:
    machine = machine_of(BASE + STAY + NEVER + rules, "prolog")
    states = machine.initial(2)
    for _ in range(2):
        with pytest.raises(ReasonerLimitError, match=r"legal moves of a passed the limit of .*\d"):
            machine.legal(states, 0)
        with pytest.raises(ReasonerLimitError, match="passed the limit"):
            machine.playout(states, np.random.default_rng(0))
        assert not machine.terminal(states).any()
        assert machine.goals(states).tolist() == [[50], [50]]
        assert machine.fluents(states) == [("(at z)",)] * 2


ENDLESS_STEP = {
    "next that makes itself longer": "(<= (next (at (s ?x))) (next (at ?x)))",
    "sees that makes itself longer": "(<= (sees a ?x) (true (at ?x)))"
    "(<= (sees a (s ?x)) (sees a ?x))",
    "next of a product": numbers(30)
    + f"(<= (next (j ?b ?c ?d ?e ?f ?g ?h ?i)) (does a m) {PRODUCT})",
    "next of terms that double": DOUBLING + "(<= (next (at ?x)) (big80 ?x))",
    "sees of terms that double": DOUBLING + "(<= (sees a ?x) (big80 ?x))",
}


@pytest.mark.parametrize("rules", ENDLESS_STEP.values(), ids=ENDLESS_STEP)
def test_endless_successors_and_percepts_pass_a_limit(rules: str) -> None:
    machine = machine_of(BASE + STAY + NEVER + rules, "prolog")
    states = machine.initial(2)
    moves = machine.legal(states, 0).values.reshape(2, 1)
    for _ in range(2):
        with pytest.raises(ReasonerLimitError, match="a step passed the limit"):
            machine.step(states, moves)
        assert machine.legal(states, 0).counts.tolist() == [1, 1]
        assert machine.fluents(states) == [("(at z)",)] * 2


ENDLESS_TERMINAL = {
    "product without an answer": numbers(30)
    + f"(<= terminal {PRODUCT} (true (q ?b ?c ?d ?e ?f ?g ?h ?i)))"
    "(<= (next (q 1 2 3 4 5 6 7 8)) (true never))",
    "recursion through a function": "(<= (p ?x) (true (at ?x))) (<= (p (s ?x)) (p ?x))"
    "(<= terminal (p ?x) (true (q ?x))) (<= (next (q 1)) (true (q 2)))",
    "rules that call each other twice": numbers(2)
    + "(init tick) (<= (next tock) (true tick)) (<= (next tick) (true tock))"
    + "(<= (p0 ?x ?y) (number ?x) (true tick) (number ?y))"
    + "".join(f"(<= (p{i + 1} ?x ?y) (p{i} ?x ?z) (p{i} ?z ?y))" for i in range(11))
    + "(<= terminal (p11 ?x 2))",
}


@pytest.mark.parametrize("rules", ENDLESS_TERMINAL.values(), ids=ENDLESS_TERMINAL)
def test_endless_search_for_the_end_passes_a_limit(rules: str) -> None:
    machine = machine_of(BASE + STAY + NEVER + rules, "prolog")
    states = machine.initial(1)
    for _ in range(2):
        with pytest.raises(ReasonerLimitError, match="terminal passed the limit"):
            machine.terminal(states)
        assert machine.goals(states).tolist() == [[50]]


ENDLESS_GOAL = {
    "goal that makes itself longer": "(<= (goal a (s ?x)) (goal a ?x))",
    "goals of terms that double": DOUBLING + "(<= (goal a ?x) (big80 ?x))",
    "product for a goal": numbers(30)
    + f"(<= (goal a 1) (true (at ?x)) {PRODUCT} (true (q ?b ?c ?d ?e ?f ?g ?h ?i)))"
    "(<= (next (q 1 2 3 4 5 6 7 8)) (true never))",
}


@pytest.mark.parametrize("rules", ENDLESS_GOAL.values(), ids=ENDLESS_GOAL)
def test_endless_goals_pass_a_limit(rules: str) -> None:
    machine = machine_of(BASE + STAY + NEVER + rules, "prolog")
    states = machine.initial(1)
    for _ in range(2):
        with pytest.raises(ReasonerLimitError, match="goal passed the limit"):
            machine.goals(states)
        assert machine.legal(states, 0).counts.tolist() == [1]


@pytest.mark.parametrize(
    "rules",
    [
        "(<= (init (s ?x)) (init ?x))",
        numbers(30) + f"(<= (init (j ?b ?c ?d ?e ?f ?g ?h ?i)) {PRODUCT})",
        "(n0 z)"
        + "".join(f"(<= (n{i + 1} (f ?x ?x)) (n{i} ?x))" for i in range(80))
        + "(<= (init ?x) (n80 ?x))",
    ],
    ids=["init that makes itself longer", "product", "terms that double"],
)
def test_endless_initial_state_passes_a_limit(rules: str, backend: str) -> None:
    with pytest.raises(ReasonerLimitError, match="passed the limit"):
        build_machine(normalize(parse(BASE + STAY + NEVER + rules)), backend, SMALL)


GROWING = {
    "a term longer with every step": "(<= (next (at (s ?x))) (true (at ?x)))",
    "a term twice as long with every step": "(<= (next (at (f ?x ?x))) (true (at ?x)))",
    "twice as many fluents with every step": "(<= (next (at (l ?x))) (true (at ?x)))"
    "(<= (next (at (r ?x))) (true (at ?x)))",
}


@pytest.mark.parametrize("rules", GROWING.values(), ids=GROWING)
def test_state_that_grows_without_end_passes_a_limit(rules: str) -> None:
    machine = machine_of(BASE + NEVER + rules, "prolog")
    states = machine.initial(2)
    for _ in range(3):
        states = machine.step(states, machine.legal(states, 0).values.reshape(2, 1)).states
    with pytest.raises(ReasonerLimitError, match="passed the limit"):
        machine.playout(states, np.random.default_rng(0), 100_000)
    assert machine.playout(states, np.random.default_rng(0), 3).steps.tolist() == [3, 3]
    moves = machine.legal(states, 0).values.reshape(2, 1)
    with pytest.raises(ReasonerLimitError, match="a step passed the limit"):
        _step_on(machine, states, moves)
    assert machine.legal(states, 0).counts.tolist() == [1, 1]


def _step_on(machine: Machine, states: States, moves: IntArray) -> None:
    for _ in range(100_000):
        states = machine.step(states, moves).states


ENDLESS = ENDLESS_LEGAL | ENDLESS_STEP | ENDLESS_TERMINAL | ENDLESS_GOAL
GROUND_ALL_THE_SAME = {
    "calls that get longer",
    "product for a goal",
    "product without an answer",
    "rules that call each other twice",
}


# gringo makes no difference between relations, and every limit costs its time: so one of each kind.
@pytest.mark.parametrize(
    "name",
    [
        "static recursion through a function",
        "recursion through a function from the state",
        "pairs of pairs",
        "product of a state",
        "static terms that double",
        "next of a product",
        "sees of terms that double",
        "goal that makes itself longer",
    ],
)
def test_rules_that_cannot_be_ground_pass_a_limit(name: str) -> None:
    program = normalize(parse(BASE + STAY + NEVER + ENDLESS[name]))
    with pytest.raises(ReasonerLimitError, match=r"grounding the rules passed the limit of .*\d"):
        build_machine(program, "propnet", replace(SMALL, grounding_seconds=0.7))


@pytest.mark.parametrize("name", GROWING)
def test_states_without_end_cannot_be_ground(name: str) -> None:
    program = normalize(parse(BASE + NEVER + GROWING[name]))
    with pytest.raises(ReasonerLimitError, match=r"grounding the rules passed the limit of .*\d"):
        build_machine(program, "propnet", SMALL)


@pytest.mark.parametrize("name", sorted(GROUND_ALL_THE_SAME))
def test_rules_too_many_to_prove_may_be_few_to_ground(name: str) -> None:
    program = normalize(parse(BASE + STAY + NEVER + ENDLESS[name]))
    machine = build_machine(program, "propnet", ENOUGH)
    assert not machine.terminal(machine.initial(1)).any()


def test_game_that_cannot_be_ground_runs_without_a_circuit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rules = BASE + NEVER + GROWING["a term longer with every step"]
    machine = build_machine(normalize(parse(rules)), "auto", SMALL)
    assert machine.backend == "relational"
    assert "runs without a circuit, which is slower: grounding the rules " in caplog.text
    assert "passed the limit of " in caplog.text
    assert machine.legal(machine.initial(1), 0).counts.tolist() == [1]


def test_endless_game_is_cut_off_without_an_error(backend: str) -> None:
    machine = machine_of(BASE + STAY + NEVER, backend)
    playouts = machine.playout(machine.initial(3), np.random.default_rng(0), 500)
    assert playouts.steps.tolist() == [500] * 3
    assert not playouts.finished.any()


def test_limit_of_memory_is_named() -> None:
    limits = Limits(inferences=10**9, stack_bytes=1 << 24)
    rules = numbers(30) + f"(<= (legal a (j ?b ?c ?d ?e ?f ?g ?h)) (true (at z)) {PRODUCT})"
    machine = machine_of(BASE + STAY + NEVER + rules, "prolog", limits)
    with pytest.raises(ReasonerLimitError, match="16,777,216 bytes of stack") as caught:
        machine.legal(machine.initial(1), 0)
    assert (caught.value.limit, caught.value.reached) == ("bytes of stack", 1 << 24)


def test_static_relation_with_many_facts_loses_none(backend: str) -> None:
    # The fast backend grounds them, which takes its time; Prolog stores 729,000 facts.
    last = 89 if backend == "prolog" else 39
    text = BASE + STAY + numbers(last + 1)
    text += "(<= (triple ?x ?y ?z) (number ?x) (number ?y) (number ?z))"
    text += f"(<= terminal (true (at ?x)) (triple {last} {last} {last}))"
    text += f"(<= (legal a n) (triple {last} {last} {last + 1}))"
    machine = machine_of(text, backend, Limits())
    assert machine.terminal(machine.initial(1)).tolist() == [True]


# -------------------------------------------------------------------- what looks endless and is not


def test_doubled_facts_do_not_double_the_work(backend: str) -> None:
    succ = "".join(f"(succ {i} {i + 1}) (succ {i} {i + 1})" for i in range(100))
    order_rules = (
        "(<= (less ?x ?y) (succ ?x ?y) (true (at z)))"
        "(<= (less ?x ?y) (succ ?x ?z) (less ?z ?y) (true (at z)))"
    )
    machine = machine_of(
        BASE
        + STAY
        + succ
        + order_rules
        + "(<= terminal (less 99 0)) (<= (legal a n) (less 0 100))",
        backend,
        Limits(inferences=2_000_000),
    )
    assert machine.terminal(machine.initial(1)).tolist() == [False]
    assert machine.legal(machine.initial(1), 0).counts.tolist() == [2]


def test_rules_that_say_a_thing_twice_do_not_double_the_work(backend: str) -> None:
    chain = "".join(
        f"(<= (p{i + 1} ?x) (p{i} ?x) (true (at ?x))) (<= (p{i + 1} ?x) (p{i} ?x))"
        for i in range(60)
    )
    machine = machine_of(
        BASE + STAY + NEVER + "(<= (p0 ?x) (true (at ?x)))" + chain + "(<= (legal a ?x) (p60 ?x))",
        backend,
        Limits(inferences=2_000_000),
    )
    assert machine.legal(machine.initial(1), 0).counts.tolist() == [2]


CLOSURES = {
    "left": "(<= (reach ?x ?y) (reach ?x ?z) (edge ?z ?y)) (<= (reach ?x ?y) (edge ?x ?y))",
    "right": "(<= (reach ?x ?y) (edge ?x ?y)) (<= (reach ?x ?y) (edge ?x ?z) (reach ?z ?y))",
    "both": "(<= (reach ?x ?y) (reach ?x ?z) (reach ?z ?y)) (<= (reach ?x ?y) (edge ?x ?y))",
    "mutual": "(<= (reach ?x ?y) (hop ?x ?y)) (<= (hop ?x ?y) (edge ?x ?y)) "
    "(<= (hop ?x ?y) (reach ?x ?z) (hop ?z ?y))",
}


@pytest.mark.parametrize(
    ("recursion", "graph"),
    [*((recursion, "state") for recursion in CLOSURES), ("left", "static"), ("mutual", "move")],
)
def test_recursion_over_a_cyclic_graph_ends(recursion: str, graph: str, backend: str) -> None:
    closure = CLOSURES[recursion]
    links = "".join(f"(link {i} {(i + 1) % 3})" for i in range(3)) + "(link 7 8) (link 8 9)"
    edge = {
        "state": "(<= (edge ?x ?y) (link ?x ?y) (true (open ?x)))",
        "static": "(<= (edge ?x ?y) (link ?x ?y))",
        "move": "(<= (edge ?x ?y) (link ?x ?y) (does a (from ?z)))",
    }[graph]
    text = f"""
    (role a) (role random) {links} {closure} {edge}
    (<= (init (open ?x)) (link ?x ?y)) (legal random noop)
    (<= (legal a (from ?x)) (link ?x ?y))
    (<= (next (open ?x)) (true (open ?x)) (not (does a (from ?x))))
    (<= (next (got ?y)) (does a (from ?x)) (reach ?x ?y))
    (<= (sees a ?y) (does a (from ?x)) (reach ?x ?y) (not (reach ?y ?x)))
    (<= terminal (true (got 9)))
    (goal a 0) (goal random 0)
    """
    rulesheet = parse(text)
    machine = build_here(normalize(rulesheet), backend)
    for seed in range(2):
        walk_together(machine, Reference(rulesheet.rules), seed=seed, max_steps=5)


def test_negation_below_recursion_is_evaluated_after_it(backend: str) -> None:
    text = """
    (role a) (init (edge 1 2)) (init (edge 2 3)) (init (edge 3 1)) (init (edge 4 5))
    (node 1) (node 2) (node 3) (node 4) (node 5)
    (<= (reach ?x ?y) (true (edge ?x ?y)))
    (<= (reach ?x ?y) (reach ?x ?z) (reach ?z ?y))
    (<= (apart ?x ?y) (node ?x) (node ?y) (not (reach ?x ?y)))
    (<= (isle ?x ?y) (apart ?x ?y) (apart ?y ?x))
    (<= (isle ?x ?y) (isle ?y ?x))
    (<= (legal a (cut ?x ?y)) (true (edge ?x ?y)))
    (<= (legal a (join ?x ?y)) (isle ?x ?y) (distinct ?x ?y))
    (<= (next (edge ?x ?y)) (true (edge ?x ?y)) (not (does a (cut ?x ?y))))
    (<= (next (edge ?x ?y)) (does a (join ?x ?y)))
    (<= terminal (not (apart 1 4))) (<= terminal (not (true (edge 1 2))))
    (<= (goal a 100) (reach 1 4)) (<= (goal a 0) (not (reach 1 4)))
    """
    rulesheet = parse(text)
    machine = build_here(normalize(rulesheet), backend)
    for seed in range(8):
        walk_together(machine, Reference(rulesheet.rules), seed=seed, max_steps=8)


def test_long_chain_of_facts_is_no_deep_recursion(backend: str) -> None:
    succ = "".join(f"(succ {i} {i + 1})" for i in range(1500))
    text = (
        f"(role a) (init (at 0)) {succ} (<= (next (at ?y)) (true (at ?x)) (succ ?x ?y))"
        "(<= (upto ?x) (true (at ?x))) (<= (upto ?y) (upto ?x) (succ ?x ?y))"
        "(<= terminal (true (at 1500))) (<= (legal a go) (upto 1500)) (goal a 1)"
    )
    machine = machine_of(text, backend, Limits())
    assert machine.legal(machine.initial(1), 0).counts.tolist() == [1]


# -------------------------------------------------------------------- refused at load


@pytest.mark.parametrize(
    "rules",
    [
        "(<= p (not p)) (<= terminal p)",
        "(<= p (not q)) (<= q (not p)) (<= terminal p)",
        "(<= (win ?x) (move ?x ?y) (not (win ?y))) (move a b) (move b a) (<= terminal (win a))",
        "(<= (next p) (not (next q))) (<= (next q) (not (next p)))",
    ],
)
def test_negation_through_itself_is_refused_when_loading(rules: str) -> None:
    with pytest.raises(GDLValidationError, match="depends on its own negation") as caught:
        normalize(parse(BASE + STAY + NEVER + rules))
    assert caught.value.rule == "stratification"


def test_closed_machine_says_so_and_others_play_on(backend: str) -> None:
    machine = machine_of(BASE + STAY + NEVER, backend)
    states = machine.initial(1)
    machine.close()
    with pytest.raises(MachineError):
        machine.legal(states, 0)
