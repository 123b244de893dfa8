"""A match in the messages of a game server: writes requests to players, reads their answers.

Moves and percepts come in as canonical KIF; texts go out in the dialect, spelling and letter case
of the imitated server, perhaps with scrambled names. The moves in answers come back as canonical
KIF.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ggp.errors import ConfigError, GDLError, RemoteProtocolError
from ggp.gdl import parse, parse_term, to_kif
from ggp.gdl.program import KEYWORD_ARITY, RANDOM, unify
from ggp.gdl.syntax.kif import kif_pieces
from ggp.gdl.syntax.reading import ARROWS, TUPLE, UNNAMED, Tuples, spelled
from ggp.gdl.terms import CONNECTIVES, Compound, Rule, Signature, Symbol, Term
from ggp.machine.definition import GameDefinition
from ggp.protocol.messages import (
    WIRE_STYLES,
    Abort,
    Dialect,
    Message,
    Play,
    Start,
    Stop,
    WireStyle,
    print_message,
)
from ggp.protocol.reading import parse_reply
from ggp.protocol.spelling import first_spellings, lone_moves_in

_LONE_FUNCTION = re.compile(r"\(\(([^\s()?]+)\) ")
_SEES_MOVES = "(<= (sees ?p (did ?p2 ?m)) (role ?p) (does ?p2 ?m))"
"""Rule that servers add to plain GDL for GDL-II players."""

_TOKEN = re.compile(r"[()]|[^\s()]+")
_WHOLE_COMMENT = re.compile(r";[^\n]*\n")


@dataclass(frozen=True, slots=True)
class LastTurn:
    """Everything that a server may send a role about the last turn.

    Attributes:
        move: executed move of the role.
        percepts: percepts of the role.
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
        program: the rules; the messages have them as they were written, but in KIF, and in upper
            case for servers that take any letter case.
        server: the server to imitate.
        dialect: dialect of the messages; None for the newest that suits the rules.
        rng: draws scrambled names; None to leave names as they are.

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
                f"the dialect gdl sends all players every move, but the rules of "
                f"{program.source.name} hide moves; use gdl2 or gdl2-old"
            )
        self._style = _style(server, self.dialect)
        self._any_case = server.any_case or rng is not None
        self._reads_one_term = server.reads_one_term
        sheet = parse(program.source.text, program.source.name)
        rules, spelling = sheet.rules, sheet.spelling
        self._tuples = Tuples(rules) if spelling.get(TUPLE) == "" else None
        if sheet.syntax == "kif":
            pieces = kif_pieces(program.source.text)
            text = " ".join(piece for _, piece, is_comment in pieces if not is_comment)
            first = first_spellings(text)
            # Where a move in parentheses has arguments elsewhere, `_spelled` takes them away again.
            lone = {name: f"({first.get(name, name).strip('()')})" for name in lone_moves_in(text)}
            spelling = {**first, **lone, **(UNNAMED if self._tuples else {})}
        self._told_roles = () if is_gdl2 or self.dialect is Dialect.GDL else program.roles
        if self._told_roles:
            rules = (*rules, *parse(_SEES_MOVES).rules)
        unscrambled = (
            KEPT - _RENAMED_BY_OLD
            if self.dialect is Dialect.GDL2_OLD
            else KEPT | server.unscrambled
        )
        names = names_of(rules, unscrambled, server.scrambles) if rng is not None else ()
        self._scrambler = Scrambler(names, rng)
        renamed = {name: self._scrambler.name(name) for name in spelling}
        self._spelling = {
            new: text if new == name else text.replace(text.strip("()"), new)
            for (name, text), new in zip(spelling.items(), renamed.values(), strict=True)
        }
        self._rules = self._spelled(" ".join(str(self._scrambler.rule(rule)) for rule in rules))

    def start(self, match_id: str, role: str, start_clock_s: int, play_clock_s: int) -> str:
        """Text of the start message to a role."""
        name = self._spelled(self._scrambler.name(role))
        return self._printed(Start(match_id, name, self._rules, start_clock_s, play_clock_s))

    def play(self, match_id: str, turn: int, last_turn: LastTurn | None) -> str:
        """Text of the request for a move.

        Args:
            turn: from 0.
            last_turn: the last turn; None in the first turn.
        """
        return self._printed(self._turn(Play, match_id, turn, last_turn))

    def stop(self, match_id: str, turn: int, last_turn: LastTurn | None) -> str:
        """Text of the message that ends a match; `turn` is the number of turns played."""
        return self._printed(self._turn(Stop, match_id, turn, last_turn))

    def abort(self, match_id: str) -> str | None:
        """Text of the message that aborts a match; None if the dialect has none."""
        return self._printed(Abort(match_id)) if self.dialect is Dialect.GDL else None

    def read_move(self, reply: str) -> str:
        """The move in an answer, as canonical KIF in the names of the rules.

        Raises:
            NotAMoveError: servers would not find a move in it; the text is the answer.
        """
        try:
            text = parse_reply(self._part_read(reply))
            term = parse_term(text)
        except (RemoteProtocolError, GDLError) as error:
            raise NotAMoveError(reply) from error
        # The parser repairs `(noop)`; servers do not.
        sent = self._spelled(to_kif(term))
        as_sent = sent.lower() == text.lower() if self._any_case else sent == text
        move = self._scrambler.back(term) if as_sent else None
        if move is None:
            raise NotAMoveError(reply)
        return to_kif(move if self._tuples is None else self._tuples.in_message(move))

    def _part_read(self, reply: str) -> str:
        """The text up to the place in an answer where real servers stop reading."""
        text = reply if self._reads_one_term else _WHOLE_COMMENT.sub(" ", reply)
        depth, end = 0, len(text)
        for token in _TOKEN.finditer(text):
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            if depth < 0 or (depth == 0 and self._reads_one_term):
                end = token.start() if depth < 0 else token.end()
                break
        if ";" in text[:end]:
            raise RemoteProtocolError("servers read no comment here")
        return text[:end]

    def _turn(
        self, kind: type[Play] | type[Stop], match_id: str, turn: int, last_turn: LastTurn | None
    ) -> Message:
        number = turn if self.dialect is Dialect.GDL2 else None
        if last_turn is None:
            return kind(match_id, number, None, None)
        if self.dialect is Dialect.GDL:
            return kind(match_id, None, None, self._changed(last_turn.joint_move))
        told = zip(self._told_roles, last_turn.joint_move, strict=False)
        moves = [f"(did {role} {executed})" for role, executed in told]
        percepts = self._changed(moves or last_turn.percepts)
        move = self._changed([last_turn.move])[0] if self.dialect is Dialect.GDL2 else None
        return kind(match_id, number, move, percepts)

    def _changed(self, terms: Iterable[str]) -> tuple[str, ...]:
        changed = (self._scrambler.term(parse_term(term)) for term in terms)
        return tuple(self._spelled(to_kif(term)) for term in changed)

    def _spelled(self, text: str) -> str:
        """Canonical KIF in the spelling of messages, before any change to upper case."""
        text = spelled(text, self._spelling)
        return text if self._tuples else _LONE_FUNCTION.sub(r"(\1 ", text)

    def _printed(self, message: Message) -> str:
        return print_message(message, self._style)


def _style(server: Server, dialect: Dialect) -> WireStyle:
    """A server's style of a dialect; servers that accept any letter case write in upper case."""
    for style in WIRE_STYLES.values():
        if style.dialect is dialect and style.upper is server.any_case:
            return style
    raise ConfigError(f"servers like {server.name} do not speak the dialect {dialect}")


# ------------------------------------------------------------------------
# Renames the constants, functions and relations of a rulesheet, so that words give nothing away.
#
# Keywords and numbers keep their names: a scrambled keyword would have no meaning, and goal values
# are numbers.

KEPT = frozenset({*KEYWORD_ARITY, *CONNECTIVES, *ARROWS, RANDOM, TUPLE})
"""Names that stay, and that no other name may become."""

_RENAMED_BY_OLD = frozenset({"sees", RANDOM})
"""Keywords that GameControllers with the older messages rename like any other word."""

_BEGINS_WITH_A_LETTER = re.compile(r"[a-z].*")
_NO_WHOLE_NUMBER = re.compile(r"(?![+-]?[0-9]+$).+")
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwxyz", "aeiou"
_MIN_SYLLABLES = 3


class Scrambler:
    """A one-to-one renaming of constants, functions, relations, roles and variables.

    Args:
        names: the names to change, see `names_of`; none for the identity.
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
        """A term with the new names."""
        return _renamed(term, self._to)

    def rule(self, rule: Rule) -> Rule:
        """A rule with the new names."""
        return Rule(self.term(rule.head), tuple(map(self.term, rule.body)), rule.start)

    def back(self, term: Term) -> Term | None:
        """The original of a term with new names; None if it has a name that we never sent."""
        if any(name in self._to and name not in self._back for name in names_in(term)):
            return None
        return _renamed(term, self._back)


def names_of(
    rules: Iterable[Rule],
    unscrambled: frozenset[str] = KEPT,
    scrambles: re.Pattern[str] = _BEGINS_WITH_A_LETTER,
) -> set[str]:
    """All names in rules that a scrambler changes: those that `scrambles` but `unscrambled`."""
    return {
        name
        for rule in rules
        for term in (rule.head, *rule.body)
        for name in names_in(term)
        if name not in unscrambled and scrambles.fullmatch(name)
    }


def names_in(term: Term) -> Iterator[str]:
    """Yield every name in a term, without recursion: terms may nest deeply."""
    pending = [term]
    while pending:
        part = pending.pop()
        yield part.name
        if isinstance(part, Compound):
            pending += part.args


def _renamed(term: Term, names: dict[str, str]) -> Term:
    name = names.get(term.name, term.name)
    if not isinstance(term, Compound):
        return type(term)(name, term.start)
    # The parser bounds how deep terms nest.
    return Compound(name, tuple(_renamed(arg, names) for arg in term.args), term.start)


def _words(count: int, names: frozenset[str], rng: np.random.Generator | None) -> list[str]:
    """Distinct pronounceable words that are neither among the names nor in `KEPT`."""
    if not count:
        return []
    if rng is None:
        raise ValueError("renaming needs a generator")
    words: dict[str, None] = {}
    while len(words) < count:
        syllables = _MIN_SYLLABLES + int(rng.integers(2))
        letters = (
            _CONSONANTS[rng.integers(len(_CONSONANTS))] + _VOWELS[rng.integers(len(_VOWELS))]
            for _ in range(syllables)
        )
        word = "".join(letters)
        if word not in names and word not in KEPT:
            words[word] = None
    return list(words)


# ------------------------------------------------------------------------
# How servers treat their players: clocks, grace periods, and the replacement of bad moves.
#
# The numbers come from servers in the field; `docs/use/tournaments.md` has the table.

DRESDEN_PAUSE_S = 0.5
"""Seconds that the Dresden controller waits before each step."""


class Replacement(StrEnum):
    """Which legal move replaces a late or illegal one."""

    FIRST = "first"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Server:
    """The habits of one family of servers.

    Attributes:
        name: as `--server` takes it.
        connect_s: time to connect; clocks start only after that.
        connect_pool_s: additional time to connect, for each player in a whole match.
        start_grace_s: added to the start clock.
        play_grace_s: added to the play clock, also after the last message.
        replacement: which move replaces a bad one.
        reads_to_end: whether a reply lasts until the player closes the connection; otherwise its
            header gives the length.
        any_case: whether an answer may differ from the rules in letter case; with scrambled names
            it always may.
        reads_one_term: whether it ignores everything after the first term of an answer, and knows
            no comments. Others ignore what follows a closing parenthesis too many.
        scrambles: the names that it scrambles, if they are not kept.
        unscrambled: names besides `KEPT` that it does not scramble.
    """

    name: str
    connect_s: float
    connect_pool_s: float
    start_grace_s: float
    play_grace_s: float
    replacement: Replacement
    reads_to_end: bool
    any_case: bool
    reads_one_term: bool
    scrambles: re.Pattern[str]
    unscrambled: frozenset[str] = frozenset()


DRESDEN = Server(
    "dresden", 2.0, 30.0, 1.0, 1.0, Replacement.FIRST, True, True, False, _BEGINS_WITH_A_LETTER
)
GGP_BASE = Server(
    "ggp-base",
    5.0,
    0.0,
    0.0,
    1.0,
    Replacement.RANDOM,
    False,
    False,
    True,
    _NO_WHOLE_NUMBER,
    frozenset({"base", "input"}),
)

SERVERS: Mapping[str, Server] = {server.name: server for server in (DRESDEN, GGP_BASE)}
"""The servers that a match runner can imitate."""


def place_in_rules(program: GameDefinition, relation: Signature, role: str) -> Callable[[str], int]:
    """A key that sorts moves or percepts of a role by the first rule that may give them."""
    heads = [rule.head for rule in program.as_program().by_head.get(relation, ())]

    def place(term: str) -> int:
        atom = Compound(relation[0], (Symbol(role), parse_term(term)))
        return next(
            (k for k, head in enumerate(heads) if unify(head, atom) is not None), len(heads)
        )

    return place


class ConnectingTime:
    """The time that one player of a match may take to accept connections."""

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
        start_clock_s: time before the first turn.
        scrambled: whether names were scrambled.
    """

    match_id: str
    dialect: str
    start_clock_s: float
    scrambled: bool
