"""Frames of a match, one after each turn: pictures of states and percepts, moves, decisions.

The table and `match-runner picture` show them. Worker processes make frames from canonical KIF, as
JSON values:

    {"turn": 3, "over": false, "state": picture, "moves": {role: move}, "percepts": {role: [...]},
     "views": {role: picture of the percepts}, "marks": [cells of the moves], "faults": [...],
     "ended": [cells of what decided the match], "decisions": {role: decision},
     "values": {role: value of its move}, "words": {"moves": {move: text}, "percepts": {...}}}
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ggp.errors import GGPError
from ggp.gdl.program import RANDOM
from ggp.machine import build_machine, goal_values
from ggp.machine.abilities import Wordy
from ggp.machine.definition import GameDefinition
from ggp.pickled import read_states
from ggp.players.elsewhere.from_json import decision_json
from ggp.run.clocks import cpu_seconds
from ggp.search.anytime import Deadline
from match_runner.match.records import MatchRecord, TurnRecord, check_record, rules_of
from match_runner.pictures.kinds import Json, fact
from match_runner.pictures.layout import Artist

_log = logging.getLogger(__name__)

FEW_CELLS = 16
"""More cells than this, and than half of what is on the boards, are not marked: nearly everything
decides a game in which pieces are counted."""

MAX_PIECES, MAX_S = 200, 1.0
"""Most fluents on boards, and most seconds of processor time, to find out what decided a
match: people wait."""


class MatchArtist(Artist):
    """Draws one match, turn by turn.

    Args:
        program: rules of its game.
        side_file: see `Artist`.
    """

    def __init__(self, program: GameDefinition, side_file: Path | None = None) -> None:
        super().__init__(program, side_file)
        self._program = program
        self._words = StateWords(program)
        self._last_picture: Json = {}  # the picture of the state before the turn

    def frame(
        self, number: int, turn: TurnRecord | None, fluents: Iterable[str], *, over: bool
    ) -> Json:
        """Frame with everything that there is to see after a turn.

        It must be called turn by turn, in order.

        Args:
            number: number of turns played.
            turn: the turn; None for the initial state.
            fluents: fluents of the state, in canonical KIF.
            over: whether the match is over.
        """
        fluents = tuple(fluents)
        state = self.picture(fluents, over=over)
        state["facts"] = [*map(fact, self._words.lines_after(turn)), *state["facts"]]
        frame: Json = {
            "turn": number,
            "over": over,
            "state": state,
            "moves": {},
            "percepts": {},
            "views": {},
            "marks": [],
            "ended": [],
            "faults": [],
            "decisions": {},
            "values": {},
        }
        if turn is None:
            self._last_picture = {}
        else:
            frame |= {
                "moves": dict(turn.joint_move),
                "percepts": {role: list(seen) for role, seen in turn.percepts.items()},
                "views": {role: self.view(seen) for role, seen in turn.percepts.items()},
                "marks": (marks := self.marks(turn.joint_move, self._last_picture, state)),
                "ended": self._decisive_cells(fluents, state, marks) if over else [],
                "faults": [{"role": f.role, "text": f.text} for f in turn.faults],
                "decisions": {r: decision_json(d) for r, d in turn.decisions.items()},
                "values": _values(turn),
            }
        self._last_picture = state
        return frame | {"words": self.words_in(frame)}

    def _decisive_cells(self, fluents: tuple[str, ...], state: Json, marks: list[str]) -> list[str]:
        """The cells of what decided a match: the line, the chain, the pieces of the mate.

        They hold a smallest part of the board that leaves the game over with the same goals: no
        fluent of it can be taken away. Fluents that are not on boards stay, and those of the last
        move are tried last. Empty if nobody is ahead, if no small part of a board decided it, if
        the last move has no share in it (a side without its king loses on any board), or if it
        takes too long to find out.
        """
        items = sum(len(cell["items"]) for b in state["boards"] for cell in b["cells"])
        if not self._program.as_program().rules or not 0 < items <= MAX_PIECES:
            return []
        deadline = Deadline(cpu_seconds() + MAX_S, cpu_seconds)
        drawn = {}
        for text in fluents:
            if deadline.passed():
                return []
            drawn[text] = set(_filled(self.picture([text])))
        on_board = [text for text in fluents if drawn[text]]
        try:
            machine = build_machine(self._program, "prolog")  # which needs no compilation
            players = [i for i, role in enumerate(machine.roles) if role != RANDOM]

            def goals(texts: Iterable[str]) -> list[float] | None:
                state = read_states(machine, [tuple(texts)])
                if not machine.terminal(state)[0]:
                    return None
                return [float(goal) for goal in machine.goals(state)[0, players]]

            result = goals(fluents)
            if result is None or len(set(result)) < 2:
                return []
            kept = dict.fromkeys(fluents)
            with _unwarned():
                for text in sorted(on_board, key=lambda text: not drawn[text].isdisjoint(marks)):
                    if deadline.passed():
                        return []
                    if goals(other for other in kept if other != text) == result:
                        del kept[text]
        except GGPError as error:  # without some fluents, rules may say anything
            _log.info("what decided the match is not known: %s", error)
            return []
        cells = set[str]().union(*(drawn[text] for text in kept))
        is_small = len(cells) <= max(FEW_CELLS, len(on_board) // 2)
        return sorted(cells) if is_small and not cells.isdisjoint(marks) else []


@contextmanager
def _unwarned() -> Iterator[None]:
    """No warnings of goal values: what the rules say of impossible states is nobody's mistake."""
    logger = logging.getLogger(goal_values.__name__)
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def _filled(picture: Json) -> Iterator[str]:
    """The ids of the cells of a picture in which there is something."""
    for board in picture["boards"]:
        for cell in board["cells"]:
            if any(item["symbol"] for item in cell["items"]):
                yield cell["id"]


def _values(turn: TurnRecord) -> dict[str, float]:
    """Value that each player gave to its move, by role."""
    return {
        role: candidate.value
        for role, decision in turn.decisions.items()
        for candidate in decision.values
        if candidate.move == decision.move and candidate.value is not None
    }


class StateWords:
    """A machine's words for the states of a match, if its game has no rules.

    Args:
        program: rules of the match; a machine of its own follows it.
    """

    def __init__(self, program: GameDefinition) -> None:
        self._machine = None if program.as_program().rules else build_machine(program)

    def lines_after(self, turn: TurnRecord | None) -> list[str]:
        """Lines about the state after a turn; None starts again with the initial state."""
        machine = self._machine
        if not isinstance(machine, Wordy):
            return []
        if turn is None:
            self._state = machine.initial()
        else:
            moves = [machine.move_id(turn.joint_move[role]) for role in machine.roles]
            self._state = machine.step(self._state, np.array([moves])).states
        return machine.state_words(self._state).rstrip().splitlines()


def frames_of(record: MatchRecord, side_file: Path | None) -> Iterator[Json]:
    """Yield all frames of a record, by playing its moves again.

    Raises:
        MatchError: the record does not fit the rules of its game.
    """
    program = rules_of(record)
    states = check_record(record, program)
    artist = MatchArtist(program, side_file)
    for number, fluents in enumerate(states):
        turn = record.turns[number - 1] if number else None
        over = record.error is None and number == len(record.turns)
        yield artist.frame(number, turn, fluents, over=over)
