"""Whether strings of OpenSpiel tell players that do not act more than they know."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from ggp.errors import ConfigError
from ggp.labs.openspiel.machine.games import (
    BLACK_IS_PLAYER_0,
    SpielGame,
    Strings,
    examine,
    load_game,
    unlike_tensors,
)
from ggp.labs.openspiel.machine.nodes import POSITIONAL
from ggp.labs.openspiel.machine.spiel_machine import SpielMachine
from ggp.machine import build_machine
from ggp.machine.abilities import utility_of
from ggp.machine.games import load_program
from ggp.solve import solve
from tests.machine.gambit.test_files import DRIVER, PATHS
from tests.support.games import SPIEL_GAMES, machine_of_game, spiel_names

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


class Secret(pyspiel.Game):  # type: ignore[misc, name-defined]
    """Player 0 hides a number, which decides what player 1 may do."""

    def __init__(self, params: dict[str, object] | None = None) -> None:
        kind = pyspiel.load_game("kuhn_poker").get_type()
        info = pyspiel.GameInfo(2, 0, 2, -1.0, 1.0, 0.0, 2)
        super().__init__(
            pyspiel.GameType(
                "ggp_secret", "Secret", kind.dynamics, kind.ChanceMode.DETERMINISTIC,
                kind.information, kind.utility, kind.reward_model, 2, 2, False, False, True, False,
            ),
            info,
            params or {},
        )  # fmt: skip

    def new_initial_state(self) -> object:
        return SecretState(self)


class SecretState(pyspiel.State):  # type: ignore[misc, name-defined]
    def __init__(self, game: Secret) -> None:
        super().__init__(game)
        self.actions: list[int] = []

    def current_player(self) -> int:
        return -4 if self.is_terminal() else len(self.actions)

    def _legal_actions(self, player: int) -> list[int]:
        return [0, 1] if not self.actions else [self.actions[0]]

    def _apply_action(self, action: int) -> None:
        self.actions.append(action)

    def is_terminal(self) -> bool:
        return len(self.actions) == 2

    def returns(self) -> list[float]:
        return [0.0, 0.0]

    def observation_string(self, player: int) -> str:
        return f"player {player}"

    def __str__(self) -> str:
        return str(self.actions)


def test_legal_moves_that_a_player_cannot_know_are_found() -> None:
    assert examine(Secret()).unknowable == "player 1"


def played(name: str, *moves: str) -> Any:
    state = pyspiel.load_game(name).new_initial_state()
    for move in moves:
        state.apply_action(state.string_to_action(move))
    return state


def test_nobody_is_told_of_checks_in_kriegspiel() -> None:
    check, quiet = (played("kriegspiel", "e2e3", "f7f6", queen) for queen in ("d1h5", "d1g4"))
    assert check.information_state_string(0) == quiet.information_state_string(0)
    assert "check" not in check.information_state_string(1)


def test_dark_chess_tells_of_moves_of_pawns_out_of_sight() -> None:
    views = [played("dark_chess", "a3", "h6", move).observation_string(0) for move in ("b3", "Nc3")]
    boards, clocks = zip(*(view.rsplit(" ", 2)[:2] for view in views), strict=True)
    assert boards[0] == boards[1]
    assert clocks == ("0", "1")


@pytest.mark.parametrize(
    ("name", "unlike"),
    [
        ("quoridor", "less than"),  # walls
        ("rbc", "less than"),  # empty squares that were sensed
        ("kriegspiel", "more than"),  # the half-move clock
        ("phantom_go", "other things than"),
        ("leduc_poker", ""),
        ("chess", ""),
        ("euchre", ""),  # which has no tensors of observations
    ],
)
def test_tensors_that_tell_otherwise_than_strings_are_found(name: str, unlike: str) -> None:
    assert unlike_tensors(load_game(name)) == unlike


def test_dark_hex_counts_turns_where_it_is_to_reveal_nothing() -> None:
    texts = set()
    states = [played("dark_hex(board_size=2,obstype=reveal-nothing)")]
    while states:
        state = states.pop()
        if not state.is_terminal():
            texts.add((state.current_player(), *state.information_state_string().split("\n")))
            states += map(state.child, state.legal_actions())
    uncounted = {(*text[:-2], text[-1]) for text in texts}
    assert (len(texts), len(uncounted)) == (134, 70)


def test_actions_of_a_gambit_file_do_not_keep_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "game.efg"
    path.write_text(ORDERS)
    state = pyspiel.load_game(f"efg_game(filename={path})").new_initial_state()
    labels = [state.action_to_string(0), state.child(1).action_to_string(0)]
    assert labels == ["b", "a"]


ORDERS = """EFG 2 R "orders" { "p" "q" } ""
p "" 1 1 "" { "b" "a" } 0
t "" 1 "" { 1 -1 }
p "" 1 2 "" { "a" "b" } 0
t "" 2 "" { 1 -1 }
t "" 3 "" { -1 1 }
"""


@pytest.mark.verify
def test_games_in_which_player_0_moves_second_are_those_of_the_table() -> None:
    second = set()
    for name in spiel_names():
        state, rng = load_game(name).new_initial_state(), Random(0)
        while state.is_chance_node():
            state.apply_action(rng.choice(state.legal_actions()))
        if state.current_player() > 0:
            second.add(name)
    assert second - BY_CHANCE == BLACK_IS_PLAYER_0


BY_CHANCE = {"backgammon", "crazy_eights", "oh_hell"}
"""Games in which chance decides who begins."""


def test_of_bounds_on_chance_those_that_walks_show_are_believed() -> None:
    """OpenSpiel's bound is 57 deals, and there are 4."""
    assert examine(load_game("tiny_bridge_4p")).chance_turns == 4
    for name, redraws in (("tiny_bridge_4p", False), ("skat", True)):
        machine = machine_of_game(f"openspiel:{name}", "openspiel")
        assert isinstance(machine, SpielMachine)
        assert machine.redraws_histories == redraws


@pytest.mark.parametrize(
    "name", ["breakthrough(rows=4,columns=3)", "connect_four", "hex(board_size=3)", "nim",
             "pentago", "tic_tac_toe", "y(board_size=3)"]
)  # fmt: skip
def test_a_position_determines_what_may_happen(name: str) -> None:
    """Machines take states with the same text for one state."""
    known: dict[str, Any] = {}
    rng = Random(0)
    for _ in range(60):
        state = pyspiel.load_game(name).new_initial_state()
        for _ in range(12):
            if state.is_terminal():
                break
            state.apply_action(rng.choice(state.legal_actions()[:4]))
            legal = [] if state.is_terminal() else state.legal_actions()
            follows = legal, state.returns(), [str(state.child(action)) for action in legal[:6]]
            assert known.setdefault(f"{state.current_player()} {state}", follows) == follows
    assert {name.partition("(")[0]} <= POSITIONAL


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
