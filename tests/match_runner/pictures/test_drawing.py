"""`board.js` in Chromium: how it draws pictures, and how cells are chosen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ggp.gdl import parse_term
from match_runner.pictures import Layout
from tests.match_runner.pictures.test_boards import layout
from tests.support.games import REPOSITORY
from tests.table.pages.browsers import open_browser, why_no_browser

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

STATIC = REPOSITORY / "match_runner" / "table" / "static"
EVIL = "<img/src=x/onerror=window.evil=1>"
CELLS = "".join(f"(init (cell {x} {y} b))" for x in "abcdefghij" for y in range(1, 11))
BOARD = f"""{CELLS} (<= (next (cell ?x ?y ?p)) (true (cell ?x ?y ?p)))
(<= (next (cell a 1 wr)) (true ready)) (<= (next (cell a 1 bk)) (true ready))
(<= (next (cell a 1 wk)) (true ready)) (<= (next (cell a 1 {EVIL})) (true ready))
(<= (next (holds ?r {EVIL})) (role ?r))
"""
STATE = ("(cell a 1 wr)", "(cell b 3 bk)", f"(cell j 10 {EVIL})", "(cell c 3 b)", "(control white)")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page with the board's script and style and nothing else, 360 pixels wide."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 360, "height": 640})
        page.set_content("<!doctype html><meta charset=utf-8><body style='margin: 8px'></body>")
        page.add_style_tag(path=str(STATIC / "board.css"))
        script = Path(STATIC / "board.js").read_text(encoding="utf-8")
        page.add_script_tag(content=f"{script}\nwindow.drawPicture = drawPicture;", type="module")
        page.wait_for_function("typeof window.drawPicture === 'function'")
        yield page


@pytest.fixture(scope="module")
def chess() -> Layout:
    return layout(BOARD)


def show(
    page: Page,
    picture: dict[str, Any],
    playable: tuple[str, ...] = (),
    marked: tuple[str, ...] = (),
) -> None:
    """Draw a picture; the cells that are chosen go into `window.chosen`."""
    page.evaluate(
        """([picture, playable, marked]) => {
          window.chosen = [];
          document.body.replaceChildren(drawPicture(picture, {
            onCell: (id) => window.chosen.push(id), playable: new Set(playable),
            selected: playable[0] ?? null, marked,
          }));
        }""",
        [picture, list(playable), list(marked)],
    )


def state(board_layout: Layout, *facts: str) -> dict[str, Any]:
    return board_layout.picture(map(parse_term, facts)).to_json()


def test_cells_say_where_they_are_and_what_is_in_them(page: Page, chess: Layout) -> None:
    show(page, state(chess, *STATE))
    assert page.locator(".cell").count() == 100
    assert page.get_by_label("a 1: white rook", exact=True).count() == 1
    assert page.get_by_label("b 3: black king", exact=True).count() == 1
    assert page.locator("button").count() == 0  # nothing can be chosen
    assert page.locator(".board-edge").all_text_contents()[:3] == ["a", "b", "c"]
    assert page.locator(".fact").all_inner_texts() == ["white to move"]


def test_cells_of_the_last_moves_are_marked(page: Page, chess: Layout) -> None:
    show(page, state(chess, *STATE), marked=("cell:a,1", "cell:b,2", "cell:nowhere"))
    marked = page.locator(".marked").evaluate_all("all => all.map((each) => each.dataset.cell)")
    assert sorted(marked) == ["cell:a,1", "cell:b,2"]


def test_owners_of_what_looks_alike_have_lines_of_their_own(page: Page) -> None:
    cells = ("(cell 1 1 red flag)", "(cell 2 1 blue flag)", "(cell 3 1 blue spy)")
    rules = " ".join(f"(init {cell})" for cell in cells)
    board_layout = layout(
        f"{rules} (<= (next (cell ?x ?y ?o ?p)) (true (cell ?x ?y ?o ?p)))", "red blue"
    )
    show(page, state(board_layout, *cells))
    lines = page.locator(".item").evaluate_all(
        "all => all.map((each) => getComputedStyle(each).textDecorationLine)"
    )
    assert lines == ["none", "underline", "underline"]


def test_names_are_never_markup(page: Page, chess: Layout) -> None:
    show(page, state(chess, *STATE, f"(holds white {EVIL})", f"(holds black {EVIL})"))
    assert page.locator("img, script:not([type=module])").count() == 0
    assert page.evaluate("window.evil") is None
    assert page.get_by_label(f"j 10: {EVIL}", exact=True).count() == 1
    assert page.locator(".facts-table td").all_text_contents() == ["black", EVIL, "white", EVIL]


def test_cells_are_chosen_with_mouse_and_arrow_keys(page: Page, chess: Layout) -> None:
    ids = ("cell:b,2", "cell:e,2", "cell:b,5", "cell:d,3")
    show(page, state(chess, *STATE), ids)
    assert page.locator("button").count() == 4
    assert page.locator("button[tabindex='0']").get_attribute("data-cell") == "cell:b,2"
    page.locator("[data-cell='cell:d,3']").click()
    page.locator("[data-cell='cell:b,2']").focus()
    for key in ("ArrowRight", "Enter", "ArrowUp", "Enter", "ArrowLeft", " ", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    cells_chosen = ["cell:d,3", "cell:e,2", "cell:d,3", "cell:b,2", "cell:b,5"]
    assert page.evaluate("window.chosen") == cells_chosen
    pressed = page.locator("[aria-pressed='true']")
    assert pressed.get_attribute("data-cell") == "cell:b,2"


def test_ten_by_ten_cells_fit_a_telephone(page: Page, chess: Layout) -> None:
    show(page, state(chess, *STATE))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator(".cell").first.bounding_box()
    assert box is not None
    assert box["width"] == pytest.approx(box["height"], abs=1)
    assert box["width"] > 28


def test_uncertain_things_are_shown_with_their_shares(page: Page, chess: Layout) -> None:
    marginals = {"(cell b 3 bk)": 0.7, "(cell b 3 wr)": 0.2, "(cell b 3 b)": 0.1, "quiet": 0.25}
    show(page, chess.heat({parse_term(fact): share for fact, share in marginals.items()}))
    cell = page.get_by_label("b 3: black king 70 %, white rook 20 %", exact=True)
    assert (
        cell.get_attribute("title") == "(cell b 3 bk) 70 %\n(cell b 3 wr) 20 %\n(cell b 3 b) 10 %"
    )
    large = cell.locator(".items > .item").bounding_box()
    small = cell.locator(".items-small .item").bounding_box()
    assert large is not None
    assert small is None or small["height"] < large["height"]
    assert page.locator(".fact").all_inner_texts() == ["quiet 25 %"]
