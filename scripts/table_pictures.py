"""Pictures of the table for the README and docs/use/table.md: three minds, as the page shows them.

    python scripts/table_pictures.py [--out docs/figures]

Needs Playwright for Python and the system's Chromium.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.table.browsers import open_browser
from tests.table.live import LiveTable, live_table

SHOTS = {
    "bomb": ("exploding_bomb", {"agent": "hyperplay2"}, 1, "agent"),
    "ships": ("battleships_in_fog", {"admiral": "legal", "commodore": "random"}, 8, "admiral"),
    "kriegspiel": ("kriegspiel_5x5", {"white": "random", "black": "random"}, 24, "white"),
}
"""Game, players, turn, and whose mind."""

SEED = 4
THINKING_MS = 6_000


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder, live_table(Path(folder)) as table:
        for name in SHOTS:
            shoot(table, name, out / f"table-{name}.png")


def shoot(table: LiveTable, name: str, path: Path) -> None:
    """Play a match, and take the picture of a mind in it."""
    game, players, turn, role = SHOTS[name]
    match = table.begin(game, players, seed=SEED)["id"]
    table.over(match)
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1000, "height": 900})
        page.goto(f"{table.url}{table.link}")
        page.goto(f"{table.url}/match/{match}#turn={turn}")
        page.click(f"summary:has-text('mind of {role}')", timeout=60_000)
        page.wait_for_selector("th:has-text('HyperPlay-II')", timeout=60_000)
        page.wait_for_timeout(THINKING_MS)
        page.evaluate("document.activeElement.blur()")
        page.screenshot(path=path, full_page=True)


if __name__ == "__main__":
    main()
