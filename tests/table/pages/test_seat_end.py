"""The end of a match and its replay in a real browser, on a wide screen and on two telephones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.effort import rarely
from tests.table.live import LiveTable, seats_of
from tests.table.pages.browsers import SIZES, faults, fits, why_no_browser, window
from tests.table.pages.test_seat_page import OVER, READY, out_of_reach, press, seated

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

LINE = """
; Three in a row on a line of five by two: whoever has them wins.
(role left) (role right)
(column 1) (column 2) (column 3) (column 4) (column 5) (row 1) (row 2)
(next_to 1 2 3) (next_to 2 3 4) (next_to 3 4 5)
(init (control left)) (other left right) (other right left)
(<= (legal ?p (put ?x ?y)) (true (control ?p)) (column ?x) (row ?y) (not (taken ?x ?y)))
(<= (legal ?p noop) (role ?p) (not (true (control ?p))))
(<= (taken ?x ?y) (true (disc ?x ?y ?p)))
(<= (next (disc ?x ?y ?p)) (does ?p (put ?x ?y)))
(<= (next (disc ?x ?y ?p)) (true (disc ?x ?y ?p)))
(<= (next (control ?q)) (true (control ?p)) (other ?p ?q))
(<= (line ?p) (next_to ?a ?b ?c) (row ?y)
    (true (disc ?a ?y ?p)) (true (disc ?b ?y ?p)) (true (disc ?c ?y ?p)))
(<= over (line ?p))
(<= open (column ?x) (row ?y) (not (taken ?x ?y)))
(<= terminal over) (<= terminal (not open))
(<= (goal ?p 100) (line ?p))
(<= (goal ?q 0) (line ?p) (other ?p ?q))
(<= (goal ?p 50) (role ?p) (not over))
"""

GAMES = ("battleships_in_fog", "krieg_tic_tac_toe")
"""One with two boards, and one with one."""

NESTED_SCROLLING = """() => {
  const isScrolled = (each) => each.scrollHeight > each.clientHeight + 1
    && ["auto", "scroll"].includes(getComputedStyle(each).overflowY) && each.checkVisibility();
  const scrolled = [...document.querySelectorAll("main *")].filter(isScrolled);
  return scrolled.filter((each) => scrolled.some((on) => on !== each && on.contains(each)))
    .map((each) => `${each.className} scrolls inside of another area that scrolls`);
}"""

CUT_BOARDS = """() => [...document.querySelectorAll(".board-grid")].flatMap((grid) => {
  const visible = { visibilityProperty: true };
  if (!grid.checkVisibility(visible)) return [];
  const { left, top, right, bottom, width } = grid.getBoundingClientRect();
  const wrong = [];
  const isIn = left >= -1 && top >= -1 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
  if (!isIn) wrong.push("outside");
  const on = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  if (!grid.contains(on)) wrong.push(`covered by ${on?.className}`);
  for (let place = grid.parentElement; place; place = place.parentElement) {
    const there = place.getBoundingClientRect();
    const isCut = top < there.top - 2 || bottom > there.bottom + 2;
    const isClipping = getComputedStyle(place).overflowY !== "visible";
    if (isCut && isClipping) wrong.push(`cut by ${place.className}`);
  }
  return wrong.map((what) => `${grid.getAttribute("aria-label")} (${width}): ${what}`);
})"""


@contextmanager
def two_seats(
    browser: Browser, table: LiveTable, game: str, moves: dict[str, list[str]], **options: Any
) -> Iterator[dict[str, Page]]:
    """Two people play moves by turns, through the server; yields their pages at the end."""
    windows = {name: options.pop(name) for name in ("viewport", "bypass_csp") if name in options}
    match = table.begin(game, dict.fromkeys(moves, "human"), **options)
    for number in range(sum(map(len, moves.values()))):
        mover = list(moves)[number % 2]
        for role, seat in seats_of(match).items():
            table.play(seat, moves[mover][number // 2] if role == mover else "noop")
    table.over(match["id"])
    with window(browser, table, **windows) as left, window(browser, table, **windows) as right:
        pages = dict(zip(moves, (left, right), strict=True))
        for role, page in pages.items():
            page.goto(table.url + match["links"][role])
            page.wait_for_selector(f"{OVER} .half")
        yield pages


def decided(page: Page) -> set[str]:
    cells = page.locator(".half[aria-label='The truth'] .decides")
    return set(cells.evaluate_all("all => all.map((e) => e.dataset.cell)"))


# ---------------------------------------------------------------- who won, and by what


@pytest.mark.verify
def test_both_are_told_who_won_and_the_line_is_marked(browser: Browser, table: LiveTable) -> None:
    moves = {"left": ["(put 1 1)", "(put 2 1)", "(put 3 1)"], "right": ["(put 1 2)", "(put 5 2)"]}
    with two_seats(browser, table, "line", moves, rules=LINE) as pages:
        for role, words in (("left", "You won"), ("right", "You lost")):
            assert pages[role].locator(".status").inner_text() == words
            assert pages[role].locator(".score").all_inner_texts() == ["left 100", "right 0"]
            assert decided(pages[role]) == {"disc:1,1", "disc:2,1", "disc:3,1"}
            labels = pages[role].locator(".decides").first.get_attribute("aria-label")
            assert labels is not None
            assert labels.endswith("decided the match")


@pytest.mark.verify
def test_a_draw_is_called_a_draw_and_nothing_is_marked(browser: Browser, table: LiveTable) -> None:
    left = ["(put 1 1)", "(put 2 2)", "(put 3 1)", "(put 4 2)", "(put 5 1)"]
    right = ["(put 2 1)", "(put 1 2)", "(put 4 1)", "(put 3 2)", "(put 5 2)"]
    with two_seats(browser, table, "line", {"left": left, "right": right}, rules=LINE) as pages:
        assert pages["left"].locator(".status").inner_text() == "You drew"
        assert decided(pages["left"]) == set()


@pytest.mark.verify
@pytest.mark.parametrize(
    ("game", "words"), [("exploding_bomb", "You scored"), ("cooperative_spies", "Together you")]
)
def test_who_has_no_opponent_is_told_the_score(
    browser: Browser, table: LiveTable, game: str, words: str
) -> None:
    with seated(browser, table, game, seed=1) as page:
        while not page.locator(OVER).count():
            press(page)
        status = page.locator(".status").inner_text()
        assert status.startswith(words)
        assert status.endswith(" points")
        assert fits(page)


# ---------------------------------------------------------------- the page at the end


@pytest.mark.parametrize("size", rarely(SIZES, ("phone", "lying")))
@pytest.mark.parametrize("game", rarely(GAMES, ("krieg_tic_tac_toe",)))
def test_the_end_shows_the_board_in_full(
    browser: Browser, table: LiveTable, game: str, size: str
) -> None:
    """Before and after a reload, and no area scrolls inside of another one."""
    with seated(browser, table, game, seed=4, viewport=SIZES[size], bypass_csp=True) as page:
        while not page.locator(OVER).count():
            press(page)
        for _ in range(2):
            page.wait_for_selector(".half[aria-label='The truth'] .board-grid")
            assert page.evaluate(CUT_BOARDS) == []
            assert page.evaluate(NESTED_SCROLLING) == []
            if size != "wide":
                assert out_of_reach(page) == []
            page.reload()
        assert faults(page) == []


@pytest.mark.verify
@pytest.mark.parametrize("size", ["phone", "lying"])
def test_on_a_telephone_one_of_the_two_boards_is_chosen(
    browser: Browser, table: LiveTable, size: str
) -> None:
    with seated(browser, table, "krieg_tic_tac_toe", seed=2, viewport=SIZES[size]) as page:
        while not page.locator(OVER).count():
            press(page)
        truth, knew = (
            page.locator(f".half[aria-label='{t}']") for t in ("The truth", "What you knew")
        )
        page.wait_for_selector(".half[aria-label='The truth']")
        assert (truth.is_visible(), knew.is_visible()) == (True, False)
        page.click("button:has-text('What you knew')")
        assert (truth.is_visible(), knew.is_visible()) == (False, True)
        assert page.evaluate(CUT_BOARDS) == []
        page.click("button:has-text('More')")
        assert page.locator("button:has-text('Swap roles')").is_visible()


# ---------------------------------------------------------------- the replay


@pytest.mark.parametrize("size", rarely(SIZES, ("phone", "lying")))
def test_a_replay_opens_on_the_first_turn_and_ends_with_what_minds_last_believed(
    browser: Browser, table: LiveTable, size: str
) -> None:
    with seated(browser, table, "exploding_bomb", viewport=SIZES[size], bypass_csp=True) as page:
        page.locator("button.move", has_text="do not ask").click()
        page.locator("button.move", has_text="cut the red wire").click()
        page.wait_for_selector(OVER)
        page.click("text=Replay")
        page.wait_for_selector("output:text('turn 0 of 3')")
        assert page.evaluate(NESTED_SCROLLING) == []
        assert faults(page) == []
        page.click("button[aria-label='Last turn']")
        page.wait_for_selector("output:text('turn 3 of 3')")
        page.click("summary:has-text('mind of agent')")
        page.wait_for_selector("h4:has-text('What it last believed')")
        mind = page.locator(".mind").inner_text()
        assert "exact: 2 states, which are all there can be" in mind
        assert "the blue wire is armed 50 %" in mind


# ---------------------------------------------------------------- what was told


def told(page: Page) -> str:
    return page.locator(".umpire").inner_text()


@pytest.mark.verify
def test_what_was_told_since_the_last_choice_and_nothing_else(
    browser: Browser, table: LiveTable
) -> None:
    """After one's own refused try, and after several of the other's."""
    players = {"xplayer": "human", "oplayer": "human"}
    match = table.begin("krieg_tic_tac_toe", players)
    seats = seats_of(match)

    def play(mover: str, move: str) -> None:
        for role, seat in seats.items():
            table.play(seat, move if role == mover else "noop")

    with window(browser, table) as page:
        page.goto(table.url + match["links"]["xplayer"])
        page.uncheck("#set-forced")
        page.wait_for_selector(READY)
        assert told(page) == ""
        play("xplayer", "(mark 1 1)")
        play("oplayer", "(mark 1 1)")  # refused
        play("oplayer", "(mark 2 2)")
        page.wait_for_selector(".status:has-text('Turn 4: it is your move')")
        assert told(page) == "The other has made a mark."
        play("xplayer", "(mark 2 2)")
        page.wait_for_selector(".status:has-text('Turn 5: it is your move')")
        refused = "The cell is taken: the umpire refuses your mark. Try another."
        assert told(page) == refused
        play("xplayer", "(mark 1 2)")
        play("oplayer", "(mark 3 3)")
        play("xplayer", "(mark 1 3)")
        page.wait_for_selector(OVER)
        assert told(page) == "Since your last choice you were told nothing."
        page.reload()
        page.wait_for_selector(OVER)
        assert told(page) == "Since your last choice you were told nothing."
        assert page.locator(".status").inner_text() == "You won"


@pytest.mark.verify
def test_a_scan_is_not_repeated_after_the_next_choice(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "battleships_in_fog", seed=4) as page:
        assert told(page).startswith("Your ship is placed at ")
        page.click("button:has-text('scan')")
        page.wait_for_selector(".umpire:has-text('The scan shows')")
        page.wait_for_selector(READY)
        assert "placed" not in told(page)
        page.locator("button.target").first.click()
        page.wait_for_selector(".status:has-text('Turn 7: it is your move')")
        assert "scan shows" not in told(page)


@pytest.mark.verify
def test_what_somebody_did_is_told_before_what_came_of_it(
    browser: Browser, table: LiveTable
) -> None:
    players = {"player1": "human", "player2": "human"}
    match = table.begin("meier", players, seed=1)
    seats = seats_of(match)
    for mover, move in (("", "noop"), ("player1", "(claim 66)"), ("player2", "doubt")):
        for role, seat in seats.items():
            table.play(seat, move if role == mover else "noop")
    table.over(match["id"])
    with window(browser, table) as page:
        page.goto(table.url + match["links"]["player1"])
        page.wait_for_selector(OVER)
        assert told(page).startswith("The other doubts you. The dice are shown: ")


@pytest.mark.verify
def test_whose_try_the_umpire_refused_is_said(browser: Browser, table: LiveTable) -> None:
    match = table.begin("kriegspiel_5x5", {"white": "human", "black": "human"})
    seats = seats_of(match)

    def play(mover: str, move: str) -> None:
        for role, seat in seats.items():
            table.play(seat, move if role == mover else "noop")

    play("white", "(move a 2 b 3)")  # there is nothing to capture
    with window(browser, table) as white, window(browser, table) as black:
        white.goto(table.url + match["links"]["white"])
        white.wait_for_selector(READY)
        assert told(white) == "The umpire refuses your try."
        white.uncheck("#set-forced")
        play("white", "(move b 2 c 3)")
        play("white", "(move a 2 a 3)")
        black.goto(table.url + match["links"]["black"])
        black.wait_for_selector(READY)
        assert told(black) == "The umpire refuses white's try. (2 times)"
        play("black", "(move b 4 b 3)")
        black.wait_for_selector(".history li >> nth=3", state="attached")
        assert told(black) == "Since your last choice you were told nothing."
        assert "The umpire refuses your try." in white.locator(".history").inner_text()
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})


# ---------------------------------------------------------------- tools of a running match


@pytest.mark.verify
def test_a_move_is_taken_back_and_the_record_says_so(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "tic_tac_toe", seed=3) as page:
        assert not page.locator("button:has-text('Take back')").is_visible()
        page.click("[data-cell='marked:1,1']")
        page.wait_for_selector(".status:has-text('Turn 3: it is your move')")
        page.click("button:has-text('Take back')")
        page.wait_for_selector(".status:has-text('Turn 1: it is your move')")
        page.wait_for_selector(READY)
        assert page.locator(".cell .item").count() == 0
        while not page.locator(OVER).count():
            press(page)
        match = table.get("/api/lobby")["matches"][0]
        record = table.get(f"/api/matches/{match['id']}/record")
        assert record["taken_back"] == [{"turn": 0, "role": "xplayer", "move": "(mark 1 1)"}]
        page.click("text=Replay")
        page.wait_for_selector("text=xplayer took back its move in turn 1")


@pytest.mark.verify
def test_a_person_resigns_after_a_question(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "breakthrough") as page:
        page.click("button:has-text('Resign')")
        page.click("dialog button:has-text('Play on')")
        assert page.locator(OVER).count() == 0
        page.click("button:has-text('Resign')")
        page.click("dialog button.primary")
        page.wait_for_selector(OVER)
        assert page.locator(".status").inner_text() == "You resigned"
        assert page.locator(".goals").inner_text() == "no scores: it was not played out"


@pytest.mark.verify
def test_the_board_is_flipped_and_stays_so(browser: Browser, table: LiveTable) -> None:
    def top_left(page: Page) -> str | None:
        corner = (
            "all => all.sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x"
        )
        corner += " || a.getBoundingClientRect().y - b.getBoundingClientRect().y)[0].dataset.cell"
        return str(page.locator(".stage .cell").evaluate_all(corner))

    with seated(browser, table, "breakthrough") as page:
        assert top_left(page) == "cell:1,6"
        page.click("button:has-text('Flip the board')")
        assert top_left(page) == "cell:6,1"
        page.reload()
        page.wait_for_selector(READY)
        assert top_left(page) == "cell:6,1"
        page.click("[data-cell='cell:3,2']")  # moves go on where they are seen
        page.click("[data-cell='cell:4,3']")
        page.wait_for_selector(".history:has-text('3,2 to 4,3')")


@pytest.mark.verify
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_moves_are_animated_unless_less_motion_is_asked_for(
    browser: Browser, table: LiveTable, motion: str
) -> None:
    with seated(browser, table, "breakthrough", reduced_motion=motion) as page:
        page.evaluate(
            "() => { window.motions = 0; const animate = Element.prototype.animate;"
            " Element.prototype.animate = function (...given) {"
            " window.motions += 1; return animate.apply(this, given); }; }"
        )
        page.click("[data-cell='cell:3,2']")
        page.click("[data-cell='cell:4,3']")
        page.wait_for_selector(".history:has-text('3,2 to 4,3')")
        page.wait_for_selector(READY)
        assert (page.evaluate("window.motions") > 0) == (motion == "no-preference")


@pytest.mark.verify
def test_the_sound_is_off_until_it_is_turned_on(browser: Browser, table: LiveTable) -> None:
    with seated(browser, table, "tic_tac_toe") as page:
        page.evaluate(
            "() => { window.tones = 0; const start = OscillatorNode.prototype.start;"
            " OscillatorNode.prototype.start = function (...given) {"
            " window.tones += 1; return start.apply(this, given); }; }"
        )
        assert not page.locator("#set-sound").is_checked()
        press(page)
        assert page.evaluate("window.tones") == 0
        page.check("#set-sound")
        press(page)
        assert page.evaluate("window.tones") > 0


@pytest.mark.parametrize("size", rarely(SIZES, ("phone", "lying")))
def test_a_running_match_fits_and_machines_find_no_fault(
    browser: Browser, table: LiveTable, size: str
) -> None:
    options: dict[str, Any] = {"viewport": SIZES[size], "bypass_csp": True}
    with seated(browser, table, "battleships_in_fog", seed=4, **options) as page:
        press(page)
        assert page.evaluate(CUT_BOARDS) == []
        assert page.evaluate(NESTED_SCROLLING) == []
        assert faults(page) == []
        if size != "wide":
            page.click("button:has-text('More')")
        page.click("button:has-text('Resign')")
        assert faults(page) == []


def test_moves_are_taken_back_only_against_programs(table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "human"})
    seats = seats_of(match)
    table.play(seats["xplayer"], "(mark 1 1)")
    assert "only against programs" in json.dumps(
        table.post(f"/api/seats/{seats['xplayer']}/back", {}, status=400)
    )
    table.post(f"/api/seats/{seats['oplayer']}/resign", {})
    view = table.get(f"/api/seats/{seats['xplayer']}")
    assert view["match"]["error"] == "oplayer resigned"
    alone = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "random"})
    (seat,) = seats_of(alone).values()
    table.until(f"/api/seats/{seat}", lambda now: now["ask"])
    assert "no move to take back" in json.dumps(
        table.post(f"/api/seats/{seat}/back", {}, status=400)
    )
    table.post(f"/api/seats/{seat}/resign", {})
