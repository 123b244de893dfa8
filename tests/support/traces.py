"""Matches as plain text: everything a machine says, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ggp.machine import Machine, States
from tests.support.comparing.walks import joint_move

Moves = Mapping[str, str]
Choose = Callable[[int, Mapping[str, Sequence[str]]], Moves]
"""(step, legal moves of each role) -> joint move."""

MAX_STEPS = 200
CUT_OFF = "  cut off"


def trace(machine: Machine, choose: Choose, cut_off: int | None = None) -> str:
    """One match, played with the joint moves that `choose` picks.

    Args:
        cut_off: leave the match after so many steps; None: play to the end.
    """
    lines: list[str] = []
    states = machine.initial(1)
    for step in range(MAX_STEPS):
        if step == cut_off and not machine.terminal(states)[0]:
            return "\n".join([*lines, CUT_OFF]) + "\n"
        lines += [f"step {step}", *_listed("state", machine.fluents(states)[0])]
        if machine.terminal(states)[0]:
            lines.append("  terminal")
            goals = dict(zip(machine.roles, machine.goals(states)[0].tolist(), strict=True))
            lines += _listed("goals", [f"{role} {value:g}" for role, value in goals.items()])
            return "\n".join(lines) + "\n"
        legal = {
            name: sorted(map(machine.move_text, machine.legal(states, role)[0].tolist()))
            for role, name in enumerate(machine.roles)
        }
        for name, moves in legal.items():
            lines += _listed(f"legal {name}", moves)
        joint = choose(step, legal)
        lines += _listed("joint move", [f"{role} {joint[role]}" for role in machine.roles])
        states, percepts = _step(machine, states, joint)
        for name, seen in percepts.items():
            lines += _listed(f"percepts {name}", seen)
    raise AssertionError(f"no end after {MAX_STEPS} steps")


def random_trace(machine: Machine, seed: int, cut_off: int | None = None) -> str:
    """A match of random moves that depends on nothing but the game and the seed."""
    rng = np.random.default_rng(seed)

    def choose(_: int, legal: Mapping[str, Sequence[str]]) -> Moves:
        return {role: moves[int(rng.integers(len(moves)))] for role, moves in legal.items()}

    return trace(machine, choose, cut_off)


def replayed_trace(machine: Machine, text: str) -> str:
    """The match again, with the joint moves written in its trace."""
    joint_moves = list(_joint_moves(text))
    cut_off = len(joint_moves) if text.endswith(f"{CUT_OFF}\n") else None
    return trace(machine, lambda step, _: joint_moves[step], cut_off)


def _step(
    machine: Machine, states: States, joint: Moves
) -> tuple[States, dict[str, tuple[str, ...]]]:
    stepped = machine.step(states, joint_move(machine, dict(joint)))
    ids = stepped.percepts[0].tolist()
    seen = {name: machine.percept_texts(i) for name, i in zip(machine.roles, ids, strict=True)}
    return stepped.states, seen


def _listed(title: str, items: Sequence[str]) -> list[str]:
    return [f"  {title}", *(f"    {item}" for item in items)]


def _joint_moves(text: str) -> Iterator[Moves]:
    moves: dict[str, str] | None = None
    for line in text.splitlines():
        if line.startswith("    "):
            if moves is not None:
                role, move = line.strip().split(" ", 1)
                moves[role] = move
        else:
            if moves is not None:
                yield moves
            moves = {} if line == "  joint move" else None
