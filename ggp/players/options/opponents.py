"""The option `model`: how a player believes that the others move.

    uniform              every legal move is equally likely (the default)
    greedy               a softmax of HyperPlay values; greedy:20 has temperature 20
    threshold            by bands of win probability; threshold:40:70 has other thresholds, in
                         percent, and threshold:FILE has them fitted to the counts in FILE
    late                 if late, their first legal move is made: 20 % are; late:10 has 10 %
    policy:FILE          a strategy, such as `ggp solve GAME --strategy --json` prints, or policies
                         that `ggp learn` wrote, whose names end in .npz
    learned:FILE         counts of moves by information set, kept in FILE from match to match

Only `learned` writes: matches are independent of each other unless a file for it is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ggp.belief import UNIFORM, MoveModel, PathTree
from ggp.belief.late_moves import LATE, LateMoves, Place
from ggp.belief.policy_models import LearnedMoves, PolicyMoves
from ggp.belief.strategies import read_strategies
from ggp.errors import ConfigError
from ggp.gdl.program import LEGAL
from ggp.gdl.terms import signature
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import words
from ggp.players.options.policy_files import check_policies
from ggp.search.nested.opponent_models import GreedyMoves, ThresholdMoves

_WORD = re.compile(r"[^()\s]+")

UNIFORM_MODEL = "uniform"

TEMPERATURE = 10.0
"""Default temperature of `greedy`, in points of 100."""

FORMS = "uniform|greedy[:T]|threshold[:C:R]|threshold:FILE|late[:P]|policy:FILE|learned:FILE"

POLICIES = ".npz"
"""The end of the names of files of policies that were learnt."""

Maker = Callable[[Machine, PathTree, int, np.random.Generator, GameDefinition | None], MoveModel]
"""A function that makes a model from a player's machine, paths, role, generator and rules."""


def model_field() -> Any:
    """The field of a player's options."""
    meaning = "how the others are believed to move (docs/understand/opponent-models.md)"

    def check(text: str) -> str:
        _maker(text)
        if (file := _file_read(text)).endswith(POLICIES):
            check_policies(file)
        elif file:
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
    name, _, rest = text.partition(":")
    return name in ("policy", "learned") or (name == "threshold" and rest != "" and ":" not in rest)


def _file_read(text: str) -> str:
    """The file that decides how the others move; empty if there is none, or matches add to it."""
    return "" if learned_file(text) or not _names_file(text) else text.partition(":")[2]


def _maker(text: str) -> Maker:
    """The maker of a model; raises ValueError with what the option must be."""
    name, _, rest = text.partition(":")
    if name == UNIFORM_MODEL and not rest:
        return lambda *_: UNIFORM
    if name == "greedy":
        temperature = _number(rest, "greedy:T", 0.1, 1000) if rest else TEMPERATURE
        return lambda machine, tree, role, rng, _: GreedyMoves(
            machine, tree, role, _child(rng), temperature
        )
    if name == "threshold":
        return _threshold(rest)
    if name == "policy" and rest.endswith(POLICIES):
        return lambda machine, tree, role, _, program: _learnt(rest, machine, tree, role, program)
    if name == "policy" and rest:
        return lambda machine, tree, role, *_: PolicyMoves(
            machine, tree, role, read_strategies(rest)
        )
    if name == "late":
        late = _number(rest, "late:P", 0.1, 99.9) / 100 if rest else LATE
        return lambda machine, tree, role, _, program: LateMoves(
            machine, tree, role, _order(machine, program), late
        )
    if name == "learned" and rest:
        return lambda machine, tree, role, *_: LearnedMoves(
            machine, tree, role, read_strategies(rest) if Path(rest).exists() else {}
        )
    raise ValueError(f"must be {FORMS}, not {text}")


def _learnt(
    file: str, machine: Machine, tree: PathTree, role: int, program: GameDefinition | None
) -> MoveModel:
    """The others move by policies that were learnt."""
    # Only here: few players need nets.
    from ggp.env.names import names_of
    from ggp.learn.files import read_policy
    from ggp.learn.path_rows import NetPaths
    from ggp.players.parts.learnt_moves import LearntMoves

    if program is None:
        raise ConfigError(f"model=policy:{file} needs the rules of the game, and was given none")
    names, kept = names_of(program, machine), read_policy(Path(file))
    kept.check_game(names, file)
    rows = NetPaths(machine, tree, names)
    return LearntMoves(machine, tree, role, rows, kept.policies())


def _threshold(rest: str) -> Maker:
    call, colon, raise_ = rest.partition(":")
    if not rest:
        return lambda machine, tree, role, rng, _: ThresholdMoves(machine, tree, role, _child(rng))
    if colon:
        form = "threshold:C:R, in percent"
        low = _number(call, form, 0, 100) / 100
        high = _number(raise_, form, 100 * low, 100) / 100
        return lambda machine, tree, role, rng, _: ThresholdMoves(
            machine, tree, role, _child(rng), low, high
        )
    return lambda machine, tree, role, rng, _: ThresholdMoves(
        machine, tree, role, _child(rng), counts=read_strategies(rest)
    )


def _number(text: str, form: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not low <= value <= high:
        raise ValueError(f"needs a number from {low:g} to {high:g} in {form}, not {text!r}")
    return value


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


def _child(rng: np.random.Generator) -> np.random.Generator:
    return rng.spawn(1)[0]
