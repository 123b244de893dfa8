"""How good a bag is: how it was made, how many states it has, and how well it stands for its
set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ggp.belief.bags import Bags
from ggp.belief.turns.open_moves import MOST_COMPLETIONS
from ggp.machine.base import Machine


class How(StrEnum):
    """The method by which a bag was made."""

    EXACT = "exact"
    SAMPLED = "sampled"
    SOLVED = "solved"
    DRAWN = "drawn"


@dataclass(frozen=True)
class Quality:
    """How good a bag is.

    Attributes:
        how: `exact`, the whole information set; `sampled` forward; `solved`, begun with paths that
            a solver found in the last turn; `drawn`, boards that agree with recent percepts.
        sound: whether no state is outside the information set.
        entries: of the bag. Where other roles' incomplete paths are kept, states that differ only
            in these count separately.
        distinct: number of different states.
        ess: effective sample size, 1 / (sum of squared weights): this many entries of equal
            weight tell as much.
        log_size: natural logarithm of the number of entries that the whole set has, estimated
            where the bag is not exact; None if unknown.
        inexact_turns: turns since the bag was last exact; None where it never was, and its start
            is not remembered.
    """

    how: How
    sound: bool
    entries: int
    distinct: int
    ess: float
    log_size: float | None
    inexact_turns: int | None

    def as_json(self) -> dict[str, Any]:
        """The quality as JSON, for records and commands."""
        return {
            **asdict(self),
            "how": str(self.how),
            "ess": round(self.ess, 3),
            "log_size": None if self.log_size is None else round(self.log_size, 3),
        }


def quality_of(
    machine: Machine, bags: Bags, *, solved: bool = False, inexact_turns: int | None = None
) -> Quality:
    """How good the first of several bags is."""
    states = bags.states_of(0)
    count = len(states)
    how = How.SOLVED if solved else How.SAMPLED
    if bags.guessed:
        how = How.DRAWN
    elif bags.exact[0]:
        how = How.EXACT
    size = float(bags.sets.sizes[bags.segment[0]])
    size = count if bags.exact[0] else max(size, count)
    return Quality(
        how,
        bags.sound,
        count,
        len(np.unique(machine.groups(states))),
        float(1 / np.square(bags.weights_of(0)).sum()) if count else 0.0,
        float(np.log(size)) if 0 < size < MOST_COMPLETIONS else None,
        0 if bags.exact[0] else inexact_turns,
    )


LARGE = 10_000
"""Estimated sizes from here on are given as powers of ten."""


def in_words(told: Mapping[str, Any]) -> str:
    """A quality in words for people; the page of the table uses the same words (`mind.js`).

    Args:
        told: as `Quality.as_json` returns it.
    """
    entries, distinct, exact = told["entries"], told["distinct"], told["how"] == How.EXACT
    if not entries:
        return f"{told['how']}: no state {'fits' if exact else 'was found'}"
    many = f"{entries:,}" if entries == distinct else f"{entries:,} entries, {distinct:,}"
    if exact:
        weighed = f"; effective {told['ess']:,.0f}" if round(told["ess"]) < entries else ""
        which = "which is" if distinct == 1 else "which are"
        return f"exact: {many} {_states(distinct)}, {which} all there can be{weighed}"
    size, ago = told["log_size"], told["inexact_turns"]
    of = "" if size is None else f", of about {_size_in_words(size)}"
    since = "" if ago is None else f", exact {ago:,} turn{'' if ago == 1 else 's'} ago"
    sound = "sound" if told["sound"] else "not sound: some need not fit what was seen"
    found = f"{told['how']}: {many} {_states(distinct)}{of}"
    return f"{found}, effective {told['ess']:,.0f}{since}; {sound}"


def _states(count: int) -> str:
    return "state" if count == 1 else "states"


def _size_in_words(log_size: float) -> str:
    size = np.exp(log_size)
    return f"{float(f'{size:.2g}'):,.0f}" if size < LARGE else f"10^{log_size / np.log(10):.1f}"
