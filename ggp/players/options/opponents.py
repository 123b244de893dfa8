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
from typing import Any, NamedTuple

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
"""The forms of the core, as messages list them."""


class ModelForm(NamedTuple):
    """A kind of models: `model=NAME` or `model=NAME:REST`. Every callable is given REST first.

    Attributes:
        make: the model for one match, of the arguments of `model_of`. If it makes random choices,
            it spawns a child of the player's `rng` for them.
        check: raises `ConfigError` or ValueError, and says why, if no model can be made of REST.
        names_file: whether REST is the path of a file.
    """

    make: Callable[
        [str, Machine, PathTree, int, np.random.Generator, GameDefinition | None], MoveModel
    ]
    check: Callable[[str], object] = lambda rest: None
    names_file: Callable[[str], bool] = lambda rest: False


def model_field() -> Any:
    """The field of a player's options."""
    meaning = "how the others are believed to move (docs/understand/opponent-models.md)"

    def check(text: str) -> str:
        form, rest = _form_of(text)
        if form.names_file(rest) and not rest:
            raise _refused(text)
        form.check(rest)
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
    form, rest = _form_of(text)
    return form.make(rest, machine, tree, role, rng, program)


def learned_file(text: str) -> str | None:
    """The file of counts to which a match adds; None if there is none."""
    name, _, rest = text.partition(":")
    return rest if name == "learned" else None


def _form_of(text: str) -> tuple[ModelForm, str]:
    """The form of a model, and what follows its name; raises ValueError with what the option must
    be."""
    name, rest = _split(text)
    form = MODELS.get(name)
    if form is None:
        raise _refused(text)
    return form, rest


def _split(text: str) -> tuple[str, str]:
    name, _, rest = text.partition(":")
    is_learnt = name == "policy" and rest.endswith(f".{LEARNT}") and LEARNT in MODELS
    return (LEARNT if is_learnt else name), rest


def _refused(text: str) -> ValueError:
    more = "".join(f"|{name}" for name in MODELS if name not in _OWN and name != LEARNT)
    return ValueError(f"must be {FORMS}{more}, not {text}")


def _names_file(text: str) -> bool:
    name, rest = _split(text)
    return name in MODELS and MODELS[name].names_file(rest)


def _file_read(text: str) -> str:
    """The file that decides how the others move; empty if there is none, or matches add to it."""
    return "" if learned_file(text) or not _names_file(text) else text.partition(":")[2]


# ------------------------------------------------------------------------
# The forms of the core.


def _nothing_after(name: str) -> Callable[[str], None]:
    """The check of a model that is complete with its name."""

    def check(rest: str) -> None:
        if rest:
            raise _refused(f"{name}:{rest}")

    return check


def _share_late(percent: str) -> float:
    if not percent:
        return LATE
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


UNIFORM_FORM = ModelForm(lambda *_: UNIFORM, _nothing_after(UNIFORM_MODEL))
THRESHOLD_FORM = ModelForm(
    lambda rest, machine, tree, role, rng, _: ThresholdMoves(machine, tree, role, rng.spawn(1)[0]),
    _nothing_after("threshold"),
)
LATE_FORM = ModelForm(
    lambda rest, machine, tree, role, _, program: LateMoves(
        machine, tree, role, _order(machine, program), _share_late(rest)
    ),
    _share_late,
)
POLICY_FORM = ModelForm(
    lambda rest, machine, tree, role, *_: PolicyMoves(machine, tree, role, read_strategies(rest)),
    read_strategies,
    lambda rest: True,
)
LEARNED_FORM = ModelForm(
    lambda rest, machine, tree, role, *_: LearnedMoves(
        machine, tree, role, read_strategies(rest) if Path(rest).exists() else {}
    ),
    names_file=lambda rest: True,
)

_OWN = {
    UNIFORM_MODEL: f"{__name__}:UNIFORM_FORM",
    "threshold": f"{__name__}:THRESHOLD_FORM",
    "late": f"{__name__}:LATE_FORM",
    "policy": f"{__name__}:POLICY_FORM",
    "learned": f"{__name__}:LEARNED_FORM",
}

MODELS: Registry[ModelForm] = Registry("ggp.models", "model", _OWN)
"""By name. What `ggp learn` wrote is also found as `policy:FILE`."""
