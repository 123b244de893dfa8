"""Whether strings of OpenSpiel tell players that do not act more than they know."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggp.errors import ConfigError
from ggp.labs.openspiel.machine.games import SpielGame, Strings, examine, load_game
from ggp.machine import build_machine
from ggp.machine.abilities import utility_of
from ggp.machine.games import load_program
from ggp.solve import solve
from tests.machine.gambit.test_files import DRIVER, PATHS
from tests.support.games import SPIEL_GAMES

pyspiel = pytest.importorskip("pyspiel")

ONE_CARD = (
    PATHS["one_card.efg"]
    .read_text()
    .replace('p "" 2 1 0', 'p "" 2 1 "bet" { "Call" "Fold" } 0')
    .replace('t "" 2\n', 't "" 2 "won" { 1, -1 }\n')
    .replace('t "" 3\n', 't "" 3 "lost" { -1, 1 }\n')
)
"""OpenSpiel wants everything to be repeated."""

UNEVEN = """EFG 2 R "depths" { "p" "q" } ""
c "" 1 "" { "long" 1/2 "short" 1/2 } 0
p "" 2 1 "" { "go" "stop" } 0
p "" 1 1 "" { "a" "b" } 0
t "" 1 "" { 4 0 }
t "" 2 "" { 0 4 }
t "" 3 "" { 1 3 }
p "" 1 1 "" { "a" "b" } 0
t "" 2 "" { 0 4 }
t "" 1 "" { 4 0 }
"""


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in SPIEL_GAMES if "tic_tac_toe" not in name and "pig" not in name),
        "openspiel:leduc_poker",
        "openspiel:phantom_ttt",
        "openspiel:kriegspiel",
        "openspiel:euchre",
    ],
)
def test_strings_of_most_games_tell_no_more_than_players_know(name: str) -> None:
    assert examine(load_game(name)) == Strings()


@pytest.mark.parametrize("name", ["dark_hex_ir", "phantom_ttt_ir", "repeated_leduc_poker"])
def test_players_that_forget_are_found(name: str) -> None:
    assert examine(load_game(f"openspiel:{name}")).forgotten


def test_a_role_is_not_told_what_only_the_role_that_acts_knows(tmp_path: Path) -> None:
    path = tmp_path / "one_card.efg"
    path.write_text(ONE_CARD)
    program = load_program(f"openspiel:efg_game(filename={path})")
    assert isinstance(program, SpielGame)
    assert program.strings.leak
    machine = build_machine(program)
    solution = solve(machine)
    assert utility_of(machine, solution.profile.values["p0"]) == pytest.approx(1 / 3)
    assert [len(sets) for sets in solution.tree.sets] == [2, 1]


def test_information_states_at_several_depths_are_refused_where_we_read_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "uneven.efg"
    path.write_text(UNEVEN)
    with pytest.raises(ConfigError, match=r"lies at several depths.*; give the path of the file"):
        load_program(f"openspiel:efg_game(filename={path})")
    # Read by ourselves, both nodes are played in one turn.
    ours = solve(build_machine(load_program(str(path))))
    assert [len(sets) for sets in ours.tree.sets] == [1, 1]


def test_players_of_a_file_that_forget_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "driver.efg"
    path.write_text(DRIVER)
    with pytest.raises(ConfigError, match="a player forgets what it did before information state"):
        load_program(f"openspiel:efg_game(filename={path})")
