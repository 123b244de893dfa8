"""Fixed opponents for poker: strategies in files, made as the benchmark makes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from benchmarks.opponent_models import STYLES, strategies
from ggp.belief.policy_models import write_strategies
from ggp.solve import Solution, solve
from tests.support.games import machine_of_game


@cache
def kuhn() -> Solution:
    return solve(machine_of_game("kuhn_poker", "propnet"))


def policy_file(folder: Path, style: str) -> str:
    """A file with what an opponent of this style does in `kuhn_poker`."""
    file = folder / f"{style}.json"
    write_strategies(str(file), strategies(kuhn(), STYLES[style]))
    return str(file)
