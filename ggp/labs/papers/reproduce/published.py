"""Published numbers of papers 004 and 003, and scores that can be computed without playing.

Experiments show them beside ours. Paper 004: M. Schofield and M. Thielscher, Lifting Model Sampling
for General Game Playing to Incomplete-Information Models, AAAI 2015; each number with its 99 %
half-width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

Number = tuple[float, float]

HYPERPLAY, HYPERPLAY2 = "HyperPlay", "HyperPlay-II"

TABLE1: Mapping[tuple[str, str], Number] = {
    ("round 1: ask", HYPERPLAY): (45.04, 0.09),
    ("round 1: ask", HYPERPLAY2): (90.00, 0.00),
    ("round 1: wait", HYPERPLAY): (49.98, 0.10),
    ("round 1: wait", HYPERPLAY2): (49.91, 0.64),
    ("round 2: cut unarmed", HYPERPLAY): (49.40, 1.19),
    ("round 2: cut unarmed", HYPERPLAY2): (0.00, 0.00),
    ("round 2: cut armed", HYPERPLAY): (50.60, 1.19),
    ("round 2: cut armed", HYPERPLAY2): (90.00, 0.00),
}

TABLE2: Mapping[tuple[str, str], Number] = {
    ("arm blue and tell", HYPERPLAY): (60.00, 0.15),
    ("arm blue and tell", HYPERPLAY2): (20.00, 0.00),
    ("arm red and tell", HYPERPLAY): (60.04, 0.14),
    ("arm red and tell", HYPERPLAY2): (20.00, 0.00),
    ("arm blue and hide", HYPERPLAY): (39.98, 0.16),
    ("arm blue and hide", HYPERPLAY2): (40.36, 1.22),
    ("arm red and hide", HYPERPLAY): (39.99, 0.14),
    ("arm red and hide", HYPERPLAY2): (39.45, 1.33),
}

HYPERPLAY_GUESSES = 6.25
"""Score of HyperPlay in number guessing."""

BINARY_SEARCH = 100.0
"""Score of binary search in number guessing."""

BANKER_AND_THIEF = (40.0 + 100.0) / 2
"""Mean score of both roles against a greedy opponent, which HyperPlay-II reaches at index 8."""

BATTLESHIPS = 100.0 - 9.4
"""Share of battleships won by HyperPlay-II, HyperPlay's chance being 9.4 %."""

KUHN: Mapping[tuple[str, str], float] = {
    ("random, player 1", "against an equilibrium"): -0.161,
    ("random, player 1", "against a best response"): -0.417,
    ("random, player 2", "against an equilibrium"): -0.130,
    ("random, player 2", "against a best response"): -0.500,
    ("PIMC, player 1", "against an equilibrium"): -0.056,
    ("PIMC, player 1", "against a best response"): -0.083,
    ("PIMC, player 2", "against an equilibrium"): 0.056,
    ("PIMC, player 2", "against a best response"): -0.166,
}
"""Table 1 of Long, Sturtevant, Buro and Furtak (AAAI 2010): bets a game."""


# ------------------------------------------------------------------------
# Expected scores that can be computed without playing.

NUMBERS = 16
FREE_QUESTIONS = 4

Questions = Callable[[int], Sequence[int]]
"""Questions that a rule may ask when k numbers are left, each as how many are below its threshold:
1 to k - 1. Definition 9 gives all of them the same value, 2 / k: after any of them a simulated
HyperPlayer announces immediately, and guesses one of the a or k - a numbers that remain."""


def at_random(numbers: int) -> Sequence[int]:
    """Any useful question: ties by lot."""
    return range(1, numbers)


@cache
def useful_questions(rule: Questions, numbers: int = NUMBERS, num_asked: int = 0) -> float:
    """Expected score in number guessing of useful questions until one number is left.

    Args:
        rule: gives the questions, of which each is equally likely.
    """
    if numbers == 1:
        return max(0.0, 100.0 - 10 * max(0, num_asked - FREE_QUESTIONS))
    scores = [
        part / numbers * useful_questions(rule, part, num_asked + 1)
        + (numbers - part) / numbers * useful_questions(rule, numbers - part, num_asked + 1)
        for part in rule(numbers)
    ]
    return sum(scores) / len(scores)


def random_against_greedy() -> float:
    """Expected score of random play in banker and thief, mean of both roles.

    The greedy thief raids the bank with more in it; the greedy banker puts everything into its own.
    """
    goals = [d if d < 50 else d / 2 if d == 50 else 0 for d in range(0, 101, 10)]
    return (sum(goals) / len(goals) + 100 / 2) / 2
