"""Array operations against plain loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.machine.arrays import chunks, distinct, enlarged, first_seen, offsets_of, take_segments

WIDE = st.integers(-(1 << 63), (1 << 63) - 1)
NARROW = st.integers(-2, 2)


def first_seen_by_dict(rows: list[tuple[int, ...]]) -> tuple[list[int], list[int]]:
    numbers: dict[tuple[int, ...], int] = {}
    first, group = [], []
    for lane, row in enumerate(rows):
        if row not in numbers:
            numbers[row] = len(numbers)
            first.append(lane)
        group.append(numbers[row])
    return first, group


@given(
    st.sampled_from([NARROW, WIDE, st.integers(0, 1 << 40), NARROW | WIDE]).flatmap(
        lambda values: st.integers(1, 5).flatmap(
            lambda width: st.lists(st.tuples(*[values] * width), max_size=30)
        )
    )
)
def test_distinct_rows_come_in_order_of_first_appearance(rows: list[tuple[int, ...]]) -> None:
    width = len(rows[0]) if rows else 1
    array = np.array(rows, dtype=np.int64).reshape(-1, width)
    first, group = first_seen(array)
    assert (first.tolist(), group.tolist()) == first_seen_by_dict(rows)
    if width == 1:
        first, group = first_seen(array[:, 0])
        assert (first.tolist(), group.tolist()) == first_seen_by_dict(rows)


@pytest.mark.parametrize("high", [50, 5_000, 1 << 40, 1 << 62])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_distinct_rows_of_large_batches(high: int, width: int) -> None:
    rng = np.random.default_rng(high)
    pool = rng.integers(-high, high, (800, width))
    rows = pool[rng.integers(0, len(pool), 3_000)]
    first, group = first_seen(rows)
    assert (first.tolist(), group.tolist()) == first_seen_by_dict(list(map(tuple, rows.tolist())))


@given(st.lists(st.integers(0, 4), min_size=1), st.data())
def test_segments_taken_are_those_asked_for(counts: list[int], data: st.DataObject) -> None:
    segments = data.draw(st.lists(st.integers(0, len(counts) - 1)))
    offsets = offsets_of(np.array(counts))
    starts, elements = take_segments(offsets, np.array(segments, dtype=np.int64))
    expected = [list(range(offsets[s], offsets[s + 1])) for s in segments]
    assert [elements[a:b].tolist() for a, b in pairwise(starts)] == expected


@given(st.lists(st.integers(0, 9)), st.integers(1, 12))
def test_chunks_are_as_long_as_the_limit_lets_them(sizes: list[int], limit: int) -> None:
    chunks_made = list(chunks(np.array(sizes, dtype=np.int64), limit))
    assert [start for start, _ in chunks_made] == [0, *(end for _, end in chunks_made)][
        : len(chunks_made)
    ]
    assert (chunks_made[-1][1] if chunks_made else 0) == len(sizes)
    for start, end in chunks_made:
        assert end == start + 1 or sum(sizes[start:end]) <= limit
        assert end == len(sizes) or sum(sizes[start : end + 1]) > limit


def test_an_array_that_must_grow_keeps_its_rows() -> None:
    array = np.arange(6).reshape(3, 2)
    assert enlarged(array, 3, -1) is array
    larger = enlarged(array, 4, -1)
    assert len(larger) >= 4
    assert np.array_equal(larger[:3], array)
    assert (larger[3:] == -1).all()


@pytest.mark.parametrize("size", [0, 1, 3, 40, 1_000])
def test_distinct_numbers_come_in_order_whether_they_are_few_or_many(size: int) -> None:
    numbers = np.random.default_rng(size).integers(0, 500, size).astype(np.int32)
    assert distinct(numbers, 500).tolist() == sorted(set(numbers.tolist()))
