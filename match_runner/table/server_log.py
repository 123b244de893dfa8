"""The log of a match that `ggp serve` played elsewhere (`ggp/server/match_log.py`), to be replayed.

The log has the messages that came, and what was decided. From the messages a lobby makes the role's
incomplete path once more, just as the server did. If the rules tell every role every move, the true
state follows from it. If they do not, what the role knew is drawn, as at a seat.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ggp.errors import ConfigError, MatchError
from ggp.gdl import parse
from ggp.gdl.normalize import normalize
from ggp.gdl.program import Program
from ggp.gdl.telling import PLAIN, never_tells, told_by
from ggp.machine import Limits, Machine
from ggp.machine.base import UNKNOWN, IntArray
from ggp.players import Decision
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import Stop
from ggp.protocol.turns import History, PathTurn, read_heard
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal
from ggp.server.lines import decision_json
from ggp.server.restore import Retelling
from ggp.server.worker_match import tells_moves
from match_runner.log_views import LogLine, read_log
from match_runner.match.records import decision_from_json
from match_runner.series.match_task import machines_of
from match_runner.table.frames import Artist, Json
from match_runner.table.knowledge import Knowledge

FOLLOWING_S = 20.0
"""What finding out what a role knew may take, of all turns."""

ALL_TOLD = f"(<= (sees ?r ({PLAIN} ?other ?move)) (role ?r) (does ?other ?move))"
"""What servers of plain GDL do, as a rule."""

THINKER = "thinker"
"""Where answers come from if all is well."""

_OVER = "stop"


@dataclass(frozen=True, slots=True)
class Sent:
    """What was answered in a turn.

    Attributes:
        move: canonical KIF.
        source: which worker found it, or what else it comes from.
        final: whether it was decided; else it was the best so far when time was up.
        decision: what was thought; None if that is not in the log.
    """

    move: str | None
    source: str
    final: bool
    decision: Decision | None


@dataclass(frozen=True, slots=True)
class LoggedMatch:
    """What a log says of a match.

    Attributes:
        id: as the server sent it.
        role: ours.
        player: its spec.
        rules: text of a rulesheet that can be played as it is.
        turns: our incomplete path.
        sent: by turns played before.
        why: the match ended, as the log says it; None where it does not.
    """

    id: str
    role: str
    player: str
    seed: int
    rules: str
    turns: History
    sent: Mapping[int, Sent]
    why: str | None

    @property
    def is_over(self) -> bool:
        """Whether the game came to its end."""
        return self.why == _OVER


def read_logged_match(path: Path) -> LoggedMatch:
    """The match in a log.

    Raises:
        ConfigError: the file cannot be read, or is no log of a match.
        GDLError: its rules cannot be used.
    """
    events = read_log(path)
    try:
        return _match(events)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be followed: {error!r}") from error


def _match(events: Sequence[LogLine]) -> LoggedMatch:
    begin = events[0]
    lobby = Lobby("reader")
    retold = Retelling(lobby)
    sent: dict[int, Sent] = {}
    turns: History = ()
    why = None
    for event in events:
        # A session that is over keeps nothing.
        session = None if retold.ask is None else lobby.session(retold.ask.match)
        rules = None if session is None else session.outline
        receipt = retold.tell(event, float(event["t"]))
        if event["event"] == "decision":
            sent[int(event["turn"])] = _sent(event)
        elif event["event"] == "end":
            why = str(event["why"])
        if receipt is None or retold.ask is None:
            continue
        if receipt.ask is not None:
            turns = receipt.ask.history
        elif isinstance(receipt.message, Stop) and rules is not None and retold.ask.wants_move:
            stop = receipt.message
            heard = read_heard(stop.last_move, stop.told, rules, str(begin["role"]))
            answer = sent.get(len(turns))
            submitted = None if answer is None else answer.move
            if rules.is_gdl2 or stop.told is not None:  # else nothing is told of the last turn
                turns = (*turns, PathTurn(heard.move, heard.percepts, submitted))
    if retold.opening is None:
        raise ValueError("it does not hold the start message")
    return LoggedMatch(
        id=str(begin["match"]),
        role=retold.opening.role,
        player=str(begin["player"]),
        seed=int(begin["seed"]),
        rules=_playable(retold.opening.rules, turns),
        turns=turns,
        sent=sent,
        why=why,
    )


def _sent(event: LogLine) -> Sent:
    decision = None
    if isinstance(event["particles"], int):
        decision = decision_from_json(dict(event), "decision")
    return Sent(event["move"], str(event["source"]), bool(event["final"]), decision)


def _playable(rules: str, turns: History) -> str:
    """The rules as the server played them: repaired, and telling moves where those were told."""
    program = normalize(parse(rules, "the rules", lenient=True), lenient=True)
    text = "\n".join(map(str, program.rules)) if program.diagnostics else rules
    if never_tells(program) and any(tells_moves(turn, program.roles) for turn in turns):
        return f"{text}\n{ALL_TOLD}\n"
    return text


def frames_of_log(match: LoggedMatch) -> tuple[Json, list[Json]]:
    """How a logged match began and ended, and what there is to see of it after every turn.

    Returns:
        `game`, `players`, `roles`, `seed`, `goals` and `error` as of a record; and frames as those
        of `Artist.frame`. Of what the log does not tell nothing is in them. Where the state is not
        told, that of a frame is what the role knew of it, and `known` says of how many states.

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
    """What the log says of the turn before a frame, and nothing of the state."""
    frame: Json = {"turn": number, "over": False, "state": None, "moves": {}, "percepts": {}}
    frame |= {"views": {}, "marks": [], "faults": [], "decisions": {}}
    if not number:
        return frame
    role, turn, sent = match.role, match.turns[number - 1], match.sent.get(number - 1)
    if turn.move is not None:
        frame["moves"][role] = turn.move
        frame["marks"] = artist.marks(frame["moves"])
    if turn.percepts is not None:
        frame["percepts"][role] = list(turn.percepts)
        frame["views"][role] = artist.view(turn.percepts)
    frame["faults"] = [{"role": role, "text": text} for text in _odd(turn, sent)]
    if sent is not None and sent.decision is not None:
        frame["decisions"][role] = decision_json(sent.decision)
    return frame


def _odd(turn: PathTurn, sent: Sent | None) -> Iterator[str]:
    """What was not as it should be in a turn."""
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


def _joint_moves(program: Program, machine: Machine, turns: History) -> list[IntArray] | None:
    """`[1, R]` joint move of each turn; None if the log does not tell all of them."""
    if told_by(program) is None:
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
    """Put true states and all moves into the frames; what everybody got.

    Raises:
        MatchError: a move was told that is not legal.
    """
    state = machine.initial(1)
    frames[0]["state"] = artist.picture(machine.fluents(state)[0])
    for frame, joint in zip(frames[1:], joint_moves, strict=True):
        texts = map(machine.move_text, joint[0].tolist())
        moves = dict(zip(machine.roles, texts, strict=True))
        for role, (name, text) in enumerate(moves.items()):
            if machine.terminal(state)[0] or not is_legal(machine, state, role, joint[:, role])[0]:
                raise MatchError(f"turn {frame['turn']} of the log: {name} cannot play {text}")
        state = machine.step(state, joint).states
        frame["state"] = artist.picture(machine.fluents(state)[0])
        frame["moves"], frame["marks"] = moves, artist.marks(moves)
    if not machine.terminal(state)[0]:
        return dict.fromkeys(machine.roles)
    return dict(zip(machine.roles, machine.goals(state)[0].tolist(), strict=True))


def _draw_known(
    artist: Artist,
    program: Program,
    machines: Sequence[Machine],
    match: LoggedMatch,
    frames: Sequence[Json],
) -> dict[str, float | None]:
    """Put what the role knew into the frames; what it got, if it knows."""
    role = program.roles.index(match.role)
    knowledge = Knowledge(machines[1 + role], role, match.seed)
    deadline = Deadline(time.monotonic() + FOLLOWING_S, time.monotonic)
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
    return {match.role: goal}
