"""One role's incomplete path, as servers send it: the information of one message on one turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ggp.protocol.texts.spelling import Outline


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PathTurn:
    """One turn of our incomplete path; texts are canonical KIF.

    All fields except `joint` are arguments of `Player.observe`.

    Attributes:
        move: executed for us; None if unknown.
        percepts: our percepts, sorted; None if unknown. In plain GDL the joint move, as
            `(did ROLE MOVE)`, which is what machines of plain GDL games call percepts.
        submitted: our answer, None if there was none.
        in_time: whether the answer was certainly in time.
        assumed: the server did not send the move; it is the one we submitted in time.
        joint: the terms received, in the order of the roles, if they were taken for percepts and
            may be a joint move as well; None otherwise. It is not part of the path.
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
    """The history with only what was received: assumed moves unknown, no answer surely in time."""
    return tuple(
        replace(turn, move=None if turn.assumed else turn.move, in_time=False, assumed=False)
        for turn in history
    )


def told_as_moves(history: History, roles: Sequence[str], role: str) -> History | None:
    """The history with everything taken for percepts read as joint moves, as in plain GDL.

    Args:
        history: as received, without turn numbers.
        roles: of the game, in order.
        role: ours.

    Returns:
        None if some of it can only be percepts, or nothing was received.
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
    """The information of a play message on the turn before it, in canonical KIF.

    Attributes:
        move: ours, None if not sent.
        percepts: sorted, None if they cannot be understood.
        note: an oddity, None if there is none.
        joint: as in `PathTurn`.
        tells_moves: whether it can only be a joint move.
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
    """The information of a message on the turn before it.

    Args:
        last_move: as sent, None if not sent.
        told: as sent: percepts if the rules are GDL-II, else the joint move. With GDL-II rules it
            is also the joint move if it can be that, and cannot be percepts.
        rules: distinguish the two.
        role: ours, canonical.
        tells_moves: whether the server is known to send joint moves, whatever the rules are.
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
        problem = f"{len(items)} terms came where the joint move of {len(rules.roles)} roles was"
    elif not rules.may_be_moves(items) or move not in (None, joint_move.get(role)):
        problem = "what came is not the joint move that was"
    if problem is not None:
        note = (
            f"{problem} expected: ignored; the rules have neither `sees` nor the role `random`, "
            "which the server may have renamed"
        )
        return Heard(move, None, note)
    return Heard(move or joint_move.get(role), did_percepts(joint_move), tells_moves=True)


def _may_be_joint_move(items: tuple[str, ...], move: str | None, rules: Outline, role: str) -> bool:
    """Whether a server may send what one of plain GDL does, whatever the rules are."""
    if not rules.moves or len(items) != len(rules.roles) or not rules.may_be_moves(items):
        return False
    return move in (None, dict(zip(rules.roles, items, strict=True)).get(role))


def _is_did(item: str, rules: Outline) -> bool:
    return any(item.startswith(f"(did {role} ") for role in rules.roles)
