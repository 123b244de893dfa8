"""Pictures of the table for the README and docs/use/table.md, as the page shows it.

    python scripts/table_pictures.py [--out docs/figures] [--only lobby seats end minds]

They are a banner, two minds, the lobby, seats in six games, on a wide screen and on a phone, and
the end of a match with its replay.
Beside each picture is a text file with the words that were on the page, which a test compares with
today's page (tests/table/pages/test_pictures_in_docs.py). Needs Playwright for Python and the
system's Chromium.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    "dark_chess": ("white", 5, ""),
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

PLAYED = (("kuhn_poker", 3), ("tic_tac_toe", 4))
"""Matches of random players, with their seeds, that the lobby has seen."""

_VOLATILE = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?|\u2013")
_CUT = re.compile(r"More than \d+ turns")
_WHEN = re.compile(r"\d+/\d+/\d+, .*")


def main() -> None:
    """Take them all."""
    kinds = {"minds": minds, "lobby": lobby, "seats": seats, "end": end}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    parser.add_argument("--only", nargs="*", choices=kinds, default=[*kinds])
    asked = parser.parse_args()
    for kind in asked.only:
        with (
            tempfile.TemporaryDirectory() as folder,
            live_table(Path(folder)) as table,
            open_browser() as browser,
        ):
            for name, page in kinds[kind](browser, table):
                save(page, asked.out / f"{name}.png", whole=kind == "minds")


def save(page: Page, path: Path, *, whole: bool) -> None:
    """Take a picture of a page, or of the banner on it, and write down its words."""
    banner = page.locator("#banner")
    shot = banner.screenshot() if banner.count() else page.screenshot(full_page=whole)
    with Image.open(BytesIO(shot)) as image:
        image.convert("RGB").quantize(COLOURS).save(path)
    path.with_suffix(".txt").write_text("\n".join(words(page)) + "\n", encoding="utf-8")


def words(page: Page) -> list[str]:
    """The lines of text on a page, without times. On pages with values, which depend on how fast a
    player thinks, without what depends on it and with `#` for numbers."""
    text = _CUT.sub("More than # turns", page.evaluate(TEXT))  # there it ran out of time
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if line and not _WHEN.fullmatch(line)]
    if page.locator("table.values").count():
        return sorted({_VOLATILE.sub("#", line) for line in kept})
    return kept


TEXT = """() => {
  const values = document.querySelector("table.values");
  const parts = values ? [...document.querySelectorAll("table.values tbody, ol")] : [];
  parts.forEach((part) => { part.hidden = true; });
  const text = document.body.innerText;
  parts.forEach((part) => { part.hidden = false; });
  return text;
}"""
"""The text of a page; with values, without their rows and without lists of moves."""


def seats(browser: Browser, table: LiveTable) -> Iterator[tuple[str, Page]]:
    """Yield the name of each picture of a seat, and the page."""
    for game in SEATS:
        yield from seat(browser, table, game)


def seat(browser: Browser, table: LiveTable, game: str) -> Iterator[tuple[str, Page]]:
    """Sit down in a match and make some moves; yield a page of each size."""
    role, moves, pressed = SEATS[game]
    match, page = sit_down(browser, table, game, role, SEED)
    for _ in range(moves):
        move(page)
    if pressed:
        page.click(pressed)
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(SETTLING_MS)
        yield f"seat-{game}-{size}", page
    page.close()
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})


def end(browser: Browser, table: LiveTable) -> Iterator[tuple[str, Page]]:
    """Play a match to its end; yield its page and that of its replay, in light and dark."""
    _, page = sit_down(browser, table, *ENDED)
    width, height = SIZES["wide"]
    page.set_viewport_size({"width": width, "height": height})
    while not page.locator(OVER).count():
        move(page)
    yield from light_and_dark(page, "seat-end")
    page.click("text=Replay")
    page.wait_for_selector("button.play")
    page.keyboard.press("End")
    page.locator("summary:has-text('mind of')").first.click()
    page.wait_for_selector("h4:has-text('What it last believed')", timeout=PATIENCE_MS)
    yield from light_and_dark(page, "replay")


def light_and_dark(page: Page, name: str) -> Iterator[tuple[str, Page]]:
    """Yield a page in both colours."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(SETTLING_MS)
    yield name, page
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(SETTLING_MS)
    yield f"{name}-dark", page
    page.emulate_media(color_scheme="light")


def sit_down(
    browser: Browser, table: LiveTable, game: str, role: str, seed: int
) -> tuple[dict[str, Any], Page]:
    """A match with a person's seat against players that move at random, and the page of the seat
    when the first move can be made."""
    roles = read_program(find_game(game).read_text(encoding="utf-8"), game).roles
    players = {each: "random" for each in roles if each != RANDOM} | {role: "human"}
    match = table.begin(game, players, seed=seed)
    page = browser.new_page()
    # The browser's cookies are its own: first the table's link, which lets one see the replay.
    page.goto(f"{table.url}{table.link}")
    page.goto(f"{table.url}{match['links'][role]}")
    page.wait_for_selector(READY, timeout=PATIENCE_MS)
    return match, page


def move(page: Page) -> None:
    """Make a move, on the board or with a button, and wait for the next question or the end."""
    turns = page.locator(".history li").count()
    for selector in ("button.playable", "button.target", ".actions button.move"):
        if page.locator(selector).count() and page.locator(".history li").count() == turns:
            page.locator(selector).last.click()
            page.wait_for_timeout(SETTLING_MS)
    page.wait_for_selector(f"{READY}, {OVER}", timeout=PATIENCE_MS)


def lobby(browser: Browser, table: LiveTable) -> Iterator[tuple[str, Page]]:
    """Yield the lobby in each size, and in the dark."""
    for game, seed in PLAYED:
        roles = read_program(find_game(game).read_text(encoding="utf-8"), game).roles
        players = {role: "random" for role in roles if role != RANDOM}
        table.over(table.begin(game, players, seed=seed)["id"])
    page = browser.new_page()
    page.goto(f"{table.url}{table.link}")
    for size, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        if size == "wide":
            page.click('[data-game="leduc_poker"]')
            page.wait_for_selector(".level")
            page.evaluate("window.scrollTo(0, 0)")
            page.mouse.move(0, 0)
        page.wait_for_function(ALL_IN_SIGHT, timeout=PATIENCE_MS)
        page.wait_for_timeout(SETTLING_MS)
        if size == "wide":
            yield from light_and_dark(page, f"lobby-{size}")
        else:
            yield f"lobby-{size}", page
    page.close()


ALL_IN_SIGHT = """() => [...document.querySelectorAll(".thumb")].every((thumb) =>
  thumb.getBoundingClientRect().top > innerHeight || thumb.firstChild
  || !thumb.checkVisibility())"""
"""Whether all pictures near the window are there."""


def minds(browser: Browser, table: LiveTable) -> Iterator[tuple[str, Page]]:
    """Yield the banner, and the pages of some minds."""
    yield "banner", mind(browser, table, *BANNER, LAY_OUT)
    for name, shot in SHOTS.items():
        yield f"table-{name}", mind(browser, table, *shot)


def mind(
    browser: Browser,
    table: LiveTable,
    game: str,
    players: dict[str, str],
    turn: int,
    role: str,
    lay_out: str | None = None,
) -> Page:
    """Play a match, and open a mind in it; `lay_out` may make a banner of the page."""
    match = table.begin(game, players, seed=SEED)["id"]
    table.until(f"/api/matches/{match}", lambda answer: len(answer["turns"]) > turn)
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(f"{table.url}{table.link}")
    page.goto(f"{table.url}/match/{match}#turn={turn}")
    page.click(f"summary:has-text('mind of {role}')", timeout=60_000)
    page.wait_for_selector("th:has-text('HyperPlay-II')", timeout=60_000)
    page.wait_for_timeout(THINKING_MS)
    page.evaluate("document.activeElement.blur()")
    if lay_out is not None:
        page.evaluate(lay_out)
    return page


if __name__ == "__main__":
    main()
