"""Games that we and OpenSpiel both have: the same matches, with the same choices and results."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

import numpy as np
import pytest

from ggp.machine import Machine
from tests.support.comparing.batches import random_joint_moves
from tests.support.games import machine_of_game

RANKS = ("jack", "queen", "king")
SUITS = ("hearts", "spades")

Acts = list[tuple[str, int]]
"""Who did what, in the numbers of OpenSpiel."""


def kuhn(acts: Acts, bets_before: int) -> str:
    if acts[0][0] == "random":
        return f"(deal {' '.join(RANKS[action] for _, action in acts)})"
    return (("check", "bet"), ("fold", "call"))[bets_before > 0][acts[0][1]]


def leduc(acts: Acts, bets_before: int) -> str:
    cards = [f"{RANKS[action // 2]}_{SUITS[action % 2]}" for _, action in acts]
    if acts[0][0] == "random":
        return f"(deal {cards[0]} {cards[1]})" if len(cards) == 2 else f"(turn {cards[0]})"
    return ("fold", "call" if bets_before else "check", "raise")[acts[0][1]]


def noughts(acts: Acts, bets_before: int) -> str:
    row, column = divmod(acts[0][1], 3)
    return f"(mark {column + 1} {row + 1})"


GAMES: dict[str, tuple[Callable[[Acts, int], str], int, float]] = {
    "kuhn_poker": (kuhn, 1, 1.0),
    "leduc_poker": (leduc, 2, 0.78),  # 3 points for a chip, where theirs has 100 / 26
    "tic_tac_toe": (noughts, -1, 1.0),
}
"""How moves are called, which action is a bet, and how large our scale of goals is."""


@pytest.mark.parametrize("name", GAMES)
def test_matches_are_the_same_in_our_rules_and_in_openspiel(name: str) -> None:
    call, bet, scale = GAMES[name]
    theirs = machine_of_game(f"openspiel:{name}", "openspiel")
    ours = machine_of_game(name)
    rng = np.random.default_rng(0)
    for _ in range(15):
        acts, choices, goals = match_of(theirs, rng)
        state, bets = ours.initial(), 0
        together = [list(group) for _, group in groupby(acts, lambda act: act[0] == "random")]
        # Cards that are dealt one by one are dealt by one move of ours.
        turns = [
            t
            for part in together
            for t in ([part] if part[0][0] == "random" else [[act] for act in part])
        ]
        for turn in turns:
            role = turn[0][0]
            number = {"p0": 0, "p1": 1, "random": 2}[role]
            row = [ours.move_id("noop")] * len(ours.roles)
            row[number] = ours.move_id(call(turn, bets))
            legal = ours.legal(state, number)[0].tolist()
            assert row[number] in legal
            if role == "random":
                bets = 0
            else:
                assert len(legal) == choices.pop(0)
                bets += turn[0][1] == bet
            state = ours.step(state, np.array([row])).states
        assert ours.terminal(state)[0]
        assert 50 + scale * (goals - 50) == pytest.approx(ours.goals(state)[0, :2])


def match_of(machine: Machine, rng: np.random.Generator) -> tuple[Acts, list[int], np.ndarray]:
    """A random match: its actions, the number of legal moves at each, and the goals."""
    state, noop = machine.initial(), machine.move_id("noop")
    acts: Acts = []
    choices: list[int] = []
    while not machine.terminal(state)[0]:
        row = random_joint_moves(machine, state, rng)
        ((role, move),) = [(r, m) for r, m in enumerate(row[0].tolist()) if m != noop]
        acts.append((machine.roles[role], move - 1))
        if machine.roles[role] != "random":
            choices.append(len(machine.legal(state, role)[0]))
        state = machine.step(state, row).states
    return acts, choices, machine.goals(state)[0, :2]
