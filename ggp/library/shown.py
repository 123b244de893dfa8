"""How a notebook shows states and beliefs: as boards, drawn by the match runner, which stands above
this package and is there when something is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ggp.belief import Quality
from ggp.machine.base import FloatArray
from ggp.machine.definition import GameDefinition


class _Game(Protocol):
    name: str
    program: GameDefinition


class _State(Protocol):
    @property
    def _game(self) -> _Game: ...

    @property
    def fluents(self) -> Sequence[str]: ...


class _Belief(_State, Protocol):
    @property
    def marginals(self) -> FloatArray: ...

    @property
    def quality(self) -> Quality: ...

    def __len__(self) -> int: ...


class ShownState:
    """A state that a notebook shows as a picture."""

    def _repr_html_(self: _State) -> str:
        from match_runner.notebook import state_html

        return state_html(self._game.name, self._game.program, self.fluents)


class ShownBelief:
    """A belief that a notebook shows as a picture, with the probability of what is not certain."""

    def _repr_html_(self: _Belief) -> str:
        from match_runner.notebook import belief_html

        shares = dict(zip(self.fluents, self.marginals.tolist(), strict=True))
        told = f"{len(self):,} particles, {self.quality.how}"
        return belief_html(self._game.name, self._game.program, shares, told)
