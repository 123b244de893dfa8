"""Options that name files with values of unfinished states; the suffix of a file decides its form.

Installed packages, such as our labs, offer forms: `toml` files declare pieces, and `npz` files hold
what `ggp learn` learned. So `evaluation=kriegspiel` stands for `kriegspiel.toml`, which comes with
the games, and `evaluation=mine.npz` for a critic.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ggp.errors import ConfigError
from ggp.gdl.games import find_companion
from ggp.machine.base import Machine
from ggp.machine.definition import GameDefinition
from ggp.players.options.option_fields import file_field
from ggp.registry import Registry
from ggp.search.anytime import Deadline
from ggp.search.parts import Evaluation, JointEvaluation

PLAYOUTS = "playouts"

PIECES, LEARNT = "toml", "npz"
"""Suffixes of files that declare pieces, and of files that hold learned values."""


class EvaluationForm(Protocol):
    """Reads the files of one form."""

    def check(self, file: str) -> None:
        """Check that a file is of this form.

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
    """An `EvaluationForm` of learned values: it can also learn during a start clock."""

    def is_learnt_in_time(self, machine: Machine) -> bool:
        """Whether learning this game is likely to finish in time."""
        ...

    def learnt(
        self,
        machine: Machine,
        program: GameDefinition,
        seed: int,
        until: Deadline,
        deadline: Deadline,
    ) -> JointEvaluation | None:
        """Values of states, learned now; None if the time was too short, or learning failed.

        Args:
            until: when it should end.
            deadline: when it must end: the clock may jump beyond it.
        """
        ...


EVALUATIONS: Registry[EvaluationForm] = Registry("ggp.evaluations", "evaluation")
"""By the suffix of their files."""


def evaluation_field(meaning: str) -> Any:
    """An option for the values of states where a search stops."""

    def check(text: str) -> str:
        if text != PLAYOUTS:
            form_of(text).check(_path(text))
        return text

    return file_field(PLAYOUTS, meaning, check)


def critic_field(meaning: str) -> Any:
    """An option for the values of leaves: by playouts, or by a file of `ggp learn`."""

    def check(text: str) -> str:
        if text != PLAYOUTS:
            learnt_form().check(text)
        return text

    return file_field(PLAYOUTS, meaning, check)


def evaluation_of(
    text: str, machine: Machine, role: int = 0, program: GameDefinition | None = None
) -> Evaluation | None:
    """The `Evaluation` that an option names; None for random playouts.

    Raises:
        ConfigError: no installed package reads such files, the file is missing or malformed, or it
            does not suit the game.
    """
    if text == PLAYOUTS:
        return None
    return form_of(text).make(_path(text), machine, role, program)


def learnt_form() -> EvaluationForm:
    """The form of files that `ggp learn` writes.

    Raises:
        ConfigError: the lab of learning is not installed.
    """
    form = EVALUATIONS.get(LEARNT)
    if form is None:
        raise ConfigError("this needs the lab of learning, which is not installed")
    return form


def learner_of_values() -> LearnsValues | None:
    """Learns values of states during a start clock; None if no installed package does."""
    form = EVALUATIONS.get(LEARNT)
    return form if isinstance(form, LearnsValues) else None


def form_of(text: str) -> EvaluationForm:
    """The form of the file that an option names; `PIECES` if the name has no suffix.

    Raises:
        ConfigError: no installed package reads such files.
    """
    suffix = Path(text).suffix.removeprefix(".")
    form = EVALUATIONS.get(suffix) or EVALUATIONS.get(PIECES)
    if form is None:
        raise ConfigError(f"no installed package can read {text}")
    return form


def _path(text: str) -> str:
    return str(find_companion(text, f".{PIECES}"))
