"""Errors and advice when something cannot be imported.

Installing a library is good advice only if that very library is missing. If a module of ours is
missing, or something that every installation has, the installation is broken, and only installing
it again helps.
"""

from __future__ import annotations

from collections.abc import Iterator

from ggp.errors import InstallationError


def demand_library(error: ImportError, *libraries: str) -> None:
    """Raise unless one of some libraries is missing or cannot be imported.

    Args:
        error: from importing one of them, or a module of ours that imports it.
        libraries: names of modules, without dots.

    Raises:
        InstallationError: it is something else.
    """
    missing = _top(error.name)
    within = {missing, *_modules_of(error)}
    if missing in ("ggp", "match_runner") or not within & set(libraries):
        raise InstallationError(str(error)) from error


def extra_advice(extra: str) -> str:
    """How to install an extra of ours: no package index has ours."""
    return (
        f"install it with `pip install '.[{extra}]'` in a checkout, or with the path of the wheel, "
        f"as in `pip install 'ggp_hyperplay-VERSION-py3-none-any.whl[{extra}]'`"
    )


def _modules_of(error: ImportError) -> Iterator[str]:
    """The packages whose code was running: one that cannot be imported may lack another."""
    trace = error.__traceback__
    while trace is not None:
        yield _top(trace.tb_frame.f_globals.get("__name__"))
        trace = trace.tb_next


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]
