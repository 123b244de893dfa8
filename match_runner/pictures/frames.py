"""What is shown of a match after each turn: pictures of states and percepts, moves, thoughts.

Made in worker processes, out of canonical KIF, as JSON values:

    {"turn": 3, "over": false, "state": picture, "moves": {role: move}, "percepts": {role: [...]},
     "views": {role: picture of the percepts}, "marks": [cells of the moves], "faults": [...],
     "decisions": {role: decision}}
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
from ggp.players.decision_json import decision_json
from match_runner.match.records import MatchRecord, TurnRecord
from match_runner.match.replay import check_record, rules_of
from match_runner.pictures import Layout
from match_runner.pictures.kinds import KINDS
from match_runner.pictures.kinds.facts import fact

Json = dict[str, Any]

_MOST_TERMS = 100_000
"""Terms that are kept read: states of a match have most of their fluents in common."""


class Artist:
    """Draws the states and percepts of one game.

    Args:
        program: its rules.
        side_file: says how to draw it; None for what the rules alone tell.
    """

    def __init__(self, program: GameDefinition, side_file: Path | None = None) -> None:
        rules = program.as_program()
        self.layout = Layout.of(rules, side_file)
        self._words = None if rules.rules else StateWords(program)

    def picture(self, texts: Iterable[str]) -> Any:
        """What these terms, canonical KIF, look like."""
        return self.layout.picture(map(term_of, texts)).to_json()

    def heat(self, shares: Mapping[str, float]) -> Any:
        """What terms look like that hold with some probability each."""
        return self.layout.heat({term_of(text): share for text, share in shares.items()})

    def certain(self, shares: Mapping[str, float]) -> Any:
        """What is certain: terms that hold for sure, and a sign in cells where others may."""
        picture = self.heat(shares)
        for name, kind in KINDS.items():
            sure = map(kind.certain, picture[name])
            picture[name] = [part for part in sure if part is not None]
        return picture

    def cells(self, move: str, role: str) -> list[str]:
        """The cells that a move of a role names, in order."""
        return list(self.layout.cells_of_move(term_of(move), role))

    def marks(self, moves: Mapping[str, str]) -> list[str]:
        """The cells that moves name, by role."""
        return [cell for role, move in moves.items() for cell in self.cells(move, role)]

    def frame(
        self, number: int, turn: TurnRecord | None, fluents: Iterable[str], *, over: bool
    ) -> Json:
        """Everything there is to see after a turn; before the first, `turn` is None.

        Turns come one after the other.
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
        }
        if turn is not None:
            frame |= {
                "moves": dict(turn.joint_move),
                "percepts": {role: list(seen) for role, seen in turn.percepts.items()},
                "views": {role: self.view(seen) for role, seen in turn.percepts.items()},
                "marks": self.marks(turn.joint_move),
                "faults": [{"role": f.role, "text": f.text} for f in turn.faults],
                "decisions": {r: decision_json(d) for r, d in turn.decisions.items()},
            }
        return frame

    def view(self, percepts: Sequence[str]) -> Any:
        """A picture of percepts, where one says more than their list; else None."""
        if not percepts:
            return None
        picture = self.picture(percepts)
        shown = any(kind.is_view(part) for name, kind in KINDS.items() for part in picture[name])
        return picture if shown else None


class StateWords:
    """What a machine says of the states of a match, where it has words for them.

    Args:
        program: of the match; it is followed on a machine of its own.
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
    """All frames of a record, whose moves are played again.

    Raises:
        MatchError: it does not fit the rules of its game.
    """
    program = rules_of(record)
    states = check_record(record, program)
    artist = Artist(program, side_file)
    for number, fluents in enumerate(states):
        turn = record.turns[number - 1] if number else None
        over = record.error is None and number == len(record.turns)
        yield artist.frame(number, turn, fluents, over=over)
