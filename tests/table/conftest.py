"""One table for all tests that need nothing of their own; each begins matches of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.table.live import LiveTable, live_table
from tests.table.pages.browsers import open_browser, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="package")
def table(own_cache: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveTable]:
    with live_table(tmp_path_factory.mktemp("table")) as running:
        yield running


@pytest.fixture(scope="package")
def browser(table: LiveTable) -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, table: LiveTable) -> Iterator[Page]:
    with window(browser, table) as opened:
        yield opened
