"""The page in a real browser: with mouse and keyboard, read by machines, on small screens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from match_runner.table.server import open_link
from tests.support.qualities import IN_WORDS
from tests.table.live import SECRETS, WORDS, LiveTable, live_table, seats_of
from tests.table.pages.browsers import (
    OWN_RULES,
    choose_game,
    choose_player,
    faults,
    fits,
    why_no_browser,
    window,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=str(why_no_browser()))

SMALL = {"width": 360, "height": 740}


def focus(page: Page, selector: str) -> None:
    """Press Tab until something has the focus."""
    for _ in range(60):
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not lead to {selector}")


def until_over(page: Page) -> bool:
    """Wait until there is a move to make; false if the match is over instead."""
    page.wait_for_selector("button.move, button.playable, .seat-page.over")
    return page.locator(".seat-page.over").count() == 0


def test_a_person_plays_a_whole_match_with_the_mouse(page: Page, table: LiveTable) -> None:
    page.goto(table.url)
    choose_game(page, "tic_tac_toe")
    page.check("input[name=level][value='0']")
    page.click("button.primary")
    page.wait_for_url(re.compile("/seat/"))
    moves = 0
    while until_over(page):
        cells = page.locator("button[data-cell]")
        turn = page.locator(".status").inner_text()
        if cells.count():
            cells.first.click()
        else:
            page.locator("button.move").first.click()
        page.wait_for_function("t => document.querySelector('.status').innerText !== t", arg=turn)
        moves += 1
        assert moves < 10
    assert page.locator(".status").inner_text() in ("You won", "You lost", "You drew")
    page.click("text=Replay")
    page.wait_for_selector("text=Every role's moves and percepts")


def test_a_person_plays_a_whole_match_with_the_keyboard(page: Page, table: LiveTable) -> None:
    page.goto(table.url)
    page.wait_for_selector("#seat-0")
    focus(page, ".game-button")
    for _ in range(50):
        if page.evaluate("document.activeElement.dataset.game") == "monty_hall":
            break
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector("label:has-text('candidate')")
    focus(page, "button.primary")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/seat/"))
    moves = 0
    while until_over(page):
        turn = page.locator(".status").inner_text()
        focus(page, "button.move")
        page.keyboard.press("Enter")
        page.wait_for_function("t => document.querySelector('.status').innerText !== t", arg=turn)
        moves += 1
    assert moves == 2  # the one without a choice was played by itself
    focus(page, "a[href^='/match/']")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=turn 0 of 3")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=turn 1 of 3")


class Listener:
    """Everything that reaches a page: bodies of answers, events of streams, and its text."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._answers: list[Any] = []
        self._events: list[str] = []
        page.on("response", lambda answer: self._answers.append(answer))
        link = page.context.new_cdp_session(page)
        link.send("Network.enable")
        link.on(
            "Network.eventSourceMessageReceived", lambda event: self._events.append(event["data"])
        )

    def heard(self) -> str:
        bodies = [
            answer.text()
            for answer in self._answers
            if "event-stream" not in answer.headers.get("content-type", "")
            and answer.status != 303  # of a link, which has no body
            and answer.request.method != "HEAD"
        ]
        assert self._events
        return "\n".join([*bodies, *self._events, self._page.content()])


def test_two_people_in_two_windows_never_get_the_others_secret(
    browser: Browser, table: LiveTable
) -> None:
    players = {"alice": "human", "bob": "human"}
    match = table.begin("secrets", players, rules=SECRETS, seed=6)
    with window(browser, None) as alice, window(browser, None) as bob:
        windows = {"alice": alice, "bob": bob}
        listeners = {role: Listener(page) for role, page in windows.items()}
        for role, page in windows.items():
            page.goto(table.url + match["links"][role])
        for page in windows.values():
            page.wait_for_selector("button.move:has-text('high')")
        events = {role: listener.heard() for role, listener in listeners.items()}
        for role, opponent in (("alice", "bob"), ("bob", "alice")):
            assert any(word in events[role] for word in WORDS[role])
            assert not any(word in events[role] for word in WORDS[opponent])
            assert match["seats"][opponent] not in events[role]
        for page in windows.values():
            page.locator("button.move", has_text="low").click()
        for page in windows.values():
            page.wait_for_selector(".seat-page.over")


@pytest.mark.verify
def test_a_page_that_is_reloaded_in_a_match_shows_the_same(page: Page, table: LiveTable) -> None:
    match = table.begin("secrets", {"alice": "human", "bob": "random"}, rules=SECRETS, seed=2)
    page.goto(table.url + match["links"]["alice"])
    page.wait_for_selector("button.move:has-text('high')")
    text = page.locator("main").inner_text()
    page.reload()
    page.wait_for_selector("button.move:has-text('high')")
    assert page.locator("main").inner_text() == text
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})
    page.wait_for_selector(".status:has-text('ended early')")


def test_a_replay_is_stepped_through(page: Page, table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "random", "oplayer": "random"}, seed=1)["id"]
    last = len(table.over(match)["turns"]) - 1
    page.goto(f"{table.url}/match/{match}#turn=2")
    page.wait_for_selector(f"output:text('turn 2 of {last}')")
    page.wait_for_selector(".cell .item >> nth=1")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"output:text('turn 3 of {last}')")
    assert page.url.endswith("#turn=3")
    page.click("button[aria-label='Previous turn']")
    page.wait_for_selector(f"output:text('turn 2 of {last}')")
    page.keyboard.press("End")
    page.wait_for_selector(f"output:text('turn {last} of {last}')")
    page.wait_for_selector(".status:has-text('The match is over')")
    page.locator("#turn").fill("0")
    page.wait_for_selector(f"output:text('turn 0 of {last}')")
    page.evaluate("location.hash = '#turn=1'")
    page.wait_for_selector(f"output:text('turn 1 of {last}')")


@pytest.mark.verify
def test_a_match_is_followed_while_it_is_played(page: Page, table: LiveTable) -> None:
    match = table.begin("tic_tac_toe", {"xplayer": "human", "oplayer": "random"})
    page.goto(f"{table.url}/match/{match['id']}?key={match['key']}")
    (seat,) = seats_of(match).values()
    for turn in (1, 2):
        table.play(seat)
        page.wait_for_selector(f"output:text('turn {turn} of {turn}')")
    page.click("text=End the match")
    # Only who began it, in that browser or with the key, may.
    page.wait_for_selector(".status:has-text('ended early')")


@pytest.mark.verify
def test_findings_about_long_lines_stay_in_their_column(browser: Browser, table: LiveTable) -> None:
    with window(browser, table, bypass_csp=True) as page:
        page.goto(table.url)
        choose_game(page, OWN_RULES)
        long_name = "long" * 80
        page.locator("#rules").fill(
            f"(role solo) (<= terminal (true {long_name}) (ture {long_name}))"
        )
        page.wait_for_selector(".diagnostics li pre")
        column = page.locator(".own-rules").bounding_box()
        assert column is not None
        for finding in page.locator(".diagnostics li, .diagnostics li p").all():
            box = finding.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= column["x"] + column["width"] + 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert faults(page) == []


@pytest.mark.verify
def test_a_rulesheet_with_a_mistake_is_typed_mended_and_played(
    page: Page, table: LiveTable
) -> None:
    page.goto(table.url)
    choose_game(page, OWN_RULES)
    rules = "(role solo) (init here) (<= terminal (true there))\n(<= (legal solo go) (ture here))"
    page.locator("#rules").fill(rules)
    page.wait_for_selector(".diagnostics li pre")
    message = page.locator(".diagnostics").inner_text()
    assert "line 2" in message
    assert page.locator(".diagnostics pre").first.inner_text().rstrip().endswith("^")
    assert page.locator("button.primary").is_disabled()
    page.locator("#rules").focus()
    page.keyboard.press("Control+End")
    for _ in "(ture here))":
        page.keyboard.press("Backspace")
    page.keyboard.type("(true here)) (legal solo stay) ")
    page.keyboard.type("(<= (next there) (does solo go)) (goal solo 77)")
    page.wait_for_selector(".diagnostics .good")
    page.click("button.primary")
    page.wait_for_url(re.compile("/seat/"))
    page.locator("button.move", has_text="go").click()
    page.wait_for_selector(".status:has-text('You scored 77 points')")


@pytest.mark.verify
def test_names_are_text_and_never_markup(page: Page, table: LiveTable) -> None:
    odd = ["<b>bold</b>", "<script>alert`1`</script>", "<img/src=x/onerror=alert`1`>"]
    odd += ["\u202eright-to-left", "x" * 990]
    legal = " ".join(f"(legal solo {word})" for word in odd)
    facts = " ".join(f"(init (holds {word}))" for word in odd)
    rules = f"; <b>Title</b>\n;\n; <i>About</i>\n(role solo) {legal} {facts} (goal solo 1)"
    rules += " (<= terminal (true over)) (<= (next over) (does solo ?x))"
    match = table.begin("<b>odd", {"solo": "human"}, rules=rules)
    page.goto(table.url + match["links"]["solo"])
    page.wait_for_selector("button.move")
    for page_shown in (page, None):
        if page_shown is None:
            page.locator("button.move", has_text="bold").click()
            page.wait_for_selector(".seat-page.over")
            page.goto(f"{table.url}/match/{match['id']}")
            page.wait_for_selector("text=Every role's moves and percepts")
        assert page.locator("main script, main img, main i").count() == 0
        assert page.get_by_text("<b>bold</b>").count() > 0
        assert fits(page)
    page.goto(table.url)
    page.wait_for_selector("text=<b>odd")
    assert page.locator("b", has_text=re.compile("^odd$")).count() == 0


@pytest.mark.verify
def test_a_mind_shows_why_hyperplay_does_not_ask(page: Page, table: LiveTable) -> None:
    match = table.begin("exploding_bomb", {"agent": "hyperplay2"}, seed=3)["id"]
    table.over(match)
    page.goto(f"{table.url}/match/{match}#turn=1")
    page.click("summary:has-text('mind of agent')")
    page.wait_for_selector("text=exact: 2 states, which are all there can be")
    page.wait_for_selector("th:text('HyperPlay-II')")
    page.wait_for_selector(".mind td.chosen:has-text('90.0')")
    assert page.locator(".mind .bar").count() == 4
    rows = page.locator(".mind tbody tr").all_inner_texts()
    ask = next(row for row in rows if row.startswith("ask "))
    assert "90.0" in ask
    chosen_rows = page.locator(".mind tr:has(td.chosen)").all_inner_texts()
    assert {text.split()[0] for text in chosen_rows} == {"ask", "do"}
    page.click("button[aria-label='Lines of play after ask which wire is armed']")
    page.wait_for_selector(".lines li")
    assert page.locator(".lines > li").first.inner_text().startswith("90 points for agent")


@pytest.mark.verify
def test_bags_are_told_in_the_words_of_the_commands(page: Page, table: LiveTable) -> None:
    page.goto(table.url)
    qualities = [quality.as_json() for quality in IN_WORDS]
    words = "async told => told.map((await import('/static/mind.js')).bagWords)"
    words_shown = page.evaluate(words, qualities)
    assert words_shown == list(IN_WORDS.values())


@pytest.mark.verify
def test_open_minds_show_everything_while_people_play(browser: Browser, tmp_path: Path) -> None:
    with live_table(tmp_path, open_minds=True) as open_table:
        players = {"alice": "human", "bob": "human"}
        match = open_table.begin("secrets", players, rules=SECRETS, seed=6)
        with window(browser, open_table) as page:
            for seat in seats_of(match).values():  # else the page would play the only move there is
                open_table.play(seat, "noop")
            page.goto(open_table.url + match["links"]["alice"])
            page.click("text=Watch everything, players' minds included")
            page.wait_for_selector("output:text('turn 1 of 1')")
            text = page.locator("main").inner_text()
            assert any(word in text for word in WORDS["bob"])
            page.click("summary:has-text('mind of bob')")
            page.wait_for_selector("text=exact: 3 states, which are all there can be")


@pytest.fixture(scope="module")
def every_kind(table: LiveTable) -> Iterator[list[tuple[str, str]]]:
    """The address of a page of every kind, and a sign that it is ready."""
    match = table.begin("breakthrough", {"white": "random", "black": "random"})["id"]
    started = table.begin("breakthrough", {"white": "human", "black": "random"})
    (link,) = started["links"].values()
    table.over(match)
    yield [
        ("/", ".game .picture"),
        (link, "button.playable"),
        (f"/match/{match}#turn=3", "output:has-text('turn 3')"),
    ]
    table.post(f"/api/matches/{started['id']}/end", {"key": started["key"]})


@pytest.mark.verify
def test_machines_that_read_pages_find_no_fault(
    browser: Browser, table: LiveTable, every_kind: list[tuple[str, str]]
) -> None:
    with window(browser, table, bypass_csp=True, reduced_motion="reduce") as page:
        for path, ready in every_kind:
            page.goto(table.url + path)
            page.wait_for_selector(ready)
            if path == "/":
                page.click("summary:has-text('Clocks')")
            assert faults(page) == []


@pytest.mark.verify
def test_small_screens_show_everything(
    browser: Browser, table: LiveTable, every_kind: list[tuple[str, str]]
) -> None:
    missing = ("/nothing", "h1:has-text('There is no such page')")
    with window(browser, table, viewport=SMALL, may_fail="Failed to load resource") as page:
        for path, ready in [*every_kind, missing]:
            page.goto(table.url + path)
            page.wait_for_selector(ready)
            assert fits(page), path
            assert page.locator("h1").count() == 1, path
            assert page.locator("h1").inner_text().strip(), path
            board = page.locator(".board-grid")
            if board.count():
                box = board.first.bounding_box()
                assert box is not None
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= SMALL["width"]


@pytest.mark.verify
def test_a_page_says_that_the_server_is_gone_and_goes_on_when_it_is_back(
    browser: Browser, tmp_path: Path
) -> None:
    with ExitStack() as windows:
        with live_table(tmp_path) as table:
            lobby, match_page = (
                windows.enter_context(window(browser, table, may_fail="Failed to load resource"))
                for _ in range(2)
            )
            lobby.goto(table.url)
            lobby.wait_for_selector("#seat-0")
            match_page.goto(f"{table.url}/match/none")
            match_page.wait_for_selector(".trouble")
            assert not lobby.locator("#gone").is_visible()
        for page in (lobby, match_page):
            page.wait_for_selector("#gone:has-text('does not answer')", timeout=5000)
        assert lobby.locator("#seat-0").is_visible()
        with live_table(tmp_path, port=table.port):
            for page in (lobby, match_page):
                page.wait_for_selector("#gone", state="hidden")
            lobby.wait_for_selector("#seat-0")


@pytest.mark.verify
def test_a_link_on_a_page_of_another_site_leads_to_the_seat(
    browser: Browser, table: LiveTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so does the file that the command opens. Nothing keeps the token in sight."""
    match = table.begin("monty_hall", {"candidate": "human"})
    link = table.url + match["links"]["candidate"]
    page_of_others = tmp_path / "page.html"
    page_of_others.write_text(f'<a href="{link}">play</a>')
    with window(browser, None) as page:
        page.goto(page_of_others.as_uri())
        page.click("text=play")
        page.wait_for_selector("button.move")
        assert "token" not in page.url
        assert page.evaluate("document.cookie") == ""
        assert page.locator("a[href='/']").count() == 0
        page.reload()
        page.wait_for_selector("button.move")
    monkeypatch.setattr("webbrowser.open", print)
    open_link(table.url + table.link, tmp_path)
    with window(browser, None) as page:
        page.goto((tmp_path / "open.html").as_uri())
        page.wait_for_selector("#seat-0")
        assert page.url == f"{table.url}/"
    table.post(f"/api/matches/{match['id']}/end", {"key": match["key"]})


def test_a_bad_player_is_found_before_anything_begins(page: Page, table: LiveTable) -> None:
    page.goto(table.url)
    choose_game(page, "tic_tac_toe")
    page.wait_for_selector("label:has-text('xplayer')")
    page.select_option("#seat-0", "other")
    assert page.locator("button.primary").is_disabled()
    for text, message in [
        ("hyperplay2:n=x", "option 'n' of player hyperplay2 needs a whole number"),
        ("nobody:Here", "unknown player"),
        ("http://localhost:9147", "must be offered"),
    ]:
        with page.expect_response(lambda answer: answer.url.endswith("/api/player")):
            page.locator("#other-0").fill(text)
        page.wait_for_selector(f'#problem-0:has-text("{message}")')
        assert page.locator("button.primary").is_disabled()
    page.locator("#other-0").fill("random")
    page.wait_for_selector("button.primary:enabled")
    assert page.locator("#problem-0").inner_text() == ""
    page.locator("#other-0").fill("hyperplay2:n=x")
    page.wait_for_selector("#problem-0:has-text('whole number')")
    page.select_option("#seat-0", "human")
    page.wait_for_selector("button.primary:enabled")


def test_matches_that_begin_are_counted_and_pasted_rules_are_named(
    page: Page, table: LiveTable
) -> None:
    page.goto(table.url)
    choose_game(page, OWN_RULES)
    page.locator("#rules-name").fill("A game of mine")
    page.locator("#rules").fill(
        "(role solo) (legal solo go) (init x) (goal solo 5) (<= terminal (true x))"
    )
    page.wait_for_selector("label:has-text('solo')")
    choose_player(page, 0, "random")
    page.click("summary:has-text('Clocks')")
    page.locator("#number").fill("3")
    page.click("button.primary")
    page.wait_for_selector("text=3 matches began.")
    page.wait_for_selector(".match:has-text('A game of mine')")
    matches = table.get("/api/lobby")["matches"][:3]
    assert [match["game"] for match in matches] == ["A game of mine"] * 3
