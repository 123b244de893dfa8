"""Games that OpenSpiel has too: random matches in both are the same matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyspiel
import pytest

from ggp.errors import MachineError
from ggp.gdl import find_game
from ggp.labs.openspiel.twins import Sum, Twin, find_twin, twins
from ggp.machine.games import load_program, read_program
from tests.support.effort import THOROUGH
from tests.support.games import machine_of_game

MATCHES = {"breakthrough": 20, "othello": 10}
"""So many of these, and `FEW` of the others; `MANY` of each with `make verify`."""

FEW, MANY = 60, 1_000

Known = tuple[tuple[int, int], ...]
"""Moves and percepts of a role, turn by turn."""


class Both:
    """A match in both games, made of random moves of ours."""

    def __init__(self, twin: Twin, rng: np.random.Generator) -> None:
        self.twin, self.rng = twin, rng
        self.machine = machine_of_game(twin.name, "propnet")
        self.roles = self.machine.roles
        self.ours, self.theirs = self.machine.initial(1), twin.game.new_initial_state()
        self.paths: list[Known] = [()] * len(self.roles)

    @property
    def moves(self) -> list[list[int]]:
        return [self.machine.legal(self.ours, role).values.tolist() for role in self._numbers]

    @property
    def _numbers(self) -> range:
        return range(len(self.roles))

    def on_turn(self) -> int | None:
        """The role that does not wait; None where all do."""
        acting = [r for r in self._numbers if self._texts(self.moves[r]) != ["noop"]]
        assert len(acting) <= 1
        return acting[0] if acting else None

    def player_of(self, role: int) -> int:
        """OpenSpiel's number of a role."""
        name = self.roles[role]
        return -1 if name == "random" else self.twin.roles.index(name)

    def actions_of(self, role: int) -> set[int]:
        """The first actions of all legal moves of a role."""
        moves = [
            self.twin.actions(self.roles[role], text) for text in self._texts(self.moves[role])
        ]
        return {self.twin.legal(self.theirs, actions[0]) for actions in moves}

    def play(self) -> None:
        joint = [int(self.rng.choice(moves)) for moves in self.moves]
        for role, move in enumerate(joint):
            self.twin.play(self.theirs, self.twin.actions(self.roles[role], *self._texts([move])))
        stepped = self.machine.step(self.ours, np.array([joint]))
        self.ours = stepped.states
        turns = zip(self.paths, joint, stepped.percepts[0].tolist(), strict=True)
        self.paths = [(*path, (move, percepts)) for path, move, percepts in turns]

    def knowledge(self, player: int) -> Any:
        """The knowledge of a player in OpenSpiel."""
        if self.twin.hides:
            return self.theirs.information_state_string(player)
        return tuple(self.theirs.history())

    def _texts(self, moves: list[int]) -> list[str]:
        return [self.machine.move_text(move) for move in moves]


def decisions(pair: Both) -> Iterator[int]:
    """Plays a match; the role on turn before each move."""
    while not pair.machine.terminal(pair.ours)[0]:
        role = pair.on_turn()
        if role is not None:
            yield role
        pair.play()


@pytest.mark.parametrize("name", twins())
def test_a_game_and_its_twin_are_the_same_game(name: str) -> None:
    twin, rng = twins()[name], np.random.default_rng(0)
    theirs_of: dict[tuple[int, Known], Any] = {}
    ours_of: dict[tuple[int, Any], Known] = {}
    for _ in range(MANY if THOROUGH else MATCHES.get(name, FEW)):
        pair = Both(twin, rng)
        for role in decisions(pair):
            player = pair.player_of(role)
            assert pair.theirs.current_player() == player
            assert pair.actions_of(role) == set(pair.theirs.legal_actions())
            if player >= 0:  # chance knows nothing
                knowledge, path = pair.knowledge(player), pair.paths[role]
                assert theirs_of.setdefault((player, path), knowledge) == knowledge
                assert ours_of.setdefault((player, knowledge), path) == path
        assert pair.theirs.is_terminal()
        goals = pair.machine.goals(pair.ours)[0].tolist()
        expected = [twin.goal(utility) for utility in pair.theirs.returns()]
        assert [goals[pair.roles.index(role)] for role in twin.roles] == pytest.approx(expected)


@pytest.mark.parametrize("name", [name for name, twin in twins().items() if twin.hides])
def test_the_table_says_whether_openspiel_draws_states(name: str) -> None:
    state = twins()[name].game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    try:
        state.resample_from_infostate(state.current_player(), lambda: 0.5)
        draws = True
    except pyspiel.SpielError:
        draws = False
    assert twins()[name].draws == draws


def test_a_twin_is_recognised_by_its_rules_not_its_file_name() -> None:
    text = find_game("phantom_ttt").read_text()
    assert find_twin(read_program(text, "mine")) is twins()["phantom_ttt"]
    assert find_twin(read_program(text.replace("(mark 9 xplayer 5)", ""), "phantom_ttt")) is None
    assert find_twin(load_program("phantom_connect_four")) is None
    assert find_twin(load_program("openspiel:tic_tac_toe")) is None


def test_a_move_missing_from_the_table_is_reported() -> None:
    twin = twins()["connect_four"]
    with pytest.raises(MachineError, match=r"does not know the move \(lift 3\) of first"):
        twin.actions("first", "(lift 3)")
    with pytest.raises(MachineError, match=r"connect_four differ: \(8,\) in \[0, 1"):
        twin.play(twin.game.new_initial_state(), [(8,)])


def test_sums_are_read() -> None:
    assert Sum.read("?x + 3 * ?y - 4").of({"?x": 2, "?y": 3}) == 7
    assert Sum.read("-?x-?x").of({"?x": 2}) == -4
    for text in ("?x ?y", "3 *", "x", "2 ** ?x"):
        with pytest.raises(ValueError, match="no sum"):
            Sum.read(text)
