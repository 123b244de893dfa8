"""Frames of a match that is in a log of `ggp serve`.

If the rules tell every role every move, the true state follows from the role's path. If they do
not, the frames show what the role knew, as at a seat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ggp.errors import MatchError
from ggp.gdl.analysis.joint_move_percepts import told_by
from ggp.machine import Limits, Machine
from ggp.machine.base import UNKNOWN, IntArray
from ggp.machine.definition import GameDefinition
from ggp.players.elsewhere.decision_json import decision_json
from ggp.protocol.turns import History, PathTurn
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal
from match_runner.match.knowledge import Knowledge
from match_runner.pictures.kinds import Json
from match_runner.pictures.layout import Artist
from match_runner.series.match_task import machines_of
from match_runner.table.seats.server_log import LoggedMatch, Sent

FOLLOWING_S = 20.0
"""Most seconds of finding out what a role knew, for all turns together."""

THINKER = "thinker"
"""Source of answers if all is well."""


def frames_of_log(match: LoggedMatch) -> tuple[Json, list[Json]]:
    """How a logged match began and ended, and its frames, one after every turn.

    Returns:
        `game`, `players`, `roles`, `seed`, `goals` and `error` as of a record; and frames like
        those of `MatchArtist.frame`, without what the log does not tell. If the log does not tell
        the state, a frame has what the role knew of it, and `known` says from how many states.

    Raises:
        GGPError: the rules cannot be played.
    """
    program, machines = machines_of(match.id, match.rules, "auto", Limits(), True)
    artist = Artist(program)
    frames = [_frame(artist, match, number) for number in range(len(match.turns) + 1)]
    frames[-1]["over"] = match.is_over
    joint_moves = _joint_moves(program, machines[0], match.turns)
    if joint_moves is None:
        roles: tuple[str, ...] = (match.role,)
        goals = _draw_known(artist, program, machines, match, frames)
    else:
        roles = program.roles
        goals = _draw_states(artist, machines[0], joint_moves, frames)
    for frame in frames:
        frame["words"] = artist.words_in(frame)
    why = match.why or "it breaks off here; perhaps the match is still played"
    return {
        "game": match.id,
        "players": {match.role: match.player},
        "roles": list(roles),
        "seed": match.seed,
        "goals": goals,
        "error": None if match.is_over else f"in the log: {why}",
    }, frames


def _frame(artist: Artist, match: LoggedMatch, number: int) -> Json:
    """Frame with what the log says of the turn before it, still without the state."""
    frame: Json = {"turn": number, "over": False, "state": None, "moves": {}, "percepts": {}}
    frame |= {"views": {}, "marks": [], "faults": [], "decisions": {}}
    if not number:
        return frame
    role, turn, sent = match.role, match.turns[number - 1], match.sent.get(number - 1)
    if turn.move is not None:
        frame["moves"][role] = turn.move
    if turn.percepts is not None:
        frame["percepts"][role] = list(turn.percepts)
        frame["views"][role] = artist.view(turn.percepts)
    frame["faults"] = [{"role": role, "text": text} for text in _odd(turn, sent)]
    if sent is not None and sent.decision is not None:
        frame["decisions"][role] = decision_json(sent.decision)
    return frame


def _odd(turn: PathTurn, sent: Sent | None) -> Iterator[str]:
    """Yield what was not as it should be in a turn."""
    if turn.move is None:
        yield "the server did not tell which move was played"
    elif turn.submitted is not None and turn.submitted != turn.move:
        yield f"answered {turn.submitted}, and {turn.move} was played"
    if sent is None:
        return
    if sent.source != THINKER:
        yield f"the answer came from the {sent.source}"
    if sent.decision is not None and sent.decision.fault is not None:
        yield sent.decision.fault


def _joint_moves(
    program: GameDefinition, machine: Machine, turns: History
) -> list[IntArray] | None:
    """`[1, R]` joint move of each turn; None if the log does not tell all of them."""
    if told_by(program.as_program()) is None:
        return None
    percepts = [machine.percept_id(turn.percepts or ()) for turn in turns]
    known = np.array([UNKNOWN if each is None else each for each in percepts], dtype=np.int64)
    told = machine.told_moves(known)
    if told is None or (told == UNKNOWN).any():
        return None
    return list(told[:, None])


def _draw_states(
    artist: Artist, machine: Machine, joint_moves: Sequence[IntArray], frames: Sequence[Json]
) -> dict[str, float | None]:
    """Put true states and all moves into the frames; returns the goal value of every role.

    Raises:
        MatchError: the log has a move that is not legal.
    """
    state = machine.initial(1)
    frames[0]["state"] = artist.picture(machine.fluents(state)[0])
    for before, frame, joint in zip(frames[:-1], frames[1:], joint_moves, strict=True):
        texts = map(machine.move_text, joint[0].tolist())
        moves = dict(zip(machine.roles, texts, strict=True))
        for role, (name, text) in enumerate(moves.items()):
            if machine.terminal(state)[0] or not is_legal(machine, state, role, joint[:, role])[0]:
                raise MatchError(f"turn {frame['turn']} of the log: {name} cannot play {text}")
        state = machine.step(state, joint).states
        frame["state"] = artist.picture(machine.fluents(state)[0])
        frame["moves"] = moves
        frame["marks"] = artist.marks(moves, before["state"], frame["state"])
    if not machine.terminal(state)[0]:
        return dict.fromkeys(machine.roles)
    return dict(zip(machine.roles, machine.goals(state)[0].tolist(), strict=True))


def _draw_known(
    artist: Artist,
    program: GameDefinition,
    machines: Sequence[Machine],
    match: LoggedMatch,
    frames: Sequence[Json],
) -> dict[str, float | None]:
    """Put what the role knew into the frames; returns its goal value, if it knows it."""
    role = program.roles.index(match.role)
    knowledge = Knowledge(machines[1 + role], role, match.seed)
    deadline = Deadline.after(FOLLOWING_S)
    goal = None
    for number, frame in enumerate(frames):
        turn = match.turns[number - 1] if number else None
        if turn is not None and frame["over"]:
            known, goal = knowledge.at_end(turn.move, turn.percepts)
        else:
            if turn is not None:
                most_s = deadline.left_s() / (len(frames) - number)
                knowledge.observe(
                    turn.move, turn.percepts, turn.submitted, in_time=turn.in_time, most_s=most_s
                )
            known = knowledge.known()
        frame["state"] = artist.certain(known.shares)
        frame["known"] = {"states": known.states, "exact": known.exact}
        if number:
            before = frames[number - 1]["state"]
            frame["marks"] = artist.marks(frame["moves"], before, frame["state"])
    return {match.role: goal}
