"""A circuit of any size, for measuring: a board game in which stones turn those between them over.

Two roles take turns. A stone may be put on a free cell from which a straight line of the other's
stones ends in an own one; all lines between are turned over. Whoever has no such cell waits. After
so many turns the owner of the cell in the middle wins. What is measured are long chains of gates
with few readers and wide gates, as in rulesheets of board games; no grounder takes part.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from ggp.machine.circuit import TRUE, Circuit, Literals, Outputs
from ggp.machine.propnet.compile.gates import Builder

ROLES = ("black", "white")
TURNS = 60
_DIRECTIONS = [(x, y) for x, y in product((-1, 0, 1), (-1, 0, 1)) if (x, y) != (0, 0)]

Cell = tuple[int, int]


def _along(way: Cell, cell: Cell) -> int:
    """How far a cell is in a direction."""
    return cell[0] * way[0] + cell[1] * way[1]


def turning_stones(size: int) -> Circuit:
    """The circuit of the game on a square board: about 230 literals a cell."""
    cells: list[Cell] = list(product(range(size), range(size)))
    stones = {(cell, role): 2 + 2 * k for k, (role, cell) in enumerate(product((0, 1), cells))}
    controls = [2 + 2 * len(stones), 4 + 2 * len(stones)]
    turns = [controls[1] + 2 + 2 * k for k in range(TURNS)]
    first_move = turns[-1] + 2
    # Of each role: wait, and every cell.
    waits = [first_move, first_move + 2 * (1 + len(cells))]
    builder = Builder((waits[1] + 2 * len(cells)) // 2)
    all_of, any_of = builder.all_of, builder.any_of
    following: dict[int, int] = {}
    legal: list[list[int]] = []
    for role in (0, 1):
        opponent = 1 - role
        puts = {cell: waits[role] + 2 + 2 * k for k, cell in enumerate(cells)}
        lines: dict[Cell, list[int]] = {cell: [] for cell in cells}
        ways: dict[Cell, list[int]] = {cell: [] for cell in cells}
        for way in _DIRECTIONS:
            forward = sorted(cells, key=partial(_along, way))
            placements, captures = dict.fromkeys(cells, 0), dict.fromkeys(cells, 0)
            for cell in forward:
                back = cell[0] - way[0], cell[1] - way[1]
                if (back, role) in stones:
                    run = all_of([placements[back], stones[back, opponent]])
                    placements[cell] = any_of([puts[back], run])
            for cell in reversed(forward):
                front = cell[0] + way[0], cell[1] + way[1]
                if (front, role) in stones:
                    run = all_of([captures[front], stones[front, opponent]])
                    captures[cell] = any_of([stones[front, role], run])
                    ways[cell].append(run)
            for cell in cells:
                lines[cell].append(
                    all_of([placements[cell], captures[cell], stones[cell, opponent]])
                )
        turned = {cell: any_of(lines[cell]) for cell in cells}
        places = []
        for cell in cells:
            free = [stones[cell, 0] ^ 1, stones[cell, 1] ^ 1]
            places.append(all_of([controls[role], *free, any_of(ways[cell])]))
            mine, theirs = stones[cell, role], stones[cell, opponent]
            gained = following.get(mine, mine)
            following[mine] = any_of([puts[cell], turned[cell], gained])
            lost = following.get(theirs, theirs)
            following[theirs] = all_of([lost, turned[cell] ^ 1])
        legal.append([all_of([role_literals ^ 1 for role_literals in places]), *places])
        following[controls[role]] = controls[opponent]
    following |= dict(zip(turns, [TRUE, *turns], strict=False))
    middle = stones[(size // 2, size // 2), 0]
    goals = [middle, middle ^ 1]
    fluents = [*stones.values(), *controls, *turns]
    gates = builder.gates_for([*(following[f] for f in fluents), *legal[0], *legal[1]])

    def moved(literals: list[int]) -> Literals:
        return np.array([2 * gates.net_of[x >> 1] + (x & 1) for x in literals], dtype=np.int32)

    half = size // 2
    begin = {stones[(half - x, half - y), (x + y) % 2] for x, y in product((0, 1), repeat=2)}
    begin.add(controls[0])
    moves = ["wait", *(f"(put {x} {y})" for x, y in cells)]
    names = [f"(cell {x} {y} {ROLES[role]})" for (x, y), role in stones]
    names += [f"(control {role})" for role in ROLES] + [f"(turn {k})" for k in range(TURNS)]
    return Circuit(
        roles=ROLES,
        fluents=tuple(names),
        initial=np.array([fluent in begin for fluent in fluents]),
        constant=(),
        offsets=gates.offsets,
        literals=gates.literals,
        loops=(),
        next=moved([following[fluent] for fluent in fluents]),
        legal=tuple(Outputs(tuple(moves), moved(role_literals)) for role_literals in legal),
        sees=tuple(Outputs((), moved([])) for _ in ROLES),
        goals=tuple(Outputs(("100", "0"), moved([goal, goal ^ 1])) for goal in goals),
        terminal=turns[-1],
    )
