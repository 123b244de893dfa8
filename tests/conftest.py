"""Settings of every test."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from ggp.gdl.normalize import load
from ggp.machine import Limits, build_machine
from ggp.players import make_player, parse_spec
from tests.prepared import CIRCUITS
from tests.support.commands import end_started
from tests.support.effort import examples, is_rare
from tests.support.packages import offer_everything

# The machine may be busy, and kernels may have to be compiled. Properties that name no number of
# examples have those of Hypothesis with `make verify`, and a quarter here.
settings.register_profile("patient", deadline=None, max_examples=examples(100))
settings.load_profile("patient")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than processors: many tests wait for servers and clocks."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Games that are like others are left to `make verify` where tests are not about games."""
    for item in items:
        if is_rare(item):
            item.add_marker(pytest.mark.verify)


def pytest_collection_finish() -> None:
    """Thousands of tests that are there to the end are not looked through again and again.

    Looking for garbage took a ninth of the time of all tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Circuits are cached apart from those of the user, and only while tests run.

    Processes that share the tests share their circuits too. Circuits of our games may be there
    already; see `tests.prepared`.
    """
    previous = os.environ.get("GGP_CACHE_DIR")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "circuits"
    with (base.parent / "preparing").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        if not folder.exists() and CIRCUITS.is_dir():
            shutil.copytree(CIRCUITS, folder)
        folder.mkdir(exist_ok=True)
    os.environ["GGP_CACHE_DIR"] = str(folder)
    yield
    if previous is None:
        del os.environ["GGP_CACHE_DIR"]
    else:
        os.environ["GGP_CACHE_DIR"] = previous


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's package is installed: suites for everything that is registered run on it too."""
    offer_everything(tmp_path, monkeypatch)


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads are switched as often as the interpreter can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture(autouse=True)
def nothing_survives() -> Iterator[None]:
    """Commands that a test started end with it, also where it failed."""
    yield
    end_started()


@pytest.fixture(scope="session")
def compiled(own_cache: None) -> None:
    """Kernels are compiled before tests that check the whole output of a command, or a clock.

    Otherwise the first command would also say that it compiles, or the first move come late.
    Modules ask for it with `usefixtures`. Processes that share the tests take turns: the first
    compiles, and the others load its machine code.
    """
    with Path(os.environ["GGP_CACHE_DIR"]).with_name("compiling").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        # All tests of a process need it, however busy the machine is.
        patient = Limits(grounding_seconds=600.0)
        machine = build_machine(load("exploding_bomb"), "propnet", patient, ready=True)
        make_player(parse_spec("hyperplay2:n=2"), machine, 0, np.random.default_rng(0)).choose()
