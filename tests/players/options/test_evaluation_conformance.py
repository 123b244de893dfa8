"""The contract of every evaluation, whether it is of our labs or of an installed package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.gdl.games import find_companion
from ggp.labs.learning.selfplay.files import write_policy
from ggp.machine import Machine, States
from ggp.machine.games import load_program
from ggp.players.options.evaluations import EVALUATIONS
from ggp.search.parts import Evaluation
from tests.labs.learning.test_learned import learnt
from tests.support.comparing.batches import live, mixed_states
from tests.support.games import machine_of_game

pytestmark = pytest.mark.usefixtures("stranger")
ends = pytest.mark.parametrize("end", [*EVALUATIONS, "num"])

PIECES = find_companion("kriegspiel", ".toml")

EXAMPLES: Mapping[str, tuple[str, Callable[[Path], object]]] = {
    "toml": ("kriegspiel_5x5", lambda path: path.write_bytes(PIECES.read_bytes())),
    "npz": ("kuhn_poker", lambda path: write_policy(path, learnt("kuhn_poker"))),
    "num": ("kuhn_poker", lambda path: path.write_text("70")),
}
"""By the suffix of a file: a game, and a function that writes a file for it."""


def machine_of(end: str) -> Machine:
    return machine_of_game(EXAMPLES[end][0], "propnet")


def evaluation_and_states(end: str, folder: Path, role: int) -> tuple[Evaluation, States]:
    """An evaluation, and unfinished states of several turns."""
    (game, write), form, machine = EXAMPLES[end], EVALUATIONS[end], machine_of(end)
    path = folder / f"file.{end}"
    write(path)
    form.check(str(path))
    states = mixed_states(machine, 1, lanes=3, depth=4)
    return form.make(str(path), machine, role, load_program(game)), live(machine, states)


@ends
@pytest.mark.parametrize("role", [0, 1])
def test_values_are_goals(end: str, role: int, tmp_path: Path) -> None:
    evaluation, states = evaluation_and_states(end, tmp_path, role)
    values, turns = evaluation.values(states, role, np.random.default_rng(2))
    low, high = machine_of(end).goal_range
    assert values.shape == turns.shape == (len(states),)
    assert ((low <= values) & (values <= high)).all()
    assert (turns >= 0).all()
    assert len(states) > 1


@ends
def test_certain_values_depend_on_the_state_alone(end: str, tmp_path: Path) -> None:
    evaluation, states = evaluation_and_states(end, tmp_path, 0)
    values, _ = evaluation.values(states, 0, np.random.default_rng(2))
    back = np.arange(len(states))[::-1]
    reversed_values, _ = evaluation.values(states.take(back), 0, np.random.default_rng(3))
    if evaluation.certain:
        assert reversed_values[back].tolist() == pytest.approx(values.tolist())


@ends
def test_missing_and_malformed_files_are_refused(end: str, tmp_path: Path) -> None:
    wrong = tmp_path / f"wrong.{end}"
    with pytest.raises(ConfigError, match=wrong.name):
        EVALUATIONS[end].check(str(wrong))
    wrong.write_text("nothing of the kind")
    with pytest.raises(ConfigError, match=wrong.name):
        EVALUATIONS[end].check(str(wrong))
