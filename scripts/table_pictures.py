"""Pictures of the table for the README, docs/use/table.md and the gallery, as the page shows it.

    python scripts/table_pictures.py [--out docs/figures] [--seats]

They are a banner, two minds, seats in six games, on a wide screen and on a phone, and the end of a
match with its replay, in light and dark. Needs Playwright for Python and the system's Chromium.
"""

from __future__ import annotations

import argparse
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from ggp.gdl.games import find_game
from ggp.gdl.program import RANDOM
from ggp.machine.games import read_program
from tests.table.live import LiveTable, live_table
from tests.table.pages.browsers import PATIENCE_MS, open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SHOTS = {
    "bomb": ("exploding_bomb", {"agent": "hyperplay2"}, 1, "agent"),
    "kriegspiel": ("kriegspiel_5x5", {"white": "random", "black": "random"}, 24, "white"),
}
"""Game, players, turn, and whose mind."""

BANNER = ("battleships_in_fog", {"admiral": "legal", "commodore": "random"}, 8, "admiral")

LAY_OUT = """() => {
  const parts = {
    "The truth": document.querySelectorAll(".picture-place .board")[1],
    "What the admiral believes": document.querySelectorAll(".mind-parts .board")[1],
    "What it thinks of its moves": document.querySelector(".mind-parts table.values"),
  };
  const banner = document.createElement("div");
  banner.id = "banner";
  banner.style.cssText = "display: flex; gap: 40px; padding: 16px 24px; width: 1040px";
  for (const [words, part] of Object.entries(parts)) {
    const title = document.createElement("h2");
    title.textContent = words;
    title.style.cssText = "margin: 0 0 12px; white-space: nowrap";
    const column = document.createElement("section");
    part.style.cssText += "; width: 280px; background: none";
    column.append(title, part);
    banner.append(column);
  }
  banner.querySelectorAll("th").forEach((cell) => { cell.style.background = "none"; });
  const around = banner.querySelectorAll(".board-title, th:last-child, td:last-child");
  around.forEach((element) => element.remove());
  [...banner.querySelectorAll("tbody tr")].slice(6).forEach((row) => row.remove());
  document.body.replaceChildren(banner);
}"""
"""Puts boards and values of a mind beside each other, with less around them."""

SEATS = {
    "kriegspiel_5x5": ("black", 1, ""),
    "battleships_in_fog": ("admiral", 0, "button:has-text('Show possibilities')"),
    "breakthrough": ("white", 1, "[data-cell='cell:3,2']"),
    "krieg_tic_tac_toe": ("xplayer", 2, ""),
    "kuhn_poker": ("player1", 0, ""),
    "number_guessing": ("agent", 1, ""),
}
"""Games, with the role that a person plays, its moves so far, and what it presses then."""

ENDED = ("krieg_tic_tac_toe", "xplayer", 1)
"""Game, role and seed of the match whose end is shown."""

SIZES = {"wide": (1280, 800), "phone": (375, 667)}
COLOURS = 64
"""Colours of a picture, which keep it small."""

SEED = 4
THINKING_MS, SETTLING_MS = 6_000, 500
READY = ".actions button.move, .stage button.playable"
OVER = ".half[aria-label='The truth'] .decides"


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    parser.add_argument("--seats", action="store_true", help="only the seats")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, live_table(Path(folder)) as table:
        if not asked.seats:
            shoot(table, *BANNER, asked.out / "banner.png", LAY_OUT)
            for name, shot in SHOTS.items():
                shoot(table, *shot, asked.out / f"table-{name}.png")
        with open_browser() as browser:
            for game in SEATS:
                shoot_seat(browser, table, game, asked.out)
            shoot_end(browser, table, asked.out)


def shoot_seat(browser: Browser, table: LiveTable, game: str, out: Path) -> None:
    """Sit down in a match, make some moves, and take a picture of each size."""
    role, moves, pressed = SEATS[game]
    page = sit_down(browser, table, game, role, SEED)
    for _ in range(moves):
        move(page)
    if pressed:
        page.click(pressed)
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        save(page, out / f"seat-{game}-{size}.png")
    page.close()


def shoot_end(browser: Browser, table: LiveTable, out: Path) -> None:
    """Play a match to its end, and take pictures of it and of its replay."""
    page = sit_down(browser, table, *ENDED)
    width, height = SIZES["wide"]
    page.set_viewport_size({"width": width, "height": height})
    while not page.locator(OVER).count():
        move(page)
    save(page, out / "seat-end.png", dark=True)
    page.click("text=Replay")
    page.wait_for_selector("button.play")
    page.keyboard.press("End")
    page.locator("summary:has-text('mind of')").first.click()
    page.wait_for_selector("h4:has-text('What it last believed')", timeout=PATIENCE_MS)
    save(page, out / "replay.png", dark=True)
    page.close()


def sit_down(browser: Browser, table: LiveTable, game: str, role: str, seed: int) -> Page:
    """A person's seat against players that move at random, when the first move can be made."""
    roles = read_program(find_game(game).read_text(encoding="utf-8"), game).roles
    players = {each: "random" for each in roles if each != RANDOM} | {role: "human"}
    match = table.begin(game, players, seed=seed)
    page = browser.new_page()
    # The browser's cookies are its own: first the table's link, which lets one see the replay.
    page.goto(f"{table.url}{table.link}")
    page.goto(f"{table.url}{match['links'][role]}")
    page.wait_for_selector(READY, timeout=PATIENCE_MS)
    return page


def move(page: Page) -> None:
    """Make a move, on the board or with a button, and wait for the next question or the end."""
    turns = page.locator(".history li").count()
    for selector in ("button.playable", "button.target", ".actions button.move"):
        if page.locator(selector).count() and page.locator(".history li").count() == turns:
            page.locator(selector).last.click()
            page.wait_for_timeout(SETTLING_MS)
    page.wait_for_selector(f"{READY}, {OVER}", timeout=PATIENCE_MS)


def save(page: Page, path: Path, *, dark: bool = False) -> None:
    """Write what is in sight to a small file; if wanted, in dark colours to another file."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(SETTLING_MS)
    write(page.screenshot(), path)
    if dark:
        page.emulate_media(color_scheme="dark")
        save(page, path.with_stem(f"{path.stem}-dark"))
        page.emulate_media(color_scheme="light")


def write(screenshot: bytes, path: Path) -> None:
    """Write a picture with few colours."""
    with Image.open(BytesIO(screenshot)) as shot:
        shot.convert("RGB").quantize(COLOURS).save(path)


def shoot(
    table: LiveTable,
    game: str,
    players: dict[str, str],
    turn: int,
    role: str,
    path: Path,
    lay_out: str | None = None,
) -> None:
    """Play a match up to a turn, and take the picture of a mind in it.

    Args:
        lay_out: makes a banner of the page; None to show the page as it is.
    """
    match = table.begin(game, players, seed=SEED)["id"]
    table.until(f"/api/matches/{match}", lambda answer: len(answer["turns"]) > turn)
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(f"{table.url}{table.link}")
        page.goto(f"{table.url}/match/{match}#turn={turn}")
        page.click(f"summary:has-text('mind of {role}')", timeout=60_000)
        page.wait_for_selector("th:has-text('HyperPlay-II')", timeout=60_000)
        page.wait_for_timeout(THINKING_MS)
        page.evaluate("document.activeElement.blur()")
        if lay_out is None:
            write(page.screenshot(full_page=True), path)
        else:
            page.evaluate(lay_out)
            write(page.locator("#banner").screenshot(), path)


if __name__ == "__main__":
    main()
