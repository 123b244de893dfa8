"""One table for all tests that need nothing of their own; each begins matches of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.table.live import LiveTable, live_table


@pytest.fixture(scope="package")
def table(own_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveTable]:
    with live_table(tmp_path_factory.mktemp("table")) as running:
        yield running
