"""The session of one match: the meaning of each message in each state, and the reaction to it."""

from __future__ import annotations

from itertools import count

import pytest

from ggp.errors import LocalProtocolError, RemoteProtocolError
from ggp.protocol.messages import MAX_TURN, Abort, Dialect, Play, Start, Stop
from ggp.protocol.path import MAX_GAP, PathTurn, without_assumptions
from ggp.protocol.session import MAX_REPEATED, Ask, Receipt, Session, default_margin_s
from ggp.protocol.transitions import LIVE, TRANSITIONS, Action, Event, MatchState

PLAIN = (
    "(ROLE White) (ROLE Black) (<= (LEGAL ?p ?m) (TRUE ?m)) (f Move) (<= TERMINAL (TRUE (at 1)))"
    "(<= (GOAL ?p 1) (ROLE ?p) (TRUE x))"
)
GDL2 = f"{PLAIN} (<= (SEES ?p (saw ?x)) (TRUE ?x))"
START = Start("m", "White", PLAIN, 30, 10)
START2 = Start("m", "White", GDL2, 30, 10)


class Wire:
    """A session with a clock of its own; every step of it takes a second."""

    def __init__(self, start: Start = START, *, ready: bool = True) -> None:
        numbers = count(1)
        self.now = 0.0
        self.session = Session(start, 7, numbers.__next__)
        self.outcome = self.session.receive(start, self.now)
        if ready:
            self.answer(None)

    def state(self) -> MatchState:
        return self.session.state

    def send(self, message: Start | Play | Stop | Abort, after_s: float = 1.0) -> Receipt:
        self.now += after_s
        self.outcome = self.session.receive(message, self.now)
        assert (self.outcome.reply is None) != (self.outcome.ask is None)
        return self.outcome

    def answer(self, move: str | None, after_s: float = 1.0) -> str:
        assert self.outcome.ask is not None
        self.now += after_s
        return self.session.answer(self.outcome.ask, move, self.now)

    def turn(self, play: Play, move: str) -> Ask:
        """Play a turn: a question and its answer."""
        ask = self.send(play).ask
        assert ask is not None
        self.answer(move)
        return ask


def unnumbered(*terms: str) -> Play:
    return Play("m", terms=terms)


def numbered(turn: int, last_move: str | None, *terms: str) -> Play:
    return Play("m", turn, last_move, terms or None)


def events(*outcomes: Receipt) -> list[Event | None]:
    return [outcome.event for outcome in outcomes]


def test_table_leads_only_to_states_that_are_in_it() -> None:
    assert {state for state, _ in TRANSITIONS} == set(MatchState)
    assert {target for target, _ in TRANSITIONS.values()} == set(MatchState)
    assert {event for _, event in TRANSITIONS} == set(Event)


@pytest.mark.parametrize("state", sorted(LIVE), ids=str)
def test_live_match_can_always_be_ended_and_moved_on(state: MatchState) -> None:
    for event in (Event.STOP, Event.ABORT, Event.PLAY_NEXT, Event.PLAY_GAP, Event.START_AGAIN):
        assert (state, event) in TRANSITIONS
    assert TRANSITIONS[state, Event.STOP][0] is MatchState.OVER
    assert TRANSITIONS[state, Event.PLAY_NEXT][1] is Action.ASK_MOVE


def test_transition_outside_the_table_is_an_internal_error() -> None:
    session = Session(START, 1, count(1).__next__)
    with pytest.raises(LocalProtocolError, match="cannot happen to a match absent"):
        session.receive(Play("m", turn=5, terms=("a",)), 0.0)


@pytest.mark.parametrize(
    ("clock_s", "margin_s"), [(0, 0), (0.6, 0.3), (1, 0.5), (4, 0.5), (5, 0.5), (30, 3)]
)
def test_margin_is_a_tenth_or_half_a_second_and_never_more_than_half(
    clock_s: float, margin_s: float
) -> None:
    assert default_margin_s(clock_s) == pytest.approx(margin_s)


def test_match_of_plain_gdl_from_start_to_stop() -> None:
    wire = Wire(ready=False)
    assert wire.state() is MatchState.STARTING
    start = wire.outcome.ask
    assert start is not None
    assert (start.wants_move, start.match, start.deadline_s) == (False, 7, 27.0)
    assert wire.answer(None) == "ready"
    assert wire.state() is MatchState.WAITING

    first = wire.send(Play("m")).ask
    assert first is not None
    assert (first.wants_move, first.history, first.turn) == (True, (), 0)
    assert first.deadline_s == wire.now + 9.0
    assert wire.state() is MatchState.THINKING
    assert wire.answer("(move x)") == "(Move x)"

    second = wire.send(unnumbered("(MOVE X)", "noop")).ask
    assert second is not None
    joint = ("(did black noop)", "(did white (move x))")
    assert second.history == (PathTurn("(move x)", joint, "(move x)", True),)
    assert wire.answer("at") == "at"
    assert wire.session.dialect is Dialect.GDL

    assert wire.send(Stop("m", terms=("at", "noop"))).reply == "done"
    assert wire.state() is MatchState.OVER
    assert wire.session.history == ()


def test_older_gdl2_assumes_our_move_only_if_it_was_in_time() -> None:
    wire = Wire(START2)
    wire.turn(Play("m"), "move")
    ask = wire.send(unnumbered("(SAW 1)", "(SAW 1)")).ask
    assert ask is not None
    assert ask.history == (PathTurn("move", ("(saw 1)",), "move", True, assumed=True),)
    assert without_assumptions(ask.history)[0].move is None
    wire.answer("x", after_s=10.5)
    late = wire.send(Play("m")).ask
    assert late is not None
    assert late.history[1] == PathTurn(None, (), "x", False)
    assert wire.session.dialect is Dialect.GDL2_OLD


def test_last_move_that_is_not_ours_is_taken_for_executed() -> None:
    wire = Wire(START2)
    wire.turn(numbered(0, None), "move")
    outcome = wire.send(numbered(1, "OTHER", "(SAW 1)"))
    assert outcome.ask is not None
    assert outcome.ask.history == (PathTurn("other", ("(saw 1)",), "move", True),)
    assert outcome.notes == ("turn 1: other was executed, not move",)
    assert wire.session.dialect is Dialect.GDL2


def test_empty_percepts_are_a_list_or_nil() -> None:
    for nothing in (None, ()):
        wire = Wire(START2)
        wire.turn(numbered(0, None), "move")
        ask = wire.send(Play("m", 1, "MOVE", nothing)).ask
        assert ask is not None
        assert ask.history == (PathTurn("move", (), "move", True),)


def test_same_start_is_answered_by_the_same_question_or_ready() -> None:
    wire = Wire(ready=False)
    first = wire.outcome.ask
    assert wire.send(START).ask == first
    wire.answer(None)
    assert wire.send(START).reply == "ready"
    wire.send(Play("m"))
    assert wire.send(START).reply == "ready"
    assert wire.state() is MatchState.THINKING


def test_other_start_is_refused_while_somebody_waits() -> None:
    black_start = Start("m", "Black", PLAIN, 30, 10)
    wire = Wire(ready=False)
    assert wire.send(black_start).reply == "busy"
    wire = Wire()
    wire.send(Play("m"))
    assert wire.send(black_start).reply == "busy"
    assert wire.state() is MatchState.THINKING


def test_play_before_ready_is_asked_for_and_releases_the_start() -> None:
    wire = Wire(ready=False)
    start = wire.outcome.ask
    assert start is not None
    outcome = wire.send(Play("m"))
    assert outcome.ask is not None
    assert outcome.ask.wants_move
    assert outcome.released == (start.number,)
    assert wire.session.answer(start, None, wire.now) == "ready"
    assert wire.state() is MatchState.THINKING
    assert wire.answer("move") == "Move"


@pytest.mark.parametrize(
    ("start", "first", "second"),
    [
        (START, Play("m"), unnumbered("move", "noop")),
        (START2, Play("m"), unnumbered("(saw 1)")),
        (START2, numbered(0, None), numbered(1, "move", "(saw 1)")),
    ],
    ids=list(Dialect),
)
def test_turn_that_comes_again_while_we_think_joins_the_question(
    start: Start, first: Play, second: Play
) -> None:
    wire = Wire(start)
    ask = wire.send(first).ask
    assert wire.send(first).ask == ask
    wire.answer("move")
    ask = wire.send(second).ask
    repeated = wire.send(second)
    assert (repeated.event, repeated.ask) == (Event.PLAY_AGAIN, ask)
    assert len(wire.session.history) == 1


@pytest.mark.parametrize(
    ("start", "first", "second"),
    [
        (START, Play("m"), unnumbered("move", "noop")),
        (START2, numbered(0, None), numbered(1, "move", "(saw 1)")),
    ],
    ids=["gdl", "gdl2"],
)
def test_turn_that_comes_again_is_answered_as_before(
    start: Start, first: Play, second: Play
) -> None:
    wire = Wire(start)
    wire.turn(first, "move")
    wire.turn(second, "x")
    for play, reply in ((second, "x"), (first, "Move"), (second, "x")):
        repeated = wire.send(play)
        assert (repeated.event, repeated.reply) == (Event.PLAY_AGAIN, reply)
    assert wire.state() is MatchState.WAITING
    assert len(wire.session.history) == 1


def test_joint_move_that_holds_our_last_answer_is_a_new_turn() -> None:
    wire = Wire()
    wire.turn(Play("m"), "noop")
    wire.turn(unnumbered("noop", "noop"), "noop")
    assert wire.send(unnumbered("noop", "noop")).event is Event.PLAY_NEXT


def test_older_gdl2_repeats_percepts_in_a_new_turn_once_we_have_answered() -> None:
    wire = Wire(START2)
    wire.turn(Play("m"), "move")
    wire.turn(unnumbered(), "move")
    assert wire.send(unnumbered()).event is Event.PLAY_NEXT
    assert wire.send(unnumbered()).event is Event.PLAY_AGAIN
    wire.answer("move")
    assert wire.send(Play("m")).event is Event.PLAY_NEXT
    assert len(wire.session.history) == 3


def test_same_percepts_after_the_clock_has_run_out_are_a_new_turn() -> None:
    wire = Wire(START2)
    wire.turn(Play("m"), "move")
    open_ask = wire.send(unnumbered("(saw 1)")).ask
    assert open_ask is not None
    outcome = wire.send(unnumbered("(saw 1)"), after_s=10.5)
    assert outcome.event is Event.PLAY_NEXT
    assert outcome.released == (open_ask.number,)
    assert outcome.ask is not None
    assert outcome.ask.history[1] == PathTurn(None, ("(saw 1)",), None, False)


def test_answer_nobody_got_is_given_again_within_the_clock() -> None:
    wire = Wire(START2)
    wire.turn(Play("m"), "move")
    ask = wire.turn(unnumbered("(saw 1)"), "x")
    wire.session.undelivered(ask)
    repeated = wire.send(unnumbered("(saw 1)"))
    assert (repeated.event, repeated.reply) == (Event.PLAY_AGAIN, "x")
    following = wire.send(unnumbered("(saw 1)"), after_s=10)
    assert following.event is Event.PLAY_NEXT
    assert following.ask is not None
    assert following.ask.history[1] == PathTurn(None, ("(saw 1)",), "x", False)


def test_connection_that_breaks_while_we_think_makes_the_answer_uncertain() -> None:
    wire = Wire(START2)
    ask = wire.send(Play("m")).ask
    assert ask is not None
    wire.session.undelivered(ask)
    wire.answer("move")
    following = wire.send(unnumbered("(saw 1)")).ask
    assert following is not None
    assert following.history == (PathTurn(None, ("(saw 1)",), "move", False),)


def test_missing_turns_are_unknown_and_can_come_late() -> None:
    wire = Wire(START2)
    wire.turn(numbered(0, None), "move")
    gap = wire.send(numbered(3, "c", "(saw 3)"))
    assert gap.event is Event.PLAY_GAP
    assert gap.ask is not None
    assert gap.ask.history == (
        PathTurn("move", None, "move", True, assumed=True),
        PathTurn(),
        PathTurn("c", ("(saw 3)",)),
    )
    late = wire.send(numbered(2, "b", "(saw 2)"))
    assert (late.event, late.ask) == (Event.PLAY_LATE, gap.ask)
    assert wire.session.history[1] == PathTurn("b", ("(saw 2)",))
    assert wire.send(numbered(2, "b", "(saw 2)")).event is Event.PLAY_AGAIN
    wire.answer("x")
    assert wire.send(numbered(2, "b", "(saw 2)")).reply == "x"
    following = wire.send(numbered(4, "x", "(saw 4)")).ask
    assert following is not None
    assert [turn.move for turn in following.history] == ["move", "b", "c", "x"]


@pytest.mark.parametrize(
    ("start", "play", "history"),
    [
        (
            START,
            unnumbered("move", "noop"),
            (PathTurn("move", ("(did black noop)", "(did white move)")),),
        ),
        (START2, unnumbered("(saw 1)"), (PathTurn(None, ("(saw 1)",)),)),
        (START2, numbered(2, "b", "(saw 2)"), (PathTurn(), PathTurn("b", ("(saw 2)",)))),
    ],
    ids=list(Dialect),
)
def test_match_whose_beginning_is_missing_is_played(
    start: Start, play: Play, history: tuple[PathTurn, ...]
) -> None:
    wire = Wire(start)
    outcome = wire.send(play)
    assert outcome.event is Event.PLAY_GAP
    assert outcome.ask is not None
    assert outcome.ask.history == history


def test_contradicting_news_of_a_turn_rewrites_the_history() -> None:
    wire = Wire(START2)
    wire.turn(numbered(0, None), "a")
    wire.turn(numbered(1, "a", "(saw 1)"), "b")
    wire.turn(numbered(2, "b", "(saw 2)"), "c")
    outcome = wire.send(numbered(1, "z", "(saw 1)"))
    assert outcome.event is Event.PLAY_REVISED
    assert outcome.ask is not None
    assert outcome.ask.history == (PathTurn("z", ("(saw 1)",), "a", True),)
    wire.answer("d")
    following = wire.send(numbered(2, "d", "(saw 2)"))
    assert following.event is Event.PLAY_NEXT
    assert following.ask is not None
    assert [turn.move for turn in following.ask.history] == ["z", "d"]


def test_server_may_count_turns_from_one() -> None:
    wire = Wire(START2)
    assert wire.turn(numbered(1, None), "a").turn == 0
    outcome = wire.send(numbered(2, "a", "(saw 1)"))
    assert outcome.event is Event.PLAY_NEXT
    assert wire.send(numbered(1, None)).event is Event.PLAY_AGAIN


@pytest.mark.parametrize("start", [START, START2], ids=["gdl", "gdl2-old"])
def test_start_and_first_turn_again_begin_anew_where_turns_have_no_numbers(start: Start) -> None:
    wire = Wire(start)
    wire.turn(Play("m"), "a")
    wire.turn(unnumbered("a", "noop"), "b")
    assert wire.send(start).reply == "ready"
    outcome = wire.send(Play("m"))
    assert outcome.event is Event.PLAY_REVISED
    assert outcome.ask is not None
    assert outcome.ask.history == ()
    wire.answer("c")
    following = wire.send(unnumbered("c", "noop")).ask
    assert following is not None
    assert [turn.submitted for turn in following.history] == ["c"]


def test_percepts_where_a_joint_move_is_expected_are_unknown_and_noted() -> None:
    wire = Wire()
    wire.turn(Play("m"), "move")
    outcome = wire.send(unnumbered("(zork 1)", "(zork 2)", "(zork 3)"))
    assert outcome.ask is not None
    assert outcome.ask.history == (PathTurn("move", None, "move", True, assumed=True),)
    assert "which the server may have renamed" in outcome.notes[0]


def test_percepts_did_are_read_in_plain_gdl() -> None:
    wire = Wire()
    wire.turn(numbered(0, None), "move")
    outcome = wire.send(numbered(1, "MOVE", "(DID WHITE MOVE)", "(DID BLACK NOOP)"))
    assert outcome.ask is not None
    assert outcome.ask.history[0].percepts == ("(did black noop)", "(did white move)")


@pytest.mark.parametrize("end", [Stop("m"), Abort("m")], ids=["stop", "abort"])
def test_match_that_is_over_repeats_itself_and_plays_no_more(end: Stop | Abort) -> None:
    wire = Wire()
    wire.turn(Play("m"), "move")
    open_ask = wire.send(unnumbered("move", "noop")).ask
    assert open_ask is not None
    outcome = wire.send(end)
    assert outcome.reply == ("done" if isinstance(end, Stop) else "aborted")
    assert outcome.released == (open_ask.number,)
    assert wire.session.answer(open_ask, "x", wire.now) == "x"
    assert wire.send(end).reply == outcome.reply
    assert wire.send(Play("m")).reply == "Move"
    assert wire.send(unnumbered("move", "noop")).reply == "x"
    assert wire.send(unnumbered("x", "noop")).reply == "busy"
    assert wire.state() is MatchState.OVER


def test_match_that_is_over_repeats_only_its_latest_turns() -> None:
    wire = Wire(START2)
    plays = [numbered(0, None), *(numbered(turn, "a", "(saw 1)") for turn in range(1, 20))]
    for number, play in enumerate(plays):
        wire.turn(play, f"m{number}")
    assert wire.send(Abort("m")).reply == "aborted"
    replies = [wire.send(play).reply for play in plays]
    num_forgotten = len(plays) - MAX_REPEATED
    assert replies == ["busy"] * num_forgotten + [
        f"m{number}" for number in range(num_forgotten, len(plays))
    ]


def test_first_answer_stays() -> None:
    wire = Wire()
    wire.send(Play("m"))
    assert wire.answer("move") == "Move"
    assert wire.answer("x") == "Move"
    assert wire.send(unnumbered("move", "noop")).notes == ()


def test_no_move_at_all_is_nil() -> None:
    wire = Wire()
    wire.send(Play("m"))
    assert wire.answer(None) == "nil"


def test_answer_is_spelled_as_the_rules_are() -> None:
    wire = Wire()
    wire.send(Play("m"))
    assert wire.answer("(move (at x) unheard)") == "(Move (at x) unheard)"


def test_role_the_rules_do_not_have_is_noted() -> None:
    wire = Wire(Start("m", "Green", PLAIN, 30, 10), ready=False)
    assert wire.outcome.notes == ("the rules have no role green; roles: white, black",)


def test_match_without_end_is_refused_at_a_limit() -> None:
    wire = Wire(START2)
    for turn in range(MAX_GAP, MAX_TURN + 1, MAX_GAP):
        wire.turn(numbered(turn, "a", "(saw 1)"), "b")
        wire.now += 1
    with pytest.raises(RemoteProtocolError, match="beyond the limit of 10000 turns"):
        wire.session.receive(unnumbered("(saw 2)"), wire.now)
    assert wire.send(Stop("m", terms=("(saw 3)",))).reply == "done"
