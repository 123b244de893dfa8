"""Chromium, driven by Playwright: the system's browser, no other is downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No processes in advance, and no pages of the browser's own: tests have little of a processor.
    "--disable-features=SpareRendererForSitePerProcess,InitialWebUI,WebUIReloadButton,"
    "WebUIToolbar,TopChromeWebUI",
)

PATIENCE_MS = 30_000
"""Workers have to start, and the machine may be busy."""


def why_no_browser() -> str | None:
    """Why pages cannot be tested here; None if they can."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed"
    return None if chromium_path() else "Chromium is not installed (Debian: apt install chromium)"


def chromium_path() -> str | None:
    """Where the system's browser is."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser with a profile of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=list(ARGUMENTS), headless=True
        )
        try:
            yield browser
        finally:
            browser.close()


def fits(page: Page) -> bool:
    """Whether nothing of a page sticks out at the side."""
    found: bool = page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    return found
