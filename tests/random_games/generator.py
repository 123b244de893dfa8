"""Small random games of GDL-II: as tables, and as a rulesheet that says the same.

Two kinds. *Trees*: layers of nodes, each with moves, results, percepts of its own. *Boards*: cells
that roles fill, and what they are told when they meet. In both

- chance has unequal odds, since several of its moves have one result;
- roles move at the same time, and some moves are legal in some states only;
- percepts are private, shared, or nothing at all.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

Percepts = tuple[str, ...]
Joint = tuple[str, ...]


@dataclass
class PlainGame:
    """A game as tables.

    Attributes:
        roles: those that are played; `random`, where there is one, comes last.
        legal: by state, for each role its moves. A state without an entry is over.
        after: by state and joint move: the next state, and the percepts of each role, sorted.
        goals: by state that is over, for each role.
        fluents: of each state, sorted.
        rules: the same as a rulesheet.
    """

    roles: tuple[str, ...]
    initial: int
    legal: dict[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    after: dict[tuple[int, Joint], tuple[int, tuple[Percepts, ...]]] = field(default_factory=dict)
    goals: dict[int, tuple[int, ...]] = field(default_factory=dict)
    fluents: dict[int, tuple[str, ...]] = field(default_factory=dict)
    rules: str = ""

    @property
    def players(self) -> range:
        """The roles but `random`."""
        return range(len(self.roles) - ("random" in self.roles))

    def joint_moves(self, state: int) -> list[Joint]:
        """All joint moves of a state; they are equally likely if all roles move evenly."""
        return list(product(*self.legal[state]))


def random_game(seed: int) -> PlainGame:
    """A game by its number: every third is a board."""
    rng = random.Random(seed)
    return random_board(rng) if seed % 3 == 2 else random_tree(rng)


def random_tree(rng: random.Random) -> PlainGame:
    """A game of nodes in layers; every joint move leads to a node of the next layer."""
    roles = ("left", "right", *(["random"] if rng.random() < 0.8 else []))
    game, number = PlainGame(roles, 0), 1
    layers = [[0]]
    for _ in range(rng.randint(2, 4)):
        width = rng.randint(2, 4)
        layers.append(list(range(number, number + width)))
        number += width
    alphabet = [f"p{i}" for i in range(rng.randint(1, 3))]
    for layer, following in pairwise(layers):
        shared = [_random_percepts(rng, alphabet) for _ in range(3)]
        for node in layer:
            game.legal[node] = tuple(
                tuple(sorted(rng.sample(["a", "b", "c"], rng.randint(1, 3)))) for _ in roles
            )
            chances = game.legal[node][-1] if "random" in roles else ()
            for joint in game.joint_moves(node):
                # Some of the moves of chance have one result.
                like = joint
                if chances and rng.random() < 0.5:
                    like = (*joint[:-1], chances[0])
                if like in {j for n, j in game.after if n == node} and like != joint:
                    game.after[node, joint] = game.after[node, like]
                    continue
                percepts = tuple(
                    rng.choice(shared) if rng.random() < 0.6 else _random_percepts(rng, alphabet)
                    for _ in game.players
                )
                game.after[node, joint] = rng.choice(following), percepts
    # Nodes may be reached by one path only, or by none: they are there all the same.
    for node in layers[-1]:
        game.goals[node] = tuple(rng.choice((0, 25, 50, 100)) for _ in game.players)
    game.fluents = {node: (f"(at n{node})",) for node in range(number)}
    game.rules = _tree_rules(game)
    return game


def _random_percepts(rng: random.Random, alphabet: Sequence[str]) -> Percepts:
    return tuple(sorted(p for p in alphabet if rng.random() < 0.3))


def _tree_rules(game: PlainGame) -> str:
    lines = [f"(role {role})" for role in game.roles]
    lines.append(f"(init (at n{game.initial}))")
    for node, moves in game.legal.items():
        for role, options in zip(game.roles, moves, strict=True):
            lines += [f"(<= (legal {role} {m}) (true (at n{node})))" for m in options]
    for (node, joint), (target, percepts) in game.after.items():
        does = " ".join(f"(does {r} {m})" for r, m in zip(game.roles, joint, strict=True))
        lines.append(f"(<= (next (at n{target})) (true (at n{node})) {does})")
        for player in game.players:
            role = game.roles[player]
            lines += [
                f"(<= (sees {role} {p}) (true (at n{node})) {does})" for p in percepts[player]
            ]
    if not any(
        percepts for _, percepts_of_roles in game.after.values() for percepts in percepts_of_roles
    ):
        lines.append("(<= (sees left p0) (true (at nowhere)))")
        lines.append("(<= (next (at nowhere)) (true (at nowhere)))")
    for node, goals in game.goals.items():
        lines.append(f"(<= terminal (true (at n{node})))")
        for player in game.players:
            lines.append(f"(<= (goal {game.roles[player]} {goals[player]}) (true (at n{node})))")
    return "\n".join(lines)


BOTH, MEETS, NOTHING = "both", "meets", "nothing"
"""The percepts of a role: where the other put its stone; that both chose one cell; or nothing."""


def random_board(rng: random.Random) -> PlainGame:
    """A game on a few cells: each turn both roles put a stone on a cell where they have none.

    Where both choose one cell neither gets it. Chance blocks a cell at first: some cells by two of
    its moves. Who has more stones at the end wins.
    """
    size, turns = rng.randint(3, 4), 2
    what_is_seen = (rng.choice((BOTH, MEETS, NOTHING)), rng.choice((BOTH, MEETS, NOTHING)))
    sees_block = (rng.random() < 0.3, rng.random() < 0.3)
    blocks = [f"(block {rng.randrange(size)} {i})" for i in range(size + 1)]
    game = PlainGame(("left", "right", "random"), 0)
    numbers: dict[tuple[int, frozenset[str]], int] = {}

    def state_of(turn: int, marks: frozenset[str]) -> int:
        key = turn, marks
        if key not in numbers:
            numbers[key] = len(numbers)
            state = numbers[key]
            game.fluents[state] = tuple(sorted([*marks, f"(turn {turn})"]))
            _spread(state, turn, marks)
        return numbers[key]

    def free(marks: frozenset[str], role: str) -> list[str]:
        return [f"(put {c})" for c in range(size) if f"(stone {role} {c})" not in marks]

    def _spread(state: int, turn: int, marks: frozenset[str]) -> None:
        if turn == 1 + turns:
            lower, right = (
                sum(f"(stone {role} {c})" in marks for c in range(size))
                for role in ("left", "right")
            )
            game.goals[state] = (
                (100, 0) if lower > right else (0, 100) if right > lower else (50, 50)
            )
            return
        if turn == 0:
            game.legal[state] = (("wait",), ("wait",), tuple(sorted(set(blocks))))
            for joint in game.joint_moves(state):
                cell = joint[2].split()[1]
                seen = tuple((f"(blocked {cell})",) if s else () for s in sees_block)
                target = state_of(1, frozenset([f"(gone {cell})"]))
                game.after[state, joint] = target, seen
            return
        game.legal[state] = (tuple(free(marks, "left")), tuple(free(marks, "right")), ("wait",))
        for joint in game.joint_moves(state):
            cells = [move.strip("()").split()[1] for move in joint[:2]]
            new = set(marks)
            for role, cell in zip(("left", "right"), cells, strict=True):
                if cells[0] != cells[1] and f"(gone {cell})" not in marks:
                    new.add(f"(stone {role} {cell})")
            told_now: list[Percepts] = []
            for player in range(2):
                opponent = cells[1 - player]
                if what_is_seen[player] == BOTH:
                    told_now.append((f"(put_on {opponent})",))
                elif what_is_seen[player] == MEETS and cells[0] == cells[1]:
                    told_now.append(("meet",))
                else:
                    told_now.append(())
            game.after[state, joint] = state_of(turn + 1, frozenset(new)), tuple(told_now)

    game.initial = state_of(0, frozenset())
    game.rules = _board_rules(size, turns, what_is_seen, sees_block, sorted(set(blocks)))
    return game


def _board_rules(
    size: int,
    turns: int,
    percept_kinds: Sequence[str],
    sees_block: Sequence[bool],
    blocks: Sequence[str],
) -> str:
    lines = ["(role left)", "(role right)", "(role random)", "(init (turn 0))"]
    lines += [f"(cell {c})" for c in range(size)]
    lines += [f"(succ {t} {t + 1})" for t in range(1 + turns)]
    lines += [f"(blocks {block})" for block in blocks]
    lines += [
        "(<= (legal random ?b) (blocks ?b) (true (turn 0)))",
        "(<= (legal random wait) (not (true (turn 0))))",
        "(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))",
        "(<= (next (gone ?c)) (does random (block ?c ?i)))",
        "(<= (next (gone ?c)) (true (gone ?c)))",
        "(<= (next (stone ?r ?c)) (true (stone ?r ?c)))",
        "(<= meeting (does left (put ?c)) (does right (put ?c)))",
        f"(<= terminal (true (turn {1 + turns})))",
    ]
    for role in ("left", "right"):
        lines += [
            f"(<= (legal {role} wait) (true (turn 0)))",
            f"(<= (legal {role} (put ?c)) (cell ?c) (not (true (turn 0))) "
            f"(not (true (stone {role} ?c))))",
            f"(<= (next (stone {role} ?c)) (does {role} (put ?c)) (not meeting) "
            "(not (true (gone ?c))))",
        ]
    for player, role in enumerate(("left", "right")):
        opponent = ("right", "left")[player]
        if percept_kinds[player] == BOTH:
            lines.append(f"(<= (sees {role} (put_on ?c)) (does {opponent} (put ?c)))")
        elif percept_kinds[player] == MEETS:
            lines.append(f"(<= (sees {role} meet) meeting)")
        if sees_block[player]:
            lines.append(f"(<= (sees {role} (blocked ?c)) (does random (block ?c ?i)))")
    if set(percept_kinds) == {NOTHING} and not any(sees_block):
        lines.append("(<= (sees left never) (true (stone left nowhere)))")
    # Who has more: counted by what the other lacks, cell by cell.
    lines += _counting(size, turns)
    return "\n".join(lines)


def _counting(size: int, turns: int) -> list[str]:
    lines = []
    for role in ("left", "right"):
        for number in range(turns + 1):
            for cells in product((False, True), repeat=size):
                if sum(cells) != number:
                    continue
                conditions = " ".join(
                    f"(true (stone {role} {c}))" if on else f"(not (true (stone {role} {c})))"
                    for c, on in enumerate(cells)
                )
                lines.append(f"(<= (number {role} {number}) {conditions})")
    for left_number, right in product(range(turns + 1), repeat=2):
        goals = (100, 0) if left_number > right else (0, 100) if right > left_number else (50, 50)
        numbers_held = f"(number left {left_number}) (number right {right})"
        lines += [
            f"(<= (goal {role} {goal}) {numbers_held})"
            for role, goal in zip(("left", "right"), goals, strict=True)
        ]
    return lines
