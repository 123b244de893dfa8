"""Snapshots of bags: other machines read them, and refuse damaged ones."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from contextlib import nullcontext
from hashlib import blake2b

import numpy as np
import pytest

from ggp.belief import DRAWN, Bags, HyperPlaySampler, PathTree, snapshots
from ggp.belief.snapshots import read_bag, write_bag
from ggp.errors import SnapshotError
from ggp.machine import Machine
from ggp.machine.base import UNKNOWN
from ggp.search.moves import random_moves
from tests.support.games import machine_of_game, machine_of_rules

KEY = "these rules, this role"


HINTS = """
(role seer) (role other) (role random) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 3)
(bit 0) (bit 1) (legal seer wait) (legal other wait)
(<= (legal random (pick ?b)) (bit ?b))
(<= (sees other (hint ?b)) (does random (pick ?b)))
(<= (next (picked ?b)) (does random (pick ?b)))
(<= (next (at ?n)) (true (at ?m)) (succ ?m ?n))
(<= terminal (true (at 3)))
(goal seer 0) (goal other 0) (goal random 0)
"""
"""The other role's path remembers more picks than a state does."""


def followed(machine: Machine, exact: int, turns: int, views: bool = True) -> tuple[PathTree, Bags]:
    """The belief of the first role in a random match."""
    rng, tree = np.random.default_rng(3), PathTree(machine)
    sampler = HyperPlaySampler(machine, tree, capacity=5, exact=exact, keep_views=views)
    state, bags = machine.initial(1), sampler.start(0)
    for _ in range(turns):
        roles = range(len(machine.roles))
        joint = np.column_stack([random_moves(machine, state, role, rng) for role in roles])
        state, percepts = machine.step(state, joint)
        assert not machine.terminal(state)[0]
        bags = sampler.advance(bags, joint[:, 0], percepts[:, 0], rng)
    return tree, bags


def contents(machine: Machine, tree: PathTree, bags: Bags) -> list[object]:
    """Everything that is in a bag, by name."""
    sets = bags.sets.take(bags.segment)
    views = [] if sets.views is None else [list(map(tree.texts, row)) for row in sets.views]
    numbers = sets.log_weights, sets.exact, sets.sizes, sets.log_masses
    texts = tree.texts(int(bags.paths[0]))
    return [machine.fluents(sets.states), views, texts, *(array.tolist() for array in numbers)]


@pytest.mark.parametrize(
    ("name", "turns", "exact"),
    [("leduc_poker", 3, 300), ("krieg_tic_tac_toe", 5, 0), ("monty_hall", 1, 300)],
)
def test_every_backend_reads_the_snapshots_of_another(name: str, turns: int, exact: int) -> None:
    writer = machine_of_game(name, "propnet")
    tree, bags = followed(writer, exact, turns)
    assert bags.exact[0] == (exact > 0)
    text = write_bag(writer, tree, bags, KEY)
    for backend in ("propnet", "prolog", "relational"):
        reader = machine_of_game(name, backend)
        reader_tree = PathTree(reader)
        read = read_bag(text, reader, reader_tree, 0, KEY)
        assert contents(reader, reader_tree, read) == contents(writer, tree, bags)
        # And back: the texts are the same, though their ids differ.
        back = read_bag(write_bag(reader, reader_tree, read, KEY), writer, tree, 0, KEY)
        assert contents(writer, tree, back) == contents(writer, tree, bags)
        assert np.array_equal(back.paths, bags.paths)


def test_unknown_and_refused_moves_are_kept() -> None:
    machine = machine_of_game("krieg_tic_tac_toe")
    tree = PathTree(machine)
    sampler = HyperPlaySampler(machine, tree, capacity=9, exact=0)
    mark, percepts = machine.move_id("(mark 1 1)"), machine.percept_id([])
    assert mark is not None
    assert percepts is not None
    path = np.array([0])
    known = (mark, percepts, mark), (mark, UNKNOWN, DRAWN), (UNKNOWN, percepts, mark)
    for turn in ((UNKNOWN, UNKNOWN, UNKNOWN), *known):
        path = tree.extend(path, *(np.array([number]) for number in turn))
    bags = Bags(0, path, np.zeros(1, dtype=np.int64), sampler.start(0).sets)
    reader = machine_of_game("krieg_tic_tac_toe", "propnet")
    reader_tree = PathTree(reader)
    read = read_bag(write_bag(machine, tree, bags, KEY), reader, reader_tree, 0, KEY)
    assert reader_tree.texts(int(read.paths[0])) == tree.texts(int(path[0]))


def test_bags_that_are_too_large_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of_game("leduc_poker", "propnet")
    tree, bags = followed(machine, 300, 3)
    whole = write_bag(machine, tree, bags, KEY)
    monkeypatch.setattr(snapshots, "MAX_EXACT", 8)
    thin = read_bag(write_bag(machine, tree, bags, KEY), machine, tree, 0, KEY)
    assert len(thin.sets.states) == 8 < len(bags.states_of(0))
    assert not thin.exact[0]
    assert thin.weights_of(0).sum() == pytest.approx(1.0)
    monkeypatch.undo()
    monkeypatch.setattr(snapshots, "MAX_CHARS", len(whole) - 1)
    assert 0 < len(write_bag(machine, tree, bags, KEY)) < len(whole)
    monkeypatch.setattr(snapshots, "MAX_CHARS", 10)
    assert write_bag(machine, tree, bags, KEY) == ""


def test_equal_states_of_different_views_are_merged_without_views() -> None:
    machine = machine_of_rules(HINTS)
    _, bags = followed(machine, 300, 2)
    merged = bags.sets.without_views(machine)
    _, viewless = followed(machine, 300, 2, views=False)
    assert len(merged.states) == len(viewless.sets.states) == 2 < len(bags.sets.states) == 4
    by_state = [
        dict(zip(machine.fluents(sets.states), np.exp(sets.log_weights), strict=True))
        for sets in (merged, viewless.sets)
    ]
    assert by_state[0] == pytest.approx(by_state[1])
    assert merged.sizes == viewless.sets.sizes


def test_nothing_is_written_without_sound_particles() -> None:
    machine = machine_of_game("monty_hall")
    tree, bags = followed(machine, 300, 1)
    empty = Bags(0, bags.paths, bags.segment, bags.sets.thinned(0, np.random.default_rng(0)))
    guessed = Bags(0, bags.paths, bags.segment, bags.sets, guessed=3)
    assert write_bag(machine, tree, empty, KEY) == write_bag(machine, tree, guessed, KEY) == ""


def test_damaged_and_foreign_snapshots_are_refused() -> None:
    machine = machine_of_game("monty_hall")
    tree, bags = followed(machine, 300, 1)
    text = write_bag(machine, tree, bags, KEY)
    damaged = [text[:i] + ("x" if text[i] != "x" else "y") + text[i + 1 :] for i in (0, 40, -9)]
    for wrong in [*damaged, text[:-4], text.replace(".", ""), "", "é.é", "A" * 10_000]:
        with pytest.raises(SnapshotError):
            read_bag(wrong, machine, tree, 0, KEY)
    with pytest.raises(SnapshotError, match="another game or role"):
        read_bag(text, machine, tree, 0, "other rules")
    with pytest.raises(SnapshotError, match="cannot be read"):
        read_bag(text, machine_of_game("leduc_poker"), PathTree(machine), 0, KEY)


@pytest.mark.parametrize(
    "change",
    [
        {"fluents": ["(nothing 1)"]},
        {"states": [[99]]},
        {"rows": [[5], [0]]},
        {"rows": [[0], [7]]},
        {"turns": [["(sing 1)", [], None]]},
        {"turns": [[7]]},
        {"path": "first"},
        {"set": None},
        {"views": [[0, "x"]]},
        {"views": [[0]]},
        {"rows": [[10**30], [0]]},
        {"states": []},
        {"log_weights": [0.0] * 50},
        {"log_weights": [float("nan")]},
        {"set": [True, float("nan"), 0.0]},
    ],
)
def test_malformed_contents_are_refused(change: dict[str, object]) -> None:
    machine = machine_of_game("monty_hall")
    tree, bags = followed(machine, 300, 1)
    text = write_bag(machine, tree, bags, KEY)
    packed = b64decode(text[33:])
    assert sealed(packed) == text
    content = json.loads(zlib.decompress(packed))
    packed = zlib.compress(json.dumps(content | change).encode())
    with pytest.raises(SnapshotError):
        read_bag(sealed(packed), machine, tree, 0, KEY)


def test_reading_takes_bounded_memory() -> None:
    machine = machine_of_game("monty_hall")
    tree, bags = followed(machine, 300, 1)
    content = zlib.decompress(b64decode(write_bag(machine, tree, bags, KEY)[33:]))
    for num_spaces in (9, 1 << 25):  # JSON may begin with spaces, but not with 32 MB of them
        packed = zlib.compress(b" " * num_spaces + content, 1)
        with nullcontext() if num_spaces == 9 else pytest.raises(SnapshotError):
            read_bag(sealed(packed), machine, tree, 0, KEY)


def sealed(packed: bytes) -> str:
    """A snapshot of this content, with the right checksum."""
    checksum = blake2b(packed, key=blake2b(KEY.encode()).digest(), digest_size=16)
    return f"{checksum.hexdigest()}.{b64encode(packed).decode()}"
