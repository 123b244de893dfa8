"""Watching and replaying in a real browser: playing turns, moves to click, values over time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from match_runner.match.records import record_from_json
from tests.support.effort import rarely
from tests.table.live import LiveTable
from tests.table.pages.browsers import SIZES, faults, fits, why_no_browser, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))


@pytest.fixture(scope="module")
def bomb(table: LiveTable) -> str:
    """A match that is over, in which a player thought."""
    match = table.begin("exploding_bomb", {"agent": "hyperplay2"}, seed=3)["id"]
    table.over(match)
    return str(match)


@pytest.mark.verify
def test_turns_play_by_themselves_until_the_end_or_a_press(page: Page, table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "random", "oplayer": "random"}, seed=1)["id"]
    last = len(table.over(match)["turns"]) - 1
    page.goto(f"{table.url}/match/{match}#turn=0")
    page.wait_for_selector(f"output:text('turn 0 of {last}')")
    page.click("button.play")
    page.wait_for_selector("output:has-text('turn 1 of')")
    page.click("button.play")
    page.select_option(".controls select", "5")
    assert page.locator("button.play").inner_text() == "Play"
    page.locator("h2").first.click()
    page.keyboard.press("End")
    page.wait_for_selector(f"output:text('turn {last} of {last}')")
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    page.wait_for_selector(f"output:text('turn {last} of {last}')")
    page.wait_for_selector("button.play:text('Play')")


@pytest.mark.verify
def test_turns_play_slowly_for_those_who_like_less_to_move(
    browser: Browser, table: LiveTable, bomb: str
) -> None:
    with window(browser, table, reduced_motion="reduce") as page:
        page.goto(f"{table.url}/match/{bomb}")
        page.wait_for_selector("button.play")
        assert page.locator(".controls select").input_value() == "0.5"


def test_at_the_end_of_a_replay_it_is_nobodys_turn(page: Page, table: LiveTable) -> None:
    players = {"xplayer": "legal", "oplayer": "legal"}
    match = table.begin("krieg_tic_tac_toe", players)["id"]
    last = len(table.over(match)["turns"]) - 1
    page.goto(f"{table.url}/match/{match}#turn=1")
    page.locator(".watch-page").get_by_text("oplayer to move").wait_for()
    waiting = page.locator("article[aria-label='Role oplayer']")
    assert "waited\n" in waiting.inner_text()
    assert "\nsaw: The other has made a mark." in waiting.inner_text()
    page.keyboard.press("End")
    page.wait_for_selector(f"output:text('turn {last} of {last}')")
    page.wait_for_selector(".status:has-text('The match is over')")
    assert "to move" not in page.locator(".watch-page").inner_text()


@pytest.mark.parametrize("size", rarely(SIZES, ("phone", "lying")))
def test_what_has_no_board_lies_on_a_table_before_anything_is_dealt(
    browser: Browser, table: LiveTable, size: str
) -> None:
    match = table.begin("kuhn_poker", {"player1": "random", "player2": "random"})["id"]
    table.over(match)
    with window(browser, table, viewport=SIZES[size], bypass_csp=True) as page:
        page.goto(f"{table.url}/match/{match}")
        page.wait_for_selector(".picture-place .fact")
        assert page.locator(".picture-place").inner_text() == "chance deals"
        place = page.locator(".picture-place").bounding_box()
        assert place is not None
        assert place["height"] >= SIZES[size]["height"] / 3
        assert fits(page)
        assert faults(page) == []
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".picture-place .playing-card >> nth=1")
        assert fits(page)


@pytest.mark.parametrize("size", rarely(SIZES, ("phone", "lying")))
def test_the_board_of_a_replay_is_large(browser: Browser, table: LiveTable, size: str) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "random", "oplayer": "random"})["id"]
    table.over(match)
    with window(browser, table, viewport=SIZES[size]) as page:
        page.goto(f"{table.url}/match/{match}")
        page.wait_for_selector(".half-place .board-grid")
        board = page.locator(".half-place .board-grid").bounding_box()
        assert board is not None
        assert board["height"] >= 0.55 * min(SIZES[size].values())
        assert fits(page)


@pytest.mark.verify
def test_a_turn_is_chosen_from_the_moves(page: Page, table: LiveTable, bomb: str) -> None:
    page.goto(f"{table.url}/match/{bomb}#turn=0")
    moves = page.locator(".move-list li")
    page.wait_for_selector(".move-list li >> nth=3")
    assert moves.nth(1).inner_text().endswith("wire is armed")  # in words, and not who waited
    assert moves.nth(3).inner_text().startswith("agent: cut the ")
    moves.nth(2).locator("a").click()
    page.wait_for_selector("output:text('turn 2 of 3')")
    assert page.url.endswith("#turn=2")
    assert page.locator(".move-list [aria-current]").inner_text() == moves.nth(2).inner_text()


@pytest.mark.verify
def test_values_over_time_lead_to_where_a_mind_was_most_wrong(
    page: Page, table: LiveTable, bomb: str
) -> None:
    page.goto(f"{table.url}/match/{bomb}#turn=0")
    page.wait_for_selector(".chart-mark")
    record = table.get(f"/api/matches/{bomb}")
    values = {
        turn["turn"] - 1: turn["values"]["agent"] for turn in record["turns"] if turn["values"]
    }
    goal = record["match"]["goals"]["agent"]
    worst = max(values, key=lambda turn: abs(values[turn] - goal))
    assert page.locator(".chart-mark").count() == len(values) + 1  # and one in the key
    if abs(values[worst] - goal) >= 1:
        page.click(".worst")
        page.wait_for_selector(f"output:text('turn {worst} of 3')")


@pytest.mark.verify
def test_a_record_is_downloaded_when_the_match_is_over(
    page: Page, table: LiveTable, bomb: str
) -> None:
    page.goto(f"{table.url}/match/{bomb}")
    with page.expect_download() as download:
        page.click("text=Download the record")
    assert download.value.suggested_filename == f"exploding_bomb-{bomb}.json"
    record = record_from_json(json.loads(download.value.path().read_text(encoding="utf-8")))
    assert record.game == "exploding_bomb"
    match = table.begin("exploding_bomb", {"agent": "human"})
    table.get(f"/api/matches/{match['id']}/record?key={match['key']}", status=403)
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})
