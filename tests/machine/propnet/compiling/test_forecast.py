"""The forecast number of ground rules against the real one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ggp.errors import MachineError, ReasonerLimitError
from ggp.gdl import parse
from ggp.gdl.normalize import load, normalize
from ggp.gdl.program import Program
from ggp.machine import Limits
from ggp.machine.propnet.compile.circuits import hopeless
from ggp.machine.propnet.compile.ground_rules import forecast as module
from ggp.machine.propnet.compile.ground_rules import grounding
from ggp.machine.propnet.compile.ground_rules.aspif import AspifReader, Ground
from ggp.machine.propnet.compile.ground_rules.forecast import (
    GroundingForecast,
    Watch,
    from_bytes,
    most_rules,
    to_bytes,
)
from ggp.machine.propnet.compile.ground_rules.grounding import foresee, ground
from tests.machine.propnet.compiling.test_ground import FRAME
from tests.support.games import MODEST_GAMES
from tests.support.sheets.hopeless import attacks, poker, rolls

LIMITS = Limits()
HOPELESS = {
    "hands of five cards": (poker(), "(<= sorted "),
    "ten dice in one move": (rolls(), "(<= (legal ann (roll "),
    "a relation of seven arguments": (attacks(), "(<= (across "),
}


def true_count(program: Program, monkeypatch: pytest.MonkeyPatch) -> int:
    """Rules that gringo writes."""
    grounds: list[Ground] = []
    result = AspifReader.result

    def keep_result(reader: AspifReader) -> Ground:
        grounds.append(result(reader))
        return grounds[-1]

    monkeypatch.setattr(AspifReader, "result", keep_result)
    ground(program)
    return len(grounds[0].rules.heads) + len(grounds[0].inputs)


def test_independent_conditions_are_counted_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    program = normalize(
        parse(
            f"{FRAME} (n 1) (n 2) (n 3) (n 4) (k a) (k b)"
            "(<= (init (at ?x ?y)) (n ?x) (n ?y)) (<= (init (on ?k)) (k ?k))"
            "(<= (seen ?x ?y ?k) (true (at ?x ?y)) (true (on ?k)))"
            "(<= (legal a (go ?x ?y ?k)) (seen ?x ?y ?k))"
            "(<= (next (at ?x ?y)) (does a (go ?x ?y ?k)))"
            "(<= (next (on ?k)) (does a (go ?x ?y ?k)))"
        )
    )
    forecast = foresee(program, LIMITS)
    assert forecast.relations["seen/3"] == 4 * 4 * 2
    assert forecast.relations["legal/2"] == 4 * 4 * 2 + 2  # and each role may wait
    assert forecast.rules == pytest.approx(true_count(program, monkeypatch), rel=0.15)


@pytest.mark.parametrize("name", MODEST_GAMES)
def test_expected_rules_are_within_a_factor_of_those_there_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = load(name)
    forecast = foresee(program, LIMITS)
    ratio = forecast.rules / true_count(program, monkeypatch)
    assert 1 / 5 < ratio < 5
    assert forecast.verdict(LIMITS) == "yes"
    assert hopeless(program, LIMITS) is None
    written = sum(forecast.relations.values())
    assert 0.3 * forecast.rules < written <= forecast.rules


@pytest.mark.parametrize("name", HOPELESS)
def test_hopeless_rules_are_known_by_the_one_that_explodes(name: str) -> None:
    text, culprit = HOPELESS[name]
    program = normalize(parse(text))
    forecast = foresee(program, LIMITS)
    assert forecast.verdict(LIMITS) == "no"
    worst = forecast.costly[0]
    assert worst.rule.startswith(culprit)
    assert text[worst.start :].startswith(culprit)
    assert worst.ground_rules > most_rules(LIMITS)
    with pytest.raises(ReasonerLimitError, match="limit of 33,554,432 ground rules") as error:
        ground(program, watch=Watch(LIMITS, lambda _: None, lambda _: None, lambda _: None))
    assert culprit in str(error.value)


def test_the_same_rules_with_less_in_them_are_expected_to_be_ground() -> None:
    for text in (poker(8, 3), rolls(4), attacks(3)):
        assert foresee(normalize(parse(text)), LIMITS).verdict(LIMITS) == "yes"


def test_count_of_one_rule_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    program = normalize(parse(rolls(5)))
    forecast = foresee(program, LIMITS)
    assert forecast.relations["legal/2"] == 6**5
    assert forecast.rules == pytest.approx(true_count(program, monkeypatch), rel=0.05)


def test_grounding_ends_when_too_many_rules_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    program = normalize(parse(rolls(5)))
    expected = foresee(program, LIMITS).rules
    small_limits = replace(LIMITS, grounding_seconds=0.6 * expected / module.RULES_PER_SECOND)
    foreseen: list[GroundingForecast] = []
    ended: list[ReasonerLimitError] = []
    written: list[int] = []
    monkeypatch.setattr(module, "BETWEEN", 1_000)
    with pytest.raises(ReasonerLimitError, match="ground rules"):
        ground(program, watch=Watch(small_limits, foreseen.append, written.append, ended.append))
    assert foreseen[0].verdict(small_limits) == "perhaps"
    assert [error.reached for error in ended] == [most_rules(small_limits)]
    assert written
    assert most_rules(small_limits) < written[-1] < 1.1 * expected


def test_conditions_count_as_memory() -> None:
    watch = Watch(replace(LIMITS, grounding_bytes=10_000), lambda _: None, print, lambda _: None)
    counter = module.Counter(watch)
    counter.add(10, 100)
    with pytest.raises(ReasonerLimitError, match="ground rules"):
        counter.add(10, 1_000)


def test_nothing_is_refused_where_terms_may_grow() -> None:
    rules = f"{FRAME} (init (at z)) (<= (next (at (s ?x))) (true (at ?x))) (legal a wait)"
    forecast = foresee(normalize(parse(rules + "(legal b wait)")), LIMITS)
    assert forecast.verdict(replace(LIMITS, grounding_bytes=1)) == "perhaps"


def test_forecast_is_read_as_it_was_written() -> None:
    forecast = foresee(load("kuhn_poker"), LIMITS)
    assert from_bytes(to_bytes(forecast)) == forecast
    for wrong in (b"{}", b"[]", b"no"):
        with pytest.raises(MachineError, match="not a forecast"):
            from_bytes(wrong)


def test_relations_are_not_counted_where_facts_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{FRAME} {' '.join(f'(n {i})' for i in range(60))} (legal b wait)" + (
        "(<= (far ?a ?b ?c ?d) (n ?a) (n ?b) (n ?c) (n ?d) (distinct ?a ?b) (distinct ?a ?c)"
        "(distinct ?a ?d) (distinct ?b ?c) (distinct ?b ?d) (distinct ?c ?d))"
        "(<= (legal a (go ?a ?b)) (far ?a ?b ?c ?d))"
    )
    counted: list[object] = []
    monkeypatch.setattr(grounding, "_counted", counted.append)
    forecast = foresee(normalize(parse(text)), LIMITS)
    assert not counted
    assert forecast.relations["far/4"] == pytest.approx(60 * 59 * 58 * 57, rel=0.1)
