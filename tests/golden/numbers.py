"""The numbers that tests want of a game: python -m tests.golden.numbers GAME...

Prints the lines to add to the tables of `tests/machine/test_perft.py` and
`tests/games/test_every_game.py`. They are what the game does now: think before you believe them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from ggp.machine import Machine
from tests.games.test_every_game import PLAYOUTS, doubts, players
from tests.support.comparing.perft import perft
from tests.support.games import machine_of_game

MOST_SEQUENCES = 50_000
"""Sequences of joint moves that are counted at one depth, but for the last one."""

MOST_FOR_REFERENCE = 1_000
"""Likewise, for the reference, which is slow."""

MOST_DEPTH = 10


def main(names: list[str]) -> None:
    """Print the numbers of these games."""
    if not names:
        print("usage: python -m tests.golden.numbers GAME...", file=sys.stderr)
    for name in names:
        for table, line in numbers_of(name, machine_of_game(name, "propnet")):
            print(f"{table}: {line}")


def numbers_of(name: str, machine: Machine) -> Iterator[tuple[str, str]]:
    """The name of each table, and the line to add to it."""
    counts = _counts(machine)
    depth = max(1, sum(count <= MOST_FOR_REFERENCE for count in counts))
    yield "PATHS", f'"{name}": ({depth}, {counts}),'
    in_doubt, helpless = doubts(machine, rounds=3)
    knowing = sorted(set(machine.roles) - {"random"} - in_doubt)
    if knowing:
        listed = ", ".join(f'"{role}"' for role in knowing)
        yield "ALL_KNOWING", f'"{name}": {{{listed}}},'
    if helpless:
        yield "(a mistake)", f"{', '.join(sorted(helpless))} cannot tell its legal moves"
    playouts = machine.playout(machine.initial(PLAYOUTS), np.random.default_rng(0))
    yield "LONGEST", f'"{name}": {playouts.steps.max()},'
    goals = playouts.goals[:, players(machine)]
    means = ", ".join(
        f'"{machine.roles[role]}": {mean:.3g}'
        for role, mean in zip(players(machine), goals.mean(axis=0).tolist(), strict=True)
    )
    yield "MEANS", f'"{name}": {{{means}}},'
    if goals.shape[1] > 1 and (goals.sum(axis=1) == 100).all():
        yield "SHARED_OUT", f'"{name}",'
        if goals.min() > 0:
            yield "LOWEST", f'"{name}": {goals.min():g},'


def _counts(machine: Machine) -> list[int]:
    """Numbers of sequences of joint moves by depth, as many as are quick to count."""
    counts: list[int] = []
    for depth in range(1, MOST_DEPTH + 1):
        longer = perft(machine, depth)
        if len(longer) == len(counts):
            break
        counts = longer
        if counts[-1] > MOST_SEQUENCES:
            break
    return counts


if __name__ == "__main__":
    main(sys.argv[1:])
