"""Assembles compiled rules into the arrays that kernels read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.machine.relational.kernels.records import I32, Code, Rows
from ggp.machine.relational.kernels.room import GameMemory, rows_for
from ggp.machine.relational.kernels.row_kernels import add_facts
from ggp.machine.relational.ops.compile import Compiled
from ggp.machine.relational.ops.order import CallPattern
from ggp.machine.relational.ops.places import RowKind


def put_into(room: GameMemory, compiled: Compiled, unremembered: frozenset[CallPattern]) -> None:
    """Make kernels play by compiled rules.

    Args:
        unremembered: calls whose answer is quicker to find anew than to remember.
    """
    code = _code(compiled, unremembered)
    room.take(code, _facts(compiled, code), compiled.widest)


def _array(rows: Sequence[object], *width: int) -> I32:
    return np.array(rows, dtype=np.int32).reshape(-1, *width)


def _code(compiled: Compiled, unremembered: frozenset[CallPattern]) -> Code:
    procedures = [
        [start, end, p.args.count("k"), p.args.count("f"), registers, p not in unremembered]
        for start, end, p, registers in zip(
            [0, *compiled.rule_ends],
            compiled.rule_ends,
            compiled.patterns,
            compiled.registers,
            strict=False,
        )
    ]
    by_relation: list[list[int]] = [[] for _ in compiled.places]
    for number, (relation, _) in enumerate(compiled.indexes):
        by_relation[relation].append(number)
    functions = compiled.terms.functions
    for place in compiled.places:
        if place.kind in (RowKind.FLUENT, RowKind.MOVE) and place.name is not None:
            compiled.terms.function(place.name)
    fluents, moves = (np.full(len(functions) + 1, -1, dtype=np.int32) for _ in range(2))
    for number, place in enumerate(compiled.places):
        if place.kind in (RowKind.FLUENT, RowKind.MOVE):
            table = fluents if place.kind is RowKind.FLUENT else moves
            table[-1 if place.name is None else compiled.terms.function(place.name)] = number
    return Code(
        ops=_array(compiled.ops, 10),
        operands=_array(compiled.operands),
        outputs=_array(compiled.outputs, 3),
        rules=_array(compiled.rule_starts),
        procedures=_array(procedures, 6),
        relations=_slices(by_relation),
        relation_indexes=_array([index for indexes in by_relation for index in indexes]),
        indexes=_slices([columns for _, columns in compiled.indexes]),
        columns=_array([column for _, columns in compiled.indexes for column in columns]),
        roots=np.arange(len(compiled.patterns), dtype=np.int32),
        fluents=fluents,
        moves=moves,
    )


def _slices(lists: Sequence[Sequence[int]]) -> I32:
    """`[N, 2]` where each list begins and ends in the concatenation of all."""
    bounds = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    return np.stack([bounds[:-1], bounds[1:]], axis=1)


def _facts(compiled: Compiled, code: Code) -> Rows:
    """The rows of all relations of facts that rules use."""
    asked = [
        (number, compiled.rules.facts.get(place.name, np.zeros((0, place.name[1]), dtype=np.int32)))
        for place, number in compiled.places.items()
        if place.kind is RowKind.FACT and place.name is not None
    ]
    indexes = code.relations[:, 1] - code.relations[:, 0]
    links = sum(len(rows) * int(indexes[number]) for number, rows in asked)
    rows = rows_for(sum(len(x) for _, x in asked), sum(x.size for _, x in asked), links)
    for number, found in asked:
        cells = np.ascontiguousarray(found).reshape(-1)
        add_facts(code, rows, number, cells, found.shape[1], len(found))
    return rows
