"""Other work of the server's worker processes: reading rules, replaying, summing up series.

`match_manager` calls these functions in workers; JSON values come back. The server itself never
reads a stranger's rulesheet, because that could take long.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ggp.errors import ConfigError, MatchError
from ggp.gdl.analysis.told_moves import move_percept
from ggp.gdl.formal import shares_goals
from ggp.gdl.program import RANDOM
from ggp.gdl.source import Diagnostic, errors
from ggp.machine import Limits, Machine
from ggp.machine.base import UNKNOWN, IntArray
from ggp.machine.compiling.kernel_files import is_in_package
from ggp.machine.definition import GameDefinition
from ggp.machine.games import check_text, read_program
from ggp.players.elsewhere.from_json import decision_json
from ggp.protocol.path import History, PathTurn
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal
from ggp.server.workers.kernels import are_cached, fill_cache
from match_runner.match.conditions import Conditions
from match_runner.match.frames import frames_of
from match_runner.match.knowledge import Knowledge
from match_runner.match.records import MatchRecord, read_record
from match_runner.match.server_log import LoggedMatch, SentAnswer, is_log, read_logged_match
from match_runner.pictures.kinds import Json
from match_runner.pictures.layout import Artist
from match_runner.pictures.side_file import side_file_for
from match_runner.series.holding import read_series
from match_runner.series.match_task import machines_of
from match_runner.series.plan import check_series, series_of_roles
from match_runner.table.seating import HUMAN
from match_runner.tournament import summarize

MAX_DIAGNOSTICS = 50
"""Most diagnostics of one rulesheet that we show."""


AUTO = "auto"
"""The player and the backend that suit a game; pages propose them."""

_LOW = 10
"""Added to the niceness of work that nobody waits for yet."""


def compile_ahead() -> None:
    """Compile the machine code of the player `auto`, unless it is there."""
    if not (are_cached(AUTO, AUTO) or is_in_package()):
        os.nice(_LOW)
        asyncio.run(fill_cache(AUTO, AUTO))


def read_rules(name: str, text: str) -> Json:
    """Diagnostics of a rulesheet, and its description for the lobby."""
    diagnostics = check_text(text, name)
    report: Json = {
        "ok": not errors(diagnostics),
        "num_diagnostics": len(diagnostics),
        "diagnostics": [_diagnostic_json(entry) for entry in diagnostics[:MAX_DIAGNOSTICS]],
    }
    if report["ok"]:
        program = read_program(text, name)
        about = program.describe()
        report |= {
            "roles": [role for role in program.roles if role != RANDOM],
            "has_chance": RANDOM in program.roles,
            "is_told": move_percept(program.as_program()) is not None,
            "title": about.title,
            "about": about.text,
            "sections": {name: list(lines) for name, lines in about.sections.items()},
        }
    return report


def _diagnostic_json(diagnostic: Diagnostic) -> Json:
    caret = diagnostic.caret if diagnostic.caret >= 0 else diagnostic.column - 1
    return {**asdict(diagnostic), "caret": caret, "text": str(diagnostic)}


def check_match(
    name: str, text: str, players: Mapping[str, str], conditions: Conditions
) -> tuple[tuple[str, ...], bool, bool]:
    """Check that a match can be played; return its roles, whether they see every move, and
    whether all players want the same.

    Raises:
        GDLError: the rules cannot be used.
        ConfigError: there is a role without a player, a player without a role, or an unknown
            player.
    """
    program = read_program(text, name)
    roles = [role for role in program.roles if role != RANDOM]
    if sorted(players) != sorted(roles):
        raise ConfigError(f"every role needs a player; roles: {', '.join(roles) or 'none'}")
    specs = {r: "random" if player == HUMAN else player for r, player in players.items()}
    check_series(series_of_roles(name, program, specs, 1, conditions=conditions))
    rules = program.as_program()
    return program.roles, move_percept(rules) is not None, shares_goals(rules)


@dataclass(frozen=True, slots=True)
class ReplayedMatch:
    """A match that was not played at this table.

    Attributes:
        match: its summary for the page; see `HeldMatch.summary`.
        rules: text of the rulesheet.
        side_file: file that says how to draw the game, or None.
    """

    match: Json
    rules: str
    side_file: Path | None = None

    @property
    def game(self) -> str:
        """Name of its game."""
        return str(self.match["game"])

    @property
    def minds(self) -> tuple[str, ...]:
        """Roles whose percepts are known."""
        return tuple(self.match["players"])


def replay(record: MatchRecord, side_file: Path | None) -> list[Json]:
    """Frames of a record, one after every turn.

    Raises:
        GGPError: the record does not fit its rules.
    """
    return list(frames_of(record, side_file))


def replay_file(path: Path) -> tuple[ReplayedMatch, list[Json]]:
    """Read a record or a log of `ggp serve`; return it and its frames, one after every turn.

    Raises:
        GGPError: the file cannot be read, or does not fit the rules.
    """
    if is_log(path):
        logged = read_logged_match(path)
        about, frames = frames_of_log(logged)
        return ReplayedMatch(about, logged.rules), frames
    record = read_record(path)
    about = {
        "game": record.game,
        "players": dict(record.players),
        "roles": list(record.roles),
        "seed": record.seed,
        "goals": dict(record.goals),
        "error": record.error,
        "taken_back": [asdict(taken) for taken in record.taken_back],
    }
    side_file = side_file_for(record.game, record.rules)
    return ReplayedMatch(about, record.rules, side_file), replay(record, side_file)


def standings(folder: Path) -> Json:
    """Standings of the series in a folder; it may be in progress.

    Raises:
        ConfigError: there is no series, or it cannot be read.
    """
    snapshot = read_series(folder)
    summary = summarize(snapshot)
    return {
        "played": summary.played,
        "moves": summary.moves,
        "games": [game.name for game in snapshot.series.games],
        "standings": [standing.to_json() for standing in summary.standings],
    }


# ------------------------------------------------------------------------
# Frames of a match in a log of `ggp serve`.
#
# If every role sees every move by the rules, the true state follows from the role's path. Otherwise
# the frames show the role's knowledge, as at a seat.

FOLLOWING_S = 20.0
"""Most seconds for computing a role's knowledge, for all turns together."""

THINKER = "thinker"
"""Normal source of answers."""


def frames_of_log(match: LoggedMatch) -> tuple[Json, list[Json]]:
    """Summary of a logged match, and its frames, one after every turn.

    Returns:
        `game`, `players`, `roles`, `seed`, `goals` and `error` as in a record; and frames as in
        `MatchArtist.frame`, without fields that the log lacks. If the log does not determine the
        state, a frame has the role's knowledge of it, and `known` says from how many states.

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
    why = match.why or "it breaks off here; perhaps the match is still running"
    return {
        "game": match.id,
        "players": {match.role: match.player},
        "roles": list(roles),
        "seed": match.seed,
        "goals": goals,
        "error": None if match.is_over else f"in the log: {why}",
    }, frames


def _frame(artist: Artist, match: LoggedMatch, number: int) -> Json:
    """Frame with the log's facts about the last turn, still without the state."""
    frame: Json = {"turn": number, "over": False, "state": None, "moves": {}, "percepts": {}}
    frame |= {"views": {}, "marks": [], "faults": [], "decisions": {}}
    if not number:
        return frame
    role, turn, answer = match.role, match.turns[number - 1], match.answers.get(number - 1)
    if turn.move is not None:
        frame["moves"][role] = turn.move
    if turn.percepts is not None:
        frame["percepts"][role] = list(turn.percepts)
        frame["views"][role] = artist.view(turn.percepts)
    frame["faults"] = [{"role": role, "text": text} for text in _anomalies(turn, answer)]
    if answer is not None and answer.decision is not None:
        frame["decisions"][role] = decision_json(answer.decision)
    return frame


def _anomalies(turn: PathTurn, answer: SentAnswer | None) -> Iterator[str]:
    """Yield texts about irregularities in a turn."""
    if turn.move is None:
        yield "the server did not say which move was played"
    elif turn.submitted is not None and turn.submitted != turn.move:
        yield f"answered {turn.submitted}, but {turn.move} was played"
    if answer is None:
        return
    if answer.source != THINKER:
        yield f"the answer came from the {answer.source}"
    if answer.decision is not None and answer.decision.fault is not None:
        yield answer.decision.fault


def _joint_moves(
    program: GameDefinition, machine: Machine, turns: History
) -> list[IntArray] | None:
    """`[1, R]` joint move of each turn; None if the log lacks some."""
    if move_percept(program.as_program()) is None:
        return None
    percepts = [machine.percept_id(turn.percepts or ()) for turn in turns]
    percept_ids = np.array([UNKNOWN if id_ is None else id_ for id_ in percepts], dtype=np.int64)
    joint_moves = machine.told_moves(percept_ids)
    if joint_moves is None or (joint_moves == UNKNOWN).any():
        return None
    return list(joint_moves[:, None])


def _draw_states(
    artist: Artist, machine: Machine, joint_moves: Sequence[IntArray], frames: Sequence[Json]
) -> dict[str, float | None]:
    """Put true states and all moves into the frames; return the goal value of every role.

    Raises:
        MatchError: the log has a move that is not legal.
    """
    state = machine.initial(1)
    frames[0]["state"] = artist.picture(machine.fluents(state)[0])
    for last_frame, frame, joint in zip(frames[:-1], frames[1:], joint_moves, strict=True):
        texts = map(machine.move_text, joint[0].tolist())
        moves = dict(zip(machine.roles, texts, strict=True))
        for role, (name, text) in enumerate(moves.items()):
            if machine.terminal(state)[0] or not is_legal(machine, state, role, joint[:, role])[0]:
                raise MatchError(f"turn {frame['turn']} of the log: {name} cannot play {text}")
        state = machine.step(state, joint).states
        frame["state"] = artist.picture(machine.fluents(state)[0], over=frame["over"])
        frame["moves"] = moves
        frame["marks"] = artist.marks(moves, last_frame["state"], frame["state"])
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
    """Put the role's knowledge into the frames; return its goal value, if it knows it."""
    role = program.roles.index(match.role)
    knowledge = Knowledge(machines[1 + role], role, match.seed)
    deadline = Deadline.after(FOLLOWING_S)
    goal = None
    for index, frame in enumerate(frames):
        turn = match.turns[index - 1] if index else None
        if turn is not None and frame["over"]:
            facts, goal = knowledge.at_end(turn.move, turn.percepts)
        else:
            if turn is not None:
                most_s = deadline.left_s() / (len(frames) - index)
                knowledge.observe(
                    turn.move, turn.percepts, turn.submitted, in_time=turn.in_time, most_s=most_s
                )
            facts = knowledge.facts()
        last_state = frames[index - 1]["state"] if index else None
        frame["state"] = artist.certain(facts.shares, last_state)
        frame["known"] = {"states": facts.states, "exact": facts.exact}
        if last_state:
            frame["marks"] = artist.marks(frame["moves"], last_state, frame["state"])
    return {match.role: goal}
