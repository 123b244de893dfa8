"""What the lobby shows of a game: its first choice, what is hidden, how many turns a match takes.

The rules come in; JSON for a card of the lobby goes out. Some random matches are played on the
plain Prolog machine, which needs no preparation. The knowledge of each role shows which facts are
hidden; it follows matches until something is. The picture shows what the first role to choose
knows by then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ggp.errors import ConfigError, GGPError
from ggp.gdl.analysis.told_moves import move_percept
from ggp.gdl.program import RANDOM
from ggp.machine import Machine, build_machine
from ggp.machine.base import IntArray, States
from ggp.machine.definition import GameDefinition
from ggp.machine.games import read_program
from ggp.run.clocks import cpu_seconds
from ggp.search.anytime import Deadline
from ggp.study.matches import LaneTurn
from match_runner.match.knowledge import Knowledge
from match_runner.pictures.kinds import Json
from match_runner.pictures.layout import Artist

MATCHES, TURNS = 10, 200
"""Most random matches, and most turns of all of them together."""

FOLLOWING_S = 0.5
"""Most seconds of processor time in which a role's knowledge follows one turn."""

MAX_S = 4.0
"""Most seconds of processor time for one game, so that a busy machine shows what any other does."""

MAX_HIDDEN, MAX_MOVES = 2, 3

_PLACE = re.compile(r"^<term>:\d+:\d+: (error: )?")
"""Where an error is in a term that no file has."""


def preview(name: str, text: str, side_file: str | None) -> Json:
    """A game for its card in the lobby.

    Returns:
        `roles`, without `random`; `has_chance`; `hidden`, in a few words each, empty if nothing
        was, and None if that was not found out in time; `turns` with `least`, `most`, and whether
        any match ended (`ends`); `picture`, and in words a few `moves` of that choice.

    Raises:
        ConfigError: the rules cannot be played; says why in one line.
    """
    try:
        return _preview(name, text, None if side_file is None else Path(side_file))
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
