"""Small games for tests of solving, and strategies in both forms."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from ggp.gdl.games import find_game
from ggp.machine.base import FloatArray
from ggp.solve import GameTree, build_tree, history_of
from tests.solve.brute_force import BruteForce, Strategy
from tests.support.games import machine_of_game

TINY = (
    "kuhn_poker",
    "spy_vs_spy",
    "cooperative_spies",
    "monty_hall",
    "exploding_bomb",
    "banker_and_thief",
    "strategy_fusion",
    "non_locality",
)
"""Games of ours that brute force can play out."""

ROCK_PAPER_SCISSORS = """
(role left) (role right)
(hand rock) (hand paper) (hand scissors)
(beats rock scissors) (beats scissors paper) (beats paper rock)
(init start)
(<= (legal ?r ?h) (role ?r) (hand ?h) (true start))
(<= (next (shown ?r ?h)) (does ?r ?h))
(<= terminal (not (true start)))
(<= (wins ?r) (true (shown ?r ?h)) (true (shown ?q ?g)) (beats ?h ?g))
(<= (goal ?r 100) (wins ?r))
(<= (goal ?r 0) (role ?r) (wins ?q) (distinct ?r ?q))
(<= (goal ?r 50) (role ?r) (not (wins left)) (not (wins right)))
"""

BLIND_PILE = """
(role digger)
(role random)
(init (turn 0)) (init (at a))
(succ 0 1) (succ 1 2)
(pile a) (pile b)
(<= (legal random (hide ?p)) (pile ?p) (true (turn 0)))
(<= (legal random noop) (not (true (turn 0))))
(<= (legal digger noop) (true (turn 0)))
(<= (legal digger (dig ?p)) (pile ?p) (true (turn 1)) (not (true (empty ?p))))
(<= (next (turn ?n)) (true (turn ?m)) (succ ?m ?n))
(<= (next (empty ?p)) (does random (hide ?p)))
(<= (next (dug ?p)) (does digger (dig ?p)))
(<= terminal (true (turn 2)))
(goal digger 100) (goal random 0)
"""
"""The digger does not see which of its moves chance made illegal."""

THREE_VOTERS = """
(role ann) (role bob) (role cid)
(init start) (side left) (side right)
(<= (legal ?r ?s) (role ?r) (side ?s) (true start))
(<= (next (voted ?r ?s)) (does ?r ?s))
(<= terminal (not (true start)))
(<= (agree ?r ?q) (true (voted ?r ?s)) (true (voted ?q ?s)) (distinct ?r ?q))
(<= (together ?r) (agree ?r ?q))
(<= (goal ?r 100) (together ?r))
(<= (goal ?r 0) (role ?r) (not (together ?r)))
"""
"""Whoever votes with somebody else wins."""


def small_meier() -> str:
    """Meier with three rolls instead of 21."""
    rolls = ("31", "32", "21")
    text = find_game("meier").read_text().replace("(above 32 41)", "(above 32 21)")
    kept_rolls = ("31 32", "32 21")
    return "\n".join(
        line
        for line in text.splitlines()
        if not (line.startswith("(value ") and line[-3:-1] not in rolls)
        and not (line.startswith("(above ") and line[7:12] not in kept_rolls)
    )


def short_guessing() -> str:
    """Guessing one of three numbers, in time for two questions."""
    text = find_game("number_guessing").read_text().replace("(turn 20)", "(turn 5)")
    dropped = {f"(number {number})" for number in range(4, 17)}
    return "\n".join(line for line in text.splitlines() if line not in dropped)


@cache
def brute_force(name: str) -> BruteForce:
    return BruteForce(machine_of_game(name))


@cache
def plain_tree(name: str) -> GameTree:
    """The tree of a game of ours, without subgames split off."""
    return build_tree(machine_of_game(name))


def random_strategies(tree: GameTree, seed: int) -> list[FloatArray]:
    """Mixed strategies of all players, in whole percents; some moves are never made."""
    rng = np.random.default_rng(seed)
    strategies = []
    for sets in tree.sets:
        parts = [np.ones(tree.num_subgames)]
        for count in sets.counts.tolist():
            percents = rng.multinomial(100, rng.dirichlet(np.full(count, 0.4)))
            parts.append(percents / 100)
        strategies.append(np.concatenate(parts))
    return strategies


def as_rules_say(tree: GameTree, strategies: list[FloatArray]) -> dict[int, Strategy]:
    """Strategies of a tree as brute force takes them."""
    strategy_of: dict[int, Strategy] = {}
    for player, (role, sets) in enumerate(zip(tree.players, tree.sets, strict=True)):
        shares = strategies[player]
        strategy_of[role] = {
            tuple(history_of(tree, player, number)): {
                tree.machine.move_text(move): Fraction(round(100 * share), 100)
                for move, share in zip(
                    sets.moves_of(number).tolist(),
                    shares[sets.offsets[number] : sets.offsets[number + 1]].tolist(),
                    strict=True,
                )
            }
            for number in range(len(sets))
        }
    return strategy_of


def uniform_strategy(tree: GameTree, player: int) -> FloatArray:
    """`[S]` the strategy that makes all moves of a set equally often."""
    sets = tree.sets[player]
    return np.concatenate([np.ones(tree.num_subgames), np.repeat(1 / sets.counts, sets.counts)])
