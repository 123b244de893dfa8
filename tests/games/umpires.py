"""Board games once more, in plain Python: what an umpire would say.

Written from the rules in words, with boards and rays where the rulesheets have relations.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import ClassVar, Protocol

Cell = tuple[int, int]
Seen = dict[str, set[str]]


class Umpire(Protocol):
    roles: tuple[str, ...]

    def legal(self, role: str) -> set[str]:
        """The legal moves; nothing but `noop` for who is not on turn."""
        ...

    def play(self, moves: Mapping[str, str]) -> Seen:
        """Make a joint move; returns the percepts of each role."""
        ...

    def scores(self) -> dict[str, int] | None:
        """The scores if the game is over."""
        ...

    def tempting(self, move: str) -> bool:
        """Whether a move leads to something rare in random play."""
        ...


def cells(size: int) -> set[Cell]:
    return {(x, y) for x in range(1, size + 1) for y in range(1, size + 1)}


def words(move: str) -> list[str]:
    return move.strip("()").split()


def numbers(move: str) -> list[int]:
    return [int(word) for word in words(move)[1:]]


def neighbours(cell: Cell, board: set[Cell]) -> set[Cell]:
    x, y = cell
    return {(a, b) for a, b in board if max(abs(a - x), abs(b - y)) == 1}


LAST_ROW = {"white": 5, "black": 1}
FORWARD = {"white": 1, "black": -1}


class BlindBreakthrough:
    roles: tuple[str, ...] = ("white", "black")

    def __init__(self) -> None:
        self.board = cells(5)
        self.pieces = {
            "white": {(x, y) for x, y in self.board if y < 3},
            "black": {(x, y) for x, y in self.board if y > 3},
        }
        self.on_turn, self.waiting = self.roles
        self.refused: set[str] = set()

    def legal(self, role: str) -> set[str]:
        if role != self.on_turn:
            return {"noop"}
        pieces = self.pieces[role]
        moves = set()
        for x, y in pieces:
            for u in (x - 1, x, x + 1):
                v = y + FORWARD[role]
                if (u, v) in self.board - pieces:
                    moves.add(f"(move {x} {y} {u} {v})")
        return moves - self.refused

    def play(self, moves: Mapping[str, str]) -> Seen:
        move = moves[self.on_turn]
        x, y, u, v = numbers(move)
        enemies = self.pieces[self.waiting]
        if x == u and (u, v) in enemies:
            self.refused.add(move)
            return {self.on_turn: {"refused"}}
        seen = {self.waiting: {"your_move"}}
        if (u, v) in enemies:
            enemies.remove((u, v))
            seen = {self.on_turn: {"captured"}, self.waiting: {"your_move", f"(lost {u} {v})"}}
        self.pieces[self.on_turn].remove((x, y))
        self.pieces[self.on_turn].add((u, v))
        self.on_turn, self.waiting = self.waiting, self.on_turn
        self.refused = set()
        return seen

    def scores(self) -> dict[str, int] | None:
        for role, rival in (self.roles, self.roles[::-1]):
            arrived = any(y == LAST_ROW[role] for _, y in self.pieces[role])
            if arrived or not self.pieces[rival]:
                return {role: 100, rival: 0}
        return None

    def tempting(self, move: str) -> bool:
        _, _, u, v = numbers(move)
        return v != LAST_ROW[self.on_turn] and (u, v) in self.pieces[self.waiting]


def all_told(moves: Mapping[str, str]) -> Seen:
    """What roles see in a game whose rules hide nothing: the whole joint move."""
    return {role: {f"(did {actor} {move})" for actor, move in moves.items()} for role in moves}


def line_scores(
    columns: list[list[str]], roles: tuple[str, ...], size: int
) -> dict[str, int] | None:
    """Scores where four discs in a line win and a full board of `size` cells is a draw."""
    at = {(x, y): role for x, column in enumerate(columns) for y, role in enumerate(column)}
    for (x, y), (dx, dy) in product(at, ((1, 0), (0, 1), (1, 1), (1, -1))):
        four = {at.get((x + i * dx, y + i * dy)) for i in range(4)}
        if len(four) == 1:
            return {role: 100 if role in four else 0 for role in roles}
    return dict.fromkeys(roles, 50) if len(at) == size else None


class PhantomConnectFour:
    roles: tuple[str, ...] = ("first", "second")

    def __init__(self) -> None:
        self.columns: list[list[str]] = [[] for _ in range(6)]
        self.on_turn, self.waiting = self.roles
        self.refused: set[tuple[str, int]] = set()

    def legal(self, role: str) -> set[str]:
        if role != self.on_turn:
            return {"noop"}
        return {
            f"(drop {number})"
            for number, column in enumerate(self.columns, 1)
            if (role, number) not in self.refused and column[4:] != [role]
        }

    def play(self, moves: Mapping[str, str]) -> Seen:
        (number,) = numbers(moves[self.on_turn])
        column = self.columns[number - 1]
        if len(column) == 5:
            self.refused.add((self.on_turn, number))
            return {self.on_turn: {"refused"}}
        column.append(self.on_turn)
        seen = {self.on_turn: {f"(landed {len(column)})"}, self.waiting: {"your_move"}}
        self.on_turn, self.waiting = self.waiting, self.on_turn
        return seen

    def scores(self) -> dict[str, int] | None:
        return line_scores(self.columns, self.roles, size=30)

    def tempting(self, move: str) -> bool:
        (number,) = numbers(move)
        return self.columns[number - 1][-1:] != [self.on_turn]


class KriegspielKingRook:
    roles: tuple[str, ...] = ("white", "black", "random")

    def __init__(self) -> None:
        self.board = cells(5)
        self.kings: dict[str, Cell] = {"white": (3, 1)}
        self.rook: Cell | None = (1, 1)
        self.on_turn, self.waiting = "random", "black"
        self.refused: set[str] = set()
        self.black_moves = 0

    def rays(self) -> set[Cell]:
        """The cells the rook attacks; black's king is no obstacle to itself."""
        attacked: set[Cell] = set()
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            at = self.rook
            while at is not None and at != self.kings["white"]:
                at = (at[0] + dx, at[1] + dy)
                if at not in self.board:
                    break
                attacked.add(at)
        return attacked

    def forbidden(self) -> set[Cell]:
        return self.rays() | neighbours(self.kings["white"], self.board)

    def legal(self, role: str) -> set[str]:
        if role != self.on_turn:
            return {"noop"}
        if role == "random":
            free = self.board - self.forbidden() - {self.kings["white"], self.rook}
            return {f"(place {x} {y})" for x, y in free}
        steps = neighbours(self.kings[role], self.board)
        if role == "black":
            return {f"(king {x} {y})" for x, y in steps} - self.refused
        slides = self.rays() - {self.kings["white"]}
        moves = {f"(king {x} {y})" for x, y in steps if (x, y) != self.rook}
        return (moves | {f"(rook {x} {y})" for x, y in slides}) - self.refused

    def play(self, moves: Mapping[str, str]) -> Seen:
        move = moves[self.on_turn]
        x, y = to = (numbers(move)[0], numbers(move)[1])
        if self.on_turn == "random":
            self.kings["black"] = to
            self.on_turn = "white"
            return {"black": {f"(placed {x} {y})"}}
        square = self.kings[self.on_turn]
        if words(move)[0] == "rook":
            self.rook = to
        else:
            self.kings[self.on_turn] = to
            touching = self.kings["white"] in neighbours(self.kings["black"], self.board)
            if touching or (self.on_turn == "black" and to in self.rays()):
                self.kings[self.on_turn] = square
                self.refused.add(move)
                return {self.on_turn: {"refused"}}
        self.refused = set()
        if self.on_turn == "white":
            self.on_turn = "black"
            if self.kings["black"] in self.rays():
                return {"white": {"check"}, "black": {"check", "your_move"}}
            return {"black": {"your_move"}}
        self.on_turn = "white"
        self.black_moves += 1
        if to == self.rook:
            self.rook = None
        return {"white": {"your_move"}}

    def scores(self) -> dict[str, int] | None:
        if self.on_turn == "black":
            ways = neighbours(self.kings["black"], self.board) - self.forbidden()
            mate = self.kings["black"] in self.rays()
            if not ways:
                return {"white": 100 if mate else 0, "black": 0 if mate else 100}
        elif self.rook is None or self.black_moves == 20:
            return {"white": 0, "black": 100}
        return None

    def tempting(self, move: str) -> bool:
        """White closes in, and black keeps to the edge and leaves the rook alone."""
        if self.on_turn == "random":
            return True
        x, y = to = (numbers(move)[0], numbers(move)[1])
        if self.on_turn == "black":
            return to != self.rook and {x, y} & {1, 5} != set()
        king = self.kings["black"]
        if words(move)[0] == "rook":
            return to not in neighbours(king, self.board)
        return abs(x - king[0]) + abs(y - king[1]) < 4


class ConnectFour:
    roles: tuple[str, ...] = ("first", "second")

    def __init__(self) -> None:
        self.columns: list[list[str]] = [[] for _ in range(8)]
        self.on_turn, self.waiting = self.roles

    def legal(self, role: str) -> set[str]:
        if role != self.on_turn:
            return {"noop"}
        return {f"(drop {x})" for x, column in enumerate(self.columns, 1) if len(column) < 6}

    def play(self, moves: Mapping[str, str]) -> Seen:
        (number,) = numbers(moves[self.on_turn])
        self.columns[number - 1].append(self.on_turn)
        self.on_turn, self.waiting = self.waiting, self.on_turn
        return all_told(moves)

    def scores(self) -> dict[str, int] | None:
        return line_scores(self.columns, self.roles, size=48)

    def tempting(self, move: str) -> bool:
        (number,) = numbers(move)
        return self.columns[number - 1][-1:] != [self.on_turn]


class Breakthrough:
    roles: tuple[str, ...] = ("white", "black")
    last_row: ClassVar[dict[str, int]] = {"white": 6, "black": 1}

    def __init__(self) -> None:
        self.board = dict.fromkeys(cells(6), "")
        for x, y in self.board:
            self.board[x, y] = "white" if y < 3 else "black" if y > 4 else ""
        self.on_turn, self.waiting = self.roles

    def legal(self, role: str) -> set[str]:
        if role != self.on_turn:
            return {"noop"}
        moves = set()
        for (x, y), owner in self.board.items():
            for dx in (-1, 0, 1) if owner == role else ():
                to = x + dx, y + FORWARD[role]
                # What is off the board is nobody's, and not empty either.
                if self.board.get(to) in (("",) if dx == 0 else ("", self.waiting)):
                    moves.add(f"(move {x} {y} {to[0]} {to[1]})")
        return moves

    def play(self, moves: Mapping[str, str]) -> Seen:
        x, y, u, v = numbers(moves[self.on_turn])
        self.board[x, y], self.board[u, v] = "", self.on_turn
        self.on_turn, self.waiting = self.waiting, self.on_turn
        return all_told(moves)

    def scores(self) -> dict[str, int] | None:
        owners = set(self.board.values())
        for role, rival in (self.roles, self.roles[::-1]):
            arrived = any(self.board[x, self.last_row[role]] == role for x in range(1, 7))
            if arrived or rival not in owners:
                return {role: 100, rival: 0}
        return None

    def tempting(self, move: str) -> bool:
        _, _, u, v = numbers(move)
        return v != self.last_row[self.on_turn] and self.board[u, v] == self.waiting


UMPIRES: dict[str, type[Umpire]] = {
    "blind_breakthrough": BlindBreakthrough,
    "breakthrough": Breakthrough,
    "connect_four": ConnectFour,
    "kriegspiel_king_rook": KriegspielKingRook,
    "phantom_connect_four": PhantomConnectFour,
}
