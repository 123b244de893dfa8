"""How other roles are believed to move: by policies that were learnt (`path_rows`).

In plain GDL, where everybody knows the state, nets read that and not paths; nothing is believed of
the others then, and there is no need: a belief has one state.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ggp.belief import Known, PathModel, PathTree
from ggp.errors import ConfigError
from ggp.labs.learning.selfplay import LearntPolicy
from ggp.labs.learning.selfplay.files import read_policy
from ggp.labs.learning.selfplay.path_rows import NetPaths
from ggp.machine.arrays import offsets_of
from ggp.machine.base import IntArray, Machine, Ragged
from ggp.machine.definition import GameDefinition
from ggp.study.names import names_of

TRUST = 1.0
"""How far a policy is trusted to be that of the others."""


class PolicyModels:
    """Models in files that `ggp learn` wrote: see `ggp.players.options.opponents.ModelForm`."""

    names_file = True

    def check(self, rest: str) -> None:
        read_policy(Path(rest))

    def make(
        self,
        rest: str,
        machine: Machine,
        tree: PathTree,
        role: int,
        rng: np.random.Generator,
        program: GameDefinition | None,
    ) -> LearntMoves:
        if program is None:
            raise ConfigError(
                f"model=policy:{rest} needs the rules of the game, and was given none"
            )
        names, kept = names_of(program, machine), read_policy(Path(rest))
        kept.check_game(names, rest)
        rows = NetPaths(machine, tree, names)
        return LearntMoves(machine, tree, role, rows, kept.policies())


MODEL = PolicyModels()


class LearntMoves(PathModel):
    """The others move by policies.

    Args:
        rows: makes what policies read.
        policies: by role; of roles that are missing the model says nothing. May be filled in as
            long as nothing was asked.
    """

    def __init__(
        self,
        machine: Machine,
        tree: PathTree,
        own: int,
        rows: NetPaths,
        policies: Mapping[str, LearntPolicy],
    ) -> None:
        super().__init__(machine, tree, own)
        self._rows, self._policies = rows, policies

    def _ask(self, role: int, paths: IntArray, moves: list[IntArray]) -> list[Known | None]:
        policy = self._policies.get(self._machine.roles[role])
        if policy is None or policy.features.reads_state:
            return [None] * len(paths)
        legal = Ragged(offsets_of(np.array(list(map(len, moves)))), np.concatenate(moves))
        shares = self._rows.shares(policy, paths, legal)
        parts = np.split(shares, legal.offsets[1:-1])
        return [Known(*pair, TRUST) for pair in zip(moves, parts, strict=True)]
