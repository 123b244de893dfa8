"""Nets agree with numpy, and gradients with finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.errors import ConfigError
from ggp.labs.learning.selfplay.features import Choices, Features, RowChanges
from ggp.labs.learning.selfplay.nets import (
    F32,
    MAX_WEIGHTS,
    Net,
    NetShape,
    Optimiser,
    Weights,
    advantages,
    draw,
    first_weights,
    improve,
    probabilities,
)
from ggp.machine.compiling.vectors import FLOATS

MOVES, LANES, ROWS = 5, 6, 30

HIDDEN = [(16, 8), (FLOATS + 8, 8)]
"""First layers narrower and wider than a vector."""


def net_and_rows(
    hidden: tuple[int, ...] = (16, 8),
) -> tuple[Net, Choices, np.ndarray, np.ndarray]:
    """A net, rows in six lanes, the same as packed bits, and as floats."""
    rng = np.random.default_rng(1)
    features = Features(MOVES, 3, 0, 8, 4, reads_state=False)
    net = Net(features, hidden, MOVES)
    net.weights.flat[:] = first_weights(net.shape, rng) + rng.normal(0, 0.1, net.shape.num_weights)
    bits = (rng.random((ROWS, 64 * features.num_words)) < 0.3) & (features.input_of >= 0)
    bits[:, 0] = bits[:, 3] = True  # there is a choice
    packed = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    choices = Choices(features, LANES, ROWS)
    for turn in packed.reshape(-1, LANES, features.num_words):
        choices.add(turn)
    dense = np.zeros((ROWS, features.num_inputs))
    for n, b in zip(*np.nonzero(bits), strict=True):
        dense[n, features.input_of[b]] = 1
    return net, choices, packed, dense


def naive(flat: np.ndarray, shape: NetShape, dense: np.ndarray) -> np.ndarray:
    weights = Weights(shape, flat)
    out = dense
    for number, (matrix, bias) in enumerate(zip(weights.matrices, weights.biases, strict=True)):
        out = out @ matrix + bias
        if number < len(weights.matrices) - 1:
            out = np.maximum(out, 0)
    return out


def run(net: Net, rows: RowChanges) -> F32:
    places = np.arange(len(rows.order))
    sums = np.zeros((len(places), net.shape.hidden[0]), dtype=np.float32)
    net.sums(rows, rows.previous, places, sums)
    return net.forward(sums, places)


def all_rows(choices: Choices) -> RowChanges:
    (rows,) = choices.blocks(LANES)
    return rows


@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_net_computes_what_numpy_computes(hidden: tuple[int, ...]) -> None:
    net, choices, packed, dense = net_and_rows(hidden)
    expected = naive(net.weights.flat, net.shape, dense)
    np.testing.assert_allclose(run(net, all_rows(choices)), expected, atol=1e-4)
    np.testing.assert_allclose(net(packed), expected, atol=1e-4)
    for rows in choices.blocks(4):
        np.testing.assert_allclose(run(net, rows), expected[rows.order], atol=1e-4)
        assert (rows.order % LANES // 4 == rows.order[0] % LANES // 4).all()


def test_rows_of_lanes_without_a_choice_are_left_out() -> None:
    features = Features(MOVES, 3, 0, 0, 0, reads_state=False)
    choices = Choices(features, 3, 5)
    bits = np.zeros((3, features.num_words), dtype=np.uint64)
    bits[:, 0] = [0b11, 0b100, 0b1001]
    assert choices.add(bits).previous.tolist() == [-1, -1]
    bits[:, 0] = [0b111, 0b110, 0b1]
    rows = choices.add(bits)
    assert choices.lanes.tolist() == [0, 2, 0, 1]
    assert rows.previous.tolist() == [0, -1]
    assert rows.changes[rows.starts[0] : rows.starts[-1]].tolist() == [2, 1, 2]
    choices.take(np.array([0, 2]))
    choices.clear()
    bits[:, 0] = [0b110, 0, 0b1010]
    rows = choices.add(bits[[0, 2]])
    assert rows.changes[rows.starts[0] : rows.starts[-1]].tolist() == [~0, ~0, 1]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_gradients_are_those_of_finite_differences(hidden: tuple[int, ...]) -> None:
    """Of clipped policy gradient with entropy, with the oracle in float64."""
    net, choices, _, dense = net_and_rows(hidden)
    rows = all_rows(choices)
    rng = np.random.default_rng(2)
    legal = dense[:, :MOVES] > 0
    actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in legal])
    gains = rng.normal(size=ROWS).astype(np.float32)
    logs = np.full(ROWS, np.log(0.3), dtype=np.float32)

    def loss(flat: np.ndarray) -> float:
        logits = np.where(legal, naive(flat, net.shape, dense), -np.inf)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        entropy = -(np.log(np.where(legal, shares, 1)) * shares).sum(axis=1)
        ratio = shares[np.arange(ROWS), actions] / np.exp(logs)
        won = np.minimum(ratio * gains, np.clip(ratio, 0.8, 1.2) * gains)
        return float(-(won + 0.3 * entropy).mean())

    optimiser, clip_sums = Optimiser(net), np.zeros(2, dtype=np.float32)
    logits, spare = run(net, rows), np.zeros((2, MOVES), dtype=np.float32)
    improve(rows.masks, logits, actions, logs, gains, 0.3, 0.2, spare, clip_sums)
    slopes = net.backward(logits, optimiser.gradient)
    net.backward_sums(rows, slopes, optimiser.gradient)
    flat = net.weights.flat.astype(np.float64)
    indices = np.concatenate([np.flatnonzero(optimiser.gradient.flat), np.arange(5)])
    assert 0 < clip_sums[1] < ROWS
    for k in rng.choice(indices, 150, replace=False):
        step = np.zeros_like(flat)
        step[k] = 1e-6
        slope = (loss(flat + step) - loss(flat - step)) / 2e-6
        assert optimiser.gradient.flat[k] == pytest.approx(slope, abs=2e-4)


def test_probabilities_are_of_legal_moves_and_draws_follow_them() -> None:
    net, choices, packed, dense = net_and_rows()
    rows = all_rows(choices)
    logits = run(net, rows).copy()
    shares = logits.copy()
    probabilities(packed, 1, shares)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    assert not shares[dense[:, :MOVES] == 0].any()
    actions, logs = np.zeros(ROWS, dtype=np.int64), np.zeros(ROWS, dtype=np.float32)
    counts = np.zeros((ROWS, MOVES))
    for key in range(4000):
        draw(rows.masks, logits.copy(), np.uint64(key * 1_000_003), actions, logs)
        counts[np.arange(ROWS), actions] += 1
    np.testing.assert_allclose(np.exp(logs), shares[np.arange(ROWS), actions], rtol=1e-4)
    assert np.abs(counts / 4000 - shares).max() < 0.04


def test_advantages_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(1)
    turns, lanes = 7, 3
    values = rng.normal(size=(turns + 1, lanes, 1)).astype(np.float32)
    rewards = rng.normal(size=(turns, lanes, 1)).astype(np.float32)
    ended = rng.random((turns, lanes)) < 0.3
    rewards[~ended] = 0
    gains = np.empty_like(rewards)
    advantages(values, rewards, ended, 0.9, gains)
    for lane in range(lanes):
        for t in range(turns):
            expected, weight = 0.0, 1.0
            for s in range(t, turns):
                next_value = 0.0 if ended[s, lane] else values[s + 1, lane, 0]
                expected += weight * (rewards[s, lane, 0] + next_value - values[s, lane, 0])
                weight *= 0.9
                if ended[s, lane]:
                    break
            assert gains[t, lane, 0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("hidden", [(), (0,), (MAX_WEIGHTS,)])
def test_impossible_shapes_are_refused(hidden: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="a net"):
        NetShape(10, hidden, 3)
