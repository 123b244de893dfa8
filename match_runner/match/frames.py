"""Frames of a match, one after each turn: pictures of states and percepts, moves, decisions.

The table and `match-runner picture` show them. Worker processes make frames from canonical KIF, as
JSON values:

    {"turn": 3, "over": false, "state": picture, "moves": {role: move}, "percepts": {role: [...]},
     "views": {role: picture of the percepts}, "marks": [cells of the moves], "faults": [...],
     "decisions": {role: decision}, "values": {role: value of its move},
     "words": {"moves": {move: text}, "percepts": {percept: text}}}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from ggp.machine import build_machine
from ggp.machine.abilities import Wordy
from ggp.machine.definition import GameDefinition
from ggp.players.elsewhere.from_json import decision_json
from match_runner.match.records import MatchRecord, TurnRecord, check_record, rules_of
from match_runner.pictures.kinds import Json, fact
from match_runner.pictures.layout import Artist


class MatchArtist(Artist):
    """Draws one match, turn by turn.

    Args:
        program: rules of its game.
        side_file: see `Artist`.
    """

    def __init__(self, program: GameDefinition, side_file: Path | None = None) -> None:
        super().__init__(program, side_file)
        self._words = None if program.as_program().rules else StateWords(program)
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
        state = self.picture(fluents)
        if self._words is not None:
            lines = self._words.lines_after(turn)
            state["facts"] = [*map(fact, lines), *state["facts"]]
        frame: Json = {
            "turn": number,
            "over": over,
            "state": state,
            "moves": {},
            "percepts": {},
            "views": {},
            "marks": [],
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
                "marks": self.marks(turn.joint_move, self._last_picture, state),
                "faults": [{"role": f.role, "text": f.text} for f in turn.faults],
                "decisions": {r: decision_json(d) for r, d in turn.decisions.items()},
                "values": _values(turn),
            }
        self._last_picture = state
        return frame | {"words": self.words_in(frame)}


def _values(turn: TurnRecord) -> dict[str, float]:
    """Value that each player gave to its move, by role."""
    return {
        role: candidate.value
        for role, decision in turn.decisions.items()
        for candidate in decision.values
        if candidate.move == decision.move and candidate.value is not None
    }


class StateWords:
    """A machine's words for the states of a match, if it has any.

    Args:
        program: rules of the match; a machine of its own follows it.
    """

    def __init__(self, program: GameDefinition) -> None:
        self._machine = build_machine(program)
        self._state = self._machine.initial()

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
