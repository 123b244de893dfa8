"""The option `model`: how a player believes that the others move.

    uniform              every legal move is equally likely (the default)
    threshold            by bands of win probability
    late                 if late, their first legal move is made: 20 % are; late:10 has 10 %
    policy:FILE          a strategy, such as `ggp solve GAME --strategy --json` prints, or policies
                         that `ggp learn` wrote, whose names end in .npz
    learned:FILE         counts of moves by information set, kept in FILE from match to match

Installed packages may offer more (`MODELS`). Only `learned` writes: matches are independent of each
other unless a file for it is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ggp.belief import UNIFORM, MoveModel, PathTree
from ggp.belief.policy_models import (
    LATE,
    LateMoves,
    LearnedMoves,
    Place,
    PolicyMoves,
    read_strategies,
)
from ggp.gdl.program import LEGAL
from ggp.gdl.terms import signature
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.evaluations import LEARNT
from ggp.players.options.option_fields import words
from ggp.registry import Registry
from ggp.search.nested.opponent_models import ThresholdMoves

_WORD = re.compile(r"[^()\s]+")

UNIFORM_MODEL = "uniform"

FORMS = "uniform|threshold|late[:P]|policy:FILE|learned:FILE"

Maker = Callable[[Machine, PathTree, int, np.random.Generator, GameDefinition | None], MoveModel]
"""A function that makes a model from a player's machine, paths, role, generator and rules."""


class ModelForm(Protocol):
    """A kind of models that an installed package offers, as `model=NAME` or `model=NAME:REST`.

    Attributes:
        names_file: whether REST is the path of a file.
    """

    names_file: bool

    def check(self, rest: str) -> None:
        """See that a model can be made of what follows the name.

        Raises:
            ConfigError: it cannot; the message says why.
        """
        ...

    def make(
        self,
        rest: str,
        machine: Machine,
        tree: PathTree,
        role: int,
        rng: np.random.Generator,
        program: GameDefinition | None,
    ) -> MoveModel:
        """The model for one match: see `model_of`. If it makes random choices, it spawns a child of
        the player's `rng` for them."""
        ...


MODELS: Registry[ModelForm] = Registry("ggp.models", "model")
"""Models that installed packages offer, besides those of this module."""


def model_field() -> Any:
    """The field of a player's options."""
    meaning = "how the others are believed to move (docs/understand/opponent-models.md)"

    def check(text: str) -> str:
        _maker(text)
        offered = _offered(text)
        if offered is not None:
            form, rest = offered
            form.check(rest)
        elif file := _file_read(text):
            read_strategies(file)
        return text

    return words(UNIFORM_MODEL, meaning, "MODEL", check, names_file=_names_file, reads=_file_read)


def model_of(
    text: str,
    machine: Machine,
    tree: PathTree,
    role: int,
    rng: np.random.Generator,
    program: GameDefinition | None = None,
) -> MoveModel:
    """The model that an option names, for one match.

    Args:
        text: of the option.
        role: the player's role.
        rng: the player's; random choices of a model are made by a child of it, so that the player's
            own stay the same.
        program: the rules, where they are known: policies that were learnt are of one game.

    Raises:
        ConfigError: its file cannot be read, or has no strategies.
    """
    return _maker(text)(machine, tree, role, rng, program)


def learned_file(text: str) -> str | None:
    """The file of counts to which a match adds; None if there is none."""
    name, _, rest = text.partition(":")
    return rest if name == "learned" else None


def _names_file(text: str) -> bool:
    offered = _offered(text)
    if offered is not None:
        return offered[0].names_file
    name, _, _ = text.partition(":")
    return name in ("policy", "learned")


def _offered(text: str) -> tuple[ModelForm, str] | None:
    """The form of an installed package that makes the model, and what it is made of."""
    name, _, rest = text.partition(":")
    if name == "policy" and rest.endswith(f".{LEARNT}"):
        name = LEARNT
    if name in _OWN:
        return None
    form = MODELS.get(name)
    return None if form is None else (form, rest)


_OWN = frozenset({UNIFORM_MODEL, "threshold", "late", "policy", "learned"})


def _file_read(text: str) -> str:
    """The file that decides how the others move; empty if there is none, or matches add to it."""
    return "" if learned_file(text) or not _names_file(text) else text.partition(":")[2]


def _maker(text: str) -> Maker:
    """The maker of a model; raises ValueError with what the option must be."""
    name, _, rest = text.partition(":")
    if name == UNIFORM_MODEL and not rest:
        return lambda *_: UNIFORM
    if name == "threshold" and not rest:
        # Its random choices leave the player's own as they are.
        return lambda machine, tree, role, rng, _: ThresholdMoves(
            machine, tree, role, rng.spawn(1)[0]
        )
    offered = _offered(text)
    if offered is not None:
        form, of = offered
        return lambda machine, tree, role, rng, program: form.make(
            of, machine, tree, role, rng, program
        )
    if name == "policy" and rest:
        return lambda machine, tree, role, *_: PolicyMoves(
            machine, tree, role, read_strategies(rest)
        )
    if name == "late":
        late = _late_share(rest) if rest else LATE
        return lambda machine, tree, role, _, program: LateMoves(
            machine, tree, role, _order(machine, program), late
        )
    if name == "learned" and rest:
        return lambda machine, tree, role, *_: LearnedMoves(
            machine, tree, role, read_strategies(rest) if Path(rest).exists() else {}
        )
    more = "".join(f"|{each}" for each in MODELS if each != LEARNT)
    raise ValueError(f"must be {FORMS}{more}, not {text}")


def _late_share(percent: str) -> float:
    try:
        share = float(percent) / 100
    except ValueError:
        share = np.nan
    if not 0.001 <= share <= 0.999:
        raise ValueError(f"needs a number from 0.1 to 99.9 in late:P, not {percent!r}")
    return share


def _order(machine: Machine, program: GameDefinition | None) -> Callable[[int], Place]:
    """The place of a move by its number: the word that comes first in the rules goes first.

    That is the order in which a reasoner finds moves, if facts are what their parts come from: so
    the heads of `legal` do not count. It is the same where a server has scrambled the words.
    """
    places: dict[str, int] = {}
    for rule in () if program is None else program.as_program().rules:
        atoms = [literal.atom for literal in rule.body]
        if signature(rule.head) != LEGAL:
            atoms.insert(0, rule.head)
        for word in _WORD.findall(" ".join(map(str, atoms)).lower()):
            places.setdefault(word, len(places))

    def place_of(move: int) -> Place:
        named = machine.move_text(move)
        of_words = (places.get(word, len(places)) for word in _WORD.findall(named.lower()))
        return tuple(of_words), named

    return place_of
