"""What installed packages add to ours: players, samplers, models, commands, by name.

Each kind of thing has a `Registry`: a table of what the core has, and an entry point group in which
installed packages offer more. The labs of this package are found in the same way: nothing in the
core imports one. `docs/use/extending.md` lists the groups, and what an object of each must be.

Whatever is offered is imported when it is asked for, and not before. Where a name is the core's,
nobody looks at what is installed.
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
    """Objects by name, the core's first, then those that installed packages offer, by name. The
    core's are never overridden, nor are those of our labs by others.

    Args:
        group: the entry point group.
        what: what messages call such an object, as in `sampler`.
        own: the core's, each as `module:attribute`.
        form: the form of names, where that is not the name of the entry point.
        ours: whether to leave out what others than our labs offer.
    """

    def __init__(
        self,
        group: str,
        what: str,
        own: Mapping[str, str] | None = None,
        *,
        form: str = "{}",
        ours: bool = False,
    ) -> None:
        self._group, self._what, self._own = group, what, dict(own or {})
        self._form, self._ours = form, ours

    def __getitem__(self, name: str) -> _T:
        """The object of a name.

        Raises:
            KeyError: nobody offers it.
            ConfigError: it cannot be imported; the message says what offers it, and why.
        """
        place = self._own.get(name)
        if place is not None:
            module, _, attribute = place.partition(":")
            return cast(_T, getattr(import_module(module), attribute))
        return cast(_T, _loaded(self._offered()[name], self._what))

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._offered()

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (name for name in self._offered() if name not in self._own)

    def __len__(self) -> int:
        return len({*self._own, *self._offered()})

    def _offered(self) -> Mapping[str, EntryPoint]:
        return {
            self._form.format(name): point
            for name, point in offered(self._group).items()
            if not self._ours or point.module.startswith(_OURS)
        }


def offered(group: str) -> Mapping[str, EntryPoint]:
    """What installed packages offer in a group, by name."""
    return _offered(group, tuple(sys.path))


@cache
def _offered(group: str, places: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """The same, where modules are looked for in these places."""

    def order(point: EntryPoint) -> tuple[bool, str, str]:
        return not point.module.startswith(_OURS), point.name, point.value

    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=order):
        found.setdefault(point.name, point)
    return found


def _loaded(point: EntryPoint, what: str) -> Any:
    try:
        return point.load()
    except GGPError:
        raise
    except (Exception, SystemExit) as error:
        package = point.module if point.dist is None else point.dist.name
        raise ConfigError(
            f"the {what} {point.name} of the package {package} cannot be imported: "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        ) from error
