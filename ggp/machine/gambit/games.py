"""The `GameDefinition` of a Gambit file, with names for its roles and moves.

Labels can be any text, but names must be terms. A label that is a term becomes its own name, in
lower case: `(arm blue)`, `Bet`. Other labels keep their letters, digits and signs: `Player 1` plays
as `player_1`. Equal names get numbers.
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
    return None if any(variables(term)) else to_kif(term)


def _symbol_of(label: str) -> str:
    """A symbol from the label's letters, digits and signs; may be empty."""
    return _OTHER.sub("_", label.lower()).strip("_")
