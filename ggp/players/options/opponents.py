"""The option `model`: from its text to a `MoveModel`, which predicts the other roles' moves.

    uniform              every legal move is equally likely (the default)
    late                 20 % are late, and the server makes their first legal move; late:10: 10 %
    policy:FILE          a strategy, such as `ggp solve GAME --strategy --json` prints
    learned:FILE         counts of moves by information set, kept in FILE from match to match

Our labs and installed packages offer more (`MODELS`). Only `learned` writes a file, so that matches
depend on each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ggp.belief import UNIFORM, MoveModel, PathTree
from ggp.belief.policy_models import (
    LATE,
    LateMoves,
    LearnedMoves,
    PolicyMoves,
    SortKey,
    read_strategies,
)
from ggp.gdl.program import LEGAL
from ggp.gdl.terms import signature
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import words
from ggp.registry import Registry

_WORD = re.compile(r"[^()\s]+")

UNIFORM_MODEL = "uniform"

FORMS = "uniform|late[:P]|policy:FILE|learned:FILE"
"""The forms of this package, for messages."""


class ModelForm(NamedTuple):
    """A kind of models: `model=NAME` or `model=NAME:REST`. The first argument of all is REST.

    Attributes:
        make: returns the model for one match, from the arguments of `model_of`. For random
            choices it spawns a child of the player's `rng`.
        check: raises `ConfigError` or ValueError with a reason if REST is wrong.
        names_file: whether REST is the path of a file.
    """

    make: Callable[
        [str, Machine, PathTree, int, np.random.Generator, GameDefinition | None], MoveModel
    ]
    check: Callable[[str], object] = lambda rest: None
    names_file: Callable[[str], bool] = lambda rest: False


def model_field() -> Any:
    """The option `model`."""
    meaning = "model of the others' moves (docs/understand/opponent-models.md)"

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
        text: the option's value.
        role: the player's role.
        rng: the player's. A model makes random choices with a child of it, so that the player's
            own choices stay the same.
        program: the rules, if known.

    Raises:
        ConfigError: its file cannot be read, or has no strategies.
    """
    form, rest = _form_of(text)
    return form.make(rest, machine, tree, role, rng, program)


def learned_file(text: str) -> str | None:
    """The file to which a match adds counts; None if there is none."""
    name, _, rest = text.partition(":")
    return rest if name == "learned" else None


def _form_of(text: str) -> tuple[ModelForm, str]:
    """The form of a model, and the text after its name; raises ValueError with the possible
    values."""
    name, _, rest = text.partition(":")
    form = MODELS.get(name)
    if form is None:
        raise _refused(text)
    return form, rest


def _refused(text: str) -> ValueError:
    offered = "".join(f"|{name}" for name in MODELS if name not in _OWN)
    return ValueError(f"must be {FORMS}{offered}, not {text}")


def _names_file(text: str) -> bool:
    name, _, rest = text.partition(":")
    return name in MODELS and MODELS[name].names_file(rest)


def _file_read(text: str) -> str:
    """The file that a model is read from; empty if there is none, or matches add to it."""
    return "" if learned_file(text) or not _names_file(text) else text.partition(":")[2]


# ------------------------------------------------------------------------
# The forms of this package.


def reject_rest(name: str, rest: str) -> None:
    """Check that nothing follows the name of a model; raises ValueError otherwise."""
    if rest:
        raise _refused(f"{name}:{rest}")


def _share_late(rest: str) -> float:
    return _number(rest, "late:P", 0.1, 99.9) / 100 if rest else LATE


def _number(text: str, form: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not low <= value <= high:
        raise ValueError(f"needs a number from {low:g} to {high:g} in {form}, not {text!r}")
    return value


def _sort_keys(machine: Machine, program: GameDefinition | None) -> Callable[[int], SortKey]:
    """The sort key of a move, by its id: words are ordered by their first occurrence in the rules.

    A reasoner finds moves in this order if their parts come from facts; so the heads of `legal` do
    not count. Servers that scramble the words do not change the order.
    """
    places: dict[str, int] = {}
    for rule in () if program is None else program.as_program().rules:
        atoms = [literal.atom for literal in rule.body]
        if signature(rule.head) != LEGAL:
            atoms.insert(0, rule.head)
        for word in _WORD.findall(" ".join(map(str, atoms)).lower()):
            places.setdefault(word, len(places))

    def key_of(move: int) -> SortKey:
        named = machine.move_text(move)
        of_words = (places.get(word, len(places)) for word in _WORD.findall(named.lower()))
        return tuple(of_words), named

    return key_of


UNIFORM_FORM = ModelForm(lambda *_: UNIFORM, partial(reject_rest, UNIFORM_MODEL))
LATE_FORM = ModelForm(
    lambda rest, machine, tree, role, _, program: LateMoves(
        machine, tree, role, _sort_keys(machine, program), _share_late(rest)
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
    "late": f"{__name__}:LATE_FORM",
    "policy": f"{__name__}:POLICY_FORM",
    "learned": f"{__name__}:LEARNED_FORM",
}

MODELS: Registry[ModelForm] = Registry("ggp.models", "model", _OWN)
"""By name."""
