"""Errors and advice for failed imports.

Advice to install a library helps only if that very library is missing. If a module of ggp is
missing, or a library that every installation has, the installation is broken and must be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator

from ggp.errors import InstallationError


def demand_library(error: ImportError, *libraries: str) -> None:
    """Check that an import failed because of one of some optional libraries.

    Args:
        error: from importing one of them, or a module of ggp that imports it.
        libraries: names of top-level modules.

    Raises:
        InstallationError: it failed for another reason.
    """
    missing = _top(error.name)
    packages = {missing, *_modules_of(error)}
    if missing in ("ggp", "match_runner") or not packages & set(libraries):
        raise InstallationError(str(error)) from error


def extra_advice(extra: str) -> str:
    """How to install an extra of ggp, which no package index has."""
    return (
        f"install it with `pip install '.[{extra}]'` in a checkout, or with the path of the wheel, "
        f"as in `pip install 'ggp_hyperplay-VERSION-py3-none-any.whl[{extra}]'`"
    )


def _modules_of(error: ImportError) -> Iterator[str]:
    """Top-level packages in the traceback: a library may fail to import since it lacks another."""
    trace = error.__traceback__
    while trace is not None:
        yield _top(trace.tb_frame.f_globals.get("__name__"))
        trace = trace.tb_next


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]
