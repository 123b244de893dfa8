"""Shows matches in the terminal while they are played, and lets people play in them.

Matches run in this process, one after the other (`match-runner play`). A match of programs is shown
turn by turn, with everything that happens. A person at a role sees pictures of the role's
knowledge, computed from its own moves and percepts and nothing else, and types moves.
"""

from __future__ import annotations

import io
import os
import select
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TextIO

import numpy as np
from rich import box
from rich.columns import Columns
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ggp import report
from ggp.console import EXIT_FAILED, EXIT_INTERRUPTED, console_on, spinner
from ggp.errors import ConfigError, GDLError
from ggp.gdl import parse_term, to_kif
from ggp.gdl.formal import IGNORED
from ggp.gdl.games import title_of
from ggp.gdl.nearest import nearest
from ggp.gdl.program import DISTINCT, DOES, GOAL, INIT, LEGAL, NEXT, ROLE, SEES, TERMINAL, TRUE
from ggp.gdl.source import printable
from ggp.gdl.syntax.parser import parse
from ggp.gdl.terms import Compound, Rule, Signature, Term, signature
from ggp.machine.definition import GameDefinition
from ggp.machine.games import find_file
from ggp.players import Decision, parse_spec
from ggp.search.anytime import Deadline
from match_runner.match.apart import NoAnswerError
from match_runner.match.frames import StateWords
from match_runner.match.knowledge import Knowledge
from match_runner.match.records import MatchRecord, TurnRecord
from match_runner.match.referee import LeftError, play_match
from match_runner.match.seats import HUMAN, Arena, Seat, set_up
from match_runner.match.views import percepts_text, plain, show_record, show_turn
from match_runner.pictures.kinds import KINDS, Json
from match_runner.pictures.layout import Artist
from match_runner.pictures.side_file import side_file_of
from match_runner.pictures.symbols import unfilled
from match_runner.remote.remote_players import is_address
from match_runner.series.holding import (
    RecordFiles,
    Snapshot,
    StoragePlace,
    each_warning_once,
    problems_of,
    report_problems,
)
from match_runner.series.match_task import machines_of, order_of, rehearse
from match_runner.series.outcomes import Played
from match_runner.series.plan import Series, plan_all
from match_runner.workers.executor import close_idle


def option_of_elsewhere(place: StoragePlace) -> str | None:
    """An option by which matches are played or kept elsewhere, not in this terminal; or None."""
    options = (
        ("--scheduler", place.scheduler),
        ("--jobs", place.jobs or None),
        ("--out", place.folder),
    )
    return next((option for option, value in options if value is not None), None)


def play_in_terminal(
    series: Series, place: StoragePlace, show: Callable[[Snapshot], None], *, as_json: bool
) -> int:
    """Play a series of one game, turn by turn before everybody's eyes, and show its results.

    Args:
        series: of one game, without rotation; the names of its players are their roles.
        place: where records are written.
        show: prints the finished matches.
        as_json: whether standard output is only for `show`.

    Returns:
        the exit code of the command: 130 after Ctrl-C by a person, 1 where the input ended during
        a match or something failed, see `problems_of`.

    Raises:
        ConfigError: people take part, and the place is not this terminal.
    """
    option = option_of_elsewhere(place)
    if option is not None:
        raise ConfigError(
            f"people play in this terminal, one match after the other: leave out {option}"
        )
    files = RecordFiles(place.records)
    screen = Screen(sys.stderr if as_json else sys.stdout)
    matches: list[Played] = []
    planned_matches = plan_all(series)
    with each_warning_once():
        with spinner(f"getting {title_of(series.games[0].name)} ready"):
            sitting = _Sitting(series, screen)
        for planned in planned_matches:
            try:
                record = sitting.play(planned.seed)
            except KeyboardInterrupt:  # while programs were thinking
                if not sitting.people:
                    raise
                screen.departure = LeftError("a person", interrupted=True)
            else:
                files.write(Played(planned, record))
            if screen.departure is not None:
                screen.show(Text(), Text("You left; the match ends here.", "bold"))
                break
            matches.append(Played(planned, record))
            if sitting.people:
                screen.show(Text(), Text("What really happened", "bold"))
                screen.show(*show_record(record, screen.console.encoding))
    close_idle()
    problems = files.problems
    if matches:
        screen.show(Text())
        snapshot = Snapshot(series, len(planned_matches), matches, {})
        show(snapshot)
        problems = [*problems_of(snapshot), *problems]
    code, departure = report_problems(problems), screen.departure
    if departure is None:
        return code
    if departure.interrupted:
        return EXIT_INTERRUPTED
    return 0 if departure.announced else EXIT_FAILED


def _rules_of(program: GameDefinition) -> Iterator[RenderableType]:
    """The answer to `rules`: the game in its author's words, then every rule."""
    description = program.describe()
    if description.title:
        yield plain(description.title, "bold")
        yield from (plain(paragraph) for paragraph in description.text.split("\n") if paragraph)
        for name, lines in description.sections.items():
            yield Text(name, "bold")
            yield from (Padding(plain(line), (0, 0, 0, 2), expand=False) for line in lines)
    source = program.as_program().source
    for title, sentences in rules_in_words(parse(source.text, source.name).rules).items():
        yield Text(title, "bold")
        yield from (Padding(plain(sentence), (0, 0, 0, 2), expand=False) for sentence in sentences)


class _Sitting:
    """A session at the terminal: a game and its players, for all matches of a series.

    Attributes:
        screen: where people read and type.
        game: the game of the series.
        program, machines: its rules, and machines for `set_up`.
        artist: draws the game.
        rules: the answer to `rules`.
        people: the roles that people play.
    """

    def __init__(self, series: Series, screen: Screen) -> None:
        (self.game,) = series.games
        self.screen, self._limits = screen, series.limits
        source = self.game.program.source
        has_clock = self.game.conditions.play_clock_s is not None
        self.program, self.machines = machines_of(
            source.name, source.text, series.backend, series.limits, has_clock
        )
        file = find_file(self.game.name)
        self.artist = Artist(self.program, None if file is None else side_file_of(file))
        self.rules = list(_rules_of(self.program))
        self.people = [role for role, text in series.players.items() if text == HUMAN]
        self._programs = {role: text for role, text in series.players.items() if text != HUMAN}
        if has_clock:  # a player that has not played before takes longer for its first move
            arena = self._arena(dict.fromkeys(self.people, "random"))
            start_s = self.game.conditions.remote.start_clock_s
            rehearse(arena, source.text, start_s, own_process=True)

    def play(self, seed: int) -> MatchRecord:
        """Play the match with this seed."""
        conditions = self.game.conditions
        if start_s := conditions.preparing_s:
            for role, text in self._programs.items():
                if not is_address(text) and hasattr(parse_spec(text).player, "prepare"):
                    note = f"{text} may prepare for {role} for {start_s} s (--start-clock)."
                    self.screen.show(Text(note))
        guests = {role: Seat(HUMAN, partial(Person, self, role, seed)) for role in self.people}
        arena = self._arena(guests)
        if guests:
            return play_match(arena, seed, conditions)
        with self.screen.console.status("turn 1") as status:
            return play_match(arena, seed, conditions, watcher=Spectator(self, status))

    def _arena(self, people: Mapping[str, str | Seat]) -> Arena:
        conditions, players = self.game.conditions, {**self._programs, **people}
        order = order_of(conditions, self.program, self.machines, self._limits)
        tells = conditions.clock.tells
        return set_up(self.game.name, self.program, players, self.machines, tells, order=order)


# ------------------------------------------------------------------------
# A match of programs, for whoever watches it.


class Spectator:
    """A `Watcher` that shows every turn when it is over, and the state that it leads to.

    Args:
        sitting: its screen shows the turns; a game without rules has words for its states.
        status: says which turn is being played.
    """

    def __init__(self, sitting: _Sitting, status: Status) -> None:
        self._screen, self._artist, self._status = sitting.screen, sitting.artist, status
        self._words = StateWords(sitting.program)
        self._number = 0

    def reached(self, turn: TurnRecord | None, fluents: tuple[str, ...], *, over: bool) -> None:
        """See `Watcher.reached`."""
        encoding = self._screen.console.encoding
        if turn is None:
            self._screen.show(Text("At the start", "bold"))
        else:
            self._number += 1
            self._screen.show(*show_turn(self._number, turn, encoding))
        self._status.update(f"turn {self._number + 1}")
        self._screen.show(*self._screen.drawn(self._artist.picture(fluents)))
        self._screen.show(*map(plain, self._words.lines_after(turn)))


# ------------------------------------------------------------------------
# A person's seat in a match: shows the role's knowledge, and asks for a move.
#
# Everything comes from the role's own moves and percepts (`Knowledge`), and from the legal moves,
# which the referee sends to the role that is to move.

HELP, RULES, AGAIN, HISTORY, QUIT = ("help", "?"), "rules", "", "history", "quit"
"""Commands that can be typed instead of a move; a legal move of that name takes precedence."""

_PROMPT = "Your move (number or text; help, rules, history, quit):"

_HELP = (
    "Type the number of a move, or its text; the parentheses around it may be left out.",
    "rules     the rules of the game",
    "history   your moves and percepts so far",
    "quit      leave the match",
    "Enter alone shows the turn again.",
)


class Person:
    """A `Guest` in the terminal.

    Args:
        role: name of the role that the person plays.
        seed: seed of the match.
    """

    states_visited = 0

    def __init__(self, sitting: _Sitting, role: str, seed: int, _: np.random.Generator) -> None:
        self._role, self._screen, self._artist = role, sitting.screen, sitting.artist
        index = sitting.program.roles.index(role)
        self._knowledge = Knowledge(sitting.machines[1 + index], index, seed)
        self._rules, self._clock_s = sitting.rules, sitting.game.conditions.play_clock_s
        self._is_alone = len(sitting.people) == 1
        self._legal: Sequence[str] = ()
        self._chosen = 0  # turns before the last choice
        self._turns: list[tuple[str, tuple[str, ...], str | None]] = []

    def observe(
        self,
        move: str | None,
        percepts: Sequence[str] | None,
        *,
        submitted: str | None = None,
        in_time: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        """Take in a turn that is over."""
        assert move is not None
        assert percepts is not None
        self._turns.append((move, tuple(percepts), submitted))
        self._knowledge.observe(move, percepts, submitted, in_time=in_time)

    def invite(self, legal: Sequence[str]) -> None:
        """Begin a turn; the question to the person follows after the players have moved."""
        self._legal = legal

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        """Ask the person for a move, and return the one typed; a forced move plays itself.

        Raises:
            NoAnswerError: the clock ran out.
            LeftError: the person left.
        """
        began_s = time.monotonic()
        if len(self._legal) == 1:
            return Decision(self._legal[0], (), 0, False, 0, 0.0)
        try:
            if not self._is_alone:
                self._screen.console.clear()
                self._screen.ask(f"{printable(self._role)} is to move. Press Enter.")
                began_s = time.monotonic()
            move = self._ask_for_move(None if self._clock_s is None else began_s + self._clock_s)
        except TimeIsUpError:
            self._screen.show(Text("Time is up: you play a random legal move.", "yellow"))
            raise NoAnswerError(f"gave no answer within {self._clock_s:g} s") from None
        except EOFError:
            raise self._leave() from None
        except KeyboardInterrupt:
            raise self._leave(interrupted=True) from None
        self._chosen = len(self._turns)
        return Decision(move, (), 0, False, 0, time.monotonic() - began_s)

    def ended(
        self, move: str | None, percepts: Sequence[str] | None, goal: float | None = None
    ) -> None:
        """Show the last turn and the score."""
        assert move is not None
        self._turns.append((move, tuple(percepts or ()), None))
        score = "" if goal is None else f" {printable(self._role)} scores {goal:g}."
        self._screen.show(Text(), *self._latest_turns(), Text(f"The match is over.{score}", "bold"))

    def _leave(self, *, interrupted: bool = False, announced: bool = False) -> LeftError:
        self._screen.departure = LeftError(self._role, interrupted=interrupted, announced=announced)
        return self._screen.departure

    # ---------------------------------------------------------------- asking

    def _ask_for_move(self, until_s: float | None) -> str:
        self._screen.show(*self._view())
        while True:
            time_left = "" if until_s is None else f"{max(until_s - time.monotonic(), 0.0):.0f} s. "
            answer = self._screen.ask(f"{time_left}{_PROMPT}", until_s)
            move = self._read_move(answer)
            if move is not None:
                return move
            if answer.lower() in HELP:
                self._screen.show(*map(Text, _HELP))
            elif answer.lower() == RULES:
                self._screen.show(*self._rules)
            elif answer == AGAIN:
                self._screen.show(*self._view())
            elif answer.lower() == HISTORY:
                self._screen.show(*self._history())
            elif answer.lower() == QUIT:
                raise self._leave(announced=True)
            else:
                self._screen.show(plain(self._complaint(answer), "yellow"))

    def _read_move(self, answer: str) -> str | None:
        """The legal move that an answer names: its number, or its text, parentheses optional."""
        for text in (answer, f"({answer})"):
            try:
                move = to_kif(parse_term(text))
            except GDLError:
                continue
            if move in self._legal:
                return move
        if answer.isascii() and answer.isdigit() and 1 <= int(answer[:9]) <= len(self._legal):
            return self._legal[int(answer[:9]) - 1]
        return None

    def _complaint(self, answer: str) -> str:
        bare = {move.strip("()"): move for move in self._legal}
        suggestion = nearest(answer.strip("()").lower(), bare)
        hint = "" if suggestion is None else f" Did you mean {bare[suggestion]}?"
        return f"{answer[:60]} is not one of your {len(self._legal)} moves.{hint}"

    # ---------------------------------------------------------------- showing

    def _view(self) -> Iterator[RenderableType]:
        """Yield everything that the role knows now, and its legal moves."""
        yield Text()
        yield plain(f"Turn {len(self._turns) + 1}: you are {self._role}", "bold")
        yield from self._latest_turns()
        facts = self._knowledge.facts()
        if not facts.states:
            yield Text("No picture: no state was found that fits your percepts.", "dim")
        else:
            yield Text(_about(facts.states, facts.exact), "dim")
            yield from self._screen.drawn(self._artist.certain(facts.shares))
        if facts.words:
            yield Padding(plain(facts.words.rstrip()), (0, 0, 0, 2), expand=False)
        yield Text("Your legal moves:", "dim")
        sure = facts.legal if facts.states else frozenset(self._legal)
        width = len(str(len(self._legal)))
        moves = [
            plain(
                f"{number:>{width}}. {move}"
                f"{f' [{facts.move_words[move]}]' if facts.move_words.get(move) else ''}"
                f"{'' if move in sure else ' (*)'}"
            )
            for number, move in enumerate(self._legal, 1)
        ]
        yield Padding(Columns(moves, padding=(0, 3)), (0, 0, 0, 2), expand=False)
        if any(move not in sure for move in self._legal):
            yield Text("(*) You cannot know from your percepts that this is legal.", "dim")

    def _latest_turns(self) -> Iterator[Text]:
        """Yield the turns since the last choice."""
        for number in range(self._chosen, len(self._turns)):
            yield from self._turn_text(number)

    def _turn_text(self, number: int) -> Iterator[Text]:
        move, percepts, submitted = self._turns[number]
        text = Text.assemble(f"In turn {number + 1} you played ", plain(move, "bold"))
        if submitted is not None and submitted != move:
            text.append_text(plain(f" (not {submitted}, which was illegal or late)", "yellow"))
        yield Text.assemble(text, " and saw ", percepts_text(percepts), ".")

    def _history(self) -> Iterator[RenderableType]:
        if not self._turns:
            yield Text("Nothing has happened yet.", "dim")
        for number in range(len(self._turns)):
            yield from self._turn_text(number)


def _about(states: int, exact: bool) -> str:
    """Heading of a picture of the role's knowledge, which says how to read it."""
    if exact and states == 1:
        return "The state, which you know:"
    if exact:
        return f"These facts hold in all {states:,} possible states:"
    return f"These facts hold in {states:,} sampled states; there may be others:"


# ------------------------------------------------------------------------
# Pictures of states, drawn with rich: grids, tables, and other kinds of parts in words.

_STYLES = ("bold cyan", "bold magenta", "bold yellow", "bold green", "bold red", "bold blue")
_MARKS = ("underline", "underline2", "overline", "italic", "strike")
"""Styles that mark the pieces of every role but the first, where symbols do not show the owner."""

_WIDEST = 12
"""Most characters of a cell; longer texts are cut."""


def draw(
    picture: Json, encoding: str = "utf-8", *, colours: bool = True
) -> Iterator[RenderableType]:
    """Draw the parts of a picture, one below the other.

    Args:
        encoding: encoding of the terminal: words replace symbols that it lacks.
        colours: whether it shows colours; otherwise the first letter of the role marks its pieces.
    """
    pen = _Pen(picture["owners"], encoding, colours)
    drawers = {"boards": pen.boards, "tables": _tables}
    for name, kind in KINDS.items():
        if name in drawers:
            yield from drawers[name](picture[name])
        elif picture[name]:
            yield plain("  ".join(map(kind.words, picture[name])))


class _Pen:
    """Draws boards.

    Attributes:
        legend: roles whose colours were used.
    """

    def __init__(self, owners: Sequence[str], encoding: str, colours: bool) -> None:
        self._owners, self._encoding, self._colours = list(owners), encoding, colours
        self.legend: dict[str, None] = {}

    def style(self, owner: str) -> str:
        """Style of a role's pieces: its colour."""
        return _STYLES[self._owners.index(owner) % len(_STYLES)]

    def boards(self, boards: Sequence[Json]) -> Iterator[RenderableType]:
        """Yield all boards, and a legend of colours."""
        for board in boards:
            if len(boards) > 1:
                yield plain(board["title"], "dim")
            yield self._grid(board)
        if self.legend:
            yield Text("  ").join(plain(owner, self.style(owner)) for owner in self.legend)

    def _grid(self, board: Json) -> Table:
        """A board with its coordinates."""
        lines = box.SQUARE if self._encoding.lower().startswith("utf") else box.ASCII2
        has_rows = len(board["rows"]) > 1 or board["rows"][0] != ""
        grid = Table(box=lines, show_lines=True)
        if has_rows:
            grid.add_column("", style="dim", justify="right")
        for name in board["columns"]:
            grid.add_column(plain(name, "dim"), justify="center", min_width=1, no_wrap=True)
        cells = {(cell["row"], cell["column"]): cell for cell in board["cells"]}
        for row, name in enumerate(board["rows"]):
            row_cells = (cells.get((row, column)) for column in range(len(board["columns"])))
            grid.add_row(*([plain(name)] if has_rows else []), *map(self._cell, row_cells))
        return grid

    def _cell(self, cell: Json | None) -> Text:
        text = Text()
        for item in cell["items"] if cell is not None else ():
            symbol = unfilled(item["symbol"], item["owner"])
            mark = symbol if _fits(symbol, self._encoding) else item["text"]
            if len(mark) > _WIDEST:
                mark = f"{mark[: _WIDEST - 1]}."
            style = ""
            if mark and item["owner"] in self._owners:
                if self._colours:
                    style = self.style(item["owner"])
                    if item["mark"]:
                        style = f"{style} {_MARKS[(item['mark'] - 1) % len(_MARKS)]}"
                    self.legend[item["owner"]] = None
                elif mark == symbol:
                    mark += item["owner"][:1]
            if mark:
                text.append_text(plain(f" {mark}" if len(text) else mark, style))
        return text


def _tables(tables: Sequence[Json]) -> Iterator[RenderableType]:
    for table in tables:
        head = [str(header) or " " for header in table["headers"]]
        yield report.Table(head, table["rows"], table["title"])


def _fits(symbol: str, encoding: str) -> bool:
    try:
        symbol.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# ------------------------------------------------------------------------
# A screen: shows texts to a person, and reads the lines that the person types.
#
# It reads lines from the file descriptor, not through Python's buffers: only then can a clock run
# out while nobody types.

_MAX_BYTES = 65_536
"""Most bytes of a line; longer ones are cut."""


class TimeIsUpError(Exception):
    """No line came in time."""


class Screen:
    """A console for output, and a source of lines.

    Args:
        out: stream to show everything on.
        source: stream to read lines from.

    Attributes:
        departure: who left the current match, and how; None while everybody plays.
    """

    def __init__(self, out: TextIO, source: TextIO | None = None) -> None:
        self.console: Console = console_on(out)
        self._source = sys.stdin if source is None else source
        self._buffer = b""
        self.departure: LeftError | None = None
        try:
            self._file: int | None = self._source.fileno()
        except (OSError, ValueError, io.UnsupportedOperation):
            self._file = None

    def show(self, *parts: RenderableType) -> None:
        """Print anything that rich can print."""
        for part in parts:
            self.console.print(part)

    def drawn(self, picture: Json) -> Iterator[RenderableType]:
        """The parts of a picture as this console can show them, indented."""
        colours = self.console.color_system is not None
        parts = draw(picture, self.console.encoding, colours=colours)
        yield from (Padding(part, (0, 0, 0, 2), expand=False) for part in parts)

    def ask(self, prompt: str, until_s: float | None = None) -> str:
        """Ask for a line, and return it without its end.

        Args:
            until_s: moment on `time.monotonic` at which time is up; None for no limit.

        Raises:
            TimeIsUpError: no line came in time.
            EOFError: there are no more lines.
        """
        self.console.print(prompt, end=" ", soft_wrap=True)
        self.console.file.flush()
        if self._file is None:
            line = self._source.readline()
            if not line:
                raise EOFError
            return line.strip()
        while b"\n" not in self._buffer:
            if until_s is not None:
                left_s = max(until_s - time.monotonic(), 0.0)
                if not select.select([self._file], [], [], left_s)[0]:
                    self.console.print()
                    raise TimeIsUpError
            read = os.read(self._file, _MAX_BYTES)
            self._buffer = (self._buffer + read)[-_MAX_BYTES:]
            if not read:
                if not self._buffer:
                    raise EOFError
                break
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "replace").strip()


# ------------------------------------------------------------------------
# The rules of a game as English sentences, one for each rule.
#
# (<= (legal ?r (mark ?x)) (true (control ?r)) (not (taken ?x)))
#     ?r may (mark ?x) if (control ?r) is true and not (taken ?x)
#
# Only keywords become words. An author's own names stay, since only the author knows their meaning.
# Each sentence says exactly what its rule says.

_TITLES: Mapping[Signature, str] = {
    ROLE: "Who plays",
    INIT: "At the start",
    LEGAL: "Moves",
    NEXT: "After each turn",
    SEES: "What roles see after a turn, besides their own moves",
    TERMINAL: "The end",
    GOAL: "Scores",
}
_TOLD: Mapping[Signature, str] = {
    LEGAL: "{} may {}",
    NEXT: "{} will be true",
    SEES: "{} sees {}",
    GOAL: "{} scores {}",
    TERMINAL: "the game is over",
}
_CONCLUSIONS = {**_TOLD, INIT: "{} is true", ROLE: "{} plays"}
_CONDITIONS = {
    **_TOLD,
    DISTINCT: "{} is not {}",
    ROLE: "{} is a role",
    TRUE: "{} is true",
    DOES: "{} plays {}",
}
_NEGATIONS: Mapping[Signature, str] = {
    TRUE: "{} is not true",
    DOES: "{} does not play {}",
    ROLE: "{} is not a role",
    DISTINCT: "{} is {}",
    LEGAL: "{} may not {}",
    TERMINAL: "the game is not over",
}
_OWN = "What these words mean"
_FACTS = "What is always true"

_MAX_FACTS = 40
"""Most facts of one relation that we list."""


def rules_in_words(rules: Iterable[Rule]) -> dict[str, list[str]]:
    """Sentences by title, in reading order; titles without sentences are left out."""
    sentences: dict[str, list[str]] = {title: [] for title in (*_TITLES.values(), _OWN, _FACTS)}
    facts: dict[Signature, list[str]] = {}
    for rule in rules:
        relation = signature(rule.head)
        if relation in IGNORED:
            continue
        if relation in (INIT, ROLE) and not rule.body and isinstance(rule.head, Compound):
            facts.setdefault(relation, []).append(str(rule.head.args[0]))
        elif relation not in _TITLES and not rule.body:
            facts.setdefault(relation, []).append(str(rule.head))
        else:
            sentences[_TITLES.get(relation, _OWN)].append(sentence(rule))
    for relation, listed in facts.items():
        num_hidden = len(listed) - _MAX_FACTS
        end = f", and {num_hidden:,} more" if num_hidden > 0 else ""
        lines = sentences[_TITLES.get(relation, _FACTS)]
        first = 0 if relation in _TITLES else len(lines)
        lines.insert(first, ", ".join(listed[:_MAX_FACTS]) + end)
    return {title: lines for title, lines in sentences.items() if lines}


def sentence(rule: Rule) -> str:
    """A rule or fact in words, without a full stop."""
    if not rule.body:
        return _concludes(rule.head)
    return f"{_concludes(rule.head)} if {_joined('and', rule.body)}"


def _concludes(head: Term) -> str:
    """The words for a head."""
    return _in_words(_CONCLUSIONS, head) or str(head)


def _holds(term: Term) -> str:
    """A condition in words."""
    args = term.args if isinstance(term, Compound) else ()
    match signature(term):
        case ("not", 1):
            return _fails(args[0])
        case ("or" | "and" as word, _) if args:
            return _joined(word, args)
    return _in_words(_CONDITIONS, term) or str(term)


def _fails(term: Term) -> str:
    """The words for the negation of a condition."""
    if isinstance(term, Compound) and signature(term) == ("not", 1):
        return _holds(term.args[0])
    return _in_words(_NEGATIONS, term) or f"not {_inner(term)}"


def _in_words(texts: Mapping[Signature, str], term: Term) -> str:
    """A term in words; empty where there are none for its relation."""
    return texts.get(signature(term), "").format(*(term.args if isinstance(term, Compound) else ()))


def _inner(term: Term) -> str:
    """A condition in words, in parentheses if it consists of several conditions."""
    text = _holds(term)
    is_joined = isinstance(term, Compound) and term.name in ("or", "and") and len(term.args) > 1
    return f"({text})" if is_joined else text


def _joined(word: str, terms: Sequence[Term]) -> str:
    return f" {word} ".join(map(_inner, terms))
