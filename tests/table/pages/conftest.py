"""One browser for all pages; it closes before tests that need an event loop of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.table.live import LiveTable
from tests.table.pages.browsers import open_browser, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="package")
def browser(table: LiveTable) -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, table: LiveTable) -> Iterator[Page]:
    with window(browser, table) as opened:
        yield opened
