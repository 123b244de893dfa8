"""A worker process: its orders, answers, limits and dropped rights, and the form of messages."""

from __future__ import annotations

import asyncio
import json
import os
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggp.errors import LocalProtocolError
from ggp.gdl.games import find_game
from ggp.machine import Limits
from ggp.players import Context, Decision, MoveValue, Player, PlayerSpec, player_of
from ggp.players.elsewhere.from_json import MAX_SHOWN_VALUES
from ggp.players.hyperplay import HyperPlay
from ggp.protocol.path import PathTurn
from ggp.run.messages import read_message
from ggp.search.anytime import Deadline
from ggp.server.workers import worker_match
from ggp.server.workers.nursery import Nursery
from ggp.server.workers.orders import (
    Answer,
    AreYouThere,
    Believed,
    Failed,
    GaveUp,
    Here,
    MachineBuilt,
    MoveReport,
    PlayerReady,
    Said,
    Setup,
    Think,
    Up,
    read_answer,
    read_order,
    to_json,
)
from ggp.server.workers.pool import WorkerProcess
from tests.players.parts.test_depletion import HAYSTACK
from tests.server.live import GUESSING, PATIENCE_S, template
from tests.server.live import worker as a_worker
from tests.support.process_tree import started_by
from tests.support.sheets.programs import MANY_MOVES

MEMORY = 2 << 30
QUICK = "hyperplay:n=2,states=500"
DECISION = Decision(
    "m",
    (MoveValue("m", 50.0, 1.5, 3), MoveValue("n", None, None, 0)),
    2,
    True,
    9,
    0.5,
    probabilities={"m": 0.25, "n": 0.75},
)

ANSWERS: list[Answer] = [
    Up(("memory", "no network")),
    Here(),
    MachineBuilt("prolog", ("a", "random"), 0.25),
    PlayerReady(),
    Failed("no such role"),
    MoveReport(3, True, DECISION),
    GaveUp(4, "no move"),
    Believed(3, "0f.eJw="),
    Said("warning", "odd é"),
]


@dataclass
class Dialogue:
    """A worker, its answers so far, and how it ended."""

    worker: WorkerProcess
    answers: list[Answer] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.worker.on_answer = self._hear
        self.worker.on_end = self._end

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def final(self, number: int) -> Decision:
        """The decision of an order."""
        decisions: list[Decision] = []

        def is_there() -> bool:
            decisions[:] = [
                answer.decision
                for answer in self.answers
                if isinstance(answer, MoveReport) and answer.final and answer.number == number
            ]
            return bool(decisions)

        await self.until(is_there)
        return decisions[0]

    async def machine_built(self) -> None:
        await self.until(lambda: any(isinstance(a, MachineBuilt) for a in self.answers))

    def _hear(self, answer: Answer) -> None:
        self.answers.append(answer)
        self._news.set()

    def _end(self, why: str) -> None:
        self.ends.append(why)
        self._news.set()


def with_worker(
    scenario: Callable[[Dialogue], Awaitable[None]], memory: int = MEMORY, confined: bool = True
) -> None:
    """Run a scenario with a worker that is ended afterwards."""

    async def run() -> None:
        async with a_worker(memory, confined) as worker:
            await scenario(Dialogue(worker))

    asyncio.run(run())


def setup(rules: str = GUESSING, player: str = QUICK, backend: str = "prolog") -> Setup:
    return Setup(rules, "guesser", player, backend, 1, 20.0, MEMORY)


def test_worker_follows_a_match_and_starts_again_where_history_is_rewritten() -> None:
    first = PathTurn("(guess 0)", ("(hint 1)",), "(guess 0)", True)
    rewritten = PathTurn("(guess 1)", ("(hint 0)",), "(guess 1)", True)

    async def scenario(dialogue: Dialogue) -> None:
        soon_s = time.monotonic() + PATIENCE_S
        dialogue.worker.send(setup())
        dialogue.worker.send(Think(1, 0, (), soon_s))
        assert (await dialogue.final(1)).move in ("(guess 0)", "(guess 1)")
        dialogue.worker.send(Think(2, 0, (first,), soon_s))
        assert "pass" in {value.move for value in (await dialogue.final(2)).values}
        dialogue.worker.send(Think(3, 0, (rewritten,), soon_s))
        decision = await dialogue.final(3)
        assert decision.fault is None
        assert decision.particles == 1
        assert not any(isinstance(a, Said) for a in dialogue.answers)

    with_worker(scenario)


def test_worker_resumes_a_belief_of_another_but_no_wrong_one() -> None:
    seer = replace(setup(HAYSTACK, "random", "propnet"), role="seer")
    waited = (PathTurn("wait", (), "wait", True),) * 12
    beliefs: list[Believed] = []
    decisions: list[Decision] = []
    warnings: list[str] = []

    def follows(snapshots: Callable[[], tuple[str, ...]]) -> None:
        async def scenario(dialogue: Dialogue) -> None:
            dialogue.worker.send(replace(seer, snapshots=snapshots()))
            dialogue.worker.send(Think(1, 0, waited, time.monotonic() + PATIENCE_S))
            decisions.append(await dialogue.final(1))
            await dialogue.until(lambda: any(isinstance(a, Believed) for a in dialogue.answers))
            beliefs.extend(a for a in dialogue.answers if isinstance(a, Believed))
            warnings.extend(a.text for a in dialogue.answers if isinstance(a, Said))

        with_worker(scenario)

    follows(lambda: ())
    follows(lambda: (beliefs[0].snapshot,))
    assert not warnings
    follows(lambda: ("0" + beliefs[0].snapshot[1:], "é"))
    assert len(warnings) == 2
    assert all("from its first turn" in warning for warning in warnings)
    assert [belief.turn for belief in beliefs] == [12] * 3
    anew, resumed, misled = decisions
    assert min(anew.particles, misled.particles, anew.states_visited, misled.states_visited) > 0
    assert 0 < resumed.particles <= anew.particles
    assert resumed.states_visited == 0


def test_confined_worker_shares_a_decision_with_copies_that_end_with_it() -> None:
    async def scenario(dialogue: Dialogue) -> None:
        order = replace(setup(player="hyperplay2", backend="propnet"), threads=2)
        dialogue.worker.send(order)
        await dialogue.machine_built()
        copies: set[int] = set()
        for number in range(1, 4):
            dialogue.worker.send(Think(number, 0, (), time.monotonic() + 1.0))
            answer = asyncio.ensure_future(dialogue.final(number))
            while not answer.done():
                copies.update(started_by(dialogue.worker.pid))
                await asyncio.sleep(0.02)
            assert answer.result().fault is None
            assert started_by(dialogue.worker.pid) == []
            if copies:
                return
        pytest.fail("no copy was seen")

    with_worker(scenario)


class Careless:
    """A player that raises in some calls, and forwards the others to another player."""

    def __init__(self, inner: Player, report: Callable[[Decision], None] | None) -> None:
        self._inner, self._report = inner, report

    mistakes: ClassVar[set[str]] = set()

    @property
    def states_visited(self) -> int:
        return self._inner.states_visited

    def observe(self, *args: Any, **kwargs: Any) -> None:
        if "observe" in self.mistakes:
            raise ZeroDivisionError("a mistake\nin a player")
        self._inner.observe(*args, **kwargs)

    def choose(self, deadline: Deadline | None = None, *, value_forced: bool = False) -> Decision:
        if self._report is not None and "late" in self.mistakes:
            self._report(replace(DECISION, move="(guess 1)"))
        if {"choose", "late"} & self.mistakes:
            raise ValueError("probabilities contain NaN")
        return self._inner.choose(deadline, value_forced=value_forced)


@pytest.fixture(name="careless")
def _careless(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The calls in which `hyperplay` raises in workers of this process; tests may change them."""

    def make(spec: PlayerSpec, context: Context) -> Player:
        if spec.player is HyperPlay and "make" in Careless.mistakes:
            raise TypeError("a mistake")
        player = player_of(spec, replace(context, report=None, program=None))
        return Careless(player, context.report) if spec.player is HyperPlay else player

    monkeypatch.setattr(worker_match, "player_of", make)
    yield Careless.mistakes
    Careless.mistakes.clear()


@pytest.mark.parametrize("mistake", ["make", "observe", "choose", "late"])
def test_whatever_a_player_raises_the_match_goes_on(
    mistake: str, careless: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(lambda answer: answers.append(answer), lambda: False)
    first = PathTurn("(guess 0)", ("(hint 1)",), "(guess 0)", True)

    def decide(number: int, *turns: PathTurn) -> Decision:
        order = Think(number, 0, turns, time.monotonic() + PATIENCE_S)
        match.take_note(order)
        match.think(order)
        answer = answers[-1]
        assert isinstance(answer, MoveReport)
        assert (answer.final, answer.number) == (True, number)
        return answer.decision

    careless.add(mistake)
    match.build(setup())
    decision = decide(1)
    if mistake == "observe":
        assert decision.fault is None
        decision = decide(2, first)
        assert decision.move in ("(guess 0)", "(guess 1)", "pass")
    else:
        assert decision.move in ("(guess 0)", "(guess 1)")
    if mistake == "late":
        assert decision.move == "(guess 1)"  # its best so far
    assert decision.is_sound
    assert decision.fault is not None
    assert "the player raised" in decision.fault
    assert any("raised" in record.getMessage() for record in caplog.records)
    careless.clear()
    decision = decide(3, first)
    assert decision.fault is None
    assert "pass" in {value.move for value in decision.values}


class Following(Careless):
    """A player that records the moves of the turns that it observes."""

    def __init__(self, inner: Player, report: Callable[[Decision], None] | None) -> None:
        super().__init__(inner, report)
        self.moves: list[str] = []

    def observe(self, *args: Any, **kwargs: Any) -> None:
        self.moves.append(args[0])
        super().observe(*args, **kwargs)


def test_player_of_the_first_reading_stays_while_others_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    players: list[Following] = []

    def make(spec: PlayerSpec, context: Context) -> Player:
        players.append(Following(player_of(spec, context), context.report))
        return players[-1]

    monkeypatch.setattr(worker_match, "player_of", make)
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(answers.append, lambda: False)
    match.build(setup())
    guess_zero, guess_one, passes = (
        PathTurn(move, ("(hint 1)",), move, True) for move in ("(guess 0)", "(guess 1)", "pass")
    )
    reading: tuple[PathTurn, ...] = ()

    def think(*turns: PathTurn, is_doubt: bool = False) -> None:
        nonlocal reading
        keep = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(reading, turns)))  # noqa: B905
        order = Think(len(answers), keep, turns[keep:], time.monotonic() + PATIENCE_S, is_doubt)
        match.take_note(order)
        match.think(order)
        reading = turns

    think(guess_zero)
    think(guess_one, is_doubt=True)
    think(is_doubt=True)
    think(guess_zero, guess_zero)  # no other reading was right
    assert players[0].moves == ["(guess 0)", "(guess 0)"]
    think(guess_zero, guess_one, is_doubt=True)
    think(guess_zero, guess_one, passes)  # this one was
    assert players[-1].moves == ["(guess 0)", "(guess 1)", "pass"]
    assert len(players) == 4


HANDS = """
(role guest) (role random) (init (step 0)) (card 1) (card 2) (card 3) (after 0 1) (after 1 2)
(after 2 3) (<= (legal random (deal ?k)) (card ?k) (true (step 0)))
(<= (legal random noop) (not (true (step 0)))) (<= (legal guest noop) (not (true (step 1))))
(<= (legal guest (play ?k)) (true (hand ?k)) (true (step 1)))
(<= (next (hand ?k)) (does random (deal ?k))) (<= (next (hand ?k)) (true (hand ?k)))
(<= (next (step ?m)) (true (step ?n)) (after ?n ?m))
(<= terminal (true (step 3))) (goal guest 50) (goal random 0) (<= (sees guest x) (true never))
"""
"""A guest that does not see its hand plays once, and its other moves are forced."""


@pytest.mark.parametrize(("assumed", "hands"), [(False, 1), (True, 3)])
@pytest.mark.parametrize("player", ["hyperplay:n=2", "auto"])
def test_an_answer_that_may_have_been_illegal_may_have_been_replaced(
    player: str, assumed: bool, hands: int
) -> None:
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(answers.append, lambda: False)
    match.build(replace(setup(HANDS, player, "propnet"), role="guest"))
    turns = tuple(PathTurn(move, (), move, True, assumed=assumed) for move in ("noop", "(play 1)"))
    order = Think(1, 0, turns, time.monotonic() + PATIENCE_S)
    match.take_note(order)
    match.think(order)
    report = answers[-1]
    assert isinstance(report, MoveReport)
    assert (report.decision.particles, report.decision.exact) == (hands, True)


@pytest.mark.verify
def test_served_peer_decides_by_itself() -> None:
    """It gets the rules, without which it cannot recognise the game."""
    pytest.importorskip("pyspiel")
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(lambda answer: answers.append(answer), lambda: False)
    rules = find_game("tic_tac_toe").read_text(encoding="utf-8")
    peer = setup(rules, "peer:openspiel-mcts:simulations=2000", "propnet")
    match.build(replace(peer, role="xplayer"))
    order = Think(1, 0, (), time.monotonic() + 1.0)
    match.take_note(order)
    match.think(order)
    answer = answers[-1]
    assert isinstance(answer, MoveReport)
    assert answer.decision.fault is None


def test_reports_come_at_once_and_a_newer_order_breaks_an_older_off() -> None:
    async def scenario(dialogue: Dialogue) -> None:
        late_s = time.monotonic() + 10 * PATIENCE_S
        dialogue.worker.send(setup(player="hyperplay:n=2"))
        dialogue.worker.send(Think(1, 0, (), late_s))
        await dialogue.until(lambda: sum(isinstance(a, MoveReport) for a in dialogue.answers) > 2)
        assert not any(isinstance(a, MoveReport) and a.final for a in dialogue.answers)
        dialogue.worker.send(Think(2, 0, (), time.monotonic()))
        assert (await dialogue.final(2)).move in ("(guess 0)", "(guess 1)")

    with_worker(scenario)


def test_unplayable_rules_are_reported() -> None:
    async def scenario(dialogue: Dialogue) -> None:
        dialogue.worker.send(setup("(role guesser) (foo"))
        dialogue.worker.send(Think(1, 0, (), time.monotonic()))
        await dialogue.until(lambda: any(isinstance(a, GaveUp) for a in dialogue.answers))
        assert [type(a) for a in dialogue.answers] == [Up, Failed, GaveUp]

    with_worker(scenario)


FLAWED = """
(role guesser) (init start) (number 0) (number 1)
(<= (legal guesser (guess ?n)) (number ?n))
(<= (legal guesser ?m) (?m guesser))
(<= (legal guesser go) (not open) (not (legal guesser go)))
(<= (sees guesser (hint ?n)) (does guesser (guess ?n)))
(<= (goal guesser 100) (sees guesser (hint ?n))) (<= (goal guesser 50) (not (not open))
(<= open (true start)) (<= terminal) (not open))
"""


def test_one_bad_rule_does_not_cost_the_machine() -> None:
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(answers.append, lambda: False)
    for backend in ("prolog", "auto"):
        match.build(setup(FLAWED, player="random", backend=backend))
        match.think(Think(1, 0, (), time.monotonic() + PATIENCE_S))
        assert not any(isinstance(answer, Failed | GaveUp) for answer in answers)
        report = answers[-1]
        assert isinstance(report, MoveReport)
        assert report.decision.move in ("(guess 0)", "(guess 1)")


def test_move_is_guessed_at_once_if_there_are_too_many_to_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few_inferences = partial(Limits, inferences=300_000, setup_inferences=100_000)
    monkeypatch.setattr(worker_match, "Limits", few_inferences)
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(answers.append, lambda: False)
    match.build(replace(setup(MANY_MOVES, player="random"), role="seeker"))
    turns: tuple[PathTurn, ...] = ()
    for number in (1, 2, 3):
        order = Think(number, len(turns[:-1]), turns[-1:], time.monotonic() + PATIENCE_S)
        num_answers = len(answers)
        match.take_note(order)
        match.think(order)
        reports = [answer for answer in answers[num_answers:] if isinstance(answer, MoveReport)]
        assert reports[0].final is False
        assert reports[-1].final
        move = reports[-1].decision.move
        assert move.startswith("(pick")
        seen = ("(odd 3)",) if number == 1 else ()
        turns = (*turns, PathTurn(move, seen, move, True))
    assert not any(isinstance(answer, GaveUp | Failed) for answer in answers)


def test_only_guesses_are_reported_if_the_search_for_moves_cannot_stop_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_match, "OVERRUN_S", -PATIENCE_S)  # as if all of it had gone by
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(answers.append, lambda: False)
    match.build(replace(setup(GUESSING, player="random"), backend="prolog"))
    for number in (1, 2):
        del answers[:]
        match.think(Think(number, 0, (), time.monotonic() + PATIENCE_S / 2))
        reports = [answer for answer in answers if isinstance(answer, MoveReport)]
        assert [report.final for report in reports].count(True) == 1
        assert reports[-1].decision.fault is None if number == 1 else len(reports) == 2
    assert "guessed in" in str(reports[-1].decision.fault)


@pytest.mark.verify
def test_worker_that_needs_too_much_memory_ends() -> None:
    # A few copies of 90 MB of rules are more than 300 MB of data allow.
    async def scenario(dialogue: Dialogue) -> None:
        facts = (f"(fact {number}{'x' * 2000})" for number in range(45_000))
        dialogue.worker.send(setup("(role guesser) " + "".join(facts)))
        await dialogue.until(lambda: dialogue.ends)
        assert dialogue.ends == ["out of memory"]

    with_worker(scenario, memory=300 << 20)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells of a process")
def test_worker_gives_up_rights() -> None:
    async def scenario(dialogue: Dialogue) -> None:
        await dialogue.until(lambda: dialogue.answers)
        assert {"memory", "open files", "core dumps", "no new privileges"} <= {
            *dialogue.worker.rights
        }
        status = Path(f"/proc/{dialogue.worker.pid}/status").read_text()
        assert "NoNewPrivs:\t1" in status
        limits = Path(f"/proc/{dialogue.worker.pid}/limits").read_text().splitlines()
        (limit,) = [line for line in limits if line.startswith("Max data size")]
        assert str(MEMORY) in limit
        if "no network" in dialogue.worker.rights:
            namespace, our_namespace = (
                os.readlink(f"/proc/{p}/ns/net") for p in (dialogue.worker.pid, "self")
            )
            assert namespace != our_namespace

    with_worker(scenario)


@pytest.mark.parametrize("confined", [True, False])
def test_worker_ends_with_its_input(confined: bool) -> None:
    async def run() -> int:
        nursery = Nursery(template(MEMORY if confined else None).connect)
        process = await nursery.take(light=False)
        with os.fdopen(process.answers, "rb") as answers:
            assert isinstance(read_answer(read_message(answers) or b""), Up)
            os.close(process.orders)
            status = await process.ended
        nursery.close()
        return status

    assert asyncio.run(run()) == 0


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_answers_survive_the_pipe(answer: Answer) -> None:
    line = to_json(answer)
    assert read_answer(line) == answer


def test_orders_survive_the_pipe() -> None:
    turns = (
        PathTurn("m", ("(p 1)", "q"), "n", True),
        PathTurn(None, None, None, False, True),
        PathTurn(),
    )
    for order in (setup(), Think(1, 2, turns, 3.5), AreYouThere()):
        assert read_order(to_json(order)) == order


def test_turn_is_written_once_for_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    dumps = json.dumps

    def record(value: object) -> str:
        written.append(value)
        return dumps(value)

    monkeypatch.setattr(json, "dumps", record)
    turn = PathTurn("m", ("(p 1)",), "m", True)
    lines = [to_json(Think(number, 0, (turn,), 3.5)) for number in (1, 2)]
    assert [read_order(line) for line in lines] == [Think(n, 0, (turn,), 3.5) for n in (1, 2)]
    assert [value["move"] for value in written if "move" in value] == ["m"]
    is_kept = weakref.ref(turn)
    del turn
    assert is_kept() is None


def test_large_value_tables_are_cut_to_the_best() -> None:
    values = tuple(MoveValue(f"m{n:04}", float(n), 0.0, 1) for n in range(2 * MAX_SHOWN_VALUES))
    decision = Decision("m", values, 1, True, 1, 0.0)
    answer = read_answer(to_json(MoveReport(1, True, decision)))
    assert isinstance(answer, MoveReport)
    assert answer.decision.values == values[MAX_SHOWN_VALUES:]


@given(st.binary() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
    lambda value: json.dumps(value).encode()
) | st.dictionaries(st.sampled_from(["kind", "number", "decision", "error"]),
                    st.sampled_from(["MoveReport", "MachineBuilt", "Said", 1, None, {}, []])).map(
    lambda value: json.dumps(value).encode()
))  # fmt: skip
def test_nonsense_of_a_worker_is_refused(line: bytes) -> None:
    with suppress(LocalProtocolError):  # and nothing else
        read_answer(line)


def test_probabilities_of_very_many_moves_are_left_out() -> None:
    probabilities = {f"m{n}": 1 / (2 * MAX_SHOWN_VALUES) for n in range(2 * MAX_SHOWN_VALUES)}
    answer = read_answer(
        to_json(MoveReport(1, True, replace(DECISION, probabilities=probabilities)))
    )
    assert isinstance(answer, MoveReport)
    assert answer.decision == replace(DECISION, probabilities=None)


@pytest.mark.parametrize("probabilities", [[], "even", {"m": "much"}, {"m": None}])
def test_malformed_probabilities_are_refused(probabilities: object) -> None:
    line = json.loads(to_json(MoveReport(1, True, DECISION)))
    line["decision"]["probabilities"] = probabilities
    with pytest.raises(LocalProtocolError, match="a malformed message"):
        read_answer(json.dumps(line).encode())
