"""Pictures in the documentation show today's page: its words are those beside the pictures."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ggp.gdl.games import list_games
from tests.table.live import LiveTable, live_table
from tests.table.pages.browsers import why_no_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

REPOSITORY = Path(__file__).resolve().parents[3]
FIGURES = REPOSITORY / "docs" / "figures"
TABLE = runpy.run_path(str(REPOSITORY / "scripts" / "table_pictures.py"))
GALLERY = runpy.run_path(str(REPOSITORY / "scripts" / "gallery.py"))
REMAKE = "python scripts/table_pictures.py, or scripts/gallery.py, makes the pictures anew"
QUICK = "kuhn_poker"
GAMES = [
    pytest.param(game, marks=() if game == QUICK else pytest.mark.verify) for game in TABLE["SEATS"]
]


def words_beside(name: str) -> list[str]:
    """The words that were on the page when a picture was taken."""
    assert (FIGURES / f"{name}.png").is_file(), name
    words = (FIGURES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert words
    return words


@pytest.mark.parametrize("game", GAMES)
def test_pictures_of_seats_have_the_words_of_the_page(
    browser: Browser, table: LiveTable, game: str
) -> None:
    seen = []
    for name, page in TABLE["seat"](browser, table, game):
        seen.append(name)
        assert TABLE["words"](page) == words_beside(name), f"{name}: {REMAKE}"
    assert len(seen) == len(TABLE["SIZES"])


@pytest.mark.verify
@pytest.mark.parametrize("kind", ["lobby", "minds", "end"])
def test_pictures_of_other_pages_have_their_words(
    browser: Browser, tmp_path: Path, kind: str
) -> None:
    with live_table(tmp_path) as table:
        for name, page in TABLE[kind](browser, table):
            assert TABLE["words"](page) == words_beside(name), f"{name}: {REMAKE}"


@pytest.mark.verify
def test_pictures_of_the_gallery_have_the_words_of_its_games(
    browser: Browser, tmp_path: Path
) -> None:
    shots = [GALLERY["shot"](name, 1) for name in list_games()]
    for file in GALLERY["draw"](browser, shots, tmp_path, ["light"], 15, 1100):
        words = file.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
        assert words == words_beside(file.stem), f"{file.stem}: {REMAKE}"
