"""Other work of the server's worker processes: reading rules, replaying, previews, standings.

`match_manager` calls these functions in workers; JSON values come back. The server itself never
reads a stranger's rulesheet, because that could take long.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ggp.errors import ConfigError, GGPError, MatchError
from ggp.gdl.analysis.told_moves import move_percept
from ggp.gdl.formal import shares_goals
from ggp.gdl.program import RANDOM
from ggp.gdl.source import errors
from ggp.machine import Limits, Machine, build_machine
from ggp.machine.base import UNKNOWN, IntArray, States
from ggp.machine.compiling.kernel_files import is_in_package
from ggp.machine.definition import GameDefinition
from ggp.machine.games import check_text, read_program
from ggp.players.elsewhere.from_json import decision_json
from ggp.protocol.path import History, PathTurn
from ggp.run.clocks import cpu_seconds
from ggp.search.anytime import Deadline
from ggp.search.moves import is_legal
from ggp.server.workers.kernels import are_cached, fill_cache
from ggp.study.matches import LaneTurn
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
        "diagnostics": [
            {**asdict(d), "caret": d.caret if d.caret >= 0 else d.column - 1, "text": str(d)}
            for d in diagnostics[:MAX_DIAGNOSTICS]
        ],
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

WHOLE_LOG_S = 20.0
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
    deadline = Deadline.after(WHOLE_LOG_S)
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


# ------------------------------------------------------------------------
# What the lobby shows of a game: its first choice, what is hidden, how many turns a match takes.
#
# The rules come in; JSON for a card of the lobby goes out. Some random matches are played on the
# plain Prolog machine, which needs no preparation. The knowledge of each role shows which facts are
# hidden; it follows matches until something is. The picture shows what the first role to choose
# knows by then.

MATCHES, TURNS = 10, 200
"""Most random matches, and most turns of all of them together."""

FOLLOWING_S = 0.5
"""Most seconds of processor time in which a role's knowledge follows one turn."""

MAX_S = 4.0
"""Most seconds of processor time for one game, so that a busy machine shows what any other does."""

MAX_HIDDEN, MAX_MOVES = 2, 3

_PLACE = re.compile(r"^<term>:\d+:\d+: (error: )?")
"""Where an error is in a term that no file has."""


def preview(name: str, text: str, side_file: Path | None) -> Json:
    """A game for its card in the lobby.

    Returns:
        `roles`, without `random`; `has_chance`; `hidden`, in a few words each, empty if nothing
        was, and None if that was not found out in time; `turns` with `least`, `most`, and whether
        any match ended (`ends`); `picture`, and in words a few `moves` of that choice.

    Raises:
        ConfigError: the rules cannot be played; says why in one line.
    """
    try:
        return _preview(name, text, side_file)
    except GGPError as error:
        line = str(error).partition("\n")[0]
        raise ConfigError(_PLACE.sub("", line)) from error


def _preview(name: str, text: str, side_file: Path | None) -> Json:
    program = read_program(text, name)
    artist = Artist(program, side_file)
    is_told = move_percept(program.as_program()) is not None
    matches = _RandomMatches(program, artist, follows=not is_told)
    lengths, ends = matches.play()
    return {
        "roles": [role for role in program.roles if role != RANDOM],
        "has_chance": RANDOM in program.roles,
        "hidden": [] if is_told else matches.hidden_words(),
        "turns": {"least": min(lengths), "most": max(lengths), "ends": ends},
        "picture": matches.picture,
        "moves": matches.moves,
    }


class _RandomMatches:
    """Plays the matches of a preview.

    Attributes:
        picture: of the first state in which a role has a choice, as that role knows it.
        moves: the first moves of that role, in words.
        hidden: what roles did not know.
    """

    def __init__(self, program: GameDefinition, artist: Artist, *, follows: bool) -> None:
        backend = "prolog" if program.as_program().rules else "auto"
        self._machine = build_machine(program, backend)
        self._artist, self._rng = artist, np.random.default_rng(0)
        self._deadline = Deadline(cpu_seconds() + MAX_S, cpu_seconds)
        # Machines that only the knowledge of a role uses.
        self._own = {
            role: build_machine(program, backend)
            for role, name in enumerate(program.roles)
            if follows and name != RANDOM
        }
        self._minds: dict[int, Knowledge] = {}
        self.picture: Json = {}
        self.moves: list[str] = []
        self.hidden: dict[str, None] = {}
        self._has_unsure, self._knows_all, self._followed = False, True, 0

    def play(self) -> tuple[list[int], bool]:
        """Play until there are enough matches or turns.

        Returns:
            The lengths of the matches, and whether they ended: if not even the first one did, its
            length is that of its beginning.
        """
        lengths: list[int] = []
        left = TURNS
        while len(lengths) < MATCHES:
            length, is_over = self._match(left)
            if not is_over:
                return lengths or [length], bool(lengths)
            lengths.append(length)
            left -= length
        return lengths, True

    def hidden_words(self) -> list[str] | None:
        """What is hidden, in a few words each; None if we do not know."""
        if self._has_unsure:
            return [*self.hidden][:MAX_HIDDEN] or ["moves"]
        return [] if self._knows_all and self._followed else None

    def _match(self, most: int) -> tuple[int, bool]:
        """Play a match of at most so many turns; its length, and whether it ended."""
        machine, states, turns = self._machine, self._machine.initial(1), 0
        if not self._has_unsure and self._deadline.left_s() > MAX_S / 2:
            self._minds = {role: Knowledge(own, role, 0) for role, own in self._own.items()}
        while turns < most and not machine.terminal(states)[0] and not self._deadline.passed():
            turn = LaneTurn(machine, states)
            self._look(states, turn)
            joint = turn.random(self._rng)
            stepped = machine.step(states, joint)
            self._follow(joint[0], stepped.percepts[0])
            states = stepped.states
            turns += 1
        self._followed += bool(self._minds) and not self._deadline.passed()
        self._minds = {}
        self.picture = self.picture or self._artist.picture(machine.fluents(states)[0])
        return turns, bool(machine.terminal(states)[0])

    def _look(self, states: States, turn: LaneTurn) -> None:
        """Note what is hidden, and take the picture if it is time."""
        if self.picture and self.hidden:
            self._minds = {}
        if self._minds and self._deadline.left_s() < MAX_S / 2:
            self._minds = {}
        if self.picture and not self._minds:
            return
        facts = {role: mind.facts() for role, mind in self._minds.items()}
        for known in facts.values():
            self._has_unsure |= known.states > 1
            self._knows_all &= known.exact and known.states == 1
            self.hidden |= dict.fromkeys(_hidden(self._artist, known.shares))
        if turn.decides.any() and not self.picture:
            chooser = int(turn.decides[0].argmax())
            shares = facts[chooser].shares if chooser in facts else {}
            machine, artist = self._machine, self._artist
            fluents, role = machine.fluents(states)[0], machine.roles[chooser]
            self.picture = artist.certain(shares) if shares else artist.picture(fluents)
            legal = turn.lists[chooser].moves.values.tolist()
            moves = sorted(map(machine.move_text, legal))[:MAX_MOVES]
            words = artist.words_of((role, move) for move in moves)["moves"]
            self.moves = [words[move] for move in moves]

    def _follow(self, joint: IntArray, percepts: IntArray) -> None:
        machine: Machine = self._machine
        for role, mind in self._minds.items():
            move = machine.move_text(int(joint[role]))
            seen = machine.percept_texts(int(percepts[role]))
            mind.observe(move, seen, move, in_time=True, most_s=FOLLOWING_S, clock=cpu_seconds)


def _hidden(artist: Artist, shares: Mapping[str, float]) -> Iterator[str]:
    """Yield in a few words each what a role does not know; numbers only if there is no more."""
    unsure = {fluent: share for fluent, share in shares.items() if share < 1}
    picture = artist.heat(unsure)
    names = [
        "the board" if board["rows"] != [""] else artist.name_of(_one_of(board))
        for board in picture["boards"]
        if any(cell["items"] for cell in board["cells"])
    ]
    names += ["dice" if hand["cards"][0]["dice"] else "cards" for hand in picture["cards"]]
    lines = [fact["text"] for fact in picture["facts"] if fact["words"]]
    lines += [
        f"({table['title']} {' '.join(table['rows'][0])})"
        for table in picture["tables"]
        if any(table["words"] or [True])
    ]
    names += map(artist.name_of, lines)
    yield from names or (counter["title"] for counter in picture["counters"])


def _one_of(board: Json) -> str:
    titles: Iterator[str] = (
        item["title"] for cell in board["cells"] for item in cell["items"] if item["title"]
    )
    return next(titles)
