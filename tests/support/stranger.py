"""The package of a stranger, who knows only the page on extensions: one of everything."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from ggp.belief import UNIFORM
from ggp.errors import ConfigError
from ggp.machine import Machine
from ggp.machine.base import FloatArray, IntArray, States
from ggp.machine.definition import GameDefinition
from ggp.players.options.opponents import ModelForm
from ggp.search.anytime import Deadline


def is_seven(rest: str) -> None:
    if rest != "7":
        raise ValueError("must be bold:7")


class Middle:
    """The same value for every state."""

    certain = True

    def __init__(self, middle: float) -> None:
        self.middle = middle

    def values(
        self,
        states: States,
        role: int,
        rng: np.random.Generator,
        deadline: Deadline | None = None,
    ) -> tuple[FloatArray, IntArray]:
        return np.full(len(states), self.middle), np.zeros(len(states), dtype=np.int64)


class Numbers:
    """Files that hold nothing but a number."""

    def check(self, file: str) -> None:
        number_in(file)

    def make(
        self, file: str, machine: Machine, role: int, program: GameDefinition | None
    ) -> Middle:
        return Middle(number_in(file))


def number_in(file: str) -> float:
    try:
        return float(Path(file).read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file} holds no number: {error}") from error


@click.command()
@click.argument("game")
def greet(game: str) -> None:
    """Say hello to a game."""
    click.echo(f"hello {game}")


BOLD, NUMBERS = ModelForm(lambda *_: UNIFORM, is_seven), Numbers()
