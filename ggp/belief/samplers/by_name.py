"""Samplers by name, as player options give it: `hyperplay`, `los`, and those of installed packages.

`make_sampler` gets a name and `SamplerSettings` and returns the sampler of a player's own bag.
"""

from __future__ import annotations

from typing import Protocol, Unpack

from ggp.belief.paths import PathTree
from ggp.belief.sampler import Sampler, SamplerSettings, Shared
from ggp.machine.base import Machine
from ggp.registry import Registry

HYPERPLAY, LOS = "hyperplay", "los"


class SamplerMaker(Protocol):
    """A function or class that returns a sampler for one match."""

    def __call__(
        self,
        machine: Machine,
        tree: PathTree,
        settings: SamplerSettings,
        **shared: Unpack[Shared],
    ) -> Sampler: ...


SAMPLERS: Registry[SamplerMaker] = Registry(
    "ggp.samplers",
    "sampler",
    {
        HYPERPLAY: "ggp.belief.samplers.hyperplay_sampler:own_sampler",
        LOS: "ggp.belief.samplers.last_observation:board_sampler",
    },
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
