"""Advice to install a library is given where that library is missing, and nowhere else."""

from __future__ import annotations

import importlib
import sys

import pytest

from ggp.errors import BackendUnavailableError, InstallationError
from ggp.gdl.normalize import load
from ggp.labs.openspiel.machine.games import pyspiel
from ggp.libraries import demand_library
from ggp.machine import build_machine
from ggp.machine.compiling import jit
from ggp.machine.prolog import engine


def error_of(name: str | None) -> ImportError:
    try:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    except ImportError as error:
        return error


@pytest.mark.parametrize("name", ["clingo", "clingo._clingo"])
def test_a_library_that_is_missing_is_to_blame(name: str) -> None:
    demand_library(error_of(name), "clingo")


@pytest.mark.parametrize("name", ["ggp.machine.propnet.compile", "numpy", None])
def test_any_other_missing_module_means_a_broken_installation(name: str | None) -> None:
    with pytest.raises(InstallationError, match=f"broken: No module named .*{name}.*again"):
        demand_library(error_of(name), "clingo")


def test_a_library_that_lacks_another_one_is_to_blame() -> None:
    try:
        exec("import nothing_of_that_name", {"__name__": "clingo.core"})
    except ImportError as error:
        demand_library(error, "clingo")
        with pytest.raises(InstallationError, match="nothing_of_that_name"):
            demand_library(error, "numba")


@pytest.mark.parametrize("backend", ["auto", "propnet"])
def test_a_module_of_ours_that_is_missing_is_no_reason_to_play_on_prolog(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ggp.machine.propnet.compile.circuits", None)
    with pytest.raises(InstallationError, match=r"ggp\.machine\.propnet\.compile\.circuits"):
        build_machine(load("kuhn_poker"), backend)


def test_numba_is_not_to_blame_for_what_tells_it_how_to_compile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ggp.machine.compiling.kernel_compiler", None)
    jit._compiler.cache_clear()
    with pytest.raises(InstallationError, match="kernel_compiler"):
        jit.load_compiler()


def test_libraries_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyswip", "pyspiel", "clingo"):
        for module in [module for module in sys.modules if module.split(".")[0] == name]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BackendUnavailableError, match="pip install pyswip"):
        engine._start_prolog()
    with pytest.raises(BackendUnavailableError, match=r"pip install '\.\[openspiel\]'"):
        pyspiel()
    monkeypatch.delitem(
        sys.modules, "ggp.machine.propnet.compile.ground_rules.grounding", raising=False
    )
    with pytest.raises(BackendUnavailableError, match="pip install clingo"):
        importlib.import_module("ggp.machine.propnet.compile.ground_rules.grounding")
