"""A match in the messages of a game server: writes what players are sent, reads their answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ggp.errors import ConfigError, GDLError, RemoteProtocolError
from ggp.gdl import parse, parse_term, to_kif
from ggp.gdl.program import KEYWORD_ARITY, RANDOM
from ggp.gdl.syntax.names import ARROWS, spelled
from ggp.gdl.syntax.tuples import TUPLE, UNNAMED, Tuples
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Symbol, Term, Variable
from ggp.machine.definition import GameDefinition
from ggp.protocol.forms import print_message
from ggp.protocol.messages import WIRE_STYLES, Abort, Dialect, Message, Play, Start, Stop, WireStyle
from ggp.protocol.reading import parse_reply

_SEES_MOVES = "(<= (sees ?p (did ?p2 ?m)) (role ?p) (does ?p2 ?m))"
"""Rule that servers add to plain GDL for GDL-II players."""

_MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class LastTurn:
    """Everything that a server may tell a role of the last turn.

    Attributes:
        move: the move executed for that role.
        percepts: percepts of that role.
        joint_move: the moves of all roles, in role order.
    """

    move: str
    percepts: tuple[str, ...]
    joint_move: tuple[str, ...]


class NotAMoveError(RemoteProtocolError):
    """An answer that no server would read as a move, legal or not."""


class Wire:
    """The messages of matches of one game.

    Args:
        program: the rules; they are sent as they were written, but in KIF, and by servers that
            take any letter case in upper case.
        server: the server that is imitated.
        dialect: dialect of the messages; None for the newest that suits the rules.
        rng: draws changed names; None to leave names as they are.

    Raises:
        ConfigError: the dialect does not suit the rules or the server.
    """

    def __init__(
        self,
        program: GameDefinition,
        server: Server,
        dialect: Dialect | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        is_gdl2 = program.as_program().is_gdl2
        self.dialect = dialect or (Dialect.GDL2 if is_gdl2 else Dialect.GDL)
        if self.dialect is Dialect.GDL and is_gdl2:
            raise ConfigError(
                f"the dialect gdl tells all players every move, which the rules of "
                f"{program.source.name} hide; use gdl2 or gdl2-old"
            )
        self._style = _style(server, self.dialect)
        self._any_case = server.any_case
        sheet = parse(program.source.text, program.source.name)
        # Servers that take any letter case write in upper case.
        self._spelling = {} if server.any_case else sheet.spelling
        self._tuples = None
        if sheet.spelling.get(TUPLE) == "":
            self._tuples = Tuples(sheet.rules)
            self._spelling = {**self._spelling, **UNNAMED}
        self._scrambler = Scrambler(names_of(sheet.rules), rng) if rng is not None else Scrambler()
        rules = " ".join(str(self._scrambler.rule(rule)) for rule in sheet.rules)
        self._rules = self._spelled(rules)
        if self.dialect is not Dialect.GDL and not is_gdl2:
            self._rules += "\n" + _SEES_MOVES

    def start(self, match_id: str, role: str, start_clock_s: int, play_clock_s: int) -> str:
        """The text that begins a match for a role."""
        name = self._spelled(self._scrambler.name(role))
        return self._printed(Start(match_id, name, self._rules, start_clock_s, play_clock_s))

    def play(self, match_id: str, turn: int, told: LastTurn | None) -> str:
        """The text that asks for a move.

        Args:
            turn: from 0.
            told: what happened in the turn before; None in the first.
        """
        return self._printed(self._turn(Play, match_id, turn, told))

    def stop(self, match_id: str, turn: int, told: LastTurn | None) -> str:
        """The text that ends a match; `turn` counts those that were played."""
        return self._printed(self._turn(Stop, match_id, turn, told))

    def abort(self, match_id: str) -> str | None:
        """The text that aborts a match; None if the dialect has no such message."""
        return self._printed(Abort(match_id)) if self.dialect is Dialect.GDL else None

    def read_move(self, reply: str) -> str:
        """The move in an answer, as canonical KIF in the names of the rules.

        Raises:
            NotAMoveError: servers would not find one in it; its text shows the answer.
        """
        try:
            text = parse_reply(reply)
            term = parse_term(text)
        except (RemoteProtocolError, GDLError) as error:
            raise _not_a_move(reply) from error
        # The parser repairs `(noop)`; servers do not.
        as_sent = self._spelled(to_kif(term)) == (text.lower() if self._any_case else text)
        move = self._scrambler.back(term) if as_sent else None
        if move is None:
            raise _not_a_move(reply)
        return to_kif(move if self._tuples is None else self._tuples.in_message(move))

    def _turn(
        self, kind: type[Play] | type[Stop], match_id: str, turn: int, told: LastTurn | None
    ) -> Message:
        number = turn if self.dialect is Dialect.GDL2 else None
        if told is None:
            return kind(match_id, number, None, None)
        if self.dialect is Dialect.GDL:
            return kind(match_id, None, None, self._changed(told.joint_move))
        percepts = self._changed(told.percepts)
        move = self._changed([told.move])[0] if self.dialect is Dialect.GDL2 else None
        return kind(match_id, number, move, percepts)

    def _changed(self, terms: Iterable[str]) -> tuple[str, ...]:
        changed = (self._scrambler.term(parse_term(term)) for term in terms)
        return tuple(self._spelled(to_kif(term)) for term in changed)

    def _spelled(self, text: str) -> str:
        """Canonical KIF as it is sent, but for upper case; changed names have one spelling."""
        return spelled(text, self._spelling)

    def _printed(self, message: Message) -> str:
        return print_message(message, self._style)


def _style(server: Server, dialect: Dialect) -> WireStyle:
    """How a server writes a dialect; servers that accept any letter case write in upper case."""
    for style in WIRE_STYLES.values():
        if style.dialect is dialect and style.upper is server.any_case:
            return style
    raise ConfigError(f"servers like {server.name} do not speak the dialect {dialect}")


def _not_a_move(reply: str) -> NotAMoveError:
    shown = " ".join(reply.split())
    cut = shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + "..."
    return NotAMoveError(cut)


# ------------------------------------------------------------------------
# Renames the constants, functions and relations of a rulesheet, so that words tell nothing.
#
# Keywords and numbers keep their names: a scrambled keyword would mean nothing, and goal values are
# numbers.

KEPT = frozenset({*KEYWORD_ARITY, *CONNECTIVES, *ARROWS, RANDOM, TUPLE, "nil"})
"""Names that are never changed, nor given to anything else."""

_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwxyz", "aeiou"
_MIN_SYLLABLES = 3


class Scrambler:
    """A one-to-one renaming of constants, functions, relations and roles.

    Args:
        names: the names to change, see `names_of`; none for a renaming that changes nothing.
        rng: draws the new names.
    """

    def __init__(self, names: Iterable[str] = (), rng: np.random.Generator | None = None) -> None:
        old = sorted(set(names))
        self._to = dict(zip(old, _words(len(old), frozenset(old), rng), strict=True))
        self._back = {new: name for name, new in self._to.items()}

    def name(self, name: str) -> str:
        """The new name of a constant, function or relation."""
        return self._to.get(name, name)

    def term(self, term: Term) -> Term:
        """A term with its names changed."""
        return _renamed(term, self._to)

    def rule(self, rule: Rule) -> Rule:
        """A rule with its names changed."""
        return Rule(self.term(rule.head), tuple(map(self.term, rule.body)), rule.start)

    def back(self, term: Term) -> Term | None:
        """The term of which this is the renamed one; None if it has a name that was not sent."""
        if any(name in self._to and name not in self._back for name in names_in(term)):
            return None
        return _renamed(term, self._back)


def names_of(rules: Iterable[Rule]) -> set[str]:
    """All names in some rules that a scrambler changes."""
    return {
        name
        for rule in rules
        for term in (rule.head, *rule.body)
        for name in names_in(term)
        if name not in KEPT and not _NUMBER.fullmatch(name)
    }


def names_in(term: Term) -> Iterator[str]:
    """Every constant and function of a term; not recursive, terms may nest deeply."""
    pending = [term]
    while pending:
        part = pending.pop()
        if not isinstance(part, Variable):
            yield part.name
        if isinstance(part, Compound):
            pending += part.args


def _renamed(term: Term, names: dict[str, str]) -> Term:
    if not names or isinstance(term, Variable):
        return term
    name = names.get(term.name, term.name)
    if isinstance(term, Symbol):
        return Symbol(name, term.start)
    # The parser bounds how deep terms nest.
    return Compound(name, tuple(_renamed(arg, names) for arg in term.args), term.start)


def _words(number: int, taken: frozenset[str], rng: np.random.Generator | None) -> list[str]:
    """Different words that can be pronounced and are neither taken nor kept."""
    if not number:
        return []
    if rng is None:
        raise ValueError("renaming needs a generator")
    words: dict[str, None] = {}
    while len(words) < number:
        syllables = _MIN_SYLLABLES + int(rng.integers(2))
        letters = (
            _CONSONANTS[rng.integers(len(_CONSONANTS))] + _VOWELS[rng.integers(len(_VOWELS))]
            for _ in range(syllables)
        )
        word = "".join(letters)
        if word not in taken and word not in KEPT:
            words[word] = None
    return list(words)


# ------------------------------------------------------------------------
# How servers treat their players: clocks, grace periods, and the replacement of bad moves.
#
# The numbers are those of servers in the field; `docs/use/tournaments.md` has the table.

DRESDEN_PAUSE_S = 0.5
"""Seconds that the Dresden controller waits before each step."""


class Replacement(StrEnum):
    """Which legal move is played instead of a late or illegal one."""

    FIRST = "first"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Server:
    """The habits of one family of servers.

    Attributes:
        name: as `--server` takes it.
        connect_s: time to connect; clocks start only then.
        connect_pool_s: more time to connect, to one player in a whole match.
        start_grace_s: added to the start clock.
        play_grace_s: added to the play clock, and to that of the last message.
        replacement: which move replaces a bad one.
        reads_to_end: whether a reply lasts until the player closes the connection; else it is as
            long as its header says.
        any_case: whether a move may be answered in another letter case than that of the rules.
    """

    name: str
    connect_s: float
    connect_pool_s: float
    start_grace_s: float
    play_grace_s: float
    replacement: Replacement
    reads_to_end: bool
    any_case: bool


DRESDEN = Server("dresden", 2.0, 30.0, 1.0, 1.0, Replacement.FIRST, True, True)
GGP_BASE = Server("ggp-base", 5.0, 0.0, 0.0, 1.0, Replacement.RANDOM, False, False)

SERVERS: Mapping[str, Server] = {server.name: server for server in (DRESDEN, GGP_BASE)}
"""The servers that a match runner can imitate."""


class ConnectingTime:
    """The time one player of a match may take to accept connections."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._pool_s = server.connect_pool_s

    @property
    def limit_s(self) -> float:
        """Time limit of the next connection, in seconds."""
        return self._server.connect_s + self._pool_s

    def spend(self, seconds: float) -> None:
        """Note how long a connection took."""
        self._pool_s -= min(max(0.0, seconds - self._server.connect_s), self._pool_s)


@dataclass(frozen=True, slots=True)
class RemoteSide:
    """How remote players were addressed.

    Attributes:
        match_id: id of the match in messages; each role has its own if one player has several.
        dialect: dialect of the messages, a value of `ggp.protocol.messages.Dialect`.
        start_clock_s: time that they had before the first turn.
        scrambled: whether names were changed.
    """

    match_id: str
    dialect: str
    start_clock_s: float
    scrambled: bool
