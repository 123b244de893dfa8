"""A frontend in one file: `toy:N`, where chance hides one of N things, and a seeker picks thrice.

A state is a number of three pairs of digits: what is hidden, what was picked last, and the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ggp.errors import ConfigError
from ggp.gdl.program import Program, without_rules
from ggp.gdl.source import Description, Diagnostic, Source
from ggp.machine import base
from ggp.machine.arrays import first_seen, ragged
from ggp.machine.definition import Frontend
from tests.support.comparing.by_steps import play_by_steps

ROLES, PERCEPTS = ("random", "seeker"), [(), ("high",), ("low",)]
TURNS, DIGITS = 4, np.array([[10_000], [100], [1]])


class ToyGame(NamedTuple):
    source: Source
    digest: str
    prefix: str = "toy:"
    roles: tuple[str, ...] = ROLES
    diagnostics: tuple[Diagnostic, ...] = ()

    def describe(self) -> Description:
        return Description("Seek", "Find what chance has hidden.")

    def as_program(self) -> Program:
        return without_rules(ROLES, self.source.name)


class ToyMachine:
    roles, random_role, goal_range, backend = ROLES, 0, (0.0, 100.0), "toy"

    def __init__(self, size: int) -> None:
        self.moves, self.states_visited = ["noop", *(f"(pick {i + 1})" for i in range(size))], 0

    def initial(self, num_lanes: int = 1) -> base.IntArray:
        return np.zeros(num_lanes, dtype=np.int64)

    def concatenate(self, batches: Sequence[Any]) -> base.IntArray:
        return np.concatenate([self.initial(0), *batches])

    def groups(self, states: Any) -> base.IntArray:
        return first_seen(states)[1]

    def terminal(self, states: Any) -> Any:
        return (self.goals(states)[:, 1] > 0) | (states % 100 == TURNS)

    def goals(self, states: Any) -> Any:
        hidden, picked, turn = states // DIGITS % 100
        return np.outer((turn > 0) & (hidden == picked), [0, 1]) * (125.0 - 25 * turn[:, None])

    def legal(self, states: Any, role: int, *, allow_stuck: bool = False) -> base.Ragged:
        choices = np.arange(1), np.arange(1, len(self.moves)), np.arange(0)
        picks = (states % 100 == 0) == (role == 0)
        return ragged([choices[i] for i in np.where(self.terminal(states), 2, picks)])

    def chance(self, states: Any) -> base.Chance:
        return base.even_chance(self, states)

    def step(self, states: Any, joint_moves: base.IntArray) -> base.Stepped:
        self.states_visited += len(states)
        hidden, _, turn = states // DIGITS % 100
        hidden, picked = hidden + joint_moves[:, 0], joint_moves[:, 1]
        seen = np.outer(np.sign(picked - hidden) % 3 * (turn > 0), [0, 1])
        return base.Stepped((hidden * 100 + picked) * 100 + turn + 1, seen)

    def playout(self, states: Any, rng: Any, max_steps: int = TURNS, *_: Any, **__: Any) -> Any:
        return play_by_steps(self, states, rng, max_steps)

    def move_id(self, move: str) -> int | None:
        return self.moves.index(move) if move in self.moves else None

    def move_text(self, move: int) -> str:
        return self.moves[move]

    def percept_id(self, percepts: Sequence[str]) -> int | None:
        return PERCEPTS.index(tuple(percepts)) if tuple(percepts) in PERCEPTS else None

    def percept_texts(self, percept: int) -> tuple[str, ...]:
        return PERCEPTS[percept]

    def told_moves(self, percepts: base.IntArray) -> None:
        return None

    def fluents(self, states: Any) -> list[tuple[str, ...]]:
        lanes = (states // DIGITS % 100).T.tolist()
        return [(f"(hidden {h})", f"(picked {p})", f"(turn {t})") for h, p, t in lanes]

    def close(self) -> None:
        return None


def read(text: str | bytes, name: str, files: bool) -> ToyGame:
    if not str(text).removeprefix("toy:").isdigit():
        raise ConfigError(f"{name} is not like toy:7")
    return ToyGame(Source(name, str(text)), str(text))


def build(game: ToyGame, limits: base.Limits, ready: bool) -> ToyMachine:
    return ToyMachine(int(game.source.text.partition(":")[2]))


FRONTEND = Frontend(read, {"auto": build, "toy": build})
