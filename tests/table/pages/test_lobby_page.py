"""The lobby in a real browser: games as cards, levels, recent matches; and faces at seats.

Boxes and texts, in three sizes: the test command keeps one of them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.table.live import LiveTable
from tests.table.pages.browsers import choose_game, fits, why_no_browser, window
from tests.table.pages.test_seat_page import seated

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

SIZES = {"wide": (1280, 800), "upright": (375, 667), "lying": (667, 375)}
IN_SIZES = pytest.mark.parametrize(
    "size",
    [pytest.param(name, marks=() if name == "wide" else pytest.mark.verify) for name in SIZES],
)
TOUCH_PX, LARGE_PX = 44, 60

CUT_OFF = """(places) => [...document.querySelectorAll(places)].flatMap((place) => {
  if (!place.checkVisibility()) return [];
  const there = place.getBoundingClientRect();
  const isIn = (box) => box.left >= there.left - 1 && box.right <= there.right + 1
    && box.top >= there.top - 1 && box.bottom <= there.bottom + 1;
  return [...place.querySelectorAll(".cell, .playing-card, .die, .counter, button, p, span")]
    .filter((each) => each.checkVisibility() && !isIn(each.getBoundingClientRect()))
    .map((each) => `${each.className}: ${each.textContent}`);
})"""
"""What sticks out of some places."""

OVERLAPS = """(places) => {
  const boxes = [...document.querySelectorAll(places)].filter((each) => each.checkVisibility())
    .map((each) => [each.textContent, each.getBoundingClientRect()]);
  return boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([, b]) => a.left < b.right - 1
    && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
    .map(([other]) => `${text} | ${other}`));
}"""
"""Pairs of places that overlap."""


def viewport(size: str) -> dict[str, Any]:
    width, height = SIZES[size]
    return {"viewport": {"width": width, "height": height}}


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None, selector
    x, y, width, height = (found[key] for key in ("x", "y", "width", "height"))
    edges = {"right": x + width, "bottom": y + height}
    return {"x": x, "y": y, "width": width, "height": height, **edges}


def facts_of(page: Page, game: str) -> list[str]:
    """The lines of a game's card, when it has its picture."""
    card = page.locator(".game", has=page.locator(f'[data-game="{game}"]'))
    card.scroll_into_view_if_needed()
    card.locator(".picture").wait_for()
    return card.locator(".game-facts > span").all_inner_texts()


@IN_SIZES
def test_games_are_cards_with_a_picture_and_what_matters(
    browser: Browser, table: LiveTable, size: str
) -> None:
    with window(browser, table, **viewport(size)) as page:
        page.goto(table.url)
        assert facts_of(page, "breakthrough")[:2] == ["Nothing hidden", "2 players"]
        assert facts_of(page, "connect_four")[2] == "13 to 39 turns"
        assert facts_of(page, "exploding_bomb")[:2] == [
            "Hidden: which wire is armed",
            "1 player, chance",
        ]
        assert facts_of(page, "kuhn_poker") == [
            "Hidden: cards",
            "2 players, chance",
            "3 to 4 turns",
        ]
        poker = page.locator(".game", has=page.locator('[data-game="kuhn_poker"]'))
        assert poker.locator(".playing-card").count() == 2
        assert poker.locator(".face-down").count() == 1
        assert page.evaluate(OVERLAPS, ".game, .match") == []
        assert page.evaluate(CUT_OFF, ".game") == []
        assert fits(page)


@IN_SIZES
def test_choices_for_a_match_are_beside_the_games_or_in_front_of_them(
    browser: Browser, table: LiveTable, size: str
) -> None:
    width, height = SIZES[size]
    with window(browser, table, **viewport(size)) as page:
        page.goto(table.url)
        page.locator('[data-game="tic_tac_toe"]').wait_for()
        if size != "wide":
            assert not page.locator(".setup").is_visible()
        choose_game(page, "kuhn_poker")
        page.wait_for_selector(".level")
        begin, setup = box(page, "button.primary"), box(page, ".setup")
        assert begin["bottom"] <= height
        assert begin["height"] >= TOUCH_PX
        assert begin["right"] <= width
        assert page.evaluate(OVERLAPS, ".setup label, .setup select, .level label") == []
        if size == "wide":
            assert setup["x"] >= box(page, ".games")["right"]
            assert not page.locator("text=All games").is_visible()
        else:
            assert (setup["x"], setup["y"], setup["right"]) == (0, 0, width)
            page.keyboard.press("Escape")
            assert not page.locator(".setup").is_visible()
            choose_game(page, "kuhn_poker")
            line = page.evaluate("parseFloat(getComputedStyle(document.body).lineHeight)")
            assert box(page, ".setup .close")["height"] < TOUCH_PX + line / 2
            page.click("text=All games")
            assert not page.locator(".setup").is_visible()


@pytest.mark.parametrize(
    ("level", "player", "seconds"),
    [("Beginner", "random", 0.5), pytest.param("Hard", "auto", 8, marks=pytest.mark.verify)],
)
def test_a_level_is_a_player_and_its_clock(
    page: Page, table: LiveTable, level: str, player: str, seconds: float
) -> None:
    page.goto(table.url)
    choose_game(page, "kuhn_poker")
    assert page.locator(".level label").all_inner_texts() == [
        "Beginner",
        "Easy",
        "Medium",
        "Hard",
        "Strongest",
    ]
    page.check(f".level label:has-text('{level}') input")
    page.click("button.primary")
    page.wait_for_url(re.compile("/seat/"))
    match = table.get("/api/lobby")["matches"][0]
    assert match["players"] == {"player1": "human", "player2": player}
    assert table.get(f"/api/matches/{match['id']}/turns/0", status=403)
    setup = page.evaluate(
        "fetch(`/api${location.pathname.replace('seat', 'seats')}`).then((r) => r.json())"
    )
    assert setup["clocks"]["play_s"] == seconds
    page.goto(f"{table.url}/")  # the level is remembered
    page.wait_for_selector(".level")
    assert page.locator(".level :checked").evaluate("each => each.parentElement.innerText") == level
    page.locator(".match").first.locator("text=End").click()
    page.locator(".match").first.locator("text=Really end it?").click()
    page.wait_for_selector(".match >> nth=0 >> text=ended early")


def test_recent_matches_have_a_result_and_a_picture(browser: Browser, table: LiveTable) -> None:
    players = {"xplayer": "random", "oplayer": "random"}
    for seed, words in ((1, " won"), (7, "Drawn")):
        match = table.begin("tic_tac_toe", players, seed=seed)
        goals = table.over(match["id"])["match"]["goals"]
        winner = max(goals, key=goals.get) if len(set(goals.values())) > 1 else ""
        with window(browser, table, **viewport("wide")) as page:
            page.goto(table.url)
            card = page.locator(".match").first
            card.locator(".thumb .item").first.wait_for()
            expected = f"{winner} won" if winner else "Drawn"
            assert card.locator(".result").inner_text().startswith(expected), words
            assert card.locator("a", has_text="Replay").count() == 1


def test_cards_do_not_wait_for_their_pictures(browser: Browser, table: LiveTable) -> None:
    """A game can be begun while no picture has come, and cards keep their size."""
    with window(browser, table, **viewport("wide")) as page:
        held: list[Any] = []
        page.route("**/api/preview*", lambda route: held.append(route))
        page.goto(table.url)
        page.wait_for_selector("button.primary:enabled")
        assert page.locator(".game").count() == len(table.get("/api/lobby")["games"]) + 1
        assert page.locator(".game .picture").count() == 0
        assert page.locator(".game-facts").first.inner_text() == "Trying it out …"
        height = box(page, ".game .thumb")["height"]
        assert len(held) == 1  # one after the other
        held[0].continue_()
        page.wait_for_selector(".game .picture")
        assert box(page, ".game .thumb")["height"] == height


def test_a_game_is_found_by_some_letters(page: Page, table: LiveTable) -> None:
    page.goto(table.url)
    page.fill("#find", "tic toe")
    names = page.locator(".game:visible .game-button").all_inner_texts()
    assert names == ["Krieg-tic-tac-toe", "Phantom tic-tac-toe", "Tic-tac-toe"]
    page.fill("#find", "nothing of the kind")
    assert page.locator("text=No game has that name.").is_visible()


@pytest.mark.verify
def test_strangers_games_have_cards(browser: Browser, tmp_path: Any) -> None:
    """Long names, markup in names, rules that cannot be played."""
    from match_runner.table.options import Offers
    from tests.table.live import live_table

    games = tmp_path / "games"
    games.mkdir()
    (games / f"{'x' * 40}_<b>.gdl").write_text(
        "(role <i>) (init (cell 1 1 <u>)) (init (cell 1 2 b)) (init (cell 2 1 b)) "
        "(init (cell 2 2 b)) (legal <i> (go 1 1)) (legal <i> (go 2 2)) (goal <i> 1) "
        "(<= terminal (true over)) (<= (next over) (does <i> (go ?x ?y)))"
    )
    (games / "broken.kif").write_text("(role a")
    offers = Offers(games=games)
    with (
        live_table(tmp_path / "table", offers=offers) as other,
        window(browser, other, may_fail="Failed to load resource", **viewport("upright")) as page,
    ):
        page.goto(other.url)
        page.wait_for_selector(".game-facts:has-text('No picture')")
        page.wait_for_selector(".game:has-text('<b>') .picture")
        assert page.locator(".game b, .game i, .game u").count() == 0
        assert fits(page)
        assert page.evaluate(OVERLAPS, ".game") == []


@IN_SIZES
@pytest.mark.parametrize("game", ["kuhn_poker", "meier", "leduc_poker"])
def test_cards_are_drawn_and_moves_are_large_buttons_beside_them(
    browser: Browser, table: LiveTable, size: str, game: str
) -> None:
    with seated(browser, table, game, seed=1, **viewport(size)) as page:
        drawn = page.locator(".stage :is(.playing-card, .dice)")
        drawn.first.wait_for()
        assert drawn.count() == {"kuhn_poker": 2, "leduc_poker": 2, "meier": 1}[game]
        assert page.locator(".stage .face-down").count() == (0 if game == "meier" else 1)
        assert page.evaluate(CUT_OFF, ".stage") == []
        assert page.evaluate(OVERLAPS, ".stage, .actions, .tools, .turnbar") == []
        stage, moves = box(page, ".stage"), box(page, ".actions button.move")
        if size == "upright":
            assert moves["y"] >= stage["bottom"]
        else:
            assert moves["x"] >= stage["right"]
        assert size != "wide" or box(page, ".stage :is(.playing-card, .die)")["width"] >= 100
        least = LARGE_PX if game != "meier" and size == "wide" else TOUCH_PX
        assert moves["height"] >= least - 1


@pytest.mark.verify
def test_counters_are_numbers_with_names(browser: Browser, table: LiveTable) -> None:
    game = "banker_and_thief_sequential"
    with seated(browser, table, game, seed=1, **viewport("upright")) as page:
        counters = page.locator(".stage .counter")
        assert counters.count() == 6
        assert "dollars in the east bank" in counters.all_inner_texts()[1]
        assert page.evaluate(OVERLAPS, ".counter") == []
        assert page.evaluate(CUT_OFF, ".counter") == []


@IN_SIZES
def test_machines_that_read_pages_find_no_fault_in_the_lobby(
    browser: Browser, table: LiveTable, size: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    options = {"bypass_csp": True, "reduced_motion": "reduce", **viewport(size)}
    with window(browser, table, **options) as page:
        page.goto(table.url)
        facts_of(page, "kuhn_poker")
        choose_game(page, "kuhn_poker")
        page.wait_for_selector(".level")
        violations = []
        for _ in range(1 if size == "wide" else 2):
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                violations += Axe().run(page).response["violations"]
            page.keyboard.press("Escape")
        places = [(violation["id"], violation["nodes"][0]["html"]) for violation in violations]
        assert places == [], json.dumps(places)
