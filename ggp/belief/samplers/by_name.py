"""Samplers by name, as player options give it: `hyperplay`, `los`, and those of installed packages.

`make_sampler` gets a name and `SamplerSettings` and returns the sampler of a player's own bag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Unpack

from ggp.belief.paths import PathTree
from ggp.belief.sampler import Sampler, Shared
from ggp.belief.samplers.board_maker import BoardMaker
from ggp.belief.samplers.hyperplay_sampler import OWN_COMPLETIONS, HyperPlaySampler
from ggp.belief.samplers.last_observation import LastObservation
from ggp.machine.base import Machine
from ggp.registry import Registry

POOL_LIMIT = 20_000
"""Most states that samplers keep from turn to turn (paper 002)."""

HYPERPLAY, LOS = "hyperplay", "los"


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """Settings of the sampler of a player's own bag; each sampler uses some of them.

    Attributes:
        exact: largest information set that is enumerated.
        pool: most states that are kept from turn to turn.
        maker: draws boards when no history is found.
        rescues: whether to ask all finders when no particle is left.
    """

    exact: int
    pool: int = POOL_LIMIT
    maker: BoardMaker | None = None
    rescues: bool = True


class SamplerMaker(Protocol):
    """A function or class that returns a sampler for one match."""

    def __call__(
        self,
        machine: Machine,
        tree: PathTree,
        settings: SamplerSettings,
        **shared: Unpack[Shared],
    ) -> Sampler: ...


def hyperplay(
    machine: Machine, tree: PathTree, settings: SamplerSettings, **shared: Unpack[Shared]
) -> Sampler:
    """HyperPlay's sampler; no other enumerates sets."""
    return HyperPlaySampler(
        machine,
        tree,
        exact=settings.exact,
        follows=True,
        completions=OWN_COMPLETIONS,
        solves=True,
        rescues=settings.rescues,
        **shared,
    )


def los(
    machine: Machine, tree: PathTree, settings: SamplerSettings, **shared: Unpack[Shared]
) -> Sampler:
    """Boards that agree with the last observation."""
    return LastObservation(machine, tree, maker=settings.maker, **shared)


SAMPLERS: Registry[SamplerMaker] = Registry(
    "ggp.samplers",
    "sampler",
    {HYPERPLAY: f"{__name__}:hyperplay", LOS: f"{__name__}:los"},
)
"""Samplers by name; see `docs/reference/belief.md`."""


def make_sampler(
    name: str,
    machine: Machine,
    tree: PathTree,
    settings: SamplerSettings,
    **shared: Unpack[Shared],
) -> Sampler:
    """A sampler of a player's own bag.

    Args:
        name: in `SAMPLERS`.
        shared: see `Setting`.

    Raises:
        ConfigError: a package that offers it cannot be imported.
    """
    return SAMPLERS[name](machine, tree, settings, **shared)
