"""Frames of a match, one after each turn: pictures of states and percepts, moves, decisions.

They are made in worker processes, from canonical KIF, as JSON values:

    {"turn": 3, "over": false, "state": picture, "moves": {role: move}, "percepts": {role: [...]},
     "views": {role: picture of the percepts}, "marks": [cells of the moves], "faults": [...],
     "decisions": {role: decision}, "values": {role: value of its move},
     "words": {"moves": {move: text}, "percepts": {percept: text}}}
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ggp.gdl import Term, parse_term
from ggp.machine import build_machine
from ggp.machine.abilities import Wordy
from ggp.machine.definition import GameDefinition
from ggp.players.elsewhere.from_json import decision_json
from match_runner.match.records import MatchRecord, TurnRecord
from match_runner.match.replay import check_record, rules_of
from match_runner.pictures import Layout
from match_runner.pictures.in_words.words import in_order
from match_runner.pictures.kinds import KINDS
from match_runner.pictures.kinds.facts import fact

Json = dict[str, Any]

_MOST_TERMS = 100_000
"""Most parsed terms that are kept: states of a match have most of their fluents in common."""


class Artist:
    """Draws the states and percepts of one game.

    Args:
        program: its rules.
        side_file: a file that says how to draw it; None to go by the rules alone.
    """

    def __init__(self, program: GameDefinition, side_file: Path | None = None) -> None:
        rules = program.as_program()
        self.layout = Layout.of(rules, side_file)
        self._words = None if rules.rules else StateWords(program)
        self._before: Json = {}  # the picture of the state before the turn

    def picture(self, texts: Iterable[str]) -> Any:
        """Picture of some terms, given in canonical KIF."""
        return self.layout.picture(map(term_of, texts)).to_json()

    def heat(self, shares: Mapping[str, float]) -> Any:
        """Picture of terms that hold with some probability each."""
        return self.layout.heat({term_of(text): share for text, share in shares.items()})

    def certain(self, shares: Mapping[str, float]) -> Any:
        """Picture of the terms that certainly hold, with `UNKNOWN` in cells where others may."""
        picture = self.heat(shares)
        for name, kind in KINDS.items():
            sure = map(kind.certain, picture[name])
            picture[name] = [part for part in sure if part is not None]
        return picture

    def cells(self, move: str, role: str) -> list[str]:
        """Cells that a move of a role names, in order."""
        return list(self.layout.cells_of_move(term_of(move), role))

    def drops_in(self, move: str) -> bool:
        """Whether a move may be made on every cell of a column."""
        return self.layout.drops_in(term_of(move))

    def words_of(
        self, moves: Iterable[tuple[str, str]], percepts: Iterable[str] = ()
    ) -> dict[str, dict[str, str]]:
        """What people read for moves, each given with its role, and for percepts."""
        words = self.layout.words
        return {
            "moves": {move: words.move(term_of(move), role) for role, move in moves},
            "percepts": {each: words.percept(term_of(each)) for each in percepts},
        }

    def words_in(self, frame: Json) -> dict[str, dict[str, str]]:
        """What people read for all moves and percepts of a frame."""
        decided = [
            (role, value["move"])
            for role, decision in frame["decisions"].items()
            for value in decision["values"]
        ]
        seen = [percept for saw in frame["percepts"].values() for percept in saw]
        return self.words_of([*frame["moves"].items(), *decided], seen)

    def fluent(self, text: str) -> str:
        """A fluent in words."""
        return self.layout.words.fluent(term_of(text)) or in_order(term_of(text))

    def marks(self, moves: Mapping[str, str], before: Json, after: Json) -> list[str]:
        """Cells that moves name, and for what is dropped into a column, where it came to rest.

        Args:
            before, after: the picture before and after the moves, as somebody sees it who may know
                the marks; empty if there was none.
        """
        found: list[str] = []
        for role, move in moves.items():
            named = self.cells(move, role)
            fell = self.drops_in(move)
            found += (fell and _new_in_columns(before, after, named)) or named
        return found

    def frame(
        self, number: int, turn: TurnRecord | None, fluents: Iterable[str], *, over: bool
    ) -> Json:
        """Frame with everything there is to see after a turn; before the first, `turn` is None.

        It must be called turn by turn, in order.
        """
        state = self.picture(fluents)
        if self._words is not None:
            lines = self._words.after(turn)
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
            self._before = {}
        else:
            frame |= {
                "moves": dict(turn.joint_move),
                "percepts": {role: list(seen) for role, seen in turn.percepts.items()},
                "views": {role: self.view(seen) for role, seen in turn.percepts.items()},
                "marks": self.marks(turn.joint_move, self._before, state),
                "faults": [{"role": f.role, "text": f.text} for f in turn.faults],
                "decisions": {r: decision_json(d) for r, d in turn.decisions.items()},
                "values": _values(turn),
            }
        self._before = state
        return frame | {"words": self.words_in(frame)}

    def view(self, percepts: Sequence[str]) -> Any:
        """A picture of percepts, where one says more than their list; else None."""
        if not percepts:
            return None
        picture = self.picture(percepts)
        shown = any(kind.is_view(part) for name, kind in KINDS.items() for part in picture[name])
        return picture if shown else None


def _new_in_columns(before: Json, after: Json, named: Sequence[str]) -> list[str]:
    """Cells in the columns of some cells that show something which was not there before."""
    was = {
        (cell["id"], item["title"])
        for board in before.get("boards", ())
        for cell in board["cells"]
        for item in cell["items"]
    }
    found = []
    for board in after.get("boards", ()):
        columns = {cell["column"] for cell in board["cells"] if cell["id"] in named}
        for cell in board["cells"]:
            new = [item for item in cell["items"] if (cell["id"], item["title"]) not in was]
            if cell["column"] in columns and any(item["symbol"] not in ("", "?") for item in new):
                found.append(cell["id"])
    return found


def _values(turn: TurnRecord) -> dict[str, float]:
    """The value that each player gave to the move that it chose."""
    return {
        role: each.value
        for role, decision in turn.decisions.items()
        for each in decision.values
        if each.move == decision.move and each.value is not None
    }


class StateWords:
    """A machine's words for the states of a match, if it has any.

    Args:
        program: rules of the match, which is followed on a machine of its own.
    """

    def __init__(self, program: GameDefinition) -> None:
        self._machine = build_machine(program)
        self._state = self._machine.initial()

    def after(self, turn: TurnRecord | None) -> list[str]:
        """Lines about the next state; a turn of None begins anew."""
        machine = self._machine
        if not isinstance(machine, Wordy):
            return []
        if turn is None:
            self._state = machine.initial()
        else:
            moves = [machine.move_id(turn.joint_move[role]) for role in machine.roles]
            self._state = machine.step(self._state, np.array([moves])).states
        return machine.state_words(self._state).rstrip().splitlines()


@lru_cache(maxsize=_MOST_TERMS)
def term_of(text: str) -> Term:
    """A term of canonical KIF."""
    return parse_term(text)


def frames_of(record: MatchRecord, side_file: Path | None) -> Iterator[Json]:
    """Yield all frames of a record, whose moves are played again.

    Raises:
        MatchError: the record does not fit the rules of its game.
    """
    program = rules_of(record)
    states = check_record(record, program)
    artist = Artist(program, side_file)
    for number, fluents in enumerate(states):
        turn = record.turns[number - 1] if number else None
        over = record.error is None and number == len(record.turns)
        yield artist.frame(number, turn, fluents, over=over)
