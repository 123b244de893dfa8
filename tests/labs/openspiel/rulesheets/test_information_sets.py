"""Our games and their twins in OpenSpiel, history by history: every information set.

Games that are too large as a whole are played to the end behind an opening, or for some turns.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from ggp.gdl import find_game, parse
from ggp.gdl.normalize import normalize
from ggp.labs.openspiel.twins import Pattern, Sum, Twin, twins
from ggp.machine import Machine, build_machine
from tests.labs.openspiel.rulesheets.test_twins import Known
from tests.support.games import REPOSITORY, machine_of_game

PAGE = REPOSITORY / "docs" / "reference" / "other-engines.md"


class Part(NamedTuple):
    """A part of a game, or all of it.

    Attributes:
        name: of the game.
        sets: how many information sets of players it has.
        opening: moves that are made first, one a turn.
        turns: of histories behind the opening.
    """

    name: str
    sets: int
    opening: tuple[str, ...] = ()
    turns: int = 99


MARKS = tuple(f"(mark {cell})" for cell in ("2 2", "1 1", "1 2", "3 2", "3 1", "1 3"))
STONES = tuple(f"(put {cell})" for cell in ("2 2", "1 2", "1 1", "3 1", "2 1", "1 3"))
WAITED = ("2 2", "2 2", "1 1", "1 2", "1 2", "3 2", "3 2", "3 2", "3 1", "3 1", "3 1")

WHOLE = {
    "kuhn_poker": 12,
    "leduc_poker": 288,
    "dark_hex, 2 x 2": 134,
    "tic_tac_toe": 294_778,
}
PARTS = (
    Part("krieg_tic_tac_toe", 110, turns=4),
    Part("krieg_tic_tac_toe", 4_583, MARKS),
    Part("phantom_ttt", 92, turns=5),
    Part("phantom_ttt", 1_688, tuple(f"(mark {cell})" for cell in WAITED)),
    Part("dark_hex", 110, turns=4),
    Part("dark_hex", 3_082, STONES),
)

FEW = 1_000
"""Parts with more sets are left to `make verify`."""


def pair_of(name: str) -> tuple[Machine, Twin]:
    """A game and its twin."""
    if "," not in name:
        return machine_of_game(name, "propnet"), twins()[name]
    text = find_game("dark_hex").read_text().replace("(index 3)", "").replace(" 3 red", " 2 red")
    rules = normalize(parse(text.replace("3 ?y blue", "2 ?y blue")))
    title = "dark_hex(num_rows=2,num_cols=2,obstype=reveal-numturns)"
    cell = Pattern(None, ("put", "?x", "?y"), ((Sum.read("?x + 2 * ?y - 3"),),))
    twin = replace(twins()["dark_hex"], title=title, patterns=(cell,))
    return build_machine(rules, "propnet"), twin


class Histories:
    """Histories of a game in both engines, all of the same length.

    Attributes:
        known: (player, its path here) -> what it knows there, at each of its decisions.
        paths: (player, what it knows there) -> its path here.
    """

    def __init__(self, machine: Machine, twin: Twin) -> None:
        self.machine, self.twin = machine, twin
        self.states, self.theirs = machine.initial(1), [twin.game.new_initial_state()]
        self.lived: list[tuple[Known, ...]] = [((),) * len(machine.roles)]
        self.known: dict[tuple[int, Known], Any] = {}
        self.paths: dict[tuple[int, Any], Known] = {}

    def extend(self, only: str | None = None) -> None:
        """Append every joint move, or the one in which the role on turn makes this move."""
        legal = [self.machine.legal(self.states, r) for r in range(len(self.machine.roles))]
        lanes, rows, theirs = [], [], []
        for lane, twin_state in enumerate(self.theirs):
            choices = [moves[lane].tolist() for moves in legal]
            if only is not None:
                wanted = self.machine.move_id(only)
                choices = [[wanted] if wanted in moves else moves for moves in choices]
            else:
                self._compare(twin_state, self.lived[lane], choices)
            for row in product(*choices):
                child = twin_state.clone()
                for role, move in enumerate(row):
                    self.twin.play(child, self._actions(role, move))
                lanes.append(lane)
                rows.append(row)
                theirs.append(child)
        moves = np.array(rows)
        self.states, percepts = self.machine.step(self.states.take(np.array(lanes)), moves)
        turns = zip(lanes, rows, percepts.tolist(), strict=True)
        self.lived = [
            tuple(
                (*path, (move, seen))
                for path, move, seen in zip(self.lived[lane], row, told, strict=True)
            )
            for lane, row, told in turns
        ]
        self.theirs = theirs

    def drop_ended(self) -> None:
        """Compare ends and their utilities, and keep the other histories."""
        over, goals = self.machine.terminal(self.states), self.machine.goals(self.states)
        players = [self.machine.roles.index(role) for role in self.twin.roles]
        for lane, state in enumerate(self.theirs):
            assert state.is_terminal() == over[lane]
            if over[lane]:
                expected = [self.twin.goal(utility) for utility in state.returns()]
                assert goals[lane, players].tolist() == pytest.approx(expected)
        kept = np.flatnonzero(~over)
        self.states = self.states.take(kept)
        self.theirs = [self.theirs[lane] for lane in kept]
        self.lived = [self.lived[lane] for lane in kept]

    def _compare(self, state: Any, lived: tuple[Known, ...], choices: list[list[int]]) -> None:
        actions: dict[int, set[int]] = defaultdict(set)
        for role, moves in enumerate(choices):
            for options in (self._actions(role, move) for move in moves):
                if options:
                    actions[role].add(self.twin.legal(state, options[0]))
        if not actions:  # a turn in which all wait
            return
        ((role, legal),) = actions.items()
        assert legal == set(state.legal_actions())
        if state.is_chance_node():
            return
        player, path = state.current_player(), lived[role]
        assert self.twin.roles[player] == self.machine.roles[role]
        hides = self.twin.hides
        known = state.information_state_string() if hides else tuple(state.history())
        assert self.known.setdefault((player, path), known) == known
        assert self.paths.setdefault((player, known), path) == path

    def _actions(self, role: int, move: int) -> list[tuple[int, ...]]:
        return self.twin.actions(self.machine.roles[role], self.machine.move_text(move))


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=[pytest.mark.verify] * (part.sets > FEW), id=str(number))
        for number, part in enumerate((*(Part(*game) for game in WHOLE.items()), *PARTS))
    ],
)
def test_information_sets_of_a_game_are_those_of_its_twin(part: Part) -> None:
    histories = Histories(*pair_of(part.name))
    for move in part.opening:
        histories.extend(move)
    for _ in range(part.turns):
        histories.drop_ended()
        if not histories.theirs:
            break
        histories.extend()
    assert len(histories.known) == len(histories.paths) == part.sets


def test_the_page_has_the_numbers_of_sets() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, sets in WHOLE.items():
        assert f"| `{name.split(',')[0]}`{name.partition(',')[2]} | {sets:,} |" in page
