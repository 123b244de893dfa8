"""`ggp bench`: speed of random playouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from ggp.cli.bench import MAX_STEPS, Speed, measure
from ggp.machine import Machine, Playouts
from ggp.machine.base import IntArray
from tests.support.commands import json_of, run, text_file

pytestmark = pytest.mark.usefixtures("compiled")


def test_bench_gives_the_agreed_fields() -> None:
    report = json_of("bench", "exploding_bomb", "--seconds", "0.3", "--seed", "1")
    assert list(report) == [
        "backend",
        "build_s",
        "playouts",
        "states_per_s",
        "playouts_per_s",
        "finished",
        "seconds",
        "cpu_seconds",
        "states_per_cpu_s",
        "batches",
    ]
    assert report["backend"] == "propnet"
    assert report["playouts"] > 100
    assert report["states_per_s"] == pytest.approx(3 * report["playouts_per_s"], rel=0.01)
    assert report["finished"] == 1.0


def test_bench_can_be_read() -> None:
    result = run("bench", "tic_tac_toe", "--seconds", "0.1")
    assert result.exit_code == 0
    assert "states a second" in result.stdout
    assert result.stderr == ""


@pytest.mark.verify
def test_game_without_an_end_is_cut_off(tmp_path: Path) -> None:
    game = text_file(
        tmp_path,
        "(role a) (init p) (legal a m) (<= (next p) (true p)) (goal a 0)"
        "(<= terminal (true q)) (<= (next q) (true q))",
    )
    report = json_of("bench", game, "--seconds", "0.2")
    assert report["playouts"] >= 1
    assert report["finished"] == 0.0


class SlowMachine:
    """Plays games of a fixed length in fixed time, on a clock of its own.

    Args:
        loading_s: for those that load.
    """

    def __init__(self, seconds_per_step: float, length: int, loading_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.loading_s = loading_s
        self.seconds_per_step, self.length = seconds_per_step, length
        self.batches: list[tuple[int, int]] = []

    def clock(self) -> float:
        return self.now_s

    def initial(self, num_lanes: int = 1) -> int:
        return num_lanes

    def playout(self, states: int, rng: np.random.Generator, max_steps: int = 1000) -> Playouts:
        steps = np.full(states, min(self.length, max_steps))
        self.batches.append((states, max_steps))
        self.now_s += self.seconds_for(steps)
        finished = np.full(states, max_steps >= self.length)
        return Playouts(np.zeros((states, 1)), steps, finished)

    def seconds_for(self, steps: IntArray) -> float:
        return float(steps.sum()) * self.seconds_per_step


class BlockMachine(SlowMachine):
    """Plays lanes side by side, and needs time to load before its first batch."""

    circuit = None

    side_by_side = 64

    def playouts_after(self) -> None:
        """As machines on a circuit have it."""

    def seconds_for(self, steps: IntArray) -> float:
        loading_s, self.loading_s = self.loading_s, 0.0
        return loading_s + super().seconds_for(steps[:: self.side_by_side])


def measured(machine: SlowMachine, seconds: float) -> Speed:
    return measure(
        cast(Machine, cast(Any, machine)),
        seconds,
        np.random.default_rng(1),
        1,
        machine.clock,
        machine.clock,
    )


@pytest.mark.parametrize("seconds_per_step", [1e-6, 1e-4, 1e-2, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("length", [1, 30, 1000])
def test_measurements_take_about_the_time_they_are_given(
    seconds_per_step: float, length: int
) -> None:
    machine = SlowMachine(seconds_per_step, length)
    speed = measured(machine, 5.0)
    assert speed.finished == speed.playouts >= 1
    assert speed.states / speed.seconds == pytest.approx(1 / seconds_per_step)
    assert speed.cpu_seconds == pytest.approx(speed.seconds)
    longest = max(5.5, length * seconds_per_step, 5 + length * seconds_per_step / 2)
    assert 5.0 * 0.8 * (speed.batches > 1) <= speed.seconds <= longest + 1e-9
    if length * seconds_per_step > 5.0:
        assert (speed.batches, speed.playouts) == (1, 1)


@pytest.mark.parametrize("seconds", [0.1, 2.0, 3.0, 15.0])
def test_the_speed_does_not_depend_on_the_seconds(seconds: float) -> None:
    """Loading is before, and all batches that count are full ones."""
    machine = BlockMachine(seconds_per_step=1e-3, length=100, loading_s=1.0)
    speed = measured(machine, seconds)
    assert speed.states / speed.seconds == pytest.approx(64 / 1e-3)
    full = 16 * 64
    assert machine.batches[-speed.batches :] == [(full, MAX_STEPS)] * speed.batches
    assert speed.playouts == full * speed.batches
    assert speed.batches == max(1, round(seconds / 1.6))


def test_a_batch_that_exceeds_the_time_is_finished_and_mentioned() -> None:
    output = run("bench", "kuhn_poker", "--seconds", "1e-6").stdout
    assert "a full batch does not fit into 1e-06 s: one took" in output
    assert json_of("bench", "kuhn_poker", "--seconds", "1e-6")["batches"] == 1


def test_comparison_measures_both_backends_and_prints_their_ratio() -> None:
    report = json_of("bench", "exploding_bomb", "--seconds", "0.2", "--compare")
    assert list(report) == ["game", "results", "ratio"]
    slow, fast = report["results"]
    assert (slow["backend"], fast["backend"]) == ("prolog", "propnet")
    assert report["ratio"] == pytest.approx(fast["states_per_s"] / slow["states_per_s"], rel=0.01)
    table = run("bench", "exploding_bomb", "--seconds", "0.1", "--compare").stdout
    assert "times as many states per second as prolog" in table


@pytest.mark.verify
def test_comparison_without_a_move_says_so(tmp_path: Path) -> None:
    game = text_file(tmp_path, "(role a) (init x) (legal a go) (<= terminal (true x)) (goal a 1)")
    assert json_of("bench", game, "--seconds", "0.1", "--compare")["ratio"] is None
    table = run("bench", game, "--seconds", "0.1", "--compare").stdout
    assert "prolog made no move, so there is nothing to compare" in table


def test_threads_play_the_same_game() -> None:
    report = json_of("bench", "exploding_bomb", "--seconds", "0.2", "--threads", "2")
    assert report["backend"] == "propnet"
    assert report["finished"] == 1.0
