"""Thinning and drawing of many sets at once against one set at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.belief.bags import choose_entries
from ggp.machine.arrays import offsets_of
from ggp.machine.base import FloatArray, IntArray

Sets = list[list[float]]

WEIGHT = st.sampled_from([0.0, 1e-18, 1e-6, 0.1, 0.25, 1.0, 1.0, 3.0]) | st.floats(0.001, 10)
SETS: st.SearchStrategy[Sets] = st.lists(
    st.lists(WEIGHT, max_size=12).filter(lambda s: not s or sum(s) > 1e-3), max_size=6
)


def packed(sets: Sets) -> tuple[FloatArray, IntArray]:
    """Log weights that sum to 1 in each set, and offsets."""
    offsets = offsets_of(np.array([len(s) for s in sets], dtype=np.int64))
    parts = [np.array(s) / sum(s) for s in sets if s]
    with np.errstate(divide="ignore"):
        return np.log(np.concatenate([np.zeros(0), *parts])), offsets


def thin_one(weights: FloatArray, limit: int, start: float) -> tuple[list[int], FloatArray]:
    """The definition, for one set with more entries than the limit."""
    falling = sorted(weights, reverse=True)
    threshold = next(
        rest / (limit - heavy)
        for heavy in range(limit)
        if falling[heavy] <= (rest := sum(reversed(falling[heavy:]))) / (limit - heavy)
    )
    at, entries = start, []
    for entry, weight in enumerate(weights):
        share = 1.0 if weight > threshold else weight / threshold if threshold else 0.0
        if np.floor(at + share) > np.floor(at):
            entries.append(entry)
        at += share
    new = np.maximum(weights[entries], threshold)
    return entries, new / new.sum()


@given(SETS, st.lists(st.integers(0, 8), min_size=6, max_size=6), st.integers(0, 1000))
def test_thinning_many_sets_equals_thinning_each(sets: Sets, limits: list[int], seed: int) -> None:
    log_weights, offsets = packed(sets)
    limit = np.array(limits[: len(sets)], dtype=np.int64)
    entries, new, new_offsets = choose_entries(
        log_weights, offsets, limit, np.random.default_rng(seed)
    )
    rng = np.random.default_rng(seed)
    for s in range(len(sets)):
        weights = np.exp(log_weights[offsets[s] : offsets[s + 1]])
        mine = slice(new_offsets[s], new_offsets[s + 1])
        if len(weights) <= limit[s]:
            expected, shares = list(range(len(weights))), weights
        elif not limit[s]:
            expected, shares = [], weights[:0]
        else:
            expected, shares = thin_one(weights, int(limit[s]), float(rng.random()))
        thinned = (entries[mine] - offsets[s]).tolist()
        # Where a sum is a whole number but for rounding, either neighbour may be kept.
        if thinned != expected:
            assert len(thinned) <= limit[s]
            assert all(weights[e] > 0 for e in thinned)
        else:
            assert np.exp(new[mine]) == pytest.approx(shares, abs=1e-12)


@given(SETS, st.integers(1, 8))
def test_a_set_does_not_depend_on_its_neighbours(sets: Sets, limit: int) -> None:
    """But for the random number it gets."""

    class Half:
        def random(self, count: int) -> FloatArray:
            return np.full(count, 0.5)

    log_weights, offsets = packed(sets)
    together = choose_entries(log_weights, offsets, np.full(len(sets), limit), Half())  # type: ignore[arg-type]
    for s in range(len(sets)):
        single = choose_entries(
            log_weights[offsets[s] : offsets[s + 1]],
            offsets[s : s + 2] - offsets[s],
            np.array([limit]),
            Half(),  # type: ignore[arg-type]
        )
        mine = slice(together[2][s], together[2][s + 1])
        assert (together[0][mine] - offsets[s]).tolist() == single[0].tolist()
        assert together[1][mine].tolist() == single[1].tolist()


def test_thinning_keeps_expectations() -> None:
    weights = np.array([0.4, 0.2, 0.2, 0.1, 0.05, 0.05, 0.0])
    rng = np.random.default_rng(0)
    trials, sets = 100, 200
    total = np.zeros(len(weights))
    with np.errstate(divide="ignore"):
        logs = np.log(np.tile(weights, sets))
    offsets = len(weights) * np.arange(sets + 1)
    for _ in range(trials):
        entries, new, new_offsets = choose_entries(logs, offsets, np.full(sets, 3), rng)
        assert (np.diff(new_offsets) == 3).all()
        np.add.at(total, entries % len(weights), np.exp(new))
    assert total / (trials * sets) == pytest.approx(weights, abs=0.01)


def test_weights_of_many_magnitudes_are_thinned_exactly() -> None:
    weights = np.array([1.0, 1e-15, 1e-15, 1e-15, 1e-15])
    entries, _, _ = choose_entries(
        np.log(weights), np.array([0, 5]), np.array([3]), np.random.default_rng(0)
    )
    assert len(entries) == 3
    assert 0 in entries
