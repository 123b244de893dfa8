"""Reads Gambit's files as games: the parser of both formats, and names for roles and moves.

Labels can be any text, but names must be terms. A label that is a term becomes its own name, in
lower case: `(arm blue)`, `Bet`. Other labels keep their letters, digits and signs: `Player 1` plays
as `player_1`. Equal names get numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from hashlib import blake2b
from typing import Literal, NamedTuple, NoReturn

import numpy as np

from ggp.errors import GDLError, GDLValidationError
from ggp.gdl.program import RANDOM, Program, without_rules
from ggp.gdl.source import Description, Diagnostic, Source, diagnose
from ggp.gdl.syntax.parser import parse_term
from ggp.gdl.syntax.reading import Findings, quoted
from ggp.gdl.terms import variables

# ------------------------------------------------------------------------
# Parses Gambit's files, `.efg` and `.nfg`, into a `GambitTree`.
#
# `GambitText` splits a file into words; `read_extensive` and `read_normal` parse the two formats.

_WORD = re.compile(
    r"""\s*(?:
        (?P<text>"[^"\\]*(?:\\[\s\S][^"\\]*)*")
      | (?P<number>[+-]?(?:\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?=[\s{},"]|\Z))
      | (?P<mark>[{}])
      | (?P<comma>,)
      | (?P<word>[^\s{},"]+)
      | (?P<end>\Z)
      | (?P<open>")
    )""",
    re.VERBOSE,
)

_LONGEST_NUMBER = 1_000
"""Greatest number of characters in a number."""

Kind = Literal["text", "number", "mark", "comma", "word", "end", "open"]


class Word(NamedTuple):
    """A piece of a file.

    Attributes:
        kind: the kind of piece; `open` is an unclosed text, `end` the end of the file.
        value: its characters; for a text, without quotes.
        start: offset of its first character.
    """

    kind: Kind
    value: str
    start: int


class GambitText:
    """The words of a file, one after the other.

    Args:
        source: the file.

    Attributes:
        findings: collects repairs and errors.
        next: the word that is read next.
    """

    def __init__(self, source: Source) -> None:
        self.findings = Findings(source)
        self._numbers: dict[str, Fraction] = {}
        self._words = _split(source.text)
        self.next = next(self._words)

    def fail(self, rule: str, message: str, start: int | None = None) -> NoReturn:
        """Raise `GDLSyntaxError` about a place, by default that of the next word."""
        self.findings.error(rule, message, self.next.start if start is None else start)
        raise self.findings.syntax_error()

    def is_next(self, kind: Kind, value: str | None = None) -> bool:
        """Whether the next word is of a kind and, if one is given, has that value."""
        return self.next.kind == kind and value in (None, self.next.value)

    def take(self, kind: Kind, expected: str, value: str | None = None) -> Word:
        """The next word, which must be of a kind and, if one is given, have that value.

        Args:
            expected: its description in the error message.
        """
        word = self.next
        if not self.is_next(kind, value):
            if word.kind == "open":
                self.fail("quotes", "this text in quotes is never closed")
            actual = "the file ends" if word.kind == "end" else f"{quoted(word.value)} stands here"
            self.fail("gambit", f"{expected} should come next, but {actual}")
        self.next = next(self._words, word)
        return word

    def mark(self, mark: Literal["{", "}"], expected: str) -> None:
        """Read a brace."""
        self.take("mark", expected, mark)

    def text(self, expected: str) -> str:
        """Read a text in quotes."""
        return self.take("text", expected).value

    def texts(self, expected: str) -> list[str]:
        """Read texts in quotes between braces."""
        self.mark("{", f"`{{` and {expected}")
        strings = []
        while self.is_next("text"):
            strings.append(self.text(expected))
            self.skip_comma()
        self.mark("}", f"`}}` after {expected}")
        return strings

    def skip_comma(self) -> None:
        """Read a comma if there is one."""
        if self.is_next("comma"):
            self.take("comma", "a comma")

    def number(self, expected: str) -> Fraction:
        """Read a number: an integer, a fraction or a decimal."""
        word = self.take("number", expected)
        value = self._numbers.get(word.value)
        if value is None:
            value = self._numbers[word.value] = self._value_of(word)
        return value

    def payoffs(self, num_players: int) -> tuple[Fraction, ...]:
        """Read a payoff for each player; there may be commas between them."""
        amounts = []
        for _ in range(num_players):
            amounts.append(self.number("the payoff of each player"))
            self.skip_comma()
        return tuple(amounts)

    def integer(self, expected: str) -> int:
        """Read a number that is not negative, and an integer."""
        start, value = self.next.start, self.number(expected)
        if value < 0 or value.denominator > 1:
            self.fail("gambit", f"{expected} should come next, an integer of 0 or more", start)
        return int(value)

    def begin(self, kind: str, version: str) -> tuple[str, list[str]]:
        """Read the beginning of a file up to the players; return the title and their names."""
        self.take("word", kind)
        start, stated = self.next.start, self.take("number", "the version of the format")
        if stated.value != version:
            message = f"{kind} version {stated.value} cannot be read, only version {version}"
            self.fail("version", message, start)
        start, form = self.next.start, self.take("word", "`R`")
        if form.value not in ("R", "D"):
            self.fail("version", f"`R` should come next, not {quoted(form.value)}", start)
        title = self.text("the title of the game, in quotes,")
        start, players = self.next.start, self.texts("the names of the players, in quotes,")
        if not players:
            self.fail("players", "there must be at least one player", start)
        return title, players

    def comment(self) -> str:
        """Read the comment on the game, if there is one."""
        return self.text("the comment") if self.is_next("text") else ""

    def _value_of(self, word: Word) -> Fraction:
        try:
            if len(word.value) <= _LONGEST_NUMBER:
                value = Fraction(word.value)
                float(value)
                return value
        except ZeroDivisionError:
            self.fail("number", f"{quoted(word.value)} divides by zero", word.start)
        except OverflowError:
            pass
        self.fail("number", f"the number {quoted(word.value)} is too large", word.start)


def _split(text: str) -> Iterator[Word]:
    at = 0
    while True:
        match = _WORD.match(text, at)
        assert match is not None  # every text matches one of the kinds
        kind: Kind = match.lastgroup  # type: ignore[assignment]
        value = match[kind]
        if kind == "text":
            value = value[1:-1].replace('\\"', '"')
        yield Word(kind, value, match.start(kind))
        if kind in ("end", "open"):
            return
        at = match.end()


# ------------------------------------------------------------------------
# The format `.efg`: a line for each node of the tree, every node before its children.
#
# c "" 1 "deal" { "king" 1/2 "queen" 1/2 } 0          chance
#     p "" 1 1 "king" { "bet" "fold" } 0                  player 1 in information set 1
#     p "" 2 1 "bet" { "call" "fold" } 0
#     t "" 1 "call" { 2, -2 }                             the end, with outcome 1
#
# The label and the moves of an information set are optional after their first occurrence, and so
# are the label and the payoffs of an outcome. Any node may have an outcome, whose payoffs are paid
# when the node is reached; 0 is no outcome.

_ROUNDING = Fraction(1, 1000)
"""Greatest deviation of a sum of probabilities from 1; they are scaled."""


def read_extensive(words: GambitText) -> GambitTree:
    """The game in a file.

    Raises:
        GDLSyntaxError: the file is not of this format.
    """
    title, players = words.begin("EFG", "2")
    comment = words.comment()
    reader = _Reader(words, len(players))
    nodes = reader.nodes()
    return GambitTree(title, comment, tuple(players), tuple(reader.sets), tuple(nodes))


class _Reader:
    """Parses the nodes.

    Attributes:
        sets: the information sets so far.
    """

    def __init__(self, words: GambitText, num_players: int) -> None:
        self.sets: list[InformationSet] = []
        self._words, self._num_players = words, num_players
        self._set_numbers: dict[tuple[int, int], int] = {}
        self._payoffs: dict[int, tuple[Fraction, ...]] = {}

    def nodes(self) -> list[TreeNode]:
        """All nodes."""
        nodes = [self._node(-1, 0)]
        # Nodes with missing branches, and the number of the next branch of each.
        open_nodes = [(0, 0)]
        while open_nodes:
            parent, branch = open_nodes.pop()
            num_branches = self._num_branches(nodes[parent])
            if branch == num_branches:
                continue
            open_nodes.append((parent, branch + 1))
            if self._words.is_next("end"):
                self._words.fail(
                    "branches",
                    f"the file ends after {branch} of the {num_branches} branches of this node",
                    nodes[parent].start,
                )
            nodes.append(self._node(parent, branch))
            open_nodes.append((len(nodes) - 1, 0))
        if not self._words.is_next("end"):
            self._words.fail("branches", "the tree is complete, but more follows here")
        return nodes

    def _num_branches(self, node: TreeNode) -> int:
        return len(self.sets[node.sets[0]].actions) if node.sets else 0

    def _node(self, parent: int, branch: int) -> TreeNode:
        words = self._words
        start, kind = words.next.start, words.take("word", "a node (`c`, `p` or `t`)").value
        if kind not in ("c", "p", "t"):
            words.fail("gambit", f"a node begins with `c`, `p` or `t`, not {quoted(kind)}", start)
        words.text("the label of the node, in quotes,")
        sets: tuple[int, ...] = ()
        if kind != "t":
            sets = (self._set(CHANCE if kind == "c" else self._player(), start),)
        return TreeNode(sets, parent, branch, self._outcome(), start)

    def _player(self) -> int:
        start, number = self._words.next.start, self._words.integer("the number of the player")
        if not 1 <= number <= self._num_players:
            self._words.fail("players", f"there is no player number {number}", start)
        return number - 1

    def _set(self, player: int, start: int) -> int:
        """The index of the information set of a node."""
        words = self._words
        number = words.integer("the number of the information set")
        label, actions, shares = "", [], []
        is_given = words.is_next("text")
        if is_given:
            label = words.text("the label")
            words.mark("{", "`{` and the moves")
            while words.is_next("text"):
                actions.append(words.text("a move"))
                if player == CHANCE:
                    shares.append(words.number("the probability of the move"))
                words.skip_comma()
            words.mark("}", "`}` or the next move, in quotes,")
        index = self._set_numbers.get((player, number))
        if index is None:
            return self._new_set(player, number, label, actions, shares, start)
        old = self.sets[index]
        fits = old.actions == tuple(actions)
        if is_given and not (fits and (not shares or old.shares == self._scaled(shares, start))):
            self._words.fail(
                "information-set",
                f"information set {number} has other moves here than before "
                f"({', '.join(map(quoted, old.actions))})",
                start,
            )
        return index

    def _new_set(
        self,
        player: int,
        number: int,
        label: str,
        actions: list[str],
        shares: list[Fraction],
        start: int,
    ) -> int:
        if not actions:
            self._words.fail(
                "information-set",
                f"information set {number} has no moves: its first node must list them",
                start,
            )
        info_set = InformationSet(
            player, number, label, tuple(actions), self._scaled(shares, start), start
        )
        self._set_numbers[player, number] = len(self.sets)
        self.sets.append(info_set)
        return len(self.sets) - 1

    def _scaled(self, shares: list[Fraction], start: int) -> tuple[Fraction, ...]:
        """The probabilities, scaled to a sum of 1."""
        total = sum(shares, Fraction(0))
        if not shares or (total == 1 and min(shares) >= 0):
            return tuple(shares)
        if min(shares) < 0 or abs(total - 1) > _ROUNDING:
            message = f"probabilities must be 0 or more and sum up to 1, not to {float(total):g}"
            self._words.fail("chance", message, start)
        self._words.findings.warn(
            "chance", f"probabilities sum up to {float(total)!r}, and are scaled to 1", start
        )
        return tuple(share / total for share in shares)

    def _outcome(self) -> tuple[Fraction, ...] | None:
        """The payoffs at a node."""
        words = self._words
        start, number = words.next.start, words.integer("the number of the outcome")
        if words.is_next("text"):
            words.text("the label of the outcome")
        elif not words.is_next("mark", "{"):
            if number and number not in self._payoffs:
                words.fail("outcome", f"outcome {number} has no payoffs yet", start)
            return self._payoffs.get(number)
        words.mark("{", "`{` and the payoffs")
        amounts = words.payoffs(self._num_players)
        words.mark("}", "`}` after the payoffs")
        if number and self._payoffs.setdefault(number, amounts) != amounts:
            words.fail("outcome", f"outcome {number} had other payoffs before", start)
        return amounts


# ------------------------------------------------------------------------
# The format `.nfg`: all players choose a strategy simultaneously; each profile has payoffs or an
# outcome.
#
# NFG 1 R "prisoner's dilemma" { "row" "column" } { { "stay" "tell" } { "stay" "tell" } }
#     -1 -1  0 -3  -3 0  -2 -2
#
# Instead of labels, a file may give the number of each player's strategies. The strategy of the
# first player changes fastest in the order of profiles. Instead of payoffs, there may be a list of
# outcomes with payoffs, and the number of an outcome for each profile; outcome 0 pays nothing.

_MAX_PROFILES = 1_000_000
"""Greatest number of profiles; a file lists all of them."""


def read_normal(words: GambitText) -> GambitTree:
    """The game in a file.

    Raises:
        GDLSyntaxError: the file is not of this format.
    """
    title, players = words.begin("NFG", "1")
    start = words.next.start
    strategies = _strategies(words, len(players))
    counts = [len(labels) for labels in strategies]
    if not all(counts) or math.prod(counts) > _MAX_PROFILES:
        message = f"there must be 1 to {_MAX_PROFILES:,} profiles, not {math.prod(counts):,}"
        words.fail("strategies", message, start)
    comment = words.comment()
    sets = [
        InformationSet(player, 1, "", tuple(actions), (), start)
        for player, actions in enumerate(strategies)
    ]
    nodes = [TreeNode(tuple(range(len(players))), -1, 0, None, start)]
    # In the file the first player's strategy changes fastest, in branches the last one's.
    branches = np.arange(math.prod(counts)).reshape(counts).transpose().ravel().tolist()
    outcomes = _outcomes(words, len(players)) if words.is_next("mark", "{") else None
    for branch in branches:
        start = words.next.start
        if outcomes is None:
            payoffs = words.payoffs(len(players))
        else:
            number = words.integer("the number of the outcome of a profile")
            if number >= len(outcomes):
                words.fail("outcome", f"there is no outcome number {number}", start)
            payoffs = outcomes[number]
        nodes.append(TreeNode((), 0, branch, payoffs, start))
    if not words.is_next("end"):
        words.fail("strategies", f"all {len(branches):,} profiles are read, but more follows here")
    return GambitTree(title, comment, tuple(players), tuple(sets), tuple(nodes))


def _strategies(words: GambitText, num_players: int) -> list[list[str]]:
    """The labels of each player's strategies."""
    start = words.next.start
    words.mark("{", "`{` and the strategies")
    strategies = []
    while not words.is_next("mark", "}"):
        if words.is_next("mark", "{"):
            strategies.append(words.texts("the labels of a player's strategies, in quotes,"))
        else:
            count = words.integer("the number of a player's strategies")
            if count > _MAX_PROFILES:
                words.fail("strategies", f"there are more than {_MAX_PROFILES:,} strategies")
            strategies.append([str(number) for number in range(1, count + 1)])
    words.mark("}", "`}` after the strategies")
    if len(strategies) != num_players:
        message = f"there are strategies of {len(strategies)} players, but {num_players} players"
        words.fail("strategies", message, start)
    return strategies


def _outcomes(words: GambitText, num_players: int) -> list[tuple[Fraction, ...]]:
    """The payoffs of each outcome; the first one, number 0, pays nothing."""
    outcomes = [(Fraction(0),) * num_players]
    words.mark("{", "`{` and the outcomes")
    while words.is_next("mark", "{"):
        words.mark("{", "an outcome")
        words.text("the label of the outcome, in quotes,")
        outcomes.append(words.payoffs(num_players))
        words.mark("}", "`}` after the payoffs")
    words.mark("}", "`}` or the next outcome")
    return outcomes


# ------------------------------------------------------------------------
# The `GameDefinition` of a file.

EXTENSIVE, NORMAL = "EFG ", "NFG "
"""The beginnings of files in each format."""

_READERS = {EXTENSIVE: read_extensive, NORMAL: read_normal}

_OTHER = re.compile(r"[^\w+./-]+")
"""Characters that names cannot have."""

_DISTURBING = re.compile(r"[\"',|?{}\[\]]")
"""Characters with a meaning in a syntax of GDL."""


@dataclass(frozen=True)
class GambitGame:
    """The definition of a game in a Gambit file.

    Attributes:
        prefix: `EXTENSIVE` or `NORMAL`.
        tree: the contents of the file.
        turns: `[N]` the turn in which each node is played.
    """

    prefix: str
    source: Source
    roles: tuple[str, ...]
    tree: GambitTree
    turns: tuple[int, ...]
    diagnostics: tuple[Diagnostic, ...]

    @cached_property
    def digest(self) -> str:
        """128 bits as hex digits, from the text."""
        return blake2b(self.source.text.encode(), digest_size=16).hexdigest()

    @cached_property
    def goal_bounds(self) -> tuple[float, float]:
        """The least and the greatest total payoff of a player at the end of the game."""
        nodes = zip(self.tree.nodes, self.tree.totals, strict=True)
        ends = [total for node, total in nodes if not node.sets]
        return float(min(map(min, ends))), float(max(map(max, ends)))

    def describe(self) -> Description:
        """The title and the comment of the file."""
        return Description(self.tree.title, self.tree.comment)

    def as_program(self) -> Program:
        """A program without rules."""
        return without_rules(self.roles, self.source.name)


def gambit_game(text: str | bytes, name: str) -> GambitGame:
    """The game in a file.

    Args:
        text: the text of the file; bytes that are not UTF-8 are replaced.
        name: its name in messages.

    Raises:
        GDLSyntaxError: it is not in one of Gambit's formats.
        GDLValidationError: roles of GDL-II cannot play it, because a player forgets, or because
            information sets cannot be played in turns.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    source = Source(name, text.removeprefix("\ufeff"))
    prefix = next(beginning for beginning in _READERS if source.text.lstrip().startswith(beginning))
    words = GambitText(source)
    tree = _READERS[prefix](words)
    check_recall(tree, source)
    turns = turns_of(tree, source)
    roles = names_of(tree.players, "player", {RANDOM}, symbols=True)
    if tree.has_chance:
        roles = (*roles, RANDOM)
    return GambitGame(prefix, source, roles, tree, turns, words.findings.diagnostics())


def names_of(
    labels: Sequence[str],
    instead: str,
    reserved: Collection[str] = (),
    *,
    symbols: bool = False,
) -> tuple[str, ...]:
    """A distinct term for each label, as canonical KIF.

    >>> names_of(["Raise", "Fold", "Call it"], "move")
    ('raise', 'fold', 'call_it')

    Args:
        instead: the beginning of names for labels without a letter or digit.
        reserved: names that must not be used.
        symbols: whether all names must be symbols.
    """
    occupied, names = set(reserved), []
    for number, label in enumerate(labels, start=1):
        plain = _symbol_of(label) or f"{instead}_{number}"
        name = (None if symbols else _term_of(label)) or plain
        suffix = 1
        while name in occupied:
            suffix += 1
            name = f"{plain}_{suffix}"
        occupied.add(name)
        names.append(name)
    return tuple(names)


@cache
def _term_of(label: str) -> str | None:
    """The label as canonical KIF, if it is a term without variables."""
    if _DISTURBING.search(label):
        return None
    try:
        term = parse_term(label)
    except GDLError:
        return None
    return None if any(variables(term)) else str(term)


def _symbol_of(label: str) -> str:
    """A symbol from the label's letters, digits and signs; may be empty."""
    return _OTHER.sub("_", label.lower()).strip("_")


# ------------------------------------------------------------------------
# The tree of a Gambit file, the turn of each node, and checks that roles of GDL-II can play it.
#
# `games` parses files into a `GambitTree`, checks it and asks for its turns.

CHANCE = -1
"""Player number of chance."""


class InformationSet(NamedTuple):
    """Nodes that the player who acts there cannot distinguish.

    Attributes:
        player: number of the player, from 0, or `CHANCE`.
        number: the number in the file; each player has its own numbers.
        label: may be empty.
        actions: labels of the moves.
        shares: probabilities of the moves of chance, with sum 1; empty for players.
        start: character offset of its first node.
    """

    player: int
    number: int
    label: str
    actions: tuple[str, ...]
    shares: tuple[Fraction, ...]
    start: int


class TreeNode(NamedTuple):
    """A node of the tree.

    Attributes:
        sets: the information sets of all players who act here simultaneously: one in an extensive
            form, all in a normal form, none at the end of the game.
        parent: number of the parent, which is less than the node's own; -1 for the root.
        branch: number of the joint move that leads here, in mixed radix; the digit of the last set
            changes fastest.
        payoffs: the payoff of each player on reaching the node; None for nothing.
        start: character offset in the file.
    """

    sets: tuple[int, ...]
    parent: int
    branch: int
    payoffs: tuple[Fraction, ...] | None
    start: int


@dataclass(frozen=True)
class GambitTree:
    """The contents of a file.

    Attributes:
        title, comment: texts about the game; both may be empty.
        players: labels of the players.
        sets: the information sets; each has at least one node.
        nodes: each after its parent.
    """

    title: str
    comment: str
    players: tuple[str, ...]
    sets: tuple[InformationSet, ...]
    nodes: tuple[TreeNode, ...]

    @cached_property
    def totals(self) -> tuple[tuple[Fraction, ...], ...]:
        """For each node, the sum of each player's payoffs on the way to it, including its own."""
        sums: list[tuple[Fraction, ...]] = []
        for node in self.nodes:
            total = sums[node.parent] if node.parent >= 0 else (Fraction(0),) * len(self.players)
            if node.payoffs is not None:
                total = tuple(a + b for a, b in zip(total, node.payoffs, strict=True))
            sums.append(total)
        return tuple(sums)

    @property
    def has_chance(self) -> bool:
        """Whether chance acts anywhere."""
        return any(info_set.player == CHANCE for info_set in self.sets)


# ------------------------------------------------------------------------
# The turn of each node, and checks that roles of GDL-II can play the game.
#
# A role of GDL-II remembers its moves and percepts, and counts turns. The role that acts at a node
# perceives its information set. For it to know no more and no less, two rules must hold:
#
# *Perfect recall.* All nodes of an information set follow the same moves of the player, made in the
# same information sets. Otherwise the player forgets, which GDL-II cannot express.
#
# *One turn.* All nodes of an information set are played in the same turn. If they have different
# depths, all roles wait before the shallow ones. The least turns that allow this are the lengths of
# the longest paths to each information set (topological order). They do not exist if two sets each
# have a node before a node of the other: then a player who counts turns could distinguish nodes.


def check_recall(tree: GambitTree, source: Source) -> None:
    """Refuse games in which a player forgets.

    Raises:
        GDLValidationError: a player forgets; the message says where.
    """
    # For each node, the information set and move of each player's last choice before it.
    last: list[dict[int, tuple[int, int]]] = []
    first_last: dict[int, tuple[int, int] | None] = {}
    for node in tree.nodes:
        choices: dict[int, tuple[int, int]] = {}
        if node.parent >= 0:
            choices = last[node.parent]
            parent = tree.nodes[node.parent]
            if len(parent.sets) == 1 and tree.sets[parent.sets[0]].player != CHANCE:
                number = parent.sets[0]
                choices = choices | {tree.sets[number].player: (number, node.branch)}
        last.append(choices)
        for number in node.sets:
            player = tree.sets[number].player
            if player == CHANCE:
                continue
            choice = choices.get(player)
            if first_last.setdefault(number, choice) != choice:
                _refuse(
                    source,
                    "perfect-recall",
                    f"{_set_text(tree, number)} follows {_choice_text(tree, choice)} here, but "
                    f"{_choice_text(tree, first_last[number])} at its first node: the player "
                    "forgets, which no role of GDL-II does; give such nodes information sets of "
                    "their own",
                    node.start,
                )


def turns_of(tree: GambitTree, source: Source) -> tuple[int, ...]:
    """`[N]` the turn, from 0, in which each node is played, or reached at the end of the game.

    Raises:
        GDLValidationError: no turns are right for all information sets.
    """
    nodes = tree.nodes
    parents = np.array([node.parent for node in nodes])
    # Groups of nodes that are played in the same turn: an information set, or a single node.
    together = np.arange(len(nodes))
    first: dict[int, int] = {}
    for index, node in enumerate(nodes):
        for number in node.sets:
            if tree.sets[number].player != CHANCE:
                together[index] = first.setdefault(number, index)
    children: dict[int, list[int]] = {}
    waiting_for = np.zeros(len(nodes), dtype=np.int64)
    for index in range(1, len(nodes)):
        group = int(together[index])
        children.setdefault(int(together[parents[index]]), []).append(group)
        waiting_for[group] += 1
    turns = np.zeros(len(nodes), dtype=np.int64)
    ready = [0] if waiting_for[0] == 0 else []
    num_ready = 0
    while ready:
        group = ready.pop()
        num_ready += 1
        for child in children.get(group, ()):
            turns[child] = max(turns[child], turns[group] + 1)
            waiting_for[child] -= 1
            if waiting_for[child] == 0:
                ready.append(child)
    if num_ready < len(np.unique(together)):
        stuck = next(
            index for index, group in enumerate(together.tolist()) if waiting_for[group] > 0
        )
        _refuse(
            source,
            "turns",
            f"{_set_text(tree, nodes[stuck].sets[0])} is both before and after another one, so its "
            "nodes cannot be played in one turn, and players of GDL-II count turns",
            nodes[stuck].start,
        )
    return tuple(turns[together].tolist())


def _refuse(source: Source, rule: str, message: str, start: int) -> NoReturn:
    problem = diagnose(source, "error", rule, message, start)
    raise GDLValidationError(str(problem), [problem])


def _set_text(tree: GambitTree, number: int) -> str:
    """Words for an information set."""
    info_set = tree.sets[number]
    label = f' "{info_set.label}"' if info_set.label else ""
    player = tree.players[info_set.player] or f"player {info_set.player + 1}"
    return f"information set {info_set.number}{label} of {player}"


def _choice_text(tree: GambitTree, choice: tuple[int, int] | None) -> str:
    """Words for the last choice of a player."""
    if choice is None:
        return "no move of its own"
    number, action = choice
    move = tree.sets[number].actions[action]
    return f'"{move}" in its information set {tree.sets[number].number}'
