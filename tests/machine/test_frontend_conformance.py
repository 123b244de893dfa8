"""What every frontend keeps to, whoever offers it: we, our labs, or an installed package."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import ConfigError, GGPError
from ggp.machine import Machine, build_machine
from ggp.machine.definition import GameDefinition
from ggp.machine.gambit.games import EXTENSIVE, NORMAL
from ggp.machine.games import FRONTENDS, goal_bounds, load_program, read_program
from tests.support.comparing.by_steps import play_by_steps
from tests.support.games import GAMBIT_GAMES, SPIEL_GAMES

EXAMPLES = {
    "": "exploding_bomb",
    EXTENSIVE: next(path for path in GAMBIT_GAMES if path.endswith(".efg")),
    NORMAL: next(path for path in GAMBIT_GAMES if path.endswith(".nfg")),
    "openspiel:": SPIEL_GAMES[0],
    "toy:": "toy:7",
}
"""A game of each frontend."""

pytestmark = pytest.mark.usefixtures("stranger")
prefixes = pytest.mark.parametrize("prefix", [*FRONTENDS, "toy:"])


def game_of(prefix: str) -> GameDefinition:
    if prefix == "openspiel:":
        pytest.importorskip("pyspiel")
    return load_program(EXAMPLES[prefix])


def machines_of(prefix: str, game: GameDefinition) -> dict[str, Machine]:
    return {name: build_machine(game, name) for name in FRONTENDS[prefix].backends}


@prefixes
def test_the_text_makes_the_same_game_again(prefix: str) -> None:
    game = game_of(prefix)
    reread = read_program(game.source.text)
    assert game.prefix == reread.prefix == prefix
    assert (reread.digest, reread.roles) == (game.digest, game.roles)
    assert reread.source.text.startswith(prefix)


@prefixes
def test_a_game_describes_itself(prefix: str) -> None:
    game = game_of(prefix)
    assert game.describe().title
    assert game.as_program().roles == game.roles


@prefixes
def test_all_backends_play_the_same_game(prefix: str) -> None:
    game = game_of(prefix)
    machines = machines_of(prefix, game)
    assert "auto" in machines
    bounds = goal_bounds(game)
    for name, machine in machines.items():
        assert machine.roles == game.roles
        assert name in ("auto", machine.backend)
        ends = play_by_steps(machine, machine.initial(20), np.random.default_rng(1), 50)
        if bounds is not None:
            low, high = bounds
            assert ((low <= ends.goals) & (ends.goals <= high)).all()
        machine.close()


@prefixes
def test_a_file_that_is_no_game_is_refused(prefix: str) -> None:
    with pytest.raises(GGPError):
        read_program(f"{prefix} nonsense ((", "nonsense")
    with pytest.raises(ConfigError, match="backend"):
        build_machine(game_of(prefix), "none such")
