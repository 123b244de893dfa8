"""Settings of every test."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.commands import end_started


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Circuits are cached apart from those of the user, and only while tests run."""
    before = os.environ.get("GGP_CACHE_DIR")
    os.environ["GGP_CACHE_DIR"] = str(tmp_path_factory.mktemp("circuits"))
    yield
    if before is None:
        del os.environ["GGP_CACHE_DIR"]
    else:
        os.environ["GGP_CACHE_DIR"] = before


@pytest.fixture(autouse=True)
def nothing_survives() -> Iterator[None]:
    """Commands that a test started end with it, also where it failed."""
    yield
    end_started()
