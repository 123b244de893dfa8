"""The findings of a rehearsal about a game, as values (see `rehearsal`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal[
    "stuck", "endless", "no-goal", "several-goals", "goal-value", "unknowable", "no-frame"
]

ERRORS: frozenset[Kind] = frozenset({"stuck", "endless"})
"""Kinds of trouble that make a game unplayable; the others have some remedy in play."""


@dataclass(frozen=True, slots=True)
class MatchBeginning:
    """The beginning of a match.

    Attributes:
        joint_moves: the moves of each turn, by role, as `ggp trace --moves` takes them.
        legal: the moves that the role had then, sorted; empty if they do not matter.
    """

    joint_moves: tuple[Mapping[str, str], ...]
    legal: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is wrong with a game.

    Attributes:
        kind: its kind.
        role: the role that has it; None for all.
        matches: number of matches in which it was seen.
        message: one sentence.
        knows: for `unknowable`, the role's moves and percepts, one "move / percepts" for each turn.
        histories: two for `unknowable`, one for others.
    """

    kind: Kind
    role: str | None
    matches: int
    message: str
    knows: tuple[str, ...]
    histories: tuple[MatchBeginning, ...]


@dataclass(frozen=True, slots=True)
class RolePlay:
    """A role in random matches.

    Attributes:
        most_moves: greatest number of moves it ever had to choose from.
        mean, lowest, highest: goal values of the matches that ended; None if none did.
    """

    most_moves: int
    mean: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The results of random matches.

    Attributes:
        matches: number of matches played.
        ended: number of those that came to their end.
        shortest, longest: turns of those, 0 if none did.
        mean_turns: their mean number of turns, 0 if none did.
        chance_moves: mean number of turns of a match in which chance had a choice.
        roles: all roles except `random`.
        troubles: the troubles found, the gravest first.
        seconds: time it took.
        seed, backend: with the same values the matches are the same.
    """

    matches: int
    ended: int
    shortest: int
    longest: int
    mean_turns: float
    chance_moves: float
    roles: Mapping[str, RolePlay]
    troubles: tuple[Trouble, ...]
    seconds: float
    seed: int
    backend: str

    def to_json(self) -> dict[str, Any]:
        """The findings as JSON values."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}
