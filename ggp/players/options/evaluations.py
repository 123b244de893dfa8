"""What unfinished states are worth, by what a file says: forms of files by the end of their names.

A form of files is what an installed package offers, such as our labs: `toml` declares pieces, and
`npz` holds what `ggp learn` learnt. So `evaluation=kriegspiel` stands for `kriegspiel.toml`, which
comes with the games, and `values=mine.npz` for a critic.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ggp.errors import ConfigError
from ggp.gdl.games import comes_with_games, find_companion
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import words
from ggp.registry import Registry
from ggp.search.anytime import Deadline
from ggp.search.leaf_values import StateValues
from ggp.search.parts import Evaluation

PLAYOUTS = "playouts"

PIECES, LEARNT = "toml", "npz"
"""Ends of the names of files: that declare pieces, and that hold what was learnt."""


class EvaluationForm(Protocol):
    """How states are valued by files of one form."""

    def check(self, file: str) -> None:
        """See that a file is of this form.

        Raises:
            ConfigError: it is not, or cannot be read.
        """
        ...

    def make(
        self, file: str, machine: Machine, role: int, program: GameDefinition | None
    ) -> Evaluation:
        """The `Evaluation` for a role in one match.

        Raises:
            ConfigError: as for `check`, or it does not suit the game.
        """
        ...


@runtime_checkable
class LearnsValues(Protocol):
    """An `EvaluationForm` whose files are learnt: it may also learn in a start clock."""

    def is_learnt_in_time(self, machine: Machine) -> bool:
        """Whether it is worth while to try in this game."""
        ...

    def learnt(
        self,
        machine: Machine,
        program: GameDefinition,
        seed: int,
        until: Deadline,
        deadline: Deadline,
    ) -> StateValues | None:
        """What states are worth, learnt now; None if time was up, or nothing came of it.

        Args:
            until: when it is to end.
            deadline: when it must: the clock may jump beyond it.
        """
        ...


EVALUATIONS: Registry[EvaluationForm] = Registry("ggp.evaluations", "evaluation")
"""By the end of the names of their files."""


def evaluation_field(meaning: str) -> Any:
    """The field of an option that says what states are worth where a search stops."""

    def check(text: str) -> str:
        if text != PLAYOUTS:
            form_of(text).check(_path(text))
        return text

    return words(
        PLAYOUTS, meaning, "playouts|FILE", check, names_file=names_own_file, reads=own_file
    )


def policies_field(meaning: str) -> Any:
    """The field of an option for what `ggp learn` wrote."""

    def check(text: str) -> str:
        if text:
            learnt_form().check(text)
        return text

    return words("", meaning, "FILE", check, usual="none", names_file=bool, reads=str)


def names_own_file(text: str) -> bool:
    """Whether a value of the option `evaluation` names a file that does not come with the games."""
    return text != PLAYOUTS and not comes_with_games(text, ".toml")


def own_file(text: str) -> str:
    """The file that a value of the option names, if it does not come with the games; else empty."""
    return text if names_own_file(text) else ""


def evaluation_of(
    text: str, machine: Machine, role: int = 0, program: GameDefinition | None = None
) -> Evaluation | None:
    """The `Evaluation` that an option names; None for random playouts.

    Raises:
        ConfigError: nothing installed reads such files, there is no such file, its contents are
            wrong, or it does not suit the game.
    """
    if text == PLAYOUTS:
        return None
    return form_of(text).make(_path(text), machine, role, program)


def state_values_of(file: str, machine: Machine, program: GameDefinition | None) -> StateValues:
    """What states are worth by what was learnt.

    Raises:
        ConfigError: as for `evaluation_of`.
    """
    values = learnt_form().make(file, machine, 0, program)
    assert callable(values)
    learnt: StateValues = values
    return learnt


def learnt_form() -> EvaluationForm:
    """The form of files that `ggp learn` writes.

    Raises:
        ConfigError: the lab of learning is not installed.
    """
    form = EVALUATIONS.get(LEARNT)
    if form is None:
        raise ConfigError("that needs the lab of learning, which is not installed")
    return form


def learner_of_values() -> LearnsValues | None:
    """What learns the values of states in a start clock; None if nothing installed does."""
    form = EVALUATIONS.get(LEARNT)
    return form if isinstance(form, LearnsValues) else None


def form_of(text: str) -> EvaluationForm:
    """The form of the file that an option names: that of pieces if its name has no end.

    Raises:
        ConfigError: nothing installed reads such files.
    """
    end = Path(text).suffix.removeprefix(".")
    form = EVALUATIONS.get(end) or EVALUATIONS.get(PIECES)
    if form is None:
        raise ConfigError(f"nothing that is installed can read {text}")
    return form


def _path(text: str) -> str:
    return str(find_companion(text, f".{PIECES}"))
