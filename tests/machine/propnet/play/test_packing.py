"""States come out of a block as they went in, however many bits they have."""

from __future__ import annotations

import numpy as np
import pytest

from ggp.machine.arrays import pack_rows, unpack
from ggp.machine.base import IntArray
from ggp.machine.circuit import Circuit, Outputs
from ggp.machine.compiling.jit import kernel
from ggp.machine.compiling.vectors import WIDTH, aligned_words, words_of
from ggp.machine.propnet.play.kernels.block_kernels import NO_MOVES, run_query
from ggp.machine.propnet.play.kernels.lanes.packing import clear_runs, load_runs
from ggp.machine.propnet.play.kernels.tapes import I32, U64
from ggp.machine.propnet.play.layout.queries import query_of

NONE = np.zeros(0, dtype=np.int32)
FLUENTS = 150


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.9])
@pytest.mark.parametrize("lanes", [65, 1024, 1500])
def test_states_come_out_of_a_block_as_they_went_in(share: float, lanes: int) -> None:
    rng = np.random.default_rng(lanes)
    states = rng.random((lanes // 3 + 1, FLUENTS)) < share
    # Some neighbours are equal, and some alone.
    bits = states[np.sort(rng.integers(0, len(states), lanes))]
    inverted = rng.random(FLUENTS) < 0.1
    literals = (2 * np.arange(1, 1 + FLUENTS) + inverted).astype(np.int32)
    query = query_of(_circuit(), [literals])
    packed = pack_rows(bits)
    out = np.full((lanes, query.starts[-1]), 7, dtype=np.uint64)
    scratch = aligned_words(query.num_rows * words_of(WIDTH)), np.empty(64, dtype=np.uint64)
    run_query(query, packed, *NO_MOVES, out, *scratch, WIDTH)
    assert (unpack(out, FLUENTS) == bits ^ inverted).all()


@pytest.mark.parametrize("count", [1, 64, 150])
def test_lanes_of_a_block_hold_their_states_and_are_cleared_again(count: int) -> None:
    rng = np.random.default_rng(count)
    states = rng.random((count, FLUENTS)) < 0.2
    states[1::2] ^= rng.random(states[1::2].shape) < 0.02  # neighbours are alike
    packed, first = pack_rows(states), 3
    lanes = np.concatenate(
        [np.zeros(first, dtype=np.int64), np.sort(rng.integers(0, count, count))]
    )
    words = 3
    row_of = rng.permutation(FLUENTS).astype(np.int32)
    rows = np.zeros(FLUENTS * words, dtype=np.uint64)
    written = _loaded(packed, lanes, first, count, row_of, rows, words)
    unpacked = unpack(rows.reshape(FLUENTS, words), 64 * words)[row_of]
    assert (states[lanes[first:]] == unpacked[:, :count].T).all()
    assert not unpacked[:, count:].any()
    for written_words in (written, 0, 1 << 20):
        leftover = rows.copy()
        _cleared(packed, lanes, first, count, row_of, leftover, words, written_words)
        assert not leftover.any()


@kernel
def _loaded(
    packed: U64, lanes: IntArray, first: int, count: int, row_of: I32, rows: U64, words: int
) -> int:
    return load_runs(packed, lanes, first, count, row_of, rows, words)


@kernel
def _cleared(
    packed: U64,
    lanes: IntArray,
    first: int,
    count: int,
    row_of: I32,
    rows: U64,
    words: int,
    written: int,
) -> None:
    clear_runs(packed, lanes, first, count, row_of, rows, words, written)


def _circuit() -> Circuit:
    nothing = Outputs((), NONE)
    return Circuit(
        roles=("me",),
        fluents=tuple(f"f{k:03}" for k in range(FLUENTS)),
        initial=np.zeros(FLUENTS, dtype=np.bool_),
        constant=(),
        offsets=np.zeros(1, dtype=np.int64),
        literals=NONE,
        loops=(),
        next=np.zeros(FLUENTS, dtype=np.int32),
        legal=(nothing,),
        sees=(nothing,),
        goals=(nothing,),
        terminal=0,
    )
