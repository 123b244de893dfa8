"""The contract of every opponent model, whether it is ours, of a lab, or of a package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from ggp.belief.move_models import log_likelihoods
from ggp.belief.paths import PathTree
from ggp.errors import ConfigError
from ggp.machine.games import load_program
from ggp.players import SearchPlayer, make_player, parse_spec
from ggp.players.options.opponents import MODELS, model_of
from tests.support.games import machine_of_game
from tests.support.opponents import policy_file

pytestmark = pytest.mark.usefixtures("stranger")
names = pytest.mark.parametrize("name", [*MODELS, "bold"])

GAME = "kuhn_poker"


EXAMPLES: Mapping[str, Callable[[Path], str]] = {
    "policy": lambda folder: policy_file(folder, "never_bluffs"),
    "learned": lambda folder: policy_file(folder, "never_bluffs"),
    "bold": lambda folder: "7",
}
"""Arguments of the models that need one; files are written into a folder."""


def text_of(name: str, folder: Path) -> str:
    return f"{name}:{EXAMPLES[name](folder)}" if name in EXAMPLES else name


def thinker(text: str) -> SearchPlayer:
    """The first player of `kuhn_poker`, who holds a queen and has bet, with a model."""
    machine = machine_of_game(GAME, "propnet")
    spec, rng = parse_spec(f"hyperplay:n=4,model={text}"), np.random.default_rng(5)
    player = make_player(spec, machine, 0, rng, program=load_program(GAME))
    assert isinstance(player, SearchPlayer)
    for move, percepts in [("noop", ["(dealt queen)"]), ("bet", [])]:
        player.observe(move, percepts)
    return player


@names
def test_legal_moves_have_probabilities(name: str, tmp_path: Path) -> None:
    player = thinker(text_of(name, tmp_path))
    machine, bag = player.machine, player.tracker.bag
    states, opponent = bag.states_of(0), 1
    moves = machine.legal(states, opponent)
    views = None if bag.sets.views is None else bag.sets.views[bag.lanes_of(0), opponent]
    shares = np.exp(log_likelihoods(player.model, machine, states, opponent, moves, views))
    assert np.add.reduceat(shares, moves.offsets[:-1]) == pytest.approx(np.ones(len(states)))
    assert (shares > 0).all()  # a wrong model makes no move impossible
    assert len(states) == 2


@names
def test_players_with_a_model_decide_the_same_with_the_same_seed(name: str, tmp_path: Path) -> None:
    text = text_of(name, tmp_path)
    decisions = [player.choose() for player in (thinker(text), thinker(text))]
    assert decisions[0].values == decisions[1].values
    assert decisions[0].fault is None


@names
def test_a_model_draws_nothing_from_the_generator_of_the_player(name: str, tmp_path: Path) -> None:
    machine, rng = machine_of_game(GAME, "propnet"), np.random.default_rng(5)
    old_state = str(rng.bit_generator.state)
    text = text_of(name, tmp_path)
    model_of(text, machine, PathTree(machine), 0, rng, load_program(GAME))
    assert str(rng.bit_generator.state) == old_state


@names
def test_only_a_command_line_may_name_a_file(name: str, tmp_path: Path) -> None:
    text = text_of(name, tmp_path)
    if MODELS[name].names_file(text.partition(":")[2]):
        with pytest.raises(ConfigError, match="which only a command line may"):
            parse_spec(f"hyperplay:model={text}", trusted=False)
        with pytest.raises(ConfigError, match="option 'model' of player hyperplay must be"):
            parse_spec(f"hyperplay:model={name}")
    else:
        parse_spec(f"hyperplay:model={text}", trusted=False)
