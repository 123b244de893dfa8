"""Reading `.efg` and `.nfg`: their contents, and the errors of files that cannot be read."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from ggp.errors import GDLSyntaxError, GDLValidationError
from ggp.machine.gambit.games import CHANCE, GambitGame, gambit_game, names_of
from ggp.machine.games import check_text, goal_bounds, load_program, read_program
from tests.support.games import GAMBIT_GAMES

PATHS = {Path(name).name: Path(name) for name in GAMBIT_GAMES}

DRIVER = """EFG 2 R "absent-minded driver" { "driver" } ""
p "" 1 1 "crossing" { "exit" "go on" } 0
t "" 1 "" { 0 }
p "" 1 1 "crossing" { "exit" "go on" } 0
t "" 2 "" { 4 }
t "" 3 "" { 1 }
"""

CROSSED = """EFG 2 R "each before the other" { "p" "q" } ""
c "" 1 "" { "one" 1/2 "two" 1/2 } 0
p "" 1 1 "first" { "a" "b" } 0
p "" 2 1 "second" { "a" "b" } 0
t "" 0
t "" 0
t "" 0
p "" 2 1 0
p "" 1 1 0
t "" 0
t "" 0
t "" 0
"""


def game_of(name: str) -> GambitGame:
    game = load_program(str(PATHS[name]))
    assert isinstance(game, GambitGame)
    return game


def test_players_are_roles_and_words_stay() -> None:
    game = game_of("one_card.efg")
    assert game.roles == ("ann", "bob", "random")
    assert game.describe().title == "One-card poker"
    assert game.describe().text == "Ann sees a card. Bob sees only whether she bets."
    assert [information_set.label for information_set in game.tree.sets] == [
        "deal",
        "king",
        "bet",
        "queen",
    ]


def test_outcomes_and_actions_given_once_may_be_omitted_later() -> None:
    game = game_of("one_card.efg")
    bob = [node for node in game.tree.nodes if node.sets == (2,)]
    assert len(bob) == 2
    payoffs = [list(map(float, node.payoffs)) for node in game.tree.nodes if node.payoffs]
    assert payoffs == [[2, -2], [1, -1], [-1, 1], [-2, 2], [1, -1], [-1, 1]]


def test_numbers_are_fractions_decimals_or_integers() -> None:
    game = game_of("late_call.efg")
    assert game.tree.nodes[0].payoffs == (Fraction(-1, 2), Fraction(0), Fraction(1, 2))
    (chance,) = (
        information_set for information_set in game.tree.sets if information_set.player == CHANCE
    )
    assert chance.shares == (Fraction(1, 4), Fraction(3, 4))


def test_everybody_waits_until_an_information_set_can_be_played_in_one_turn() -> None:
    game = game_of("late_call.efg")
    turns = {
        (game.tree.sets[number].player, turn)
        for node, turn in zip(game.tree.nodes, game.turns, strict=True)
        for number in node.sets
    }
    assert turns == {(0, 0), (CHANCE, 1), (1, 2), (2, 3)}


def test_the_strategy_of_the_first_player_changes_fastest() -> None:
    ends = game_of("dilemma.nfg").tree.nodes[1:]
    # In branches, that of the last player does.
    by_branch = {node.branch: list(map(float, node.payoffs or ())) for node in ends}
    assert by_branch == {0: [-1, -1], 1: [-3, 0], 2: [0, -3], 3: [-2, -2]}


def test_profiles_may_have_outcomes_and_strategies_be_numbers() -> None:
    game = game_of("three.nfg")
    assert [information_set.actions for information_set in game.tree.sets] == [
        ("1", "2"),
        ("1", "2", "3"),
        ("1",),
    ]
    ends = game.tree.nodes[1:]
    by_branch = {node.branch: list(map(float, node.payoffs or ())) for node in ends}
    first_wins, tie, none = [1, 2, 3], [-1, -1, -1.5], [0, 0, 0]
    assert [by_branch[branch] for branch in range(6)] == [
        first_wins,
        tie,
        first_wins,
        none,
        tie,
        none,
    ]


def test_labels_become_terms_that_differ() -> None:
    labels = ["Bet", "(arm Blue)", "a b", "A_B", "?x", "", "Bet", "1/2", "x,y"]
    assert names_of(labels, "move") == (
        *("bet", "(arm blue)", "a_b", "a_b_2", "x", "move_6", "bet_2", "1/2", "x_y"),
    )
    assert names_of(["random", "(a b)"], "player", {"random"}, symbols=True) == ("random_2", "a_b")


def test_a_text_is_the_same_game_as_its_file() -> None:
    game = game_of("late_call.efg")
    reread = read_program(game.source.text, "again")
    assert (reread.digest, reread.roles) == (game.digest, game.roles)


def test_a_player_that_forgets_is_refused_where_it_does() -> None:
    with pytest.raises(GDLValidationError) as caught:
        gambit_game(DRIVER, "driver.efg")
    assert str(caught.value).startswith(
        'driver.efg:4:1: error: information set 1 "crossing" of driver follows "go on" in its '
        "information set 1 here, but no move of its own at its first node: the player forgets"
    )
    assert check_text(DRIVER, "driver.efg") == caught.value.diagnostics


def test_information_sets_that_cannot_be_played_in_turns_are_refused() -> None:
    with pytest.raises(GDLValidationError, match=r'x:3:1: .*set 1 "first" of p is both before and'):
        gambit_game(CROSSED, "x")


EFG = 'EFG 2 R "t" { "p" "q" } ""\n'
NFG = 'NFG 1 R "t" { "p" "q" }\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('EFG 3 R "t" { "p" }', r"x:1:5: .*EFG version 3 cannot be read, only version 2"),
        ('EFG 2 R "t" { }', r"x:1:13: .*there must be at least one player"),
        (EFG, r"x:2:1: .*a node .* should come next, but the file ends"),
        (EFG + 'q "" 0', r"x:2:1: .*a node begins with `c`, `p` or `t`, not `q`"),
        (EFG + 't "" 0 t "" 0', r"x:2:8: .*the tree is complete, but more follows here"),
        (EFG + 'p "" 3 1 "" { "a" } 0', r"x:2:6: .*there is no player number 3"),
        (EFG + 'p "" 1 1 0', r"x:2:1: .*information set 1 has no moves"),
        (EFG + 'p "" 1 1 "" { "a" "b" } 0\nt "" 0', r"x:2:1: .*ends after 1 of the 2 branches"),
        (EFG + 'c "" 1 "" { "a" 1/2 "b" 1/3 } 0', r"x:2:1: .*sum up to 1, not to 0.833333"),
        (EFG + 'c "" 1 "" { "a" 3/2 "b" -1/2 } 0', r"x:2:1: .*must be 0 or more"),
        (EFG + 't "" 1', r"x:2:6: .*outcome 1 has no payoffs yet"),
        (EFG + 't "" 1 "" { 1 }', r"x:2:15: .*the payoff of each player should come next"),
        (EFG + 't "" 1 "" { 1 2 3 }', r"x:2:17: .*`}` after the payoffs should come next"),
        (EFG + 't "" 1 "" { 1/0 2 }', r"x:2:13: .*`1/0` divides by zero"),
        (EFG + 't "" 1 "" { 1e999 2 }', r"x:2:13: .*the number `1e999` is too large"),
        (EFG + 't "" -1', r"x:2:6: .*an integer of 0 or more"),
        (EFG + 't "never closed', r"x:2:3: .*this text in quotes is never closed"),
        (NFG + "{ 2 }", r"x:2:1: .*there are strategies of 1 players, but 2 players"),
        (NFG + "{ 2 0 }", r"x:2:1: .*there must be 1 to 1,000,000 profiles, not 0"),
        (NFG + "{ 100000 100000 } 1", r"x:2:1: .*profiles, not 10,000,000,000"),
        (NFG + "{ 1 1 } 1 2 3", r"x:2:13: .*all 1 profiles are read, but more follows here"),
        (NFG + "{ 1 1 } 1", r"x:2:10: .*the payoff of each player should come next"),
        (NFG + '{ 1 1 } { { "" 1 2 } } 2', r"x:2:24: .*there is no outcome number 2"),
    ],
)
def test_an_error_says_what_should_stand_where(text: str, message: str) -> None:
    with pytest.raises(GDLSyntaxError, match=message):
        gambit_game(text, "x")


def test_decimals_that_sum_up_to_nearly_one_are_scaled() -> None:
    game = gambit_game(EFG + 'c "" 1 "" { "a" .333 "b" .666 } 0 t "" 0 t "" 0', "x")
    assert game.tree.sets[0].shares == (Fraction(1, 3), Fraction(2, 3))
    (warning,) = game.diagnostics
    assert warning.severity == "warning"
    assert "sum up to 0.999, and are scaled" in warning.message


def test_bounds_of_goals_are_those_of_the_payoffs() -> None:
    bounds = {name: goal_bounds(load_program(str(path))) for name, path in PATHS.items()}
    assert bounds == {
        "dilemma.nfg": (-3, 0),
        "late_call.efg": (-10.5, 30.5),
        "one_card.efg": (-2, 2),
        "three.nfg": (-1.5, 3),
    }
