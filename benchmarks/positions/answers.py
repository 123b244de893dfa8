"""Players asked for their move in every position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.positions.position_set import Puzzle
from ggp.gdl.normalize import load
from ggp.machine import Machine, build_machine, role_index
from ggp.players import make_player, parse_spec
from ggp.search.anytime import Deadline
from ggp.statistics import Interval, mean_interval, share_interval


@dataclass(frozen=True, slots=True)
class Answer:
    """A player's move in a position.

    Attributes:
        puzzle: the position.
        move: its move.
        lost: how much less it is worth than the best, in points.
    """

    puzzle: Puzzle
    move: str
    lost: int


def ask(
    puzzles: Sequence[Puzzle],
    player: str,
    seconds: float | None,
    seed: int,
    advance: Callable[[], None] = lambda: None,
) -> list[Answer]:
    """What a player answers, told how each position came about.

    Args:
        player: its spec.
        seconds: for each answer; None: its own counts decide.
        seed: of the first answer; each has another.
        advance: called after each answer.

    Raises:
        ConfigError: there is no such player or option.
    """
    spec = parse_spec(player)
    machines: dict[str, Machine] = {}
    answers = []
    for number, puzzle in enumerate(puzzles):
        machine = machines.get(puzzle.game)
        if machine is None:
            machine = machines[puzzle.game] = build_machine(load(puzzle.game), ready=True)
        rng = np.random.default_rng((seed, number))
        thinker = make_player(spec, machine, role_index(machine, puzzle.role), rng)
        for turn in puzzle.history():
            thinker.observe(turn["move"], turn["percepts"])
        deadline = None if seconds is None else Deadline.after(seconds)
        move = thinker.choose(deadline).move
        answers.append(Answer(puzzle, move, puzzle.lost_by(move)))
        advance()
    return answers


def wrong(answers: Sequence[Answer]) -> Interval:
    """The share of wrong answers, with its 99 % interval for positions drawn like these."""
    return share_interval(sum(answer.lost > 0 for answer in answers), len(answers))


def lost(answers: Sequence[Answer], seed: int = 0) -> Interval:
    """The mean of what answers lost, in points, with its 99 % interval."""
    return mean_interval([answer.lost for answer in answers], seed, fixed=True)


def to_json(answers: Sequence[Answer]) -> dict[str, Any]:
    """Errors in numbers, and every wrong answer."""
    return {
        "positions": len(answers),
        "wrong": _ends(wrong(answers)),
        "lost": _ends(lost(answers)),
        "errors": [
            {
                "position": answer.puzzle.name,
                "misleading": answer.puzzle.misleading,
                "move": answer.move,
                "right": best_moves(answer.puzzle),
                "lost": answer.lost,
            }
            for answer in answers
            if answer.lost
        ],
    }


def best_moves(puzzle: Puzzle) -> list[str]:
    """The right answers."""
    return [move for move in puzzle.values if not puzzle.lost_by(move)]


def _ends(interval: Interval) -> dict[str, float | None]:
    return {"value": interval.value, "low": interval.low, "high": interval.high}
