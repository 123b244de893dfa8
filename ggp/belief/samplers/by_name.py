"""The samplers by name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Unpack

from ggp.belief.finder import Shared
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Sampler
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.hyperplay_sampler import OWN_COMPLETIONS, HyperPlaySampler
from ggp.belief.samplers.last_observation import LastObservation
from ggp.belief.samplers.observation_samplers import AllObservations
from ggp.belief.samplers.pool_samplers import POOL_LIMIT, Hybrid, Pool
from ggp.machine.base import Machine


class Sampling(StrEnum):
    """How the states that a role may be in are sampled; see `docs/reference/belief.md`."""

    HYPERPLAY = "hyperplay"
    LOS = "los"
    AOS = "aos"
    AOSP = "aosp"
    HS = "hs"


_OTHERS: Mapping[Sampling, Any] = {
    Sampling.LOS: LastObservation,
    Sampling.AOS: AllObservations,
    Sampling.AOSP: Pool,
    Sampling.HS: Hybrid,
}


def make_sampler(
    kind: Sampling,
    machine: Machine,
    tree: PathTree,
    *,
    exact: int,
    pool: int = POOL_LIMIT,
    maker: BoardMaker | None = None,
    rescues: bool = True,
    **shared: Unpack[Shared],
) -> Sampler:
    """A sampler of a player's own bag.

    Args:
        exact: largest information set that is enumerated, only by HyperPlay's sampler.
        pool: most boards of a pool, where there is one.
        maker: draws boards for samplers by the last observation when no history is found.
        rescues: see `HyperPlaySampler`.
        shared: see `Setting`.
    """
    if kind is Sampling.HYPERPLAY:
        return HyperPlaySampler(
            machine,
            tree,
            exact=exact,
            follows=True,
            completions=OWN_COMPLETIONS,
            solves=True,
            rescues=rescues,
            **shared,
        )
    limits: dict[str, Any] = {"pool": pool} if kind in (Sampling.AOSP, Sampling.HS) else {}
    if kind in (Sampling.LOS, Sampling.HS):
        limits["maker"] = maker
    made: Sampler = _OTHERS[kind](machine, tree, **limits, **shared)
    return made
