"""A seat in a real browser: its buttons, their places, and its texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from ggp.gdl.games import find_game, list_games
from ggp.gdl.program import RANDOM
from ggp.machine.games import read_program
from tests.table.live import LiveTable
from tests.table.pages.browsers import choose_game, choose_player, why_no_browser, window

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect, Locator, Page, Route

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

UPRIGHT, LYING = {"width": 375, "height": 667}, {"width": 667, "height": 375}
TOUCH_PX = 44

READY = ".actions button.move, .stage button.playable"
OVER = ".seat-page.over .halves"

PROMOTION = """
(role white) (role black)
(file a) (file b) (file c) (init (cell a 2 white pawn)) (init (cell c 1 white king))
(<= (init (cell ?x ?y none none)) (file ?x) (rank ?y) (not (taken ?x ?y)))
(rank 1) (rank 2) (rank 3) (taken a 2) (taken c 1)
(<= (legal white (promote a 2 a 3 ?piece)) (kind ?piece))
(kind queen) (kind rook) (kind knight)
(<= (legal white (move c 1 ?x 1)) (file ?x) (distinct ?x c))
(legal black noop)
(<= (next (cell a 3 white ?piece)) (does white (promote a 2 a 3 ?piece)))
(<= (next (cell c 1 white king)) (does white (promote a 2 a 3 ?piece)))
(<= (next over) (does white ?move))
(<= terminal (true over))
(goal white 100) (goal black 0)
"""


@contextmanager
def seated(
    browser: Browser, table: LiveTable, game: str, role: str = "", **match_options: Any
) -> Iterator[Page]:
    """A person's seat in a match against random players.

    Args:
        role: the person's; else the first one.
        more: of the match, or of the window (`viewport`, `may_fail`, `bypass_csp`,
            `reduced_motion`).
    """
    options = {"viewport": match_options.pop("viewport", {"width": 1280, "height": 800})}
    for name in ("may_fail", "bypass_csp", "reduced_motion"):
        if name in match_options:
            options[name] = match_options.pop(name)
    text = match_options.get("rules") or find_game(game).read_text(encoding="utf-8")
    roles = [role_name for role_name in read_program(text, game).roles if role_name != RANDOM]
    players = {
        role_name: "human" if role_name == (role or roles[0]) else "random" for role_name in roles
    }
    match = table.begin(game, players, **match_options)
    (link,) = match["links"].values()
    with window(browser, table, **options) as page:
        page.goto(table.url + link)
        page.wait_for_selector(f"{READY}, {OVER}")
        yield page
        page.goto("about:blank")  # what comes of the end is nobody's business
    table.request(
        "POST",
        f"/api/matches/{match['id']}/end",
        json.dumps({"key": match["key"]}).encode(),
        {"content-type": "application/json"},
    )


def box(place: Locator) -> FloatRect:
    rectangle = place.bounding_box()
    assert rectangle is not None
    return rectangle


def num_turns(page: Page) -> int:
    return page.locator(".history li").count()


def press(page: Page) -> None:
    """Make some move as a person does, on the board or with a button."""
    turns_before = num_turns(page)
    for _ in range(8):
        if num_turns(page) > turns_before or page.locator(OVER).count():
            break
        if page.locator(".choice:visible").count():
            page.locator(".choice button.move").first.click()
        elif page.locator(".stage button.target").count():
            page.locator(".stage button.target").last.click()
        elif page.locator(".actions button.move").count():
            page.locator(".actions button.move").first.click()
        elif page.locator(".stage button.playable").count():
            page.locator(".stage button.playable").first.click()
        page.wait_for_timeout(50)
    page.wait_for_selector(f"{READY}, {OVER}")


# ---------------------------------------------------------------- moves without a choice


@pytest.mark.verify
def test_forced_moves_are_played_automatically(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "monty_hall") as page:
        page.locator(".actions button.move").first.click()
        page.wait_for_selector("button.move:has-text('switch to the other door')")
        assert num_turns(page) == 2
        assert "you wait" in page.locator(".history").inner_text()
        page.locator("button.move", has_text="switch").click()
        page.wait_for_selector(OVER)


@pytest.mark.verify
def test_a_lost_forced_move_is_sent_again(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "monty_hall", may_fail="Failed to load resource") as page:
        lost: list[str] = []

        def lose(route: Route) -> None:
            if len(lost) == 1:
                route.abort()
            else:
                route.continue_()
            lost.append(route.request.post_data or "")

        page.route("**/move", lose)
        page.locator(".actions button.move").first.click()
        page.wait_for_selector("button.move:has-text('switch to the other door')")
        assert ["noop" in request for request in lost] == [False, True, True]


@pytest.mark.verify
def test_a_switch_leaves_forced_moves_to_the_person(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "monty_hall") as page:
        page.uncheck("#set-forced")
        page.locator(".actions button.move").first.click()
        page.wait_for_selector(".actions button.move:has-text('wait')")
        assert num_turns(page) == 1
        page.reload()  # the switch is remembered
        page.wait_for_selector(".actions button.move:has-text('wait')")


@pytest.mark.verify
def test_a_second_key_press_does_not_play_the_next_turn(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "connect_four") as page:
        page.locator("button.target").first.focus()
        for turns in (2, 4):
            page.keyboard.press("Enter")
            page.keyboard.press("Enter")
            page.wait_for_selector(f".history li >> nth={turns - 1}", state="attached")
            page.wait_for_selector(READY)
            page.keyboard.press("Enter")
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(200)
        assert num_turns(page) == 4


# ---------------------------------------------------------------- before the first turn

PROGRESS = """async (told) => {
  const bar = (await import("/static/panels.js")).progress();
  bar.show(told);
  const shown = [bar.element.hidden, bar.element.querySelector("progress").value,
    bar.element.textContent];
  bar.show(null);
  return [...shown, bar.element.hidden];
}"""


@pytest.mark.verify
def test_steps_before_the_first_turn_are_shown_with_a_progress_bar(
    page: Page, table: LiveTable
) -> None:
    page.goto(table.url)
    progress = {
        "text": "Getting the players ready",
        "note": "compiling",
        "share": 0.4,
        "until": 0.75,
    }
    hidden, value, words, hidden_then = page.evaluate(PROGRESS, progress)
    assert not hidden
    assert 0.4 <= value < 0.75
    assert words == "Getting the players ready … (compiling)"
    assert hidden_then


@pytest.mark.verify
def test_steps_before_the_first_turn_go_on_to_the_end(table: LiveTable) -> None:
    match = table.begin("monty_hall", {"candidate": "human"})
    (link,) = match["links"].values()
    seat = link.removeprefix("/seat/").partition("?")[0]
    view = table.until(f"/api/seats/{seat}", lambda now: now["frame"])
    assert 0.4 <= view["preparing"]["share"] <= view["preparing"]["until"] == 1.0
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})


# ---------------------------------------------------------------- the board


@pytest.mark.verify
def test_the_board_fills_the_window(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "breakthrough") as page:
        for width, height in ((1280, 800), (1600, 900), (1024, 768)):
            page.set_viewport_size({"width": width, "height": height})
            board = box(page.locator(".stage .board-grid"))
            side = min(width * 0.6, height - 70)
            assert board["height"] >= 0.95 * side, (width, height, board)
            assert board["y"] + board["height"] <= height


@pytest.mark.verify
def test_a_piece_is_clicked_or_dragged_to_where_it_may_go(
    browser: Browser, table: LiveTable
) -> None:
    with seated(browser, table, "breakthrough", seed=3) as page:
        page.click("[data-cell='cell:3,2']")
        targets = page.locator(".target").evaluate_all("all => all.map((e) => e.dataset.cell)")
        assert set(targets) == {"cell:2,3", "cell:3,3", "cell:4,3"}
        page.click("[data-cell='cell:4,3']")
        page.wait_for_selector(".history:has-text('3,2 to 4,3')")
        page.wait_for_selector(READY)
        start, goal = (box(page.locator(f"[data-cell='cell:{at}']")) for at in ("1,2", "1,3"))
        page.mouse.move(start["x"] + 20, start["y"] + 20)
        page.mouse.down()
        page.mouse.move(goal["x"] + 20, goal["y"] + 30, steps=4)
        assert page.locator(".ghost").count() == 1
        assert page.locator("[data-cell='cell:1,3'].target").count() == 1
        page.mouse.up()
        page.wait_for_selector(".history:has-text('1,2 to 1,3')")
        assert page.locator(".ghost").count() == 0


@pytest.mark.verify
def test_a_promotion_is_asked_for(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "promotion", rules=PROMOTION) as page:
        page.click("[data-cell='cell:a,2']")
        page.click("[data-cell='cell:a,3']")
        choice = page.locator(".choice")
        assert choice.locator("button.move").count() == 3
        page.keyboard.press("Escape")
        assert not choice.is_visible()
        page.click("[data-cell='cell:a,2']")
        page.click("[data-cell='cell:a,3']")
        choice.locator("button.move", has_text="knight").click()
        page.wait_for_selector(OVER)
        assert "a2-a3 knight" in page.locator(".history").inner_text()


@pytest.mark.verify
def test_terms_are_words_and_kif_on_demand(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "kuhn_poker") as page:
        assert page.locator(".umpire").inner_text().startswith("You are dealt the ")
        assert "(" not in page.locator(".stage").inner_text()
        page.check("#set-kif")
        assert page.locator(".umpire").inner_text().startswith("(dealt ")
        assert "(holds player1 " in page.locator(".stage").inner_text()


@pytest.mark.verify
def test_cards_stay_in_sight_where_nothing_is_drawn(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "leduc_poker", seed=1) as page:
        assert page.locator(".umpire").inner_text().startswith("You are dealt a ")
        card = page.locator(".stage li:has-text('player1')").first.inner_text()
        press(page)
        page.wait_for_selector(".history li >> nth=2", state="attached")
        assert page.locator(".umpire").inner_text().startswith("The other ")
        assert card in page.locator(".stage").inner_text()


@pytest.mark.verify
def test_many_moves_are_chosen_part_by_part(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "mastermind", viewport=UPRIGHT) as page:
        for colour in ("red", "blue", "green"):
            page.locator(f".actions button.part:has-text('{colour}')").click()
        page.locator(".actions button.move", has_text="red blue green red").click()
        page.wait_for_selector(".history:has-text('red blue green red')", state="attached")


# ---------------------------------------------------------------- what may be where, and rules


@pytest.mark.verify
def test_possible_places_of_pieces_are_shown_on_demand(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "battleships_in_fog", seed=4) as page:
        assert page.locator(".unknown").count() == 16
        page.click("text=Show possibilities")
        page.wait_for_selector(".cell-share")
        shares = page.locator(".cell-share").all_inner_texts()
        assert shares == ["6 %"] * 16
        page.click("text=Show possibilities")
        page.wait_for_selector(".unknown")
        assert page.locator(".cell-share").count() == 0


@pytest.mark.verify
def test_the_possibilities_shown_at_a_seat_depend_only_on_its_percepts(table: LiveTable) -> None:
    """The same for all fleets of the other that fit."""
    pictures = set()
    for seed in range(3):
        players = {"admiral": "human", "commodore": "random"}
        match = table.begin("battleships_in_fog", players, seed=seed)
        (link,) = match["links"].values()
        seat = link.removeprefix("/seat/").partition("?")[0]
        table.play(seat)
        table.until(f"/api/seats/{seat}", lambda now: now["ask"] and now["ask"]["turn"] == 1)
        may = table.get(f"/api/seats/{seat}/may/1")
        enemy_boards = [board for board in may["boards"] if "commodore" in board["title"]]
        pictures.add(re.sub(r'"share": [\d.]+', "", json.dumps(enemy_boards)))
        table.get(f"/api/seats/{seat}/truth/1", status=403)
        table.get(f"/api/seats/{seat}/may/9", status=404)
        table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})
    assert len(pictures) == 1


@pytest.mark.verify
def test_rules_and_percepts_are_beside_the_board(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "battleships_in_fog") as page:
        page.click("summary:has-text('Rules')")
        text = page.locator(".about-game").inner_text()
        assert "who is scanned: scanned" in text
        assert "Percepts" in text


# ---------------------------------------------------------------- when it is over


@pytest.mark.verify
def test_the_end_page_shows_the_truth_beside_ones_knowledge_and_offers_a_rematch(
    browser: Browser, table: LiveTable
) -> None:
    with seated(browser, table, "kuhn_poker", seed=2, play_clock_s=1) as page:
        while not page.locator(OVER).count():
            press(page)
        knew, truth = (
            page.locator(f".half[aria-label='{name}']") for name in ("What you knew", "The truth")
        )
        page.wait_for_selector(".half[aria-label='The truth'] .hand:has-text('player2 holds')")
        knew.locator(".hand:has-text('player2 holds') .face-down").wait_for()
        page.click("button[aria-label='Previous turn']")
        page.wait_for_function(
            "document.querySelector('.controls output').innerText.startsWith('turn 2')"
        )
        assert "player2 holds" in truth.inner_text()
        page.reload()
        page.wait_for_selector(OVER)
        assert page.locator("button:has-text('Weaker')").count() == 0
        page.click("button:has-text('Swap roles')")
        page.wait_for_selector("h1:has-text('you play player2')")
        page.wait_for_selector(f"{READY}, {OVER}")
        while not page.locator(OVER).count():
            press(page)
        first_url = page.url
        page.click("button:has-text('Stronger: it thinks for half a second')")
        page.wait_for_url(lambda url: url != first_url)
        page.wait_for_selector(f"{READY}, {OVER}")
        id_ = page.url.rpartition("/")[2].rpartition("-")[0]
        match = table.get("/api/lobby")["matches"][0]
        assert match["id"] == id_
        assert match["players"] == {"player1": "auto", "player2": "human"}


@pytest.mark.verify
def test_settings_are_remembered_for_the_next_match(page: Page, table: LiveTable) -> None:
    page.goto(table.url)
    choose_game(page, "tic_tac_toe")
    page.wait_for_selector("label:has-text('oplayer')")
    choose_player(page, 0, "random")
    choose_player(page, 1, "random")
    page.click("summary:has-text('Clocks')")
    page.locator("#play-clock").fill("1.5")
    page.click("button.primary")
    page.wait_for_url(re.compile("/match/"))
    page.goto(table.url)
    page.wait_for_selector("label:has-text('oplayer')")
    chosen = page.locator(".game-button[aria-pressed='true']")
    assert chosen.get_attribute("data-game") == "tic_tac_toe"
    assert page.locator("#other-1").input_value() == "random"
    assert page.locator("#play-clock").input_value() == "1.5"


# ---------------------------------------------------------------- phones


OUT_OF_REACH = """(least) => {
  const root = document.documentElement;
  const wrong = root.scrollHeight > root.clientHeight + 1 ? ["the page scrolls"] : [];
  for (const each of document.querySelectorAll(".seat-page :is(button, input)")) {
    if (!each.checkVisibility({ visibilityProperty: true }) || each.closest(".more")) continue;
    const { left, top, right, bottom, width, height } = each.getBoundingClientRect();
    const what = each.dataset.cell ?? (each.innerText || each.id);
    if (each.tagName === "BUTTON" && Math.min(width, height) < least - 0.5) {
      wrong.push(`${what}: ${width} x ${height}`);
    }
    const isIn = left >= -1 && top >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
    if (!isIn) wrong.push(`${what} is outside`);
    for (let on = each.parentElement; on; on = on.parentElement) {
      const there = on.getBoundingClientRect();
      const isCut = top < there.top - 2 || bottom > there.bottom + 2;
      if (isCut && getComputedStyle(on).overflowY !== "visible") {
        wrong.push(`${what} must be scrolled to`);
      }
    }
  }
  return wrong;
}"""


def out_of_reach(page: Page) -> list[str]:
    """Everything to be pressed that is too small, or not wholly in sight without scrolling."""
    targets: list[str] = page.evaluate(OUT_OF_REACH, TOUCH_PX)
    return targets


QUICK = ("meier",)
PHONE_GAMES = [
    pytest.param(game, marks=() if game in QUICK else pytest.mark.verify) for game in list_games()
]


@pytest.mark.verify
@pytest.mark.parametrize("game", PHONE_GAMES)
def test_every_control_is_in_sight_on_a_telephone(
    browser: Browser, table: LiveTable, game: str
) -> None:
    """In the first turns and at the end, with no press where there is no choice."""
    with seated(browser, table, game, seed=1, viewport=UPRIGHT) as page:
        for _ in range(3):
            for size in (LYING, UPRIGHT):
                page.set_viewport_size(size)  # type: ignore[arg-type]
                page.wait_for_timeout(50)
                assert out_of_reach(page) == [], size
            if page.locator(OVER).count():
                break
            assert (
                page.locator(".actions button.move").count() != 1
                or page.locator(".playable").count()
            )
            press(page)
