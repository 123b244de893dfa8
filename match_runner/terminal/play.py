"""`match-runner play` with people: matches in this process, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from ggp.console import EXIT_FAILED, EXIT_INTERRUPTED
from ggp.errors import ConfigError
from ggp.gdl.in_words import rules_in_words
from ggp.gdl.syntax.parser import parse
from ggp.machine import Machine
from ggp.machine.definition import GameDefinition
from ggp.machine.games import find_file
from ggp.players import parse_spec
from match_runner.match.guests import LeftError
from match_runner.match.knowledge import Knowledge
from match_runner.match.records import MatchRecord, make_folder, write_record
from match_runner.match.referee import play_match
from match_runner.match.seats import HUMAN, Arena, Seat, set_up
from match_runner.match.views import plain, show_record
from match_runner.pictures.layout import Artist
from match_runner.pictures.side_file import side_file_of
from match_runner.remote.post import is_address
from match_runner.series.holding import Held, StoragePlace
from match_runner.series.match_task import machines_of, order_of, rehearse
from match_runner.series.outcomes import Played
from match_runner.series.plan import Series, plan_all
from match_runner.terminal.person import Person, Screen


def check_place(place: StoragePlace) -> None:
    """Check that people can play in a place.

    Raises:
        ConfigError: they cannot.
    """
    for option, value in (
        ("--scheduler", place.scheduler),
        ("--jobs", place.jobs or None),
        ("--out", place.folder),
    ):
        if value is not None:
            raise ConfigError(
                f"a person plays in this terminal, one match after the other: leave out {option}"
            )


def play_with_people(
    series: Series, place: StoragePlace, show: Callable[[Held], None], *, as_json: bool
) -> int:
    """Play a series of one game in which people take part, and show its results.

    Args:
        series: of one game, without rotation; its players are named by their roles.
        place: see `check_place`; records are written.
        show: prints the matches that were played to their end.
        as_json: whether standard output is for that alone.

    Returns:
        the exit code of the command: 130 after Ctrl-C, 1 where the input ended during a match or
        a match failed.
    """
    if place.records is not None:
        make_folder(place.records)
    screen = Screen(sys.stderr if as_json else sys.stdout)
    sitting = _Sitting(series, screen)
    played: list[Played] = []
    code = 0
    for planned in plan_all(series):
        try:
            record = sitting.play(planned.seed)
        except KeyboardInterrupt:  # while others were thinking
            screen.left = LeftError("a person", interrupted=True)
        else:
            if place.records is not None:
                write_record(record, place.records)
        if screen.left is not None:
            screen.show(Text(), Text("You have left; the match ends here.", "bold"))
            code = _code_of(screen.left)
            break
        played.append(Played(planned, record))
        code = EXIT_FAILED if record.failed else code
        screen.show(Text(), Text("What really happened", "bold"))
        screen.show(*show_record(record, screen.console.encoding))
    if played:
        screen.show(Text())
        show(Held(series, len(plan_all(series)), played, {}))
    return code


def _code_of(left: LeftError) -> int:
    if left.interrupted:
        return EXIT_INTERRUPTED
    return 0 if left.said else EXIT_FAILED


def _rules_of(program: GameDefinition) -> Iterator[RenderableType]:
    """What `?` shows: the game in its author's words, then every rule."""
    description = program.describe()
    if description.title:
        yield plain(description.title, "bold")
        yield from (plain(paragraph) for paragraph in description.text.split("\n") if paragraph)
        for name, lines in description.sections.items():
            yield plain(f"{name}: {' '.join(lines)}")
    source = program.as_program().source
    for title, sentences in rules_in_words(parse(source.text, source.name).rules).items():
        yield Text(title, "bold")
        yield from (Padding(plain(each), (0, 0, 0, 2), expand=False) for each in sentences)


class _Sitting:
    """A session at the terminal: a game and those who play it, for all matches of a series."""

    def __init__(self, series: Series, screen: Screen) -> None:
        (self._game,) = series.games
        self._series, self._screen = series, screen
        program = self._game.program
        has_clock = self._game.conditions.play_clock_s is not None
        self._program, self._machines = machines_of(
            program.source.name, program.source.text, series.backend, series.limits, has_clock
        )
        file = find_file(self._game.name)
        self._artist = Artist(self._program, None if file is None else side_file_of(file))
        self._rules = list(_rules_of(self._program))
        self._people = [role for role, text in series.players.items() if text == HUMAN]
        others = {role: text for role, text in series.players.items() if text != HUMAN}
        if has_clock:  # a player that has not played before takes longer for its first move
            stand_ins = {**others, **dict.fromkeys(self._people, "random")}
            start_s = self._game.conditions.remote.start_clock_s
            arena = self._arena(stand_ins)
            rehearse(arena, program.source.text, start_s, own_process=True)
        self._others = others

    def play(self, seed: int) -> MatchRecord:
        """Play the match with this seed."""
        conditions = self._game.conditions
        if start_s := conditions.preparing_s:
            for role, text in self._others.items():
                if not is_address(text) and hasattr(parse_spec(text).player, "prepare"):
                    says = f"{text} may prepare as {role} for {start_s} s (--start-clock)."
                    self._screen.show(Text(says))
        guests = {role: Seat(HUMAN, self._maker(role, seed)) for role in self._people}
        return play_match(self._arena({**self._others, **guests}), seed, conditions)

    def _arena(self, players: Mapping[str, str | Seat]) -> Arena:
        apart = order_of(self._game.conditions, self._program, self._machines, self._series.limits)
        return set_up(
            self._game.name,
            self._program,
            players,
            self._machines,
            self._game.conditions.clock.tells,
            apart=apart,
        )

    def _maker(self, role: str, seed: int) -> Callable[[np.random.Generator], Person]:
        number = self._program.roles.index(role)
        machine: Machine = self._machines[1 + number]

        def make(_: np.random.Generator) -> Person:
            return Person(
                role,
                self._screen,
                self._artist,
                Knowledge(machine, number, seed),
                self._rules,
                clock_s=self._game.conditions.play_clock_s,
                is_alone=len(self._people) == 1,
            )

        return make
