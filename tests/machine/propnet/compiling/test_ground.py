"""Ground rules agree with the rules: every game, every odd construct of a rulesheet."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl import parse, parse_term, read_rulesheet, to_kif
from ggp.gdl.normalize import load, normalize
from ggp.machine.propnet.compile.ground_rules import aspif
from ggp.machine.propnet.compile.ground_rules import grounding as module
from ggp.machine.propnet.compile.ground_rules.grounding import ground
from ggp.machine.propnet.compile.ground_rules.simplify import ALWAYS, GroundProgram
from tests.machine.test_hostile_rules import (
    KEYWORD_AS_CONSTANT,
    KEYWORDS,
    ODD_NAMES,
    OUR_NAMES,
    PROLOG_NAMES,
    USED_EVERYWHERE,
)
from tests.support.effort import rarely
from tests.support.games import (
    GAMES,
    MODEST_GAMES,
    REPOSITORY,
    SLOW_TO_REFEREE,
    path_of_shared,
)
from tests.support.plain.ground_games import GroundGame, play_alike
from tests.support.plain.reference import Reference

SHARED = {
    "gdl1/blocksWorldSerial.kif": 3,
    "gdl1/coloredtrails.kif": 2,
    "gdl1/connectFour.kif": 1,
    "gdl1/firefighter.kif": 2,
    "gdl1/haystack.kif": 3,
    "gdl1/hanoi_6_disks.kif": 1,
    "gdl1/lightsOnSimul4.kif": 2,
    "gdl1/maze.kif": 2,
    "gdl1/nim4.kif": 2,
    "gdl2/guessSix.gdl": 5,
    "gdl2/kriegTTT_4x4.gdl": 2,
    "gdl2/montyhall.gdl": 5,
    "gdl2/transit.gdl": 2,
}
"""Rulesheets by others, and how many matches to play."""

ASP_NAMES = [
    *("V0", "p0", "p1", "f0", "#true", "#show", "#const", "#script", "#program", "#inf"),
    *("a.", "{", "}", "..", "1..3", "_", "@f", "&t", "%", "%*", "*%", "-1", "-a", "0x10"),
    *("player", "2147483648", "99999999999999999999", "#end", "#include", "|", "||", '"'),
]
"""What means something in answer-set programs."""

FRAME = (
    "(role a) (role b) (<= (legal ?r wait) (role ?r)) (goal a 1) (goal b 2) "
    "(<= terminal (true never)) "
)
STAY = "(<= (next ?f) (true ?f)) "

ODD_RULES = {
    "a variable for a whole fluent": FRAME
    + "(init z) (init (at 1)) (init (at (f z 2))) (<= (legal a (drop ?f)) (true ?f))"
    "(<= (next ?f) (true ?f) (not (does a (drop ?f)))) (<= terminal (not (true z)))",
    "constants that look alike": FRAME
    + "(init 1) (init 01) (init 1.0) (init +1) (init (1 1)) (init (1 01)) (init (01 1 1))"
    "(<= (legal a ?x) (true (1 ?x))) (<= (next (1 ?x)) (does a ?x)) (<= (next ?x) (true ?x)"
    "(distinct ?x 01) (does a 1)) (<= terminal (not (true 01)) (not (true (1 1))))",
    "one name for everything": FRAME
    + "(x) (x x) (x x x) (init x) (init (x x)) (init (x (x x))) (<= (legal a (x ?x)) (x ?x))"
    "(<= (next (x ?x)) (true (x ?x)) x (x ?y) (x ?y ?z) (not (does a (x x))))"
    "(<= (next x) (does a (x x))) (<= terminal (not (true x)))",
    "nothing that depends on anything": FRAME + "(init x) (next x) terminal",
    "nothing at all": "(role a) (<= (init x) (p x)) (<= (p x) (p x)) (legal a wait)"
    "(<= terminal (p y))",
    "an end that never comes": FRAME + STAY + "(init x) (<= terminal (true y))",
    "moves within moves": FRAME
    + "(n 1) (n 2) (init (at (pos 1 2))) (<= (legal a (do (go (pos ?x ?y)) (say (hi ?z))))"
    "(n ?x) (n ?y) (n ?z)) (<= (next (at ?p)) (does a (do (go ?p) ?m)))"
    "(<= (next (heard ?m)) (does a (do ?g (say ?m)))) (<= (sees b (got (that ?m))) (does a ?m))"
    "(<= terminal (true (at (pos 2 2))))",
    "local variables, repeated and nested": FRAME
    + "(n 1) (n 2) (n 3) (init (f 1 2)) (init (f 2 2)) (init (f (g 3) 3)) (init (h 1 (g 2)))"
    "(<= (legal a (m ?x)) (n ?x) (not (true (f ?x ?y))))"
    "(<= (legal a loose) (not (true (f ?y ?y))))"
    "(<= (legal a (k ?x)) (n ?x) (not (true (f (g ?x) ?y))) (not (true (h ?x (g ?z)))))"
    "(<= (next (f ?x ?x)) (does a (m ?x))) (<= (next (h ?x (g ?x))) (does a (k ?x)))"
    "(<= (next (f ?x 1)) (n ?x) (true (f ?x ?y)) (not (does ?r (m ?z))))"
    "(<= (next quiet) (not (does ?r (m ?x)))) (<= terminal (not (true ?f)))",
    "reachability and its negation": FRAME
    + "(n 1) (n 2) (n 3) (n 4) (init (e 1 2)) (init (e 2 3)) (init (e 3 1))"
    "(<= (reach ?x ?y) (true (e ?x ?y))) (<= (reach ?x ?y) (reach ?x ?z) (reach ?z ?y))"
    "(<= (apart ?x ?y) (n ?x) (n ?y) (not (reach ?x ?y)))"
    "(<= (legal a (cut ?x ?y)) (true (e ?x ?y))) (<= (legal b (join ?x ?y)) (apart ?x ?y))"
    "(<= (next (e ?x ?y)) (true (e ?x ?y)) (not (does a (cut ?x ?y))))"
    "(<= (next (e ?x ?y)) (does b (join ?x ?y)) (not (reach ?y ?x)))"
    "(<= (sees a (far ?y)) (does b (join ?x ?z)) (apart ?z ?y)) (<= terminal (reach 4 4))",
    "recursion through the joint move": FRAME
    + "(s 1 2) (s 2 3) (s 3 4) (s 4 1) (init (on 1)) (<= (legal a (push ?x)) (s ?x ?y))"
    "(<= (moved ?x) (does a (push ?x))) (<= (moved ?y) (moved ?x) (s ?x ?y) (true (on ?y)))"
    "(<= (next (on ?x)) (moved ?x)) (<= (next (on ?x)) (s ?x ?y) (not (moved ?y)))"
    "(<= terminal (not (true (on 3))) (true (on 4)))",
    "negation that only arguments stratify": FRAME
    + STAY
    + "(init x) (init (k 1)) (<= (legal a (t ?x)) (true (k ?x))) (<= terminal (win 2))"
    "(<= (win 1) (true (k 1)) (not (win 2))) (<= (win 2) (not (win 3))) (<= (win 3) (true x))"
    "(<= (goal a 50) (not (goal a 100))) (<= (goal a 100) (win 1))"
    "(<= (init (k ?x)) (pos ?x)) (<= (pos 2) (not (pos 3))) (<= (pos 3) (not (pos 4))) (pos 4)",
    "relations of the language as conditions": FRAME
    + "(init 1) (s 1 2) (s 2 3) (<= (next ?y) (true ?x) (s ?x ?y)) (<= terminal (true 3))"
    "(<= (legal a (mirror ?m)) (legal b ?m)) (<= (legal a (first ?f)) (init ?f) (true ?f))"
    "(<= (goal a 3) terminal) (<= (goal b 4) (goal a 3) (legal a (mirror ?m)))"
    "(<= (sees a (new ?f)) (next ?f) (not (true ?f))) (<= (sees b (did ?m)) (does a ?m)"
    "(sees a (new ?f)))",
    "roles that are numbers, and moves of strangers": "(role 1) (role 2) (role random)"
    "(init x) (<= (legal ?r go) (role ?r)) (legal stranger run) (legal (f 1) run) (goal (f 1) 9)"
    "(goal stranger 3) (goal 1 5) (<= (sees ?r ?m) (does 2 ?m) (role ?r)) (sees 3 z) (sees 2 2)"
    "(<= (next (saw ?r ?m)) (does ?r ?m)) (<= terminal (does_not)) (<= does_not (true (saw 1 go)))",
    "a fluent and a move for each of many values": FRAME
    + "".join(f"(n {i})" for i in range(40))
    + "(init (at 0)) (<= (legal a (to ?x)) (n ?x)) (<= (next (at ?x)) (does a (to ?x)))"
    "(<= (next (seen ?x ?y)) (true (at ?x)) (does a (to ?y))) (<= terminal (true (seen ?x ?x)))",
}


def of_text(text: str, *, split: bool = True) -> GroundProgram:
    return ground(normalize(parse(text)), split=split)


def check(text: str, *, matches: int = 3, max_steps: int = 6) -> None:
    """Play the ground rules against the reference, which evaluates the rules as written."""
    rulesheet = parse(text)
    program = normalize(rulesheet)
    for split in (True, False):
        game = GroundGame(ground(program, split=split), is_gdl2=program.is_gdl2)
        for seed in range(matches):
            play_alike(game, Reference(rulesheet.rules), seed=seed, max_steps=max_steps)


# -------------------------------------------------------------------- games


@pytest.mark.parametrize("name", MODEST_GAMES)
def test_ground_rules_play_as_the_rules_say(name: str) -> None:
    program = load(name)
    reference = Reference(read_rulesheet(name).rules)
    game = GroundGame(ground(program), is_gdl2=program.is_gdl2)
    matches, steps = SLOW_TO_REFEREE.get(name, (4, 40))
    for seed in range(matches):
        play_alike(game, reference, seed=seed, max_steps=steps)


@pytest.mark.parametrize("name", SHARED)
def test_ground_rules_by_others_play_as_the_rules_say(name: str) -> None:
    program = load(path_of_shared(name))
    reference = Reference(read_rulesheet(path_of_shared(name)).rules)
    game = GroundGame(ground(program), is_gdl2=program.is_gdl2)
    for seed in range(SHARED[name]):
        play_alike(game, reference, seed=seed, max_steps=15)


@pytest.mark.parametrize("text", ODD_RULES.values(), ids=ODD_RULES)
def test_odd_rules_play_as_they_say(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "name",
    [*rarely(PROLOG_NAMES, PROLOG_NAMES), *rarely(OUR_NAMES, OUR_NAMES), *ODD_NAMES, *ASP_NAMES],
)
def test_any_name_is_just_a_name(name: str) -> None:
    check(USED_EVERYWHERE.format(n=name), matches=1, max_steps=3)


@pytest.mark.parametrize("name", KEYWORDS)
def test_keyword_as_a_constant_is_just_a_name(name: str) -> None:
    check(KEYWORD_AS_CONSTANT.format(n=name), matches=1, max_steps=3)


# -------------------------------------------------------------------- what grounding gives


def test_terms_are_canonical_and_sorted() -> None:
    program = ground(load("krieg_tic_tac_toe"))
    tables = [program.fluents, program.next, *program.does, *program.legal]
    tables += program.sees
    for named in tables:
        texts = [text for text, _ in named]
        assert texts == sorted(set(texts))
        assert texts == [to_kif(parse_term(text)) for text in texts]
    assert list(program.initial) == sorted(program.initial)


def test_goals_are_in_the_order_in_which_they_count() -> None:
    rules = "(<= (legal ?r go) (role ?r)) (init x) (next x) (<= terminal (true y)) (v 7) (v 075)"
    goals = """
    (<= (goal a 50) (true x)) (<= (goal a ?v) (v ?v)) (<= (goal b 1) (true x)) (goal a 50)
    (<= (goal a ?v) (or (v ?v) (w ?v))) (w 100) (w win)
    """
    program = of_text(f"(role a) (role b) {rules} {goals}")
    goal_names = [[text for text, _ in named] for named in program.goals]
    assert goal_names == [["50", "075", "7", "50", "win", "100"], ["1"]]


@pytest.mark.parametrize("name", GAMES)
def test_atoms_are_numbered_without_gaps_and_defined_once(name: str) -> None:
    program = ground(load(name))
    inputs = {atom for _, atom in program.fluents} | {
        atom for named in program.does for _, atom in named
    }
    heads = set(program.heads.tolist())
    atoms_used = {abs(atom) for atom in program.conditions.tolist()}
    assert atoms_used <= heads | inputs
    assert not heads & inputs
    assert heads | inputs == set(range(1, len(heads | inputs) + 1))
    assert ALWAYS not in heads | inputs | atoms_used
    assert program.offsets[0] == 0
    assert program.offsets[-1] == len(program.conditions)
    assert (program.offsets[1:] > program.offsets[:-1]).all()


def test_atoms_that_always_hold_have_no_rules() -> None:
    program = of_text(FRAME + "(init x) (next x) (<= terminal (true x)) (<= (sees a y) (goal b 2))")
    assert program.next == (("x", ALWAYS),)
    assert program.legal == ((("wait", ALWAYS),),) * 2
    assert program.sees == ((("y", ALWAYS),), ())
    assert program.goals == ((("1", ALWAYS),), (("2", ALWAYS),))
    assert [text for text, _ in program.fluents] == ["x"]
    assert len(program.heads) == 1
    assert program.terminal == program.heads[0]


def test_end_is_none_or_always_where_that_is_certain() -> None:
    assert of_text(FRAME + "(init x)").terminal is None
    assert of_text(FRAME + "(init x) terminal").terminal == ALWAYS


def test_fluents_that_cannot_be_reached_are_left_out() -> None:
    program = of_text(
        FRAME + "(init (n 1)) (s 1 2) (s 2 3) (s 7 8) (<= (next (n ?y)) (true (n ?x)) (s ?x ?y))"
        "(<= (legal a (from ?x)) (true (n ?x))) (<= (next (n 9)) (does a (from 8)))"
    )
    assert [text for text, _ in program.fluents] == ["(n 1)", "(n 2)", "(n 3)"]
    assert [text for text, _ in program.does[0]] == ["(from 1)", "(from 2)", "(from 3)", "wait"]


def test_equal_rules_give_equal_ground_rules_in_every_process() -> None:
    code = (
        "from ggp.gdl.normalize import load; "
        "from ggp.machine.propnet.compile.ground_rules.grounding import ground; "
        "import hashlib, pickle; "
        "print(hashlib.sha256(pickle.dumps(ground(load('kuhn_poker')))).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


# -------------------------------------------------------------------- what cannot be ground


def test_term_that_doubles_passes_a_limit() -> None:
    chain = "".join(f"(<= (big{i + 1} (f ?x ?x)) (big{i} ?x))" for i in range(80))
    text = FRAME + f"(init x) (<= (big0 ?x) (true ?x)) {chain} (<= (sees a ?x) (big80 ?x))"
    with pytest.raises(ReasonerLimitError, match="the limit of 2,000 functions in one term"):
        of_text(text)


def test_large_terms_below_the_limit_are_fine() -> None:
    chain = "".join(f"(<= (big{i + 1} (f ?x ?x)) (big{i} ?x))" for i in range(9))
    program = of_text(
        FRAME + f"(init x) (<= (big0 ?x) (true ?x)) {chain} (<= (sees a ?x) (big9 ?x))"
    )
    ((text, _),) = program.sees[0]
    assert text.count("(f ") == 2**9 - 1


def test_message_of_the_grounder_is_passed_on() -> None:
    with pytest.raises(MachineError, match=r"cannot ground the rules: .*error"):
        module._ground("a :- (.", may_grow=False)


def test_rule_the_grounder_should_not_make_is_an_error() -> None:
    for text in ("a | b.", ":- not a. {a}."):
        with pytest.raises(MachineError, match=r"a rule with(out exactly one head| \d heads)"):
            module._ground(text, may_grow=False)
    with pytest.raises(MachineError, match="a rule with weights"):
        module._ground("{a}. {b}. {c}. d :- 2 { a; b; c }.", may_grow=False)
    with pytest.raises(MachineError, match="lines that are not rules"):
        module._ground("{a}. #minimize { 1 : a }.", may_grow=False)
    with pytest.raises(MachineError, match="on 2 conditions"):
        aspif._shown_atom(b"4 1 c 2 1 2\n")


def test_reader_that_has_no_memory_left_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(descriptor: int, size: int) -> bytes:
        raise MemoryError

    monkeypatch.setattr("ggp.machine.propnet.compile.ground_rules.aspif.os.read", read)
    # More than a pipe holds.
    with pytest.raises(MemoryError):
        module._ground("{a}. b(1..20000) :- a.", may_grow=False)


def test_rules_are_read_as_they_are_written_however_they_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "{a}. {b(f1(2,3))}. c :- a, not b(f1(2,3)). c :- d(1..9). d(X) :- a, X = 1..9. e."
    whole = module._ground(text, may_grow=False)
    monkeypatch.setattr(aspif, "CHUNK", 7)
    pieces = module._ground(text, may_grow=True)
    assert sorted(name for name, _ in whole.atoms) == sorted(
        ["a", "b(f1(2,3))", "c", *(f"d({i})" for i in range(1, 10)), "e"]
    )
    assert whole.atoms == pieces.atoms
    assert whole.inputs.tolist() == pieces.inputs.tolist()
    number = dict(whole.atoms)
    assert whole.inputs.tolist() == [number["a"], number["b(f1(2,3))"]]
    ends = np.cumsum(whole.rules.sizes)
    rules = [
        (head, sorted(whole.rules.conditions[end - size : end].tolist()))
        for head, size, end in zip(
            whole.rules.heads.tolist(), whole.rules.sizes.tolist(), ends.tolist(), strict=True
        )
    ]
    assert (number["c"], [-number["b(f1(2,3))"], number["a"]]) in rules
    for first, second in zip(
        whole.rules.__dict__.values(), pieces.rules.__dict__.values(), strict=True
    ):
        assert np.array_equal(first, second)
