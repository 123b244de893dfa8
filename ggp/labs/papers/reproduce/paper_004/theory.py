"""Expected results of the experiments that can be computed without playing."""

from __future__ import annotations

from functools import cache

NUMBERS = 16
FREE_QUESTIONS = 4


@cache
def random_useful_questions(numbers: int = NUMBERS, asked: int = 0) -> float:
    """Expected score in number guessing of asking useful questions at random until one is left.

    A question is useful if it can be answered either way. Definition 9 values all of them
    alike: a simulated HyperPlayer announces at once after any of them, and guesses right with
    probability 2 / `numbers` whatever the question was.
    """
    if numbers == 1:
        return max(0.0, 100.0 - 10 * max(0, asked - FREE_QUESTIONS))
    each = (
        part / numbers * random_useful_questions(part, asked + 1)
        + (numbers - part) / numbers * random_useful_questions(numbers - part, asked + 1)
        for part in range(1, numbers)
    )
    return sum(each) / (numbers - 1)


def random_against_greedy() -> float:
    """Expected score in banker and thief of random play, mean of both roles.

    The greedy thief raids the bank that holds more, the greedy banker puts everything into its own.
    """
    kept = [d if d < 50 else d / 2 if d == 50 else 0 for d in range(0, 101, 10)]
    return (sum(kept) / len(kept) + 100 / 2) / 2
