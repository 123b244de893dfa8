"""What a rehearsal found out about a game, as values (see `rehearsal`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["stuck", "endless", "no-goal", "several-goals", "goal-value", "unknowable"]

ERRORS: frozenset[Kind] = frozenset({"stuck", "endless"})
"""What makes a game unplayable; the rest is settled somehow in play."""


@dataclass(frozen=True, slots=True)
class History:
    """The beginning of a match.

    Attributes:
        joint_moves: of each turn, by role, as `ggp trace --moves` takes them.
        legal: the moves that the role had then, sorted; empty where that is not the point.
    """

    joint_moves: tuple[Mapping[str, str], ...]
    legal: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that is wrong with a game.

    Attributes:
        kind: of what.
        role: whose; None for all.
        matches: in how many matches it was seen.
        message: one sentence.
        knows: of `unknowable`, what the role did and saw, one "move / percepts" a turn.
        histories: two of `unknowable`, else one.
    """

    kind: Kind
    role: str | None
    matches: int
    message: str
    knows: tuple[str, ...]
    histories: tuple[History, ...]


@dataclass(frozen=True, slots=True)
class RolePlay:
    """A role in random matches.

    Attributes:
        most_moves: it ever had to choose from.
        mean, lowest, highest: goal values of the matches that ended; None if none did.
    """

    most_moves: int
    mean: float | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What came of random matches.

    Attributes:
        matches: that were played.
        ended: how many came to their end.
        shortest, longest: turns of those, 0 if none did.
        mean_turns: likewise.
        chance_moves: mean number of turns of a match in which chance had a choice.
        roles: all but `random`.
        troubles: found, the gravest first.
        seconds: it took.
        seed, backend: the same give the same matches.
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
        """As JSON values."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}
