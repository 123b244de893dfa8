"""Trees in Gambit's format, also as Gambit and OpenSpiel read them, where they are installed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ggp.errors import SolvingError
from ggp.machine import build_machine
from ggp.machine.abilities import utility_of
from ggp.machine.games import load_program, read_program
from ggp.solve import build_tree, efg_lines, solve
from tests.solve.games import ROCK_PAPER_SCISSORS, TINY, brute_force
from tests.support.games import machine_of_game, machine_of_rules

BOMB = """\
EFG 2 R "exploding_bomb" { "agent" }
""
c "" 1 "" { "(arm blue)" 1/2 "(arm red)" 1/2 } 0
p "" 1 1 "noop / ()" { "ask" "wait" } 0
p "" 1 2 "noop / () | ask / (blue)" { "(cut blue)" "(cut red)" } 0
t "" 1 "" { 90 }
t "" 2 "" { 0 }
p "" 1 3 "noop / () | wait / ()" { "(cut blue)" "(cut red)" } 0
t "" 3 "" { 100 }
t "" 2 "" { 0 }
p "" 1 1 "noop / ()" { "ask" "wait" } 0
p "" 1 4 "noop / () | ask / (red)" { "(cut blue)" "(cut red)" } 0
t "" 2 "" { 0 }
t "" 1 "" { 90 }
p "" 1 3 "noop / () | wait / ()" { "(cut blue)" "(cut red)" } 0
t "" 2 "" { 0 }
t "" 3 "" { 100 }
"""


def efg(name: str) -> str:
    tree = build_tree(machine_of_game(name), keep_layers=True)
    return "".join(f"{line}\n" for line in efg_lines(tree, name))


def test_chance_is_rational_and_forced_moves_vanish() -> None:
    assert efg("exploding_bomb") == BOMB


def test_roles_that_move_at_once_act_in_order() -> None:
    tree = build_tree(machine_of_rules(ROCK_PAPER_SCISSORS), keep_layers=True)
    lines = list(efg_lines(tree, "rock, paper, scissors"))
    hands = '{ "paper" "rock" "scissors" } 0'
    players = [line for line in lines if line.startswith("p")]
    assert players == [f'p "" 1 1 "" {hands}', *[f'p "" 2 1 "" {hands}'] * 3]
    ends = [line.partition("{")[2] for line in lines if line.startswith("t")]
    assert ends[:3] == [" 50, 50 }", " 100, 0 }", " 0, 100 }"]


def test_a_file_that_would_be_too_large_is_refused() -> None:
    tree = build_tree(machine_of_game("kuhn_poker"), keep_layers=True)
    with pytest.raises(SolvingError, match="kuhn_poker has more than 10 nodes; it is too large"):
        list(efg_lines(tree, "kuhn_poker", most_nodes=10))


@pytest.mark.parametrize("name", TINY)
def test_gambit_reads_the_same_game(name: str, tmp_path: Path) -> None:
    gambit: Any = pytest.importorskip("pygambit")
    path = tmp_path / "game.efg"
    path.write_text(efg(name))
    game, reference = gambit.read_efg(str(path)), brute_force(name)
    assert game.is_perfect_recall
    assert [*game.players] == [reference.machine.roles[role] for role in reference.players]
    sets = [len(reference.moves[role]) for role in reference.players]
    assert [len(game.get_infosets(player)) for player in game.players] == sets
    # What uniform play is worth, history by history.
    strategies = {
        role: {
            path: dict.fromkeys(moves, Fraction(1, len(moves)))
            for path, moves in reference.moves[role].items()
        }
        for role in reference.players
    }
    even = game.mixed_behavior_profile(rational=True)
    for player, role in zip(game.players, reference.players, strict=True):
        assert Fraction(str(even.payoffs[player])) == reference.value(role, strategies)


@pytest.mark.parametrize("name", TINY)
def test_a_written_file_reads_back_as_the_same_game(name: str) -> None:
    ours, machine = machine_of_game(name), build_machine(read_program(efg(name)))
    assert solve(machine).profile.values == pytest.approx(solve(ours).profile.values)
    written, reread = (build_tree(source, keep_layers=True) for source in (ours, machine))
    assert [len(sets) for sets in reread.sets] == [len(sets) for sets in written.sets]


@pytest.mark.parametrize("name", ["kuhn_poker", "spy_vs_spy", "strategy_fusion"])
def test_openspiel_learns_nothing_more_from_the_written_file(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    path = tmp_path / "game.efg"
    path.write_text(efg(name))
    machine = build_machine(load_program(f"openspiel:efg_game(filename={path})"))
    values = solve(machine).profile.values
    utilities = [utility_of(machine, values[f"p{number}"]) for number in range(len(values))]
    assert utilities == pytest.approx(list(solve(machine_of_game(name)).profile.values.values()))


def test_probabilities_sum_up_to_one_exactly() -> None:
    text = 'EFG 2 R "t" { "p" } "" c "" 1 "" { "a" 1000003/3000011 "b" 2000008/3000011 } 0 t "" 0 '
    tree = build_tree(build_machine(read_program(text + 't "" 0')), keep_layers=True)
    line = list(efg_lines(tree, "t"))[2]
    assert sum(map(Fraction, line.split()[6:9:2])) == 1, line


def test_gambit_solves_kuhn_poker_as_we_do(tmp_path: Path) -> None:
    gambit: Any = pytest.importorskip("pygambit")
    path = tmp_path / "game.efg"
    path.write_text(efg("kuhn_poker"))
    game = gambit.read_efg(str(path))
    equilibrium = gambit.nash.lp_solve(game, rational=True).equilibrium
    values = [Fraction(str(equilibrium.payoffs[player])) for player in game.players]
    assert values == [Fraction(875, 18), Fraction(925, 18)]


@pytest.mark.parametrize("name", TINY)
def test_open_spiel_reads_the_same_game(name: str) -> None:
    spiel: Any = pytest.importorskip("pyspiel")
    game, reference = spiel.load_efg_game(efg(name)), brute_force(name)
    assert game.num_players() == len(reference.players)
    ends = 0
    waiting = [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        ends += state.is_terminal()
        waiting += [state.child(action) for action in state.legal_actions()]
    assert ends == len(reference.histories)
