"""The margin of a clock that is reserved for transmission, learned with a clock of the test."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from ggp.protocol.path import PathTurn
from ggp.protocol.session import Ask, default_margin_s
from ggp.server.latency import Latencies, Latency, StopTimes, TurnTimes

CLOCK_S = 1.0
NEAR_S, FAR_S = 0.0001, 0.05

LEAST = 0.05 + 3 * 0.001 + 0.01
"""What the turns of these tests come to: an overrun of a millisecond and a gap of ten."""


@dataclass
class Match:
    """A match whose questions come when the test says so."""

    latency: Latency = field(default_factory=Latency)
    now_s: float = 1000.0
    number: int = 0
    history: tuple[PathTurn, ...] = ()

    def __post_init__(self) -> None:
        self.times = TurnTimes(self.latency)

    def turn(
        self,
        *,
        overrun_s: float = 0.001,
        gap_s: float = 0.01,
        executed: str | None = "a",
        trip_s: float | None = NEAR_S,
    ) -> float:
        """The margin of the clock in a turn.

        Args:
            overrun_s: delay of the answer after its deadline.
            gap_s: time from the answer to the next message.
            executed: the move that the next message reports; None if it reports none.
            trip_s: see `TurnTimes.question_came`.
        """
        self.number += 1
        at_first_s = self.now_s + CLOCK_S - default_margin_s(CLOCK_S)
        ask = Ask(self.number, 1, True, self.history, self.now_s, at_first_s)
        self.times.question_came(ask, trip_s)
        due_s = self.times.deadline_s(ask, CLOCK_S)
        margin_s = self.now_s + CLOCK_S - due_s
        self.times.answer_left(ask, due_s + overrun_s)
        news = PathTurn(executed or "a", (), "a", True, assumed=executed is None)
        self.history = (*self.history, news)
        self.now_s = due_s + overrun_s + gap_s
        return margin_s


def test_margin_shrinks_turn_by_turn_from_the_default_to_the_measured_times() -> None:
    match = Match()
    margins = [match.turn() for _ in range(12)]
    assert margins[0] == pytest.approx(0.5)
    assert all(margin >= 0.6 * earlier - 1e-9 for earlier, margin in pairwise(margins))
    assert margins == sorted(margins, reverse=True)
    assert margins[-1] == pytest.approx(LEAST)
    assert match.turn(overrun_s=0.005) == pytest.approx(LEAST)
    assert match.turn() == pytest.approx(0.05 + 3 * 0.005 + 0.01)


def test_margin_grows_at_once_after_an_overrun_and_shrinks_again_later() -> None:
    match = Match()
    for _ in range(12):
        match.turn()
    match.turn(overrun_s=0.04)
    assert match.turn() == pytest.approx(0.05 + 3 * 0.04 + 0.01)
    for _ in range(25):
        match.turn()
    assert match.turn() == pytest.approx(LEAST)


def test_replaced_move_restores_the_default_margin_and_raises_later_ones() -> None:
    match = Match()
    for _ in range(12):
        match.turn()
    margin_s = match.turn(executed="other", gap_s=0.2)
    assert match.turn() == pytest.approx(0.5)
    later = [match.turn() for _ in range(12)]
    assert later[-1] >= 2 * margin_s * 0.6


def test_replaced_move_was_in_time_if_the_next_message_came_within_the_clock() -> None:
    match = Match()
    for _ in range(12):
        match.turn()
    match.turn(executed="other")
    assert match.turn() == pytest.approx(LEAST)


def test_without_news_of_moves_only_an_early_message_is_a_proof() -> None:
    slow, quick = Match(), Match()
    for _ in range(6):
        slow_s, quick_s = slow.turn(executed=None, gap_s=0.6), quick.turn(executed=None)
    assert slow_s == pytest.approx(0.5)
    assert quick_s < 0.1


def test_pausing_server_is_not_taken_for_a_distant_one() -> None:
    pausing, far = Match(), Match()
    for _ in range(12):
        pausing_s = pausing.turn(gap_s=0.51)
        far_s = far.turn(gap_s=0.51, trip_s=FAR_S)
    assert pausing_s == pytest.approx(0.05 + 0.003 + 0.1)
    assert far_s == pytest.approx(0.5)


def test_margin_for_a_distant_server_allows_for_a_lost_packet() -> None:
    match = Match()
    for _ in range(12):
        margin_s = match.turn(gap_s=0.1, trip_s=FAR_S)
    assert margin_s == pytest.approx(0.05 + 0.003 + 0.1 + 0.25)
    unknown = Match()
    for _ in range(12):
        margin_s = unknown.turn(gap_s=0.1, trip_s=None)
    assert margin_s == pytest.approx(0.05 + 0.003 + 0.1 + 0.25)


def test_early_answers_prove_nothing() -> None:
    match = Match()
    for _ in range(12):
        assert match.turn(overrun_s=-0.3, gap_s=2.0) == pytest.approx(0.5)


def test_only_matches_of_one_server_share_measurements() -> None:
    latencies = Latencies()
    first = Match(latencies.of("10.0.0.1:40000"))
    for _ in range(12):
        first.turn()
    assert Match(latencies.of("10.0.0.1:40001")).turn() == pytest.approx(LEAST)
    assert Match(latencies.of("10.0.0.2:40000")).turn() == pytest.approx(0.5)


def test_number_of_remembered_addresses_is_limited() -> None:
    latencies = Latencies()
    latency = latencies.of("10.0.0.1:1")
    for number in range(1000):
        latencies.of(f"10.1.{number // 250}.{number % 250}:1")
        if number < 500:
            assert latencies.of("10.0.0.1:2") is latency
    assert latencies.of("10.0.0.1:3") is not latency


def test_search_is_stopped_as_early_as_its_delays_require() -> None:
    stops = StopTimes(0.1)
    assert stops.early_s == 0.1
    for _ in range(5):
        stops.stopped(0.004)
    assert stops.early_s == pytest.approx(0.018)
    stops.stopped(0.03)
    assert stops.early_s == pytest.approx(0.07)
    stops.stopped(0.5)
    assert stops.early_s == 0.1
