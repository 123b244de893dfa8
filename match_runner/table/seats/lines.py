"""Lines of play: how a match may go on after a move, as HyperPlay-II simulates it.

Each is one of its simulations (paper 004, Definition 8). It begins in a particle, as if that were
the true state. From there every role but `random` follows the match with a bag of its own, made
from its own moves and the percepts it would get, and moves by HyperPlay.

A line has a seed of its own. If the particles are the whole information set, the same seed gives
the same line again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ggp.belief import Bags
from ggp.machine import Machine
from ggp.machine.base import IntArray
from ggp.players import BeliefPlayer
from ggp.players.hyperplay2 import HyperPlay2
from ggp.search.anytime import Deadline, OutOfTime, check
from ggp.search.moves import is_legal
from match_runner.pictures.frames import Json

LINES = 4
"""Number of lines that are shown of a move at a time."""

MOST_TURNS = 60
"""Most turns that are shown of a line."""

MOST_SUPPOSED = 4
"""Most fluents named before a line that tell its particle from others."""

MOST_COMPARED = 500
"""Most particles that are examined to find these fluents."""


def lines_of_play(
    player: BeliefPlayer, move: str, seeds: Sequence[int], deadline: Deadline
) -> list[Json]:
    """Simulations after a move, from particles in which it is legal, drawn by weight.

    Args:
        player: a `HyperPlay2` that was told the moves and percepts of its role.
        deadline: deadline of all lines; a line that was not over within its share of the time has
            no goal value.

    Returns:
        for each seed the joint moves, the goal value of the player's role, and some fluents that
        hold in the particle but not in all of them; empty if the move is legal in no particle.
    """
    assert isinstance(player, HyperPlay2)
    machine, bag = player.machine, player.tracker.bag
    wanted = machine.move_id(move)
    if wanted is None or bag.depleted[0] or bag.sets.views is None:
        return []
    entries = bag.lanes_of(0)
    fits = is_legal(machine, bag.states_of(0), player.role, np.full(len(entries), wanted))
    if not fits.any():
        return []
    weights = bag.weights_of(0) * fits
    common = _common(machine, bag)
    found: list[Json] = []
    for number, seed in enumerate(seeds):
        until = deadline.part(1 / (len(seeds) - number))
        rng = np.random.default_rng(seed)
        entry = int(rng.choice(entries, p=weights / weights.sum()))
        turns, goal = _line(player, entry, wanted, rng, until)
        (held,) = machine.fluents(bag.sets.states.take(np.array([entry])))
        supposed = [fluent for fluent in held if fluent not in common]
        found.append(
            {
                "seed": seed,
                "supposed": supposed[:MOST_SUPPOSED],
                "more_supposed": max(0, len(supposed) - MOST_SUPPOSED),
                "turns": turns[:MOST_TURNS],
                "more_turns": max(0, len(turns) - MOST_TURNS),
                "goal": goal,
            }
        )
    return found


def _line(
    player: HyperPlay2, entry: int, move: int, rng: np.random.Generator, until: Deadline
) -> tuple[list[dict[str, str]], float | None]:
    """Joint moves of a simulation and its goal value, which is None if it was not over in time."""
    machine = player.machine
    turns: list[dict[str, str]] = []

    def hear(lanes: IntArray, joint: IntArray) -> None:
        texts = map(machine.move_text, joint[0].tolist())
        turns.append(dict(zip(machine.roles, texts, strict=True)))
        check(until)

    try:
        return turns, player.play_on(entry, move, rng, hear, until)
    except OutOfTime:
        return turns, None


def _common(machine: Machine, bag: Bags) -> set[str]:
    """Fluents that hold in all particles, or in all that are examined."""
    entries = bag.lanes_of(0)[:MOST_COMPARED]
    first, *others = machine.fluents(bag.sets.states.take(entries))
    return set(first).intersection(*others)
