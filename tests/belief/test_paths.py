"""The tree of incomplete paths and the table of exact sets against dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.belief import PathTree
from ggp.belief.bags import Segments, initial_segments
from ggp.belief.finding.exact import SetTable
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN, IntArray
from ggp.machine.rows import RowTable
from tests.support.games import machine_of_game
from tests.support.paths import PathTurn, turns_of

Batches = list[list[tuple[int, int]]]

BATCHES: st.SearchStrategy[Batches] = st.lists(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(0, 2) | st.integers(-(1 << 63), (1 << 63) - 1)),
        max_size=30,
    ),
    max_size=6,
)


@given(BATCHES)
def test_rows_are_numbered_in_the_order_they_appear(batches: Batches) -> None:
    table = RowTable(2)
    numbers: dict[tuple[int, int], int] = {}
    for batch in batches:
        rows = np.array(batch, dtype=np.int64).reshape(-1, 2)
        for row in batch:
            numbers.setdefault(row, len(numbers))
        assert table.numbers(rows.view(np.uint64)).tolist() == [numbers[row] for row in batch]
        assert table.rows.view(np.int64).tolist() == [list(row) for row in numbers]


def test_many_rows_are_found_again() -> None:
    rng = np.random.default_rng(0)
    rows = np.unique(rng.integers(0, 200, (30_000, 3)), axis=0).view(np.uint64)
    table = RowTable(3)
    for start in range(0, len(rows), 7_000):
        table.numbers(rows[start : start + 7_000])
    order = rng.permutation(len(rows))
    assert np.array_equal(table.numbers(rows[order]), order)
    assert len(table) == len(rows)


class Growth:
    """A tree that grows at random, with the turns of every node in a dictionary."""

    def __init__(self, seed: int, *, batches: int, machine: Machine) -> None:
        self.tree = PathTree(machine)
        self.paths: dict[int, tuple[int, list[PathTurn]]] = {r: (r, []) for r in range(2)}
        rng = np.random.default_rng(seed)
        for _ in range(batches):
            nodes = rng.choice(list(self.paths), 20)
            turns = rng.integers(-1, 2, (20, 3))
            children = self.tree.extend(nodes, *turns.T)
            for parent, turn, node in zip(nodes.tolist(), turns.tolist(), children, strict=True):
                role, path_turns = self.paths[parent]
                expected = (role, [*path_turns, PathTurn(*turn)])
                assert self.paths.setdefault(int(node), expected) == expected


@pytest.fixture(name="machine")
def _machine() -> Machine:
    return machine_of_game("krieg_tic_tac_toe")


def test_a_node_stands_for_its_turns(machine: Machine) -> None:
    growth = Growth(0, batches=12, machine=machine)
    tree, nodes = growth.tree, np.array(list(growth.paths))
    assert len({(role, *turns) for role, turns in growth.paths.values()}) == len(nodes)
    assert len(tree) == len(nodes)
    for node, (role, turns) in growth.paths.items():
        assert turns_of(tree, node) == turns
        assert tree.depth(node) == len(turns)
        beginnings = [int(ancestor) for (ancestor,) in tree.beginnings(np.array([node]))]
        assert beginnings[0] == role
        assert [turns_of(tree, ancestor) for ancestor in beginnings] == [
            turns[:length] for length in range(len(turns) + 1)
        ]
    parents = tree.parents(nodes)
    for node, parent in zip(nodes, parents.tolist(), strict=True):
        assert turns_of(tree, parent) == turns_of(tree, node)[:-1]
    deep = nodes[tree.depths(nodes) > 0]
    assert [PathTurn(*t) for t in tree.last_turns(deep).tolist()] == [
        turns_of(tree, n)[-1] for n in deep
    ]


@pytest.mark.parametrize("seed", range(5))
def test_pruning_keeps_beginnings_and_continuations(seed: int, machine: Machine) -> None:
    growth = Growth(seed, batches=12, machine=machine)
    tree, paths = growth.tree, growth.paths
    long = [n for n in paths if len(paths[n][1]) > 1]
    living = np.random.default_rng(seed).choice(long, 3)
    pinned = np.random.default_rng(seed + 100).choice(long, 4)
    numbers = tree.prune(living, pinned)
    assert len(tree) == (numbers >= 0).sum()

    def begins(prefix: tuple[int, list[PathTurn]], whole: tuple[int, list[PathTurn]]) -> bool:
        return prefix[0] == whole[0] and prefix[1] == whole[1][: len(prefix[1])]

    for node, path in paths.items():
        stays = (
            not path[1]
            or any(begins(path, paths[int(n)]) for n in [*living, *pinned])
            or any(begins(paths[int(n)], path) for n in living)
        )
        assert (numbers[node] >= 0) == stays
        if stays:
            assert turns_of(tree, int(numbers[node])) == path[1]
            assert tree.depth(int(numbers[node])) == len(path[1])
    continued = tree.extend(numbers[living], np.array([7] * 3), np.array([8] * 3))
    for node, longer in zip(living, continued.tolist(), strict=True):
        assert turns_of(tree, longer) == [*paths[int(node)][1], PathTurn(7, 8, UNKNOWN)]


def labelled(machine: Machine, labels: list[int]) -> Segments:
    """For each label a set of `label % 4` entries that bear it as weights."""
    counts = np.array(labels, dtype=np.int64) % 4
    start = initial_segments(machine, int(counts.sum()), keep_views=False)
    return Segments(
        np.concatenate([[0], np.cumsum(counts)]),
        start.states,
        np.repeat(np.array(labels, dtype=np.float64), counts),
        np.ones(len(labels), dtype=np.bool_),
        counts.astype(np.float64),
        np.zeros(len(labels)),
    )


def labels_of(sets: Segments) -> list[list[float]]:
    return [s.tolist() for s in np.split(sets.log_weights, sets.offsets[1:-1])] if len(sets) else []


class TestSetTable:
    def test_added_sets_can_be_looked_up(self, machine: Machine) -> None:
        rng = np.random.default_rng(0)
        table = SetTable(machine, 10_000)
        nodes = rng.permutation(500)
        for part in np.split(nodes[:400], [3, 10, 11, 100, 250]):
            table.add(part, labelled(machine, part.tolist()))
        assert np.array_equal(table.holds(nodes), np.arange(500) < 400)
        queried = rng.choice(nodes[:400], 700)
        assert labels_of(table.get(queried)) == [[float(n)] * (n % 4) for n in queried.tolist()]
        assert table.num_entries == 400 + (nodes[:400] % 4).sum()

    def test_least_recently_used_sets_are_forgotten(self, machine: Machine) -> None:
        table = SetTable(machine, 100)
        for start in (0, 50):
            nodes = np.arange(start, start + 50)
            table.add(nodes, labelled(machine, nodes.tolist()))
        table.get(np.arange(20))
        table.trim()
        assert 0 < table.num_entries <= 50
        remaining = np.flatnonzero(table.holds(np.arange(100)))
        assert set(range(19)) <= set(remaining.tolist())
        assert labels_of(table.get(remaining)) == [[float(n)] * (n % 4) for n in remaining.tolist()]

    def test_sets_follow_their_nodes(self, machine: Machine) -> None:
        table = SetTable(machine, 1_000)
        nodes = np.arange(30)
        table.add(nodes, labelled(machine, nodes.tolist()))
        numbers: IntArray = np.where(nodes % 3 == 0, nodes // 3, -1)
        table.renumber(numbers)
        assert table.holds(np.arange(30)).tolist() == [n < 10 for n in range(30)]
        assert labels_of(table.get(np.arange(10))) == [[3.0 * n] * (3 * n % 4) for n in range(10)]
