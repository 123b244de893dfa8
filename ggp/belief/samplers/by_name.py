"""The samplers by name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ggp.belief.move_models import UNIFORM, MoveModel
from ggp.belief.paths import PathTree
from ggp.belief.sampler import Sampler
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.hyperplay_sampler import OWN_COMPLETIONS, HyperPlaySampler
from ggp.belief.samplers.last_observation import LastObservation
from ggp.belief.samplers.observation_samplers import AllObservations
from ggp.belief.samplers.pool_samplers import POOL_LIMIT, Hybrid, Pool
from ggp.machine.base import Machine


class Sampling(StrEnum):
    """How states are sampled that a role may be in; see `docs/belief.md`."""

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
    capacity: int,
    exact: int,
    keep_views: bool,
    pool: int = POOL_LIMIT,
    maker: BoardMaker | None = None,
    model: MoveModel = UNIFORM,
    rescues: bool = True,
) -> Sampler:
    """A sampler of a player's own bag.

    Args:
        capacity: particles of a sampled bag.
        exact: largest information set that is enumerated, by HyperPlay's sampler only.
        keep_views: see `Segments`.
        pool: boards of a pool at most, where there is one.
        maker: draws boards for samplers by the last observation where there are no histories.
        model: how the other roles move.
        rescues: see `HyperPlaySampler`.
    """
    if kind is Sampling.HYPERPLAY:
        return HyperPlaySampler(
            machine,
            tree,
            capacity=capacity,
            exact=exact,
            keep_views=keep_views,
            model=model,
            follows=True,
            completions=OWN_COMPLETIONS,
            solves=True,
            rescues=rescues,
        )
    limits: dict[str, Any] = {"pool": pool} if kind in (Sampling.AOSP, Sampling.HS) else {}
    if kind in (Sampling.LOS, Sampling.HS):
        limits["maker"] = maker
    made: Sampler = _OTHERS[kind](
        machine, tree, capacity=capacity, keep_views=keep_views, model=model, **limits
    )
    return made
