"""What is said where something cannot be imported.

To install a library is good advice only where that very library is missing. Where it is a module of
ours, or what every installation has, the installation is broken, and nothing else helps but to
install it again.
"""

from __future__ import annotations

from collections.abc import Iterator

from ggp.errors import InstallationError


def demand_library(error: ImportError, *libraries: str) -> None:
    """Make sure that it is one of some libraries that is missing or cannot be imported.

    Args:
        error: of importing one of them, or a module of ours that imports it.
        libraries: names of modules, without dots.

    Raises:
        InstallationError: it is something else.
    """
    missing = _top(error.name)
    within = {missing, *_modules_of(error)}
    if missing in ("ggp", "match_runner") or not within & set(libraries):
        raise InstallationError(str(error)) from error


def extra_advice(extra: str) -> str:
    """How to install what an extra of ours stands for: no index of packages has ours."""
    return (
        f"install it with `pip install '.[{extra}]'` in a checkout, or with the path of the wheel, "
        f"as in `pip install 'ggp_hyperplay-VERSION-py3-none-any.whl[{extra}]'`"
    )


def _modules_of(error: ImportError) -> Iterator[str]:
    """The packages whose code was running: one that cannot be imported may lack another one."""
    trace = error.__traceback__
    while trace is not None:
        yield _top(trace.tb_frame.f_globals.get("__name__"))
        trace = trace.tb_next


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]
