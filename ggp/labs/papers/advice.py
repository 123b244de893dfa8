"""Reasons for and against kinds of players, based on the properties of a game.

Properties come in (`ggp.study.properties`), reasons go out, to `advise_command`. The thresholds are
from paper 003 (Long et al. 2010) and our own measurements. Reasons speak for kinds of players
(`ggp.search.parts`) or against them; only matches can settle which player is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ggp.search.parts import CLAIRVOYANT, INFORMED, SIMULATIONS, TREES
from ggp.study.properties import Properties, RoleProperties

COSTLY_GAP = 5.0
"""Clairvoyance gap (points gained by knowing the true state) from which hidden information costs
more than measurement noise."""

CHEAP_GAP = 2.0
"""Clairvoyance gap, in points, below which clairvoyant search loses little."""

MANY_TIES = 0.5
"""Share of decisions with several best moves from which ties speak against clairvoyant search."""

QUICK = 0.5
"""Disambiguation at which sets lose half of their states from one decision to the next."""

LOW_CORRELATION = 0.5
"""Leaf correlation below which the last move still matters."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason from the properties of a game.

    Attributes:
        kind: the kind of players that it concerns.
        favours: whether it speaks for them, or against.
        text: the explanation, a sentence.
    """

    kind: str
    favours: bool
    text: str


def reasons_of(properties: Properties) -> tuple[Reason, ...]:
    """Reasons from the properties of a game, role by role."""
    roles = {
        name: role
        for name, role in properties.roles.items()
        if role.information_sets.mean is not None or role.information_sets.too_large
    }
    if not roles:
        return ()
    if all(_knows_all(role) for role in roles.values()):
        hidden = "nothing is hidden from anybody: "
        return (
            Reason(TREES, True, hidden + "looking further ahead is all there is to gain"),
            Reason(SIMULATIONS, False, hidden + "simulating what others know only costs time"),
        )
    return tuple(reason for name, role in roles.items() for reason in _of_role(name, role))


def balance(reasons: tuple[Reason, ...], kinds: frozenset[str]) -> int:
    """Number of reasons for a player of these kinds, minus reasons against it."""
    return sum(1 if reason.favours else -1 for reason in reasons if reason.kind in kinds)


def _knows_all(role: RoleProperties) -> bool:
    return role.information_sets.singletons == 1 and not role.information_sets.too_large


def _of_role(name: str, role: RoleProperties) -> Iterator[Reason]:
    gap = role.clairvoyance_gap
    if gap is not None and gap >= COSTLY_GAP:
        text = f"knowing the world would be worth {gap:.1f} points to {name}: "
        yield Reason(INFORMED, True, text + "moves that find out or hide something are worth a lot")
        yield Reason(CLAIRVOYANT, False, text + "clairvoyant search acts as if it had them")
    elif gap is not None and gap < CHEAP_GAP and not _knows_all(role):
        yield Reason(
            CLAIRVOYANT,
            True,
            f"knowing the world would be worth only {gap:.1f} points to {name}: clairvoyant search "
            "loses little",
        )
    if role.ties is not None and role.ties >= MANY_TIES:
        yield Reason(
            CLAIRVOYANT,
            False,
            f"at {role.ties:.0%} of the decisions of {name} several moves look equally good to "
            "clairvoyant search, which cannot choose among them",
        )
    if _knows_all(role):
        return
    if role.disambiguation is not None and role.disambiguation >= QUICK:
        yield Reason(
            CLAIRVOYANT,
            True,
            f"the sets of {name} lose {role.disambiguation:.0%} of their states from one decision "
            f"to the next: soon {name} knows the world",
        )
    elif role.leaf_correlation is not None and role.leaf_correlation < LOW_CORRELATION:
        yield Reason(
            CLAIRVOYANT,
            False,
            f"the last move often still decides the result of {name} (leaf correlation "
            f"{role.leaf_correlation:.2f}), and its sets shrink slowly: there paper 003 found "
            "clairvoyant search worst",
        )
