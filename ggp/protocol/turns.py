"""One role's incomplete path, as servers tell it: what one message says of one turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ggp.protocol.texts.spelling import Outline


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PathTurn:
    """One turn of our incomplete path; texts are canonical KIF.

    The fields but `joint` are arguments of `Player.observe`.

    Attributes:
        move: executed for us; None if not known.
        percepts: what we saw, sorted; None if not known. In plain GDL the joint move, as
            `(did ROLE MOVE)`, which is what machines of plain GDL games call percepts.
        submitted: what we answered, None if nothing.
        in_time: whether the answer was in time for certain.
        assumed: the server did not tell the move; it is what we submitted in time.
        joint: what was told, in the order of the roles, where it was taken for percepts and may
            be a joint move as well; None otherwise. It is no part of the path.
    """

    move: str | None = None
    percepts: tuple[str, ...] | None = None
    submitted: str | None = None
    in_time: bool = False
    assumed: bool = False
    joint: tuple[str, ...] | None = field(default=None, compare=False)

    def tells_moves(self, roles: Sequence[str]) -> bool:
        """Whether its percepts are a joint move, as in plain GDL."""
        percepts = self.percepts or ()
        return len(percepts) == len(roles) and all(
            any(percept.startswith(f"(did {role} ") for percept in percepts) for role in roles
        )


History = tuple[PathTurn, ...]
"""An incomplete path, from the first turn on."""


def without_assumptions(history: Iterable[PathTurn]) -> History:
    """The history with only what was told: assumed moves are unknown, no answer surely in time."""
    return tuple(
        replace(turn, move=None if turn.assumed else turn.move, in_time=False, assumed=False)
        for turn in history
    )


def told_as_moves(history: History, roles: Sequence[str], role: str) -> History | None:
    """The history if all that was taken for percepts are joint moves, as of plain GDL.

    Args:
        history: as it was told, without numbers of turns.
        roles: of the game, in order.
        role: ours.

    Returns:
        None if some of it can be nothing but percepts, or nothing was told.
    """
    turns = []
    for turn in history:
        if turn.joint is not None:
            did = dict(zip(roles, turn.joint, strict=True))
            turns.append(PathTurn(did[role], did_percepts(did), turn.submitted, turn.in_time))
        elif turn.percepts is None:
            turns.append(turn)
        else:
            return None
    return tuple(turns) if any(turn.joint is not None for turn in history) else None


def did_percepts(joint: Mapping[str, str]) -> tuple[str, ...]:
    """The moves of all roles as percepts of plain GDL, sorted."""
    return tuple(sorted(f"(did {role} {move})" for role, move in joint.items()))


@dataclass(frozen=True, slots=True)
class Heard:
    """What a play message says of the turn before it, in canonical KIF.

    Attributes:
        move: ours, None if not told.
        percepts: sorted, None if they cannot be understood.
        note: what is odd about it, None if nothing is.
        joint: as of `PathTurn`.
        tells_moves: whether it can be nothing but a joint move.
    """

    move: str | None
    percepts: tuple[str, ...] | None
    note: str | None = None
    joint: tuple[str, ...] | None = None
    tells_moves: bool = False


def read_heard(
    last_move: str | None,
    told: tuple[str, ...] | None,
    rules: Outline,
    role: str,
    *,
    tells_moves: bool = False,
) -> Heard:
    """What a message says of the turn before it.

    Args:
        last_move: as sent, None if not sent.
        told: as sent: percepts if the rules are GDL-II, else the joint move. Of GDL-II it is
            the joint move too if it can be that, and cannot be percepts.
        rules: tell the two apart.
        role: ours, canonical.
        tells_moves: whether the server is known to tell joint moves, whatever the rules are.
    """
    move = None if last_move is None else rules.read(last_move)
    items = tuple(map(rules.read, told or ()))
    if rules.is_gdl2:
        may_be_moves = _may_be_joint_move(items, move, rules, role)
        if not may_be_moves or (not tells_moves and rules.may_be_percepts(items)):
            joint = items if may_be_moves else None
            return Heard(move, tuple(sorted(set(items))), joint=joint)
    if items and all(_is_did(item, rules) for item in items):
        return Heard(move, tuple(sorted(items)))
    joint_move = dict(zip(rules.roles, items, strict=False))
    problem = None
    if len(items) != len(rules.roles) or told is None:
        problem = f"{len(items)} terms are told where the joint move of {len(rules.roles)} roles is"
    elif not rules.may_be_moves(items) or move not in (None, joint_move.get(role)):
        problem = "what is told is not the joint move that is"
    if problem is not None:
        note = (
            f"{problem} expected: ignored; the rules have neither `sees` nor the role `random`, "
            "which the server may have renamed"
        )
        return Heard(move, None, note)
    return Heard(move or joint_move.get(role), did_percepts(joint_move), tells_moves=True)


def _may_be_joint_move(items: tuple[str, ...], move: str | None, rules: Outline, role: str) -> bool:
    """Whether a server may tell what one of plain GDL does, whatever the rules are."""
    if not rules.moves or len(items) != len(rules.roles) or not rules.may_be_moves(items):
        return False
    return move in (None, dict(zip(rules.roles, items, strict=True)).get(role))


def _is_did(item: str, rules: Outline) -> bool:
    return any(item.startswith(f"(did {role} ") for role in rules.roles)
