"""Chromium, driven by Playwright: the system's browser, no other is downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

    from tests.table.live import LiveTable

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

SIZES = {
    "wide": {"width": 1280, "height": 800},
    "phone": {"width": 375, "height": 667},
    "lying": {"width": 667, "height": 375},
}
"""Sizes of windows; `make verify` tries all of them, the test command the first."""

OWN_RULES = "\\\\own"
"""In the lobby, what stands in place of a game for one's own rules."""

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
    is_narrow: bool = page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    return is_narrow


SETTLED = """() => new Promise(requestAnimationFrame).then(
  () => Promise.allSettled(document.getAnimations().map((motion) => motion.finished))
)"""
"""Waits for motions: colours of an element that changes are not its own."""


def faults(page: Page) -> list[tuple[str, str]]:
    """Faults that axe finds, in light and dark colours: rule and element.

    The window needs `bypass_csp`.
    """
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(SETTLED)
    violations = Axe().run(page).response["violations"]
    page.emulate_media(color_scheme="dark")
    page.evaluate(SETTLED)
    violations += Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
    page.emulate_media(color_scheme="light")
    return [(violation["id"], violation["nodes"][0]["html"]) for violation in violations]


def choose_game(page: Page, game: str) -> None:
    """Choose a game in the lobby; OWN_RULES stands for one's own."""
    page.locator(".game-button").and_(page.locator(f'[data-game="{game}"]')).click()
    if game != OWN_RULES:
        page.wait_for_selector("#seat-0")


def choose_player(page: Page, number: int, player: str) -> None:
    """Have a player with a name play a role in the lobby."""
    page.select_option(f"#seat-{number}", "other")
    page.locator(f"#other-{number}").fill(player)
    page.wait_for_selector("button.primary:enabled")


@contextmanager
def window(
    browser: Browser, host_of: LiveTable | None, *, may_fail: str = "", **options: Any
) -> Iterator[Page]:
    """A window of its own, in which nothing may go wrong.

    Args:
        host_of: a table whose link was opened here before; None for nobody's window.
        may_fail: what messages of the browser may begin with.
    """
    context = browser.new_context(**options)
    if host_of is not None:
        name = f"ggp-table-{host_of.port}"
        context.add_cookies([{"name": name, "value": host_of.cookies[name], "url": host_of.url}])
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("dialog", lambda dialog: wrong.append(dialog.message))

    def note(console_message: ConsoleMessage) -> None:
        if console_message.type == "error" and not (
            may_fail and console_message.text.startswith(may_fail)
        ):
            wrong.append(console_message.text)

    opened.on("console", note)
    try:
        yield opened
        assert wrong == []
    finally:
        context.close()
