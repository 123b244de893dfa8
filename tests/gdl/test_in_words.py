"""Rules as English sentences."""

from __future__ import annotations

import pytest

from ggp.gdl import list_games, parse, read_rulesheet
from match_runner.terminal import rules_in_words, sentence


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            "(<= (legal ?r (mark ?x)) (role ?r) (true (free ?x)) (not (does ?r noop)))",
            "?r may (mark ?x) if ?r is a role and (free ?x) is true and ?r does not play noop",
        ),
        ("(legal white noop)", "white may noop"),
        ("(<= (next (at ?y)) (does white ?y))", "(at ?y) will be true if white plays ?y"),
        ("(<= (sees black ?m) (does white ?m))", "black sees ?m if white plays ?m"),
        ("(<= terminal (not open))", "the game is over if not open"),
        ("(<= (goal ?r 50) (not terminal) (role ?r))", "?r scores 50 if the game is not over and "
         "?r is a role"),
        ("(<= (init (at 1)) (big 1))", "(at 1) is true if (big 1)"),
        ("(<= won (or (line x) (and (line o) late)) odd)",
         "won if ((line x) or ((line o) and late)) and odd"),
        ("(<= p (not (or a (true b))) (distinct ?x 1) (true (q ?x)))",
         "p if not (a or b is true) and ?x is not 1 and (q ?x) is true"),
        ("(<= p (not (distinct ?x 1)) (not (not q)) (not (true b)) (r ?x))",
         "p if ?x is 1 and q and b is not true and (r ?x)"),
        ("(<= p (or q))", "p if q"),
    ],
)  # fmt: skip
def test_sentence_says_what_the_rule_says(rule: str, words: str) -> None:
    (read,) = parse(rule).rules
    assert sentence(read) == words


def test_rules_come_by_what_they_are_about_and_facts_together() -> None:
    rules = """
    (role white) (succ 1 2) (init (at 1)) (succ 2 3) (<= terminal won) (<= won (true (at 3)))
    (goal white 5) (legal white go) (base (at 1)) (role black)
    """
    assert rules_in_words(parse(rules).rules) == {
        "Who plays": ["white, black"],
        "At the start": ["(at 1)"],
        "Moves": ["white may go"],
        "The end": ["the game is over if won"],
        "Scores": ["white scores 5"],
        "What these words mean": ["won if (at 3) is true"],
        "What is always true": ["(succ 1 2), (succ 2 3)"],
    }


def test_of_many_facts_some_are_listed() -> None:
    text = "".join(f"(number {i})" for i in range(1000))
    (line,) = rules_in_words(parse(text).rules)["What is always true"]
    assert line.startswith("(number 0), (number 1), ")
    assert line.endswith("(number 39), and 960 more")


@pytest.mark.parametrize("name", list_games())
def test_every_rule_of_our_games_has_its_sentence(name: str) -> None:
    rules = read_rulesheet(name).rules
    sections = rules_in_words(rules)
    assert {"Who plays", "At the start", "Moves", "The end", "Scores"} <= set(sections)
    with_body = [sentence(rule) for rule in rules if rule.body]
    sentences = [sentence for lines in sections.values() for sentence in lines]
    assert set(with_body) <= set(sentences)
