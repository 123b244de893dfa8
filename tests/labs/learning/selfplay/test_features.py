"""Rows that are updated turn by turn equal the rows of whole paths."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.labs.learning.env import make
from ggp.labs.learning.selfplay.features import (
    Features,
    Joined,
    Reader,
    bound_of,
    features_of,
    features_of_states,
    of_paths,
)

GAMES = ("leduc_poker", "krieg_tic_tac_toe", "battleships_in_fog", "phantom_ttt")


@pytest.mark.verify
@pytest.mark.parametrize("game", GAMES)
def test_rows_kept_up_to_date_are_those_of_whole_paths(game: str) -> None:
    env = make(game, 40, max_turns=80)
    features = features_of(env.names, bound_of(env))
    readers = [Reader(features, 40, role) for role in range(len(env.roles))]
    turn = env.reset(2)
    for _ in range(60):
        for role, reader in enumerate(readers):
            rows = of_paths(features, turn.mask_bits[:, role], turn.paths[:, role], turn.turns)
            np.testing.assert_array_equal(reader.read(turn), rows)
        turn = env.step(env.sample_legal())


def test_every_bit_that_is_set_is_an_input() -> None:
    env = make("battleships_in_fog", 40)
    features = features_of(env.names, bound_of(env))
    reader, turn = Reader(features, 40), env.reset(2)
    known_bits = np.packbits(features.input_of >= 0, bitorder="little").view(np.uint64)
    assert len(np.unique(features.input_of)) == features.num_inputs + 1
    for _ in range(60):
        assert not (reader.read(turn) & ~known_bits).any()
        turn = env.step(env.sample_legal())


def test_different_paths_have_different_rows() -> None:
    env = make("leduc_poker", 400)
    features = features_of(env.names, bound_of(env))
    turn = env.reset(1)
    for _ in range(4):
        turn = env.step(env.sample_legal())
    rows = of_paths(features, turn.mask_bits[:, 0], turn.paths[:, 0], turn.turns)
    paths = turn.paths[:, 0].reshape(400, -1)
    assert len(np.unique(rows, axis=0)) == len(np.unique(paths, axis=0)) > 20


@pytest.mark.verify
def test_in_plain_gdl_the_state_is_read() -> None:
    env = make("connect_four", 8, paths=False)
    features = features_of(env.names, bound_of(env))
    assert features.reads_state
    assert features.num_inputs == len(env.names.moves) + len(env.names.fluents)
    turn = env.reset(1)
    rows = Reader(features, 8).read(turn)
    np.testing.assert_array_equal(rows[:, : features.mask_words], turn.mask_bits[:, 0])
    np.testing.assert_array_equal(rows[:, features.mask_words :], turn.state_bits)


def test_too_many_inputs_are_refused() -> None:
    with pytest.raises(ConfigError, match="too large"):
        Features(10, 10, 1 << 21, 0, 0, reads_state=True)


def test_joined_rows_have_the_inputs_of_all_their_parts() -> None:
    env = make("leduc_poker", 4)
    parts = [features_of(env.names, bound_of(env)), features_of_states(env.names)]
    joined = Joined(parts)
    assert joined.num_inputs == sum(part.num_inputs for part in parts)
    words = parts[0].num_words
    first, second = joined.input_of[: 64 * words], joined.input_of[64 * words :]
    np.testing.assert_array_equal(first, parts[0].input_of)
    inputs = parts[1].input_of >= 0
    np.testing.assert_array_equal(second[inputs], parts[1].input_of[inputs] + parts[0].num_inputs)
    assert (second[~inputs] == -1).all()
    large = Features(1 << 19, 0, 0, 0, 0, reads_state=True)
    with pytest.raises(ConfigError, match="too large"):
        Joined([large] * 3)
