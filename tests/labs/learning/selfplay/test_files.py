"""Files of policies come back as they were written, and others are refused in one line."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.labs.learning.env import Environment, make
from ggp.labs.learning.env.exact import ExactGame
from ggp.labs.learning.selfplay import Learner, Settings
from ggp.labs.learning.selfplay.files import PolicyFile, read_policy, write_policy

QUICK = Settings(turns=4, block=64, hidden=(8,), critic=(8,))


@cache
def environment(game: str = "kuhn_poker") -> Environment:
    return make(game, 16, paths=False)


@cache
def learned_policy() -> PolicyFile:
    learner = Learner(environment(), settings=QUICK, seed=3)
    learner.learn(updates=3)
    return learner.snapshot("kuhn_poker", "1.2.3")


def test_a_policy_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.policy.npz"
    write_policy(path, learned_policy())
    policy = read_policy(path)
    record = json.loads(json.dumps(learned_policy().about.record))
    assert policy.about == replace(learned_policy().about, record=record)
    for first, second in zip(policy.arrays, learned_policy().arrays, strict=True):
        np.testing.assert_array_equal(first, second)
    assert set(policy.policies()) == {"player1", "player2"}
    with np.load(path, allow_pickle=False) as plain:
        assert sorted(plain) == ["about", "critic", "role 0", "role 1"]


def test_learning_goes_on_where_it_ended() -> None:
    learner = Learner(environment(), settings=QUICK, seed=3)
    learner.resume(learned_policy(), "it")
    weights = learner.policies()["player1"].net.weights.flat
    np.testing.assert_array_equal(weights, learned_policy().policies()["player1"].net.weights.flat)
    learner.learn(updates=2)
    assert [point["updates"] for point in learner.curve] == [1, 2, 3, 4, 5]
    assert (learner.policies()["player1"].net.weights.flat != weights).any()


def test_learning_goes_on_only_with_a_critic_that_reads_the_same() -> None:
    informed = replace(QUICK, informed=True)
    learner = Learner(environment(), settings=informed, seed=3)
    with pytest.raises(ConfigError, match="critic, read other bits"):
        learner.resume(learned_policy(), "it")
    learner.learn(updates=1)
    stranger = Learner(environment(), settings=informed, seed=4)
    stranger.resume(learner.snapshot("kuhn_poker", "1"), "it")
    assert stranger.learn(updates=1).updates == 2


def test_files_from_before_critics_read_paths_are_read(tmp_path: Path) -> None:
    path = tmp_path / "old.policy.npz"
    write_policy(path, learned_policy())
    with np.load(path) as plain:
        members = dict(plain)
    about = json.loads(members["about"].tobytes())
    assert about.pop("critic_paths") == 0
    members["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    np.savez(path, **members)
    Learner(environment(), settings=QUICK, seed=3).resume(read_policy(path), "it")


def test_other_games_and_other_layers_are_refused() -> None:
    with pytest.raises(ConfigError, match="other rules"):
        Learner(environment("krieg_tic_tac_toe"), settings=QUICK).resume(learned_policy(), "it")
    settings = Settings(hidden=(9,), critic=(8,))
    with pytest.raises(ConfigError, match="layers"):
        Learner(environment(), settings=settings).resume(learned_policy(), "it")


@pytest.mark.parametrize(
    "change",
    [{"num_moves": 1}, {"num_percepts": 99}, {"reads_state": True}, {"reads_legal": False}],
)
def test_features_that_the_game_does_not_have_are_refused(change: dict[str, Any]) -> None:
    """Whoever copies the digest of a game cannot make kernels read or write beyond their arrays."""
    about = replace(
        learned_policy().about, features=replace(learned_policy().about.features, **change)
    )
    forged = PolicyFile(about, learned_policy().arrays)
    with pytest.raises(ConfigError, match="does not have"):
        forged.check_game(environment().names, "it")
    with pytest.raises(ConfigError, match="does not have"):
        Learner(environment(), settings=QUICK).resume(forged, "it")


def test_learning_does_not_go_on_from_policies_that_read_other_bits() -> None:
    about = replace(
        learned_policy().about, features=replace(learned_policy().about.features, num_timed=0)
    )
    with pytest.raises(ConfigError, match="other bits"):
        Learner(environment(), settings=QUICK).resume(
            PolicyFile(about, learned_policy().arrays), "it"
        )


def test_weights_that_overflow_still_give_probabilities() -> None:
    exact = ExactGame(make("kuhn_poker"))
    for value in (1e38, -1e38):
        arrays = tuple(np.full_like(array, value) for array in learned_policy().arrays)
        policies = PolicyFile(learned_policy().about, arrays).policies()
        shares = policies["player1"].at_sets(exact.sets[0])
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-5)


def write(path: Path, text: dict[str, Any], **arrays: Any) -> None:
    """Write a file with some entries of its text changed, and some arrays, or without them."""
    write_policy(path, learned_policy())
    with np.load(path) as plain:
        members = dict(plain)
    about = json.loads(members["about"].tobytes()) | text
    members["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    members |= arrays
    np.savez(path, **{name: array for name, array in members.items() if array is not None})


RECORD: dict[str, Any] = json.loads(json.dumps(learned_policy().about.record))

WRONG: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another format": ({"format": 2}, {}),
    "no roles": ({"roles": []}, {}),
    "a role too many": ({"roles": ["player1", "player2", "player3"]}, {}),
    "no text": ({"game": 7}, {}),
    "huge layers": ({"hidden": [1 << 30]}, {}),
    "negative layers": ({"hidden": [-8]}, {}),
    "other layers": ({"hidden": [9]}, {}),
    "features that are none": ({"features": {}}, {}),
    "a record that is none": ({"record": 3}, {}),
    "a record without numbers": ({"record": {}}, {}),
    "a curve that is none": ({"record": {**RECORD, "curve": [1, 2]}}, {}),
    "a curve that stands still": ({"record": {**RECORD, "curve": [RECORD["curve"][0]] * 2}}, {}),
    "endless seconds": ({"record": {**RECORD, "seconds": float("inf")}}, {}),
    "no critic": ({}, {"critic": None}),
    "objects": ({}, {"critic": np.array([{}], dtype=object)}),
    "doubles": ({}, {"critic": np.zeros((4, 5))}),
    "infinities": ({}, {"role 0": np.full_like(learned_policy().arrays[0], np.inf)}),
    "text that is no text": ({}, {"about": np.zeros((2, 2))}),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_files_are_refused(fault: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    text, arrays = WRONG[fault]
    write(path, text, **arrays)
    with pytest.raises(ConfigError, match=r"a\.npz: it is no policy file"):
        read_policy(path)


def test_an_archive_that_unfolds_into_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("about.npy", bytes(1 << 24))
    with pytest.raises(ConfigError, match="more than"):
        read_policy(path)


def test_damaged_and_missing_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_policy(path, learned_policy())
    data = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(60):
        broken = bytearray(data)
        for at in rng.integers(0, len(data), 4).tolist():
            broken[at] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(broken[: rng.integers(1, len(data))]))
        with pytest.raises(ConfigError, match=r"a\.npz"):
            read_policy(path)
    with pytest.raises(ConfigError, match="cannot read"):
        read_policy(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="cannot read"):
        read_policy(tmp_path)
