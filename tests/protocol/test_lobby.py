"""All matches of a server: which begin, which are refused or forgotten; and no text does harm."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ggp.errors import ConfigError
from ggp.gdl import find_game
from ggp.protocol.lobby import MAX_REMEMBERED, Lobby
from ggp.protocol.messages import (
    WIRE_STYLES,
    Abort,
    Info,
    Message,
    Ping,
    Play,
    Preview,
    Start,
    Stop,
    info_reply,
    print_message,
)
from ggp.protocol.path import Fit, PathTurn
from ggp.protocol.reading import parse_reply
from ggp.protocol.session import MAX_SILENCE_S, MAX_UNPLAYED_S, Ask, Receipt
from tests.protocol.doubles import LocalWorker, Referee, receive
from tests.support.effort import examples

RULES = "(role white) (role black) (<= (legal ?p move) (role ?p)) (<= terminal (true over))"
GDL2 = f"{RULES} (<= (sees ?p (saw ?q)) (does ?q move) (role ?p))"


def start(
    match_id: str = "m", role: str = "white", rules: str = RULES, clocks: str = "30 10"
) -> str:
    return f"(START {match_id} {role} ({rules}) {clocks})"


def begin(lobby: Lobby, match_id: str = "m", now: float = 0.0) -> Receipt:
    """A match that is ready."""
    receipt = receive(lobby, start(match_id), now)
    assert receipt.ask is not None
    assert lobby.answer(receipt.ask, None, now) == "ready"
    return receipt


def test_player_that_cannot_be_named_or_never_plays_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be one word"):
        Lobby("two words")
    with pytest.raises(ConfigError, match="at least 1"):
        Lobby("ggp", matches=0)


def test_info_shows_whether_another_match_can_be_played() -> None:
    lobby = Lobby("ggp", matches=2)
    for busy in (False, False, True):
        reply = receive(lobby, "( INFO )", 0).reply
        assert reply == info_reply("ggp", busy=busy)
        receive(lobby, start(f"m{len(lobby.live)}"), 0)
    assert receive(lobby, "(ping)", 0).reply == "ready"
    assert receive(lobby, f"(PREVIEW ({RULES}) 10)", 0).reply == "ready"


def test_start_opens_a_match_and_the_one_too_many_is_busy() -> None:
    lobby = Lobby("ggp", matches=1)
    receipt = receive(lobby, start(role="White"), 0)
    assert receipt.began is not None
    assert (receipt.began.role, receipt.began.is_gdl2) == ("white", False)
    assert receipt.ask is not None
    assert receipt.ask.match == receipt.began.match == receipt.match
    refused = receive(lobby, start("n"), 0)
    assert (refused.reply, refused.began, refused.ended) == ("busy", None, ())
    assert receive(lobby, start(role="White"), 0).ask == receipt.ask
    assert receive(lobby, "(STOP m NIL)", 1).ended == (receipt.match,)
    assert receive(lobby, start("n"), 1).began is not None


@pytest.mark.parametrize("text", ["(PLAY m NIL)", "(PLAY m 3 a (b))", "(STOP m NIL)", "(ABORT m)"])
def test_unknown_match_is_busy(text: str) -> None:
    receipt = receive(Lobby("ggp"), text, 0)
    assert receipt.reply == "busy"
    assert receipt.notes == ("unknown match m: busy",)


def test_matches_at_once_do_not_touch_each_other() -> None:
    lobby = Lobby("ggp", matches=2)
    begin(lobby, "a")
    begin(lobby, "b")
    asks = [receive(lobby, f"(PLAY {name} NIL)", 1).ask for name in "ab"]
    assert asks[0] is not None
    assert asks[1] is not None
    assert asks[0].match != asks[1].match
    assert asks[0].number != asks[1].number
    assert receive(lobby, "(ABORT a)", 2).released == (asks[0].number,)
    assert lobby.answer(asks[1], "move", 2) == "move"
    assert [session.start.match_id for session in lobby.live] == ["b"]


def test_silent_match_is_forgotten_after_twice_its_clocks_and_a_minute() -> None:
    lobby = Lobby("ggp", matches=1)
    first = begin(lobby)
    receive(lobby, "(PLAY m NIL)", 100)
    assert lobby.forget(240) == ()
    assert receive(lobby, start("n"), 240).reply == "busy"
    receipt = receive(lobby, start("n"), 240.1)
    assert receipt.began is not None
    assert receipt.ended == (first.match,)
    assert receive(lobby, "(PLAY m NIL)", 241).reply == "busy"


def test_clocks_of_a_week_hold_no_place_for_weeks() -> None:
    lobby = Lobby("ggp", matches=1)
    week = start(clocks="604800 604800")
    assert receive(lobby, week, 0).began is not None
    assert lobby.forget(MAX_UNPLAYED_S) == ()
    assert len(lobby.forget(MAX_UNPLAYED_S + 1)) == 1  # nobody ever asked for a move
    assert receive(lobby, week, 0).began is not None
    assert receive(lobby, "(PLAY m NIL)", 1).ask is not None
    assert lobby.forget(1 + MAX_SILENCE_S) == ()
    assert len(lobby.forget(2 + MAX_SILENCE_S)) == 1


@pytest.mark.parametrize("when", ["starting", "waiting", "thinking"])
@pytest.mark.parametrize("end", ["(STOP m NIL)", "(ABORT m)"])
def test_finished_match_is_remembered_in_few_bytes(when: str, end: str) -> None:
    lobby = Lobby("ggp")
    symbols = " ".join(f"(Fact{number} x)" for number in range(5_000))
    opening = receive(lobby, start(rules=f"{GDL2} {symbols}"), 0)
    ask = opening.ask
    assert ask is not None
    serial = ask.match
    for turn in range(200 if when != "starting" else 0):
        lobby.answer(ask, "move", 0)
        percepts = " ".join(f"(saw {turn}-{number}-{'x' * 90})" for number in range(100))
        ask = receive(lobby, f"(PLAY m {turn + 1} move ({percepts}))", 0).ask
        assert ask is not None
    if when == "waiting":
        lobby.answer(ask, "move", 0)
    for _ in range(2):
        assert receive(lobby, end, 0).refusal is None
    spelled = lobby.answer(ask, "fact7" if ask.wants_move else None, 0)
    assert spelled == {"starting": "ready", "waiting": "move", "thinking": "Fact7"}[when]
    session = lobby.session(serial)
    assert session is not None
    assert size_of(session) < 20_000


def size_of(value: object) -> int:
    """Bytes of all objects that a value refers to, except code and modules."""
    seen: dict[int, object] = {}
    pending = [value]
    while pending:
        referent = pending.pop()
        if id(referent) not in seen and not isinstance(referent, type | ModuleType | FunctionType):
            seen[id(referent)] = referent
            pending += gc.get_referents(referent)
    return sum(map(sys.getsizeof, seen.values()))


def test_answer_for_a_match_that_is_forgotten_is_still_one_line() -> None:
    lobby = Lobby("ggp")
    ready = begin(lobby).ask
    ask = receive(lobby, "(PLAY m NIL)", 1).ask
    assert ready is not None
    assert ask is not None
    assert lobby.forget(1e6) == (ask.match,)
    lobby.undelivered(ask)
    assert lobby.answer(ask, "move", 1e6) == "move"
    assert lobby.answer(ask, None, 1e6) == "nil"
    assert lobby.answer(ready, None, 1e6) == "ready"


def test_start_with_other_rules_replaces_a_match_nobody_waits_in() -> None:
    lobby = Lobby("ggp", matches=1)
    first = begin(lobby)
    receipt = receive(lobby, start(rules=GDL2), 5)
    assert receipt.began is not None
    assert receipt.ended == (first.match,)
    assert receipt.ask is not None
    assert receipt.ask.match == receipt.began.match != first.match
    assert receive(lobby, start(rules=RULES), 6).reply == "busy"


def test_match_id_can_be_used_again_once_the_match_is_over() -> None:
    lobby = Lobby("ggp", matches=1)
    first = begin(lobby)
    receive(lobby, "(STOP m NIL)", 1)
    second = begin(lobby, now=2)
    assert second.match != first.match
    assert second.ended == ()
    assert receive(lobby, "(PLAY m NIL)", 3).ask is not None


def test_few_matches_that_are_over_are_remembered() -> None:
    lobby = Lobby("ggp", matches=1)
    for number in range(3 * MAX_REMEMBERED):
        begin(lobby, f"m{number}")
        receive(lobby, f"(STOP m{number} NIL)", 0)
    lobby.forget(0)
    remembered = [s for s in range(1000) if lobby.session(s) is not None]
    assert len(remembered) == MAX_REMEMBERED
    assert receive(lobby, f"(STOP m{3 * MAX_REMEMBERED - 1} NIL)", 0).reply == "done"


def test_replayed_messages_restore_a_lobby() -> None:
    def replay() -> tuple[PathTurn, ...]:
        lobby = Lobby("ggp")
        begin(lobby)
        for now, text in enumerate(("(PLAY m NIL)", "(PLAY m (move move))"), 1):
            ask = receive(lobby, text, now).ask
            assert ask is not None
            lobby.answer(ask, "move", now)
        ask = receive(lobby, "(PLAY m (move noop))", 3).ask
        assert ask is not None
        return ask.history

    assert replay() == replay()
    assert len(replay()) == 2


MATCHES = {
    "ggp-base": ("tic_tac_toe", "oplayer"),
    "newest": ("tic_tac_toe", "xplayer"),
    "dresden": ("tic_tac_toe", "xplayer"),
    "gdl2-old": ("monty_hall", "candidate"),
    "gdl2": ("krieg_tic_tac_toe", "oplayer"),
}


def referee(style: str, spelling: Callable[[str], str] = str, match_id: str = "m.1") -> Referee:
    game, role = MATCHES[style]
    rules = find_game(game).read_text(encoding="utf-8")
    return Referee(rules, role, WIRE_STYLES[style], spelling, match_id=match_id)


def replies(match: Referee) -> list[str]:
    return [line for line in match.transcript if line.startswith("<")]


# Older GDL-II cannot always tell a duplicate from a turn with the same percepts.
@pytest.mark.parametrize("style", sorted(MATCHES.keys() - {"gdl2-old"}))
def test_duplicates_change_no_answer(style: str) -> None:
    once = referee(style)
    once.referee(LocalWorker(Lobby("ggp")).serve)
    worker = LocalWorker(Lobby("ggp"))

    def serve_twice(text: str) -> str:
        reply = worker.serve(text)
        assert worker.serve(text) == reply
        return reply

    twice = referee(style)
    twice.referee(serve_twice)
    assert replies(twice) == replies(once)


@pytest.mark.parametrize("style", MATCHES)
def test_duplicates_that_come_late_cost_no_legal_move(style: str) -> None:
    worker = LocalWorker(Lobby("ggp"))
    texts: list[str] = []

    def serve(text: str) -> str:
        reply = worker.serve(text)
        for duplicate in texts[-2:]:
            worker.serve(duplicate)
        texts.append(text)
        return reply

    referee(style).referee(serve)


@pytest.mark.parametrize("lost", range(4))
@pytest.mark.parametrize("style", MATCHES)
def test_turns_that_are_lost_cost_no_legal_move(style: str, lost: int) -> None:
    match = referee(style)
    worker = LocalWorker(Lobby("ggp"))
    assert match.send(match.start, worker.serve) == "ready"
    if style == "gdl2-old" and lost == 0:
        pytest.skip("`(PLAY m ())` may be the first message as well as the second")
    while not match.is_over:
        if match.turn == lost:
            match.execute(sorted(match.legal())[0])
        else:
            match.execute(match.send(match.play(), worker.serve))
    assert match.send(match.stop(), worker.serve) == "done"


@pytest.mark.parametrize("style", MATCHES)
def test_move_the_server_replaced_costs_no_legal_move(style: str) -> None:
    match = referee(style, str.title)
    worker = LocalWorker(Lobby("ggp"))
    match.send(match.start, worker.serve)
    while not match.is_over:
        match.send(match.play(), worker.serve)
        match.execute(sorted(match.legal())[-1])
    assert match.send(match.stop(), worker.serve) == "done"


_ids = st.sampled_from(["a", "b", "c"])
_items = st.sampled_from(
    ["move", "MOVE", "noop", "(saw white)", "(did white move)", "?x", "()", "nil"]
)
_news = st.none() | st.lists(_items, max_size=3).map(tuple)
_turns = st.none() | st.integers(0, 6) | st.just(50)
_clocks = st.sampled_from([0, 1, 30])
_nonsense: st.SearchStrategy[Message] = st.one_of(
    st.builds(Info),
    st.builds(Ping),
    st.builds(Preview, st.just(RULES), _clocks),
    st.builds(
        Start,
        _ids,
        st.sampled_from(["white", "BLACK", "green", "random"]),
        st.sampled_from([RULES, GDL2, "(role x)", "((("]),
        _clocks,
        _clocks,
    ),
    st.builds(Play, _ids, _turns, st.none() | _items, _news),
    st.builds(Stop, _ids, _turns, st.none() | _items, _news),
    st.builds(Abort, _ids),
)


@settings(max_examples=examples(60))
@given(st.data())
def test_well_formed_nonsense_is_always_answered(draws: st.DataObject) -> None:
    lobby = Lobby("ggp", matches=2)
    asks: list[Ask] = []
    workers: set[int] = set()
    now = 0.0
    for _ in range(draws.draw(st.integers(1, 40))):
        now += draws.draw(st.sampled_from([0.0, 0.1, 5.0, 40.0, 200.0]))
        doings = ["send", "send", "send", "answer", "lose", "forget", "resume"]
        do = draws.draw(st.sampled_from(doings))
        if do == "send":
            message = draws.draw(_nonsense)
            numbered = isinstance(message, Play | Stop) and message.turn is not None
            style = WIRE_STYLES["gdl2" if numbered else "ggp-base"]
            if isinstance(message, Play | Stop) and not numbered:
                message = type(message)(message.match_id, terms=message.terms)
            sender = draws.draw(st.sampled_from(["", "10.0.0.1", "10.0.0.2"]))
            receipt = receive(lobby, print_message(message, style), now, sender)
            assert [receipt.reply, receipt.ask, receipt.refusal].count(None) == 2
            workers -= set(receipt.ended)
            if receipt.began is not None:
                workers.add(receipt.began.match)
            if receipt.ask is not None:
                assert receipt.ask.match in workers
                assert len(receipt.ask.history) <= 100
                asks.append(receipt.ask)
            if receipt.reply is not None:
                assert "\n" not in receipt.reply
        elif do == "resume":
            lobby.resume(now)
        elif do == "forget":
            workers -= set(lobby.forget(now))
        elif asks and do == "answer":
            move = draws.draw(st.none() | st.sampled_from(["move", "noop"]))
            ask = draws.draw(st.sampled_from(asks))
            indices = st.integers(0, len(ask.doubts))
            fit = Fit(draws.draw(st.none() | indices), draws.draw(indices))
            reply = lobby.answer(ask, move, now, fit)
            parse_reply(reply)
        elif asks:
            lobby.undelivered(draws.draw(st.sampled_from(asks)))
        assert workers == {session.serial for session in lobby.live}
        assert len(workers) <= 2
    lobby.forget(now + 1e6)
    begin(lobby, "honest", now + 1e6)
    honest = receive(lobby, "(PLAY honest NIL)", now + 1e6).ask
    assert honest is not None
    assert honest.history == ()


@given(st.text() | st.text(alphabet="() PLAYSTOPm;ni0", max_size=30))
def test_any_text_is_answered_or_refused(text: str) -> None:
    lobby = Lobby("ggp")
    begin(lobby)
    receipt = receive(lobby, text, 0)
    assert [receipt.reply, receipt.ask, receipt.refusal].count(None) == 2


def test_a_match_that_is_over_does_not_begin_late() -> None:
    lobby = Lobby("ggp", matches=2)
    style = WIRE_STYLES["ggp-base"]
    rules = "(role white) (<= (legal white move)) (<= terminal (true over))"
    receive(lobby, print_message(Start("a", "white", rules, 0, 0), style), 0.0)
    lobby.resume(0.0)  # it gives its place up when nothing is heard of it for one clock
    receive(lobby, print_message(Stop("a"), style), 40.0)
    receipt = receive(lobby, print_message(Play("a"), style), 40.0)
    assert receipt.began is None
    assert receipt.reply == "busy"
    assert not lobby.live
