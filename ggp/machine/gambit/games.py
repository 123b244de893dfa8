"""A game from a file of Gambit's as a `GameDefinition`: names for its roles and moves.

Labels may be any text, and terms may not. A label that is a term, folded to lower case, stands for
itself, as in what we write: `(arm blue)`, `Bet`. Of others the letters, digits and signs are kept:
`Player 1` plays as `player_1`. Names that would be the same get numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b

from ggp.errors import GDLError
from ggp.gdl.program import RANDOM, Program, without_rules
from ggp.gdl.source import Diagnostic, Source
from ggp.gdl.syntax.descriptions import Description
from ggp.gdl.syntax.parser import parse_term
from ggp.gdl.syntax.printer import to_kif
from ggp.gdl.terms import variables
from ggp.machine.gambit.tree import GambitTree, check_recall, turns_of
from ggp.machine.gambit.words import GambitText, read_extensive, read_normal

EXTENSIVE, NORMAL = "EFG ", "NFG "
"""Beginnings of the files."""

_READERS = {EXTENSIVE: read_extensive, NORMAL: read_normal}

_OTHER = re.compile(r"[^\w+./-]+")
"""Characters that no name of ours has."""

_DISTURBING = re.compile(r"[\"',|?{}\[\]]")
"""Characters that mean something in a syntax of GDL."""


@dataclass(frozen=True)
class GambitGame:
    """A game from a file of Gambit's.

    Attributes:
        prefix: `EXTENSIVE` or `NORMAL`.
        tree: what the file states.
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
        """Of the text."""
        return blake2b(self.source.text.encode(), digest_size=16).hexdigest()

    @cached_property
    def goal_bounds(self) -> tuple[float, float]:
        """The least and the greatest payoff of a player at an end of the game."""
        nodes = zip(self.tree.nodes, self.tree.totals, strict=True)
        ends = [total for node, total in nodes if not node.sets]
        return float(min(map(min, ends))), float(max(map(max, ends)))

    def describe(self) -> Description:
        """Its title and its comment."""
        return Description(self.tree.title, self.tree.comment)

    def as_program(self) -> Program:
        """There are no rules to look into."""
        return without_rules(self.roles, self.source.name)


def gambit_game(text: str | bytes, name: str) -> GambitGame:
    """The game in a file.

    Args:
        text: of the file; bytes that are not UTF-8 are replaced.
        name: what messages call it.

    Raises:
        GDLSyntaxError: it is not of Gambit's formats.
        GDLValidationError: no roles of GDL-II can play it, since a player forgets, or since
            information sets cannot be played in turns.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    source = Source(name, text.removeprefix("\ufeff"))
    prefix = next(each for each in _READERS if source.text.lstrip().startswith(each))
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
    taken: Collection[str] = (),
    *,
    symbols: bool = False,
) -> tuple[str, ...]:
    """Terms that stand for labels, all different, as canonical KIF.

    Args:
        instead: begins the names of those that have no letter or digit.
        taken: names that are not to be used.
        symbols: whether they have to be symbols.
    """
    used, found = set(taken), []
    for number, label in enumerate(labels, start=1):
        plain = _symbol_of(label) or f"{instead}_{number}"
        name = (None if symbols else _term_of(label)) or plain
        more = 1
        while name in used:
            more += 1
            name = f"{plain}_{more}"
        used.add(name)
        found.append(name)
    return tuple(found)


@cache
def _term_of(label: str) -> str | None:
    """The label as canonical KIF, if it is a term without variables."""
    if _DISTURBING.search(label):
        return None
    try:
        term = parse_term(label)
    except GDLError:
        return None
    return None if any(variables(term)) else to_kif(term)


def _symbol_of(label: str) -> str:
    """A symbol made of the label's letters, digits and signs; it may be empty."""
    return _OTHER.sub("_", label.lower()).strip("_")
