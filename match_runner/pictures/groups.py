"""Groups fluents over the same coordinates on one board, unless each of them fills it.

So `(cell ?x ?y ?piece)` and `(blocked ?x ?y)` are one board, but those of `cell1` and `cell2` are
two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match_runner.pictures.candidates import Axis, Candidate
from match_runner.pictures.finder import FEW
from match_runner.pictures.orders import Order
from match_runner.pictures.shapes import Shape


def rank(candidate: Candidate) -> tuple[bool, bool, int]:
    return candidate.side is not None, not candidate.complete, -len(candidate.keys)


def join(groups: list[list[Candidate]], candidate: Candidate) -> None:
    """Put a candidate into the group that has its coordinates, or into a new one."""
    for group in groups:
        fitted = _fitted(group[0], candidate)
        if fitted is not None:
            group.append(fitted)
            return
    if candidate.side is not None:
        content = tuple(i for i in candidate.content if i != candidate.side)
        candidate = replace(candidate, layers=(candidate.side,), content=content)
    groups.append([candidate])


def lay_over(groups: Sequence[list[Candidate]], shape: Shape) -> bool:
    """Put a shape of two leaves, such as walls or marks, onto the board with these coordinates.

    Returns:
        Whether there is such a board.
    """
    if len(shape.leaves) != 2 or not all(leaf.values for leaf in shape.leaves):
        return False
    values = tuple(set(leaf.values) for leaf in shape.leaves)
    for group in groups:
        head = group[0]
        if head.rows is None or head.orders[1] is None or head.layers:
            continue
        across, up = (set(order.values) for order in (head.orders[0], head.orders[1]))
        straight = max(head.columns.leaves) <= max(head.rows.leaves)
        for columns, rows in ((0, 1), (1, 0)) if straight else ((1, 0), (0, 1)):
            if values[columns] <= across and values[rows] <= up:
                keys = frozenset((row[columns], row[rows]) for row in shape.initial)
                axes = Axis((columns,)), Axis((rows,))
                group.append(Candidate(shape, *axes, head.orders, (), keys=keys))
                return True
    return False


def _fitted(head: Candidate, candidate: Candidate) -> Candidate | None:
    """A candidate fitted to the board of another; None if it needs a board of its own."""
    full = head.complete and candidate.complete and head.content and candidate.content
    if full or len(head.axes) != len(candidate.axes):
        return None
    if head.side is not None and candidate.side is not None:
        content = tuple(i for i in candidate.content if i != candidate.side)
        candidate = replace(candidate, layers=(candidate.side,), content=content)
    if [set(v) for v in layer_values(head)] != [set(v) for v in layer_values(candidate)]:
        return None
    if _alike(head.orders, candidate.orders):
        return candidate
    if candidate.rows is None or candidate.orders[1] is None:
        return None
    turned = (candidate.orders[1], candidate.orders[0])
    if not _alike(head.orders, turned):
        return None
    return replace(candidate, columns=candidate.rows, rows=candidate.columns, orders=turned)


def _alike(
    orders: tuple[Order | None, Order | None], others: tuple[Order | None, Order | None]
) -> bool:
    for a, b in zip(orders, others, strict=True):
        if a is None or b is None:
            continue
        num, common = len(a.values), len({*a.values} & {*b.values})
        if 2 * common < num or (2 * common < len(b.values) and len(b.values) <= FEW):
            return False
    return True


def layer_values(candidate: Candidate) -> list[tuple[str, ...]]:
    return [candidate.shape.leaves[i].values for i in candidate.layers]
