"""Pictures of states of all games: each has every fluent once, board fluents in a grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ggp.gdl import parse_term
from ggp.gdl.normalize import load
from ggp.gdl.program import TRUE, Program
from ggp.gdl.terms import Compound
from match_runner.pictures import Layout
from match_runner.pictures.shapes import Values, flatten, shapes_of
from tests.support.comparing.batches import live, mixed_states
from tests.support.games import GAMES, machine_of_game, machine_of_shared, path_of_shared

GRIDS: dict[str, set[str]] = {
    "banker_and_thief": set(),
    "banker_and_thief_sequential": set(),
    "battleships_in_fog": {"ship"},
    "blind_breakthrough": {"cell"},
    "breakthrough": {"cell"},
    "connect_four": {"disc"},
    "cooperative_spies": set(),
    "dark_chess": {"cell"},
    "dark_chess_4x4": {"cell"},
    "dark_hex": {"cell"},
    "exploding_bomb": set(),
    "krieg_tic_tac_toe": {"marked"},
    "kriegspiel": {"cell"},
    "kriegspiel_5x5": {"cell"},
    "kriegspiel_king_rook": {"king_at", "rook_at"},
    "kuhn_poker": set(),
    "leduc_poker": set(),
    "mastermind": {"code"},
    "meier": set(),
    "monty_hall": {"car", "chosen", "opened"},
    "non_locality": {"world"},
    "number_guessing": {"picked"},
    "othello": {"disc"},
    "phantom_connect_four": {"disc"},
    "phantom_ttt": {"marked"},
    "spy_vs_spy": set(),
    "strategy_fusion": {"world"},
    "tic_tac_toe": {"marked"},
}
"""The fluents of our games that belong on boards."""

SHARED: dict[str, set[str]] = {
    "gdl1/2pffa.kif": {"cell"},
    "gdl1/breakthroughSmall.kif": {"cell"},
    "gdl1/chineseCheckers2.kif": {"cell"},
    "gdl1/chomp.kif": {"chocolate"},
    "gdl1/connectFour.kif": {"cell"},
    "gdl1/cubicup_3player.kif": {"cube"},
    "gdl1/double_tictactoe_dengji.kif": {"cell1", "cell2"},
    "gdl1/eightPuzzle.kif": {"cell"},
    "gdl1/endgame.kif": {"cell"},
    "gdl1/futoshiki5.kif": {"cell", *(f"cell_{x}" for x in ("gt_right", "lt_right"))}
    | {"cell_gt_below", "cell_lt_below"},
    "gdl1/gomoku_11x11.kif": {"cell"},
    "gdl1/knightwar.kif": {"cell"},
    "gdl1/lightsOnParallel.kif": {"cell"},
    "gdl1/minichess.kif": {"cell"},
    "gdl1/nim4.kif": {"heap"},
    "gdl1/pentago.kif": {"cellholds"},
    "gdl1/quad_7x7.kif": {"cell"},
    "gdl1/sudokuGrade6E.kif": {"cell"},
    "gdl1/sum15.kif": {"num"},
    "gdl1/ticTacToe.kif": {"cell"},
    "gdl1/tictactoe_3d_2player.kif": {"cell"},
    "gdl1/toetictac.kif": {"blank", "ecks", "oh"},
    "gdl1/tpeg.kif": {"hole"},
    "gdl2/blind_breakthrough_5x5.gdl": {"cell"},
    "gdl2/kriegTTT_4x4.gdl": {"cell", "tried"},
    "gdl2/mastermind.gdl": {"cell"},
    "gdl2/montyhall.gdl": {"car", "chosen", "closed"},
    "gdl2/transit.gdl": {"location"},
}


@cache
def program_of(sheet: str) -> Program:
    """The rules of a game of ours or of a shared rulesheet."""
    return load(path_of_shared(sheet) if sheet in SHARED else sheet)


@cache
def states_of(sheet: str) -> list[tuple[str, ...]]:
    """Ten states of random matches."""
    machine = machine_of_shared(sheet) if sheet in SHARED else machine_of_game(sheet)
    states = mixed_states(machine, seed=3, lanes=1, depth=9)
    if len(states) < 10:
        states = mixed_states(machine, seed=3, lanes=1 + 10 // len(states), depth=9)
    return machine.fluents(states)[:10]


def side_file_of(game: str) -> Path | None:
    path = Path(program_of(game).source.name).with_suffix(".picture.toml")
    return path if path.is_file() else None


def facts_in(picture: dict[str, Any]) -> list[str]:
    """All facts of a picture, as KIF."""
    texts = [item["title"] for board in picture["boards"] for item in items_of(board)]
    texts += [card["title"] for hand in picture["cards"] for card in hand["cards"]]
    texts += [value["title"] for counter in picture["counters"] for value in counter["values"]]
    for table in picture["tables"]:
        texts += [f"({table['title']} {' '.join(row)})" for row in table["rows"]]
    return texts + [fact["text"] for fact in picture["facts"]]


def items_of(board: dict[str, Any]) -> list[dict[str, Any]]:
    return [item for cell in board["cells"] for item in cell["items"]]


def check(layout: Layout, facts: Sequence[str], grids: set[str]) -> None:
    picture = layout.picture(map(parse_term, facts)).to_json()
    assert Counter(facts_in(picture)) == Counter(facts)
    on_boards = Counter(item["title"] for board in picture["boards"] for item in items_of(board))
    assert on_boards == Counter(fact for fact in facts if parse_term(fact).name in grids)
    check_places(picture)


def check_places(picture: dict[str, Any]) -> None:
    """Cells have ids of their own and are where their fluents say."""
    ids = [cell["id"] for board in picture["boards"] for cell in board["cells"]]
    assert len(set(ids)) == len(ids)
    assert len({board["id"] for board in picture["boards"]}) == len(picture["boards"])
    for board in picture["boards"]:
        places = [(cell["column"], cell["row"]) for cell in board["cells"]]
        assert len(set(places)) == len(places)
        for cell in board["cells"]:
            named = f"{board['columns'][cell['column']]} {board['rows'][cell['row']]}".split()
            for item in cell["items"]:
                leaves = item["title"].strip("()").split()[1:]
                spelled = Counter("".join(leaves))
                assert not Counter("".join(named)) - spelled, (named, item["title"])
                assert item["share"] == 1.0


@pytest.mark.parametrize("game", GAMES)
def test_each_fluent_of_our_games_is_in_a_picture_once(game: str) -> None:
    assert game in GRIDS, "say there which fluents of the new game belong on boards"
    layout = Layout.of(program_of(game), side_file_of(game))
    for facts in states_of(game):
        check(layout, facts, GRIDS[game])


@pytest.mark.parametrize("sheet", SHARED)
def test_each_fluent_of_other_games_is_in_a_picture_once(sheet: str) -> None:
    layout = Layout.of(program_of(sheet))
    for facts in states_of(sheet):
        check(layout, facts, SHARED[sheet])


@pytest.mark.parametrize("sheet", [*GRIDS, *SHARED])
def test_values_of_fluents_are_no_others_than_the_rules_allow(sheet: str) -> None:
    program = program_of(sheet)
    values = Values(program)
    shapes = {shape.skeleton: shape for shape in shapes_of(program, values)}
    constants = {*values.constants(((TRUE, 0),))}
    for fact in {fact for facts in states_of(sheet) for fact in facts}:
        term = parse_term(fact)
        if not isinstance(term, Compound):
            assert term.name in constants
            continue
        skeleton, leaves = flatten(term)
        for leaf, place in zip(leaves, shapes[skeleton].leaves, strict=True):
            assert str(leaf) in place.values, fact


NAMED = {
    "battleships_in_fog": {"fire", "move", "place"},
    "blind_breakthrough": {"move"},
    "breakthrough": {"move"},
    "connect_four": {"drop"},
    "dark_hex": {"put"},
    "krieg_tic_tac_toe": {"mark"},
    "kriegspiel_king_rook": {"king", "place", "rook"},
    "othello": {"place"},
    "phantom_connect_four": {"drop"},
    "phantom_ttt": {"mark"},
    "tic_tac_toe": {"mark"},
    "gdl1/chineseCheckers2.kif": {"move"},
    "gdl1/pentago.kif": {"place"},
    "gdl1/tictactoe_3d_2player.kif": {"select"},
}
"""Moves that name cells."""


@pytest.mark.parametrize("sheet", NAMED)
def test_moves_name_cells_that_are_drawn(sheet: str) -> None:
    machine = machine_of_shared(sheet) if sheet in SHARED else machine_of_game(sheet)
    layout = Layout.of(program_of(sheet))
    ids = {c["id"] for board in layout.picture([]).to_json()["boards"] for c in board["cells"]}
    states, named = live(machine, mixed_states(machine, seed=3, lanes=1, depth=9)), set()
    for role, name in enumerate(machine.roles):
        for move in set(machine.legal(states, role).values.tolist()):
            term = parse_term(machine.move_text(move))
            cells = layout.cells_of_move(term, name)
            assert {*cells} <= ids
            if cells:
                named.add(term.name)
            else:
                assert term.name not in NAMED[sheet]
    assert named == NAMED[sheet]


@pytest.mark.parametrize("game", [game for game, names in GRIDS.items() if names])
def test_boards_stay_the_same_from_state_to_state(game: str) -> None:
    layout = Layout.of(program_of(game), side_file_of(game))
    seen = set()
    for facts in states_of(game):
        picture = layout.picture(map(parse_term, facts)).to_json()
        seen.add(str([(b["id"], b["columns"], b["rows"]) for b in picture["boards"]]))
    assert len(seen) == 1
