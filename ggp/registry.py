"""Plug-ins by name: players, samplers, models and commands that installed packages add.

Each kind of plug-in has a `Registry`: a table of the core's objects, and an entry point group in
which installed packages offer more. The labs of this package are found in the same way: nothing in
the core imports a lab. `docs/use/extending.md` lists the groups and the objects that they hold.

An object is imported when it is looked up, and not before. A name of the core is looked up without
searching the installed packages.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, cast

from ggp.errors import ConfigError, GGPError

_T = TypeVar("_T")

_OURS = ("ggp.", "match_runner.")


class Registry(Mapping[str, _T], Generic[_T]):
    """Objects by name: the core's first, then the plug-ins of installed packages, sorted by name.

    A plug-in never overrides an object of the core, nor one of our labs.

        >>> seeds = Registry("no.such.group", "limit", {"seed": "ggp.seeds:MAX_SEED"})
        >>> list(seeds), seeds["seed"] == 2**63 - 1
        (['seed'], True)

    Args:
        group: the entry point group.
        kind: the word for such an object in messages, as in `sampler`.
        core: the core's objects, each as `module:attribute`.
        form: format of a plug-in's name, applied to the name of its entry point.
        labs_only: whether only plug-ins of our labs count.
    """

    def __init__(
        self,
        group: str,
        kind: str,
        core: Mapping[str, str] | None = None,
        *,
        form: str = "{}",
        labs_only: bool = False,
    ) -> None:
        self._group, self._kind, self._core = group, kind, dict(core or {})
        self._form, self._labs_only = form, labs_only

    def __getitem__(self, name: str) -> _T:
        """The object with a name.

        Raises:
            KeyError: there is none.
            ConfigError: it cannot be imported; the message names the package and the reason.
        """
        target = self._core.get(name)
        if target is not None:
            module, _, attribute = target.partition(":")
            return cast(_T, getattr(import_module(module), attribute))
        return cast(_T, _load(self._offered()[name], self._kind))

    def __contains__(self, name: object) -> bool:
        return name in self._core or name in self._offered()

    def __iter__(self) -> Iterator[str]:
        yield from self._core
        yield from (name for name in self._offered() if name not in self._core)

    def __len__(self) -> int:
        return len({*self._core, *self._offered()})

    def _offered(self) -> Mapping[str, EntryPoint]:
        return {
            self._form.format(name): point
            for name, point in offered(self._group).items()
            if not self._labs_only or point.module.startswith(_OURS)
        }


def offered(group: str) -> Mapping[str, EntryPoint]:
    """Entry points of installed packages in a group, by name."""
    return _offered(group, tuple(sys.path))


@cache
def _offered(group: str, search_path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """The same, for one value of `sys.path`."""

    def order(point: EntryPoint) -> tuple[bool, str, str]:
        return not point.module.startswith(_OURS), point.name, point.value

    points: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=order):
        points.setdefault(point.name, point)
    return points


def _load(point: EntryPoint, kind: str) -> Any:
    try:
        return point.load()
    except GGPError:
        raise
    except (Exception, SystemExit) as error:
        package = point.module if point.dist is None else point.dist.name
        raise ConfigError(
            f"the {kind} {point.name} of the package {package} cannot be imported: "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        ) from error
