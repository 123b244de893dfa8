"""Turns that were lost while we were down: in whole matches, and as hypotheses of a session."""

from __future__ import annotations

import pytest

from ggp.gdl import find_game
from ggp.protocol.lobby import Lobby
from ggp.protocol.messages import WIRE_STYLES, Play
from ggp.protocol.path import (
    ENOUGH_FITS,
    Fit,
    Hypotheses,
    PathTurn,
    likely_numbers,
    turns_within,
    with_lost,
    without_assumptions,
)
from ggp.protocol.transitions import Event
from tests.protocol.doubles import LocalWorker, Referee, receive
from tests.protocol.test_session import START2, Wire, unnumbered

CLOCKS = (10, 1)
TURN_S = 1.01
DID = ("(did black noop)", "(did white move)")


class Down:
    """A match whose player is down for some turns, and slow to answer after that.

    Args:
        game, role, style: of the match.
        seed: of the other roles' moves, and of moves that replace ours.
    """

    def __init__(self, game: str, role: str, style: str, seed: int = 1) -> None:
        rules = find_game(game).read_text(encoding="utf-8")
        self.match = Referee(rules, role, WIRE_STYLES[style], seed=seed, clocks=CLOCKS)
        self.lobby = Lobby("ggp")
        self.worker = LocalWorker(self.lobby, seed=seed)
        self.now = 0.0
        assert self.match.send(self.match.start, self.serve) == "ready"

    def serve(self, text: str) -> str:
        return self.worker.serve(text, self.now)

    def play(self, turns: int) -> None:
        """Answer turns; every answer must be legal."""
        for _ in range(turns):
            if not self.match.is_over:
                self.match.execute(self.match.send(self.match.play(), self.serve))
                self.now += TURN_S

    def lose(self, turns: int) -> None:
        """Be down for turns."""
        for _ in range(turns):
            if not self.match.is_over:
                self.match.execute(sorted(self.match.legal())[0])
                self.now += TURN_S
        self.lobby.resume(self.now - TURN_S / 2)

    def be_slow(self) -> None:
        """Get a question, and do not answer."""
        if not self.match.is_over:
            text = f"(PLAY m.1 ({' '.join(self.match.play().terms or ('NIL',))}))"
            assert receive(self.lobby, text, self.now).ask is not None
            self.match.execute(sorted(self.match.legal())[0])
            self.now += TURN_S


@pytest.mark.parametrize("slow", [0, 1, 2])
@pytest.mark.parametrize("lost", [1, 2, 3])
@pytest.mark.parametrize("role", ["first", "second"])
def test_turns_lost_while_down_cost_no_legal_move(role: str, lost: int, slow: int) -> None:
    match = Down("connect_four", role, "dresden")
    match.play(2)
    match.lose(lost)
    for _ in range(slow):
        match.be_slow()
    match.play(3)


def test_two_ends_of_the_server_cost_no_legal_move() -> None:
    match = Down("connect_four", "first", "ggp-base")
    match.play(2)
    match.lose(1)
    match.be_slow()
    match.lose(2)
    match.play(4)


def test_joint_move_that_comes_again_after_lost_turns_is_a_new_turn() -> None:
    wire = Wire()
    wire.turn(Play("m"), "move")
    wire.turn(unnumbered("move", "noop"), "noop")
    assert wire.send(unnumbered("move", "noop")).event is Event.PLAY_AGAIN
    wire.session.resume(wire.now + 0.5, wire.now + 0.5)
    following = wire.send(unnumbered("move", "noop"))
    assert following.event is Event.PLAY_NEXT
    assert following.ask is not None
    assert following.ask.history[:1] in following.ask.doubts  # or it came once more
    wire.answer("noop")
    assert wire.send(unnumbered("move", "noop")).event is Event.PLAY_NEXT  # still nobody knows


def test_copy_that_comes_after_we_were_down_is_a_new_turn() -> None:
    """Servers go on when a connection breaks; but a proxy may have sent the message again."""
    for listens_s in (0.5, 4.5):  # the socket outlived us, or not
        wire = Wire()
        wire.turn(Play("m"), "move")
        first = wire.send(unnumbered("move", "noop")).ask
        assert first is not None
        wire.session.resume(wire.now + 0.5, listens_s)
        again = wire.send(unnumbered("move", "noop"))
        assert again.event is Event.PLAY_NEXT
        assert again.ask is not None
        assert again.ask.history == (*first.history, PathTurn("move", DID))
        assert first.history in again.ask.doubts
        # A copy of this one is a copy.
        assert wire.send(unnumbered("move", "noop")).event is Event.PLAY_AGAIN


def test_readings_that_were_tried_in_vain_come_last() -> None:
    wire = Wire(START2)
    wire.turn(Play("m"), "move")
    wire.session.resume(wire.now + 0.5, wire.now + 0.5)
    ask = wire.send(unnumbered("(SAW 1)")).ask
    assert ask is not None
    wire.session.answer(ask, "guess", wire.now, Fit(num_failed=2))
    following = wire.send(unnumbered("(SAW 2)")).ask
    assert following is not None
    guessed = PathTurn("guess", ("(saw 2)",), "guess", True, assumed=True)
    assert following.history == (*ask.doubts[1], guessed)
    in_vain = [(*reading, guessed) for reading in (ask.history, ask.doubts[0])]
    assert [doubt for doubt in following.doubts if doubt in in_vain] == in_vain
    assert following.doubts.index(in_vain[0]) > following.doubts.index((*ask.doubts[2], guessed))


def test_a_shorter_history_gets_the_latest_answer_unless_the_message_was_a_copy() -> None:
    for is_copy in (False, True):
        wire = Wire(START2)
        wire.turn(Play("m"), "move")
        wire.turn(unnumbered("(SAW 1)"), "first")
        wire.session.resume(wire.now + 0.5, wire.now + 0.5)
        ask = wire.send(unnumbered("(SAW 1)")).ask
        assert ask is not None
        copy = ask.doubts.index(ask.history[:-1])
        longer = next(i for i, doubt in enumerate(ask.doubts) if len(doubt) == 4)
        wire.session.answer(ask, "second", wire.now, Fit(1 + (copy if is_copy else longer)))
        if is_copy:
            assert wire.session.history == ask.history[:-1]
            continue
        following = wire.send(unnumbered("(SAW 2)")).ask
        assert following is not None
        shorter = next(i for i, doubt in enumerate(following.doubts) if len(doubt) == 4)
        reply = wire.session.answer(following, "third", wire.now, Fit(1 + shorter))
        assert reply == "third"
        assert len(wire.session.history) == 4
        last = wire.send(unnumbered("(SAW 3)")).ask
        assert last is not None
        assert last.history[-1].submitted == "third"


def test_what_was_heard_before_two_restarts_counts() -> None:
    for resumes in ([(5.9, 0.1)], [(5.0, 0.1), (5.9, 5.3)]):
        wire = Wire(START2)
        for number in range(4):
            wire.turn(unnumbered(f"(SAW {number})"), "move")
        wire.send(unnumbered("(SAW 4)"))
        began_s, known = wire.now, len(wire.session.history)
        for now_s, alive_s in resumes:
            wire.session.resume(began_s + now_s, began_s + now_s, began_s + alive_s)
        ask = wire.send(unnumbered("(SAW 9)"), after_s=6.4).ask
        assert ask is not None
        assert len(ask.history) == known + 1 + 5


def test_repeated_message_is_a_copy_once_the_history_is_known() -> None:
    wire = Wire()
    wire.turn(Play("m"), "move")
    wire.session.resume(wire.now + 0.5, wire.now + 0.5)
    for _ in range(2):
        ask = wire.send(unnumbered("move", "noop")).ask
        assert ask is not None
        wire.now += 1
        wire.session.answer(ask, "noop", wire.now, Fit(0))
        wire.turn(unnumbered("noop", "move"), "noop")
    assert wire.session.history
    ask = wire.send(unnumbered("noop", "x")).ask
    assert ask is not None
    wire.session.answer(ask, "move", wire.now, Fit(0))
    assert wire.send(unnumbered("noop", "x")).event is Event.PLAY_AGAIN


def test_answer_that_was_not_executed_is_doubted_where_all_fitted_before_it() -> None:
    wire = Wire()
    wire.turn(Play("m"), "move")
    wire.session.resume(wire.now + 0.5, wire.now + 0.5)
    first = wire.send(unnumbered("move", "noop")).ask
    assert first is not None
    wire.now += 1
    wire.session.answer(first, "noop", wire.now, Fit(0))
    ask = wire.send(unnumbered("noop", "x")).ask
    assert ask is not None
    late = (*ask.history[:-1], *without_assumptions(ask.history[-1:]))
    # It is less likely than that turns were lost.
    assert ask.doubts.index(late) > 3
    wire.session.answer(ask, "move", wire.now, Fit(1 + ask.doubts.index(late)))
    following = wire.send(unnumbered("move", "y")).ask
    assert following is not None
    assert following.history[:-1] == late
    # What else may have been stays in doubt.
    lengths = {len(doubt) - 1 for doubt in following.doubts}
    assert lengths >= {len(doubt) for doubt in ask.doubts[:3]}


def test_history_that_fits_for_long_is_not_doubted_any_more() -> None:
    paths = Hypotheses()
    paths.extend(PathTurn("m", ()), deaf=1)
    for number in range(ENOUGH_FITS + 1):
        assert paths.lost
        assert paths.is_doubtful is (number == 0)
        paths.settle(paths.history)
    assert not paths.lost


def test_socket_that_outlived_the_server_loses_no_turn() -> None:
    wire = Wire()
    wire.turn(Play("m"), "move")
    wire.session.resume(wire.now + 30, 0.5)
    ask = wire.send(unnumbered("move", "noop"), after_s=31).ask
    assert ask is not None
    assert ask.history == (PathTurn("move", DID, "move", True),)


def test_question_from_before_a_restart_is_not_waited_for() -> None:
    wire = Wire()
    wire.turn(Play("m"), "move")
    wire.turn(unnumbered("move", "noop"), "other")
    assert wire.send(unnumbered("other", "noop")).event is Event.PLAY_NEXT
    wire.session.resume(wire.now + 0.5, 0.5)  # the socket outlived us, but not that connection
    following = wire.send(unnumbered("move", "noop"))  # as a turn before: chosen in place of ours
    assert following.event is Event.PLAY_NEXT
    assert following.ask is not None
    assert [turn.move for turn in following.ask.history] == ["move", "other", "move"]


def test_number_of_lost_turns_is_what_fits_the_time() -> None:
    wire = Wire()
    wire.turn(Play("m"), "move")
    wire.session.resume(wire.now + 34, wire.now + 34)  # three times a clock of 10 s, and more
    ask = wire.send(unnumbered("move", "noop"), after_s=35).ask
    assert ask is not None
    answered = PathTurn("move", None, "move", True, assumed=True)
    assert ask.history == (answered, PathTurn(), PathTurn(), PathTurn("move", DID))
    assert [len(doubt) for doubt in ask.doubts[:6]] == [1, 5, 3, 6, 2, 7]


@pytest.mark.parametrize(("down_s", "lost"), [(0.1, 0), (0.8, 1), (1.3, 2), (2.2, 4)])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_server_that_only_waits_for_us_goes_on_when_we_die(
    down_s: float, lost: int, *, is_open: bool
) -> None:
    pause_s = 0.5
    wire = Wire(START2)
    for number in range(5):
        wire.send(unnumbered(f"(SAW {number})"), after_s=pause_s)
        wire.answer("move", after_s=3.0 if number % 2 else 0.2)
    if is_open:
        wire.send(unnumbered("(SAW 5)"), after_s=pause_s)
        wire.now += 1.0
    known = len(wire.session.history) + 1
    listens_s = wire.now + down_s
    wire.session.resume(listens_s, listens_s, alive_s=wire.now - 0.05)
    ask = wire.send(unnumbered("(SAW 6)"), after_s=pause_s * (1 + lost)).ask
    assert ask is not None
    assert len(ask.history) == known + lost


def test_server_that_waited_for_the_clock_of_a_broken_connection_lost_no_turn() -> None:
    for after_s, lost in ((9, 0), (2, 0), (16, 3)):
        wire = Wire()
        for _ in range(3):
            wire.turn(unnumbered("move", "noop"), "move")  # of two seconds
        wire.send(unnumbered("move", "noop"))
        wire.session.resume(wire.now + after_s - 1, wire.now + after_s - 1)
        ask = wire.send(unnumbered("move", "move"), after_s=after_s).ask
        assert ask is not None
        assert len(ask.history) == 5 + lost


def test_no_turn_is_lost_while_the_server_waits_for_us() -> None:
    for down_s, lost in ((0.9, 0), (1.1, 1)):
        wire = Wire()
        for _ in range(3):
            wire.turn(unnumbered("move", "noop"), "move")
        ask = wire.send(unnumbered("move", "noop")).ask
        assert ask is not None
        wire.now += 8  # of 10
        wire.session.answer(ask, "move", wire.now)
        wire.session.resume(wire.now + down_s, wire.now + down_s)
        ask = wire.send(unnumbered("move", "move"), after_s=2).ask
        assert ask is not None
        assert len(ask.history) == 5 + lost


def test_hypotheses_are_kept_until_something_fits() -> None:
    turns = [PathTurn(f"m{number}", (), f"m{number}", True) for number in range(4)]
    paths = Hypotheses()
    paths.extend(turns[0])
    paths.settle(paths.history)
    paths.extend(turns[1], deaf=0)
    assert paths.history == (turns[0], turns[1])
    hypotheses = paths.lost
    assert hypotheses == tuple(with_lost((turns[0],), turns[1], num) for num in range(1, 13))
    paths.extend(turns[2])  # nobody has found out
    assert paths.lost == tuple((*hypothesis, turns[2]) for hypothesis in hypotheses)
    paths.settle(paths.history)  # fits so far; others may yet be right
    assert paths.lost
    paths.settle(paths.lost[1])  # the first of them is refuted
    order = (*hypotheses[2:], turns[:2], hypotheses[0])  # what was tried comes last
    assert paths.lost == tuple((*hypothesis, turns[2]) for hypothesis in order)
    assert paths.history == (*hypotheses[1], turns[2])
    assert paths.missed == ()
    paths.rewrite(())
    assert not paths.history
    assert not paths.lost


def test_turns_missed_while_we_listened_are_hypotheses_until_something_fits() -> None:
    turns = [PathTurn(f"m{number}", ()) for number in range(3)]
    paths = Hypotheses()
    for turn in turns:
        paths.extend(turn)
    assert (*with_lost((turns[0],), turns[1], 2), turns[2]) in paths.missed
    paths.settle(paths.history)
    assert paths.missed == ()


@pytest.mark.parametrize(("deaf_s", "turns"), [(0.9, 0), (1.0, 0), (1.1, 1), (2.5, 2), (1e9, 12)])
def test_turns_within_a_time(deaf_s: float, turns: int) -> None:
    assert turns_within(deaf_s, 1.0, 1.0) == turns


def test_more_lost_turns_are_likelier_than_fewer_and_none_is_possible() -> None:
    assert likely_numbers(0) == list(range(13))
    assert likely_numbers(5)[:7] == [5, 0, 6, 4, 7, 3, 8]
