"""Players that are not ours, under a clock: whatever they do, the match goes on."""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ggp
from ggp.gdl.normalize import load
from ggp.machine import Limits
from ggp.players import Decision
from ggp.run.clocks import Clock
from match_runner.cli import main
from match_runner.match import apart
from match_runner.match.apart import MachineOrder, Patience
from match_runner.match.conditions import Conditions
from match_runner.match.records import MatchRecord
from match_runner.match.referee import play_match
from match_runner.match.seats import set_up
from match_runner.remote.remote_players import RemoteConditions
from match_runner.series.match_task import MatchTask, play
from match_runner.workers.executor import LocalPool, close_idle
from tests.match_runner.support import timeless
from tests.support.games import machine_of_game

pytestmark = pytest.mark.usefixtures("compiled")

GAME = "exploding_bomb"
CLOCK_S = 0.8
MOVES = ["noop", "wait", "(cut red)"]

PLAYER = '''
import os
import sys
import time
from dataclasses import dataclass

from ggp.players import Decision, MoveValue, whole, words


@dataclass(frozen=True)
class Options:
    does: str = words("", "what it does wrong", "WORD")
    turn: int = whole(1, "in which turn")
    lives: int = whole(99, "in how many lives", low=0)


class Player:
    """Does what it is told."""

    Options = Options
    lives = 0
    after: str = ""

    def __init__(self, options, context):
        self.options, self.context = options, context
        self.told = []
        self.states_visited = 0
        self.draws = []
        self.do("make", 1)

    def do(self, when, turn):
        wrong, _, at = self.options.does.partition("-")
        if at != when or turn != self.options.turn:
            return
        marks = os.environ["PLUG_IN_MARKS"]
        number = len(os.listdir(marks))
        if number >= self.options.lives:
            return
        open(os.path.join(marks, str(number)), "w").close()
        match wrong:
            case "loop":
                while True:
                    try:
                        while True:
                            pass
                    except BaseException:
                        pass
            case "leave":
                os._exit(3)
            case "abort":
                os.abort()
            case "exit":
                sys.exit("so long")
            case "raise":
                raise ValueError("out of luck")
            case "late":
                time.sleep(0.9)
            case "sleep":
                time.sleep(600)

    def observe(self, move, percepts, *, submitted=None, in_time=True, deadline=None):
        self.told.append((move, tuple(percepts), submitted, in_time))
        self.do("observe", len(self.told) + 1)

    def choose(self, deadline=None, *, value_forced=False):
        print("thinking aloud")
        sys.stdout.flush()
        os.write(1, b"and louder")
        turn = len(self.told)
        assert deadline is not None and 0 < deadline.left_s() <= 30
        self.do("choose", turn + 1)
        self.states_visited += 10
        self.draws.append(int(self.context.rng.integers(1 << 30)))
        move = ["noop", "wait", "(cut red)"][turn]
        values = (MoveValue(move, 50.5, None, 7),)
        told = {repr(self.told): 1.0}
        decision = Decision(move, values, 3, True, 10, self.draws[-1], None, told, 2)
        if self.context.report:
            self.context.report(decision)
        return decision

    def ended(self, move, percepts, goal=None):
        with open(os.path.join(os.environ["PLUG_IN_MARKS"], "ended"), "w") as file:
            file.write(f"{move} {goal}")
'''


@pytest.fixture(scope="module", autouse=True)
def _module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("plug_in")
    (folder / "plug_in_apart.py").write_text(PLAYER)
    (folder / "marks").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setenv("PLUG_IN_MARKS", str(folder / "marks"))
        yield
        close_idle()


@pytest.fixture(name="marks")
def _marks() -> Path:
    """The files that the player leaves: one for each fault, and one at the end."""
    folder = Path(os.environ["PLUG_IN_MARKS"])
    for file in folder.iterdir():
        file.unlink()
    return folder


def spec(does: str = "", turn: int = 1, lives: int = 99) -> str:
    options = f":does={does},turn={turn},lives={lives}" if does else ""
    return f"plug_in_apart:Player{options}"


def played_record(
    does: str = "",
    turn: int = 1,
    lives: int = 99,
    *,
    clock_s: float = 30.0,
    start_s: float = 30,
    in_process: bool = False,
    reports: list[Any] | None = None,
    patience: Patience | None = None,
    clock: Clock = Clock.WALL,
) -> MatchRecord:
    """A match of such a player."""
    program, machine = load(GAME), machine_of_game(GAME)
    source = program.source
    order = MachineOrder(source.name, source.text, "prolog", Limits(), ready=False)
    conditions = Conditions(
        play_clock_s=clock_s,
        remote=RemoteConditions(start_clock_s=start_s),  # type: ignore[arg-type]
        patience=patience or Patience(grace_s=0.1),
        in_process=in_process,
        clock=clock,
    )
    arena = set_up(
        GAME,
        program,
        {"agent": spec(does, turn, lives)},
        (machine, machine),
        clock.tells,
        order=order if conditions.keeps_apart else None,
        report=None if reports is None else lambda role, message: reports.append((role, message)),
    )
    return play_match(arena, 5, conditions)


def faults(record: MatchRecord) -> list[tuple[int, str, str]]:
    return [(fault.turn + 1, fault.kind, fault.text) for fault in record.faults]


def test_a_player_apart_decides_as_it_does_in_this_process(
    marks: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reports: list[tuple[str, Decision]] = []
    record_apart = played_record(reports=reports)
    assert capfd.readouterr().out == ""
    assert (marks / "ended").read_text().startswith("(cut red) ")
    record_here = played_record(in_process=True)
    assert "thinking aloud" in capfd.readouterr().out
    seconds = [turn.decisions["agent"].seconds for turn in record_apart.turns]
    assert seconds == [turn.decisions["agent"].seconds for turn in record_here.turns]
    assert timeless(record_apart) == timeless(record_here)
    assert [turn.joint_move["agent"] for turn in record_apart.turns] == MOVES
    assert record_apart.states_visited["agent"] == 30
    assert not record_apart.faults
    assert reports[0] == ("agent", record_apart.turns[0].decisions["agent"])


def test_a_player_that_never_answers_is_late_and_restarts_with_its_path(marks: Path) -> None:
    record = played_record("loop-choose", 2, 1, clock_s=CLOCK_S)
    assert faults(record) == [(2, "late", "gave no answer within 0.8 s")]
    assert record.turns[1].submitted == {"agent": None}
    assert record.turns[1].decisions == {}
    last = record.turns[2].decisions["agent"]
    path = [
        (turn.joint_move["agent"], turn.percepts["agent"], submitted, in_time)
        for turn, submitted, in_time in zip(
            record.turns, ("noop", None), (True, False), strict=False
        )
    ]
    assert last.probabilities == {repr(path): 1.0}
    assert record.turns[2].joint_move["agent"] == "(cut red)"
    assert record.states_visited["agent"] == 20


@pytest.mark.parametrize(
    ("does", "turn", "expected"),
    [
        ("loop-observe", 2, [(2, "late", "gave no answer within 0.8 s")]),
        ("abort-observe", 3, [(3, "raised", "was lost: a worker process died (signal 6)")]),
        ("exit-choose", 2, [(2, "raised", "raised SystemExit: so long when asked to move")]),
        (
            "raise-observe",
            2,
            [(2, "raised", "raised ValueError: out of luck when told of the last turn")],
        ),
        ("late-choose", 2, [(2, "late", "answered wait after 0.")]),
    ],
)
def test_a_fault_costs_a_player_its_move_and_no_more(
    does: str, turn: int, expected: list[tuple[int, str, str]], marks: Path
) -> None:
    is_short = does.startswith(("loop", "late"))
    patience = Patience(grace_s=10.0) if does.startswith("late") else None
    record = played_record(does, turn, 1, clock_s=CLOCK_S if is_short else 30.0, patience=patience)
    assert record.error is None
    faults_of = faults(record)
    assert [fault[:2] for fault in faults_of] == [fault[:2] for fault in expected]
    for (_, _, text), (_, _, begins) in zip(faults_of, expected, strict=True):
        assert text.startswith(begins)
    for number, turn_played in enumerate(record.turns, start=1):
        if number != turn or does == "raise-observe":
            assert turn_played.joint_move["agent"] == MOVES[number - 1]


@pytest.mark.verify
def test_a_player_that_cannot_be_made_is_not_asked_and_the_match_goes_on(marks: Path) -> None:
    record = played_record("loop-make", clock_s=0.1, start_s=0.2, patience=Patience(0.0, lives=2))
    assert record.error is None
    assert [kind for _, kind, _ in faults(record)] == ["late"] * 3
    assert faults(record)[1][2] == "gets no more turns: its process was lost 2 times in a row"


def test_an_error_while_a_player_is_made_says_where(
    marks: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "match_runner")
    record = played_record("raise-make")
    assert 'raise ValueError("out of luck")' in caplog.text
    message = f"the player {spec('raise-make')} raised ValueError: out of luck when it was made"
    assert [kind for _, kind, _ in faults(record)] == ["raised"] * 3
    assert faults(record)[0][2].startswith(message)
    assert "plug_in_apart.py, line" in faults(record)[0][2]


def task(does: str, clock_s: float, start_s: float) -> MatchTask:
    conditions = Conditions(
        play_clock_s=clock_s,
        remote=RemoteConditions(start_clock_s=start_s),  # type: ignore[arg-type]
        patience=Patience(grace_s=0.0, lives=1),
    )
    rules = load(GAME).source.text
    return MatchTask(GAME, GAME, rules, "prolog", Limits(), {"agent": spec(does)}, 0, conditions)


@pytest.mark.verify
def test_a_match_of_a_series_goes_on_too(marks: Path) -> None:
    record = play(task("loop-choose", 0.1, 0.5))
    assert record.error is None
    assert [kind for _, kind, _ in faults(record)] == ["late"] * 3


@pytest.mark.verify
def test_a_match_in_a_worker_process_goes_on_too(marks: Path) -> None:
    pool = LocalPool(1)
    try:
        record = pool.submit(play, (task("loop-choose", 0.1, 0.5),)).result(60)
    finally:
        pool.close()
    assert record.error is None
    assert [kind for _, kind, _ in faults(record)] == ["late"] * 3


@pytest.mark.verify
def test_it_plays_in_this_process_if_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marks: Path
) -> None:
    options = ("--play-clock", "30", "--player", f"agent={spec()}", "--backend", "prolog")
    result = CliRunner().invoke(main, ["play", GAME, *options, "--in-process"])
    assert result.exit_code == 0
    assert "thinking aloud" in result.stdout
    calls = []
    monkeypatch.setattr("match_runner.cli.series.hold_series", lambda *args: calls.append(args))
    file = tmp_path / "t.toml"
    file.write_text(f'games = ["{GAME}"]\nplay_clock = 1\n[players]\na = "{spec()}"\n')
    for option in ([], ["--in-process"]):
        CliRunner().invoke(main, ["tournament", str(file), *option])
    assert [series.games[0].conditions.keeps_apart for series, *_ in calls] == [True, False]


@pytest.mark.verify
def test_the_library_runs_players_apart_too(marks: Path) -> None:
    record = ggp.play_match(GAME, {"agent": spec("leave-choose", 2, 1)}, play_clock=5.0)
    message = "was lost: a worker process died (exit status 3)"
    assert faults(record) == [(2, "raised", message)]
    assert record.turns[2].joint_move["agent"] == "(cut red)"


# ---------------------------------------------------------------- CPU time


@pytest.mark.verify
def test_on_cpu_time_a_player_that_sleeps_is_in_time(marks: Path) -> None:
    record = played_record("late-choose", clock_s=CLOCK_S, clock=Clock.CPU, lives=1)
    assert not record.faults
    assert record.clock is Clock.CPU
    assert len(list(marks.iterdir())) == 2  # it did sleep, and was told of the end


@pytest.mark.verify
@pytest.mark.parametrize("does", ["sleep-choose", "sleep-observe"])
def test_on_cpu_time_a_player_that_sleeps_for_ever_is_given_up_by_the_wall_clock(
    does: str, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only what is asked in the second turn is asked in vain.
    began = itertools.count()
    monkeypatch.setattr(apart, "backstop_s", lambda seconds: 0.5 if next(began) == 2 else 60.0)
    record = played_record(does, 2, clock_s=20.0, clock=Clock.CPU, lives=1)
    assert faults(record) == [(2, "late", "gave no answer within 20 s of CPU time")]
    assert [turn.submitted["agent"] for turn in record.turns] == ["noop", None, "(cut red)"]


@pytest.mark.verify
def test_on_cpu_time_a_player_that_never_stops_working_is_late(marks: Path) -> None:
    record = played_record("loop-choose", 2, clock_s=CLOCK_S, clock=Clock.CPU, lives=1)
    assert faults(record) == [(2, "late", "gave no answer within 0.8 s of CPU time")]
    assert [turn.submitted["agent"] for turn in record.turns] == ["noop", None, "(cut red)"]
