"""One role's incomplete path, as servers tell it: what one message says of one turn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ggp.protocol.spelling import Outline


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PathTurn:
    """One turn of our incomplete path; texts are canonical KIF.

    The fields are arguments of `Player.observe`.

    Attributes:
        move: executed for us; None if not known.
        percepts: what we saw, sorted; None if not known. In plain GDL the joint move, as
            `(did ROLE MOVE)`, which is what machines of plain GDL games call percepts.
        submitted: what we answered, None if nothing.
        in_time: whether the answer was in time for certain.
        assumed: the server did not tell the move; it is what we submitted in time.
    """

    move: str | None = None
    percepts: tuple[str, ...] | None = None
    submitted: str | None = None
    in_time: bool = False
    assumed: bool = False


History = tuple[PathTurn, ...]
"""An incomplete path, from the first turn on."""


def without_assumptions(history: Iterable[PathTurn]) -> History:
    """The history with only what was told: assumed moves are unknown, no answer surely in time."""
    return tuple(
        replace(turn, move=None if turn.assumed else turn.move, in_time=False, assumed=False)
        for turn in history
    )


@dataclass(frozen=True, slots=True)
class Heard:
    """What a play message says of the turn before it, in canonical KIF.

    Attributes:
        move: ours, None if not told.
        percepts: sorted, None if they cannot be understood.
        note: what is odd about it, None if nothing is.
    """

    move: str | None
    percepts: tuple[str, ...] | None
    note: str | None = None


def read_heard(
    last_move: str | None, told: tuple[str, ...] | None, rules: Outline, role: str
) -> Heard:
    """What a message says of the turn before it.

    Args:
        last_move: as sent, None if not sent.
        told: as sent: percepts if the rules are GDL-II, else the joint move. Of GDL-II it is
            the joint move too if it can be that, and cannot be percepts.
        rules: tell the two apart.
        role: ours, canonical.
    """
    move = None if last_move is None else rules.read(last_move)
    items = tuple(map(rules.read, told or ()))
    if rules.is_gdl2 and not _is_joint_move(items, move, rules, role):
        return Heard(move, tuple(sorted(set(items))))
    if items and all(_is_did(item, rules) for item in items):
        return Heard(move, tuple(sorted(items)))
    joint = dict(zip(rules.roles, items, strict=False))
    problem = None
    if len(items) != len(rules.roles) or told is None:
        problem = f"{len(items)} terms are told where the joint move of {len(rules.roles)} roles is"
    elif not rules.may_be_moves(items) or move not in (None, joint.get(role)):
        problem = "what is told is not the joint move that is"
    if problem is not None:
        note = (
            f"{problem} expected: ignored; the rules have neither `sees` nor the role `random`, "
            "which the server may have renamed"
        )
        return Heard(move, None, note)
    did = tuple(sorted(f"(did {name} {moved})" for name, moved in joint.items()))
    return Heard(move or joint.get(role), did)


def _is_joint_move(items: tuple[str, ...], move: str | None, rules: Outline, role: str) -> bool:
    """Whether a server tells what one of plain GDL does, though the rules are GDL-II."""
    if not rules.must_be_moves(items):
        return False
    return move in (None, dict(zip(rules.roles, items, strict=True)).get(role))


def _is_did(item: str, rules: Outline) -> bool:
    return any(item.startswith(f"(did {role} ") for role in rules.roles)
