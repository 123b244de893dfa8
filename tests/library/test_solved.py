"""Players measured by the library: as the command does, and on a play clock as in a match."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import ggp
from ggp.library import solved
from ggp.library.solved import Thinking, chooser_of
from ggp.players import Decision, parse_spec
from ggp.run.clocks import Clock
from ggp.search.anytime import Deadline
from tests.support.commands import json_of


@pytest.mark.parametrize("answers", [None, 3])
def test_the_library_measures_as_the_command_does(answers: int | None) -> None:
    asked = () if answers is None else ("--answers", str(answers))
    command = json_of("exploit", "kuhn_poker", "--player", "hyperplay:n=2", "--seed", "4", *asked)
    exploited = ggp.exploit("kuhn_poker", "hyperplay:n=2", answers=answers, seed=4)
    assert exploited.nash_conv == pytest.approx(command["nash_conv"])
    roles = exploited.exploitation.roles.items()
    assert {name: result.best_response for name, result in roles} == pytest.approx(
        {name: result["best_response"] for name, result in command["roles"].items()}
    )
    if answers is not None:
        assert dict(exploited.num_players) == {"player1": 6 * answers, "player2": 6 * answers}


class Timed:
    """A player that notes its deadlines."""

    def __init__(self) -> None:
        self.observed: list[Deadline | None] = []
        self.chose: list[Deadline | None] = []

    def observe(
        self, move: str | None, percepts: Sequence[str] | None, *, deadline: Deadline | None = None
    ) -> None:
        self.observed.append(deadline)

    def choose(self, deadline: Deadline | None = None) -> Decision:
        self.chose.append(deadline)
        return Decision("bet", (), 0, True, 0, 0.0)


def test_the_play_clock_runs_from_the_last_turn_to_the_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    player = Timed()
    monkeypatch.setattr(solved, "make_player", lambda *args, **options: player)
    make = chooser_of(ggp.load("kuhn_poker"), parse_spec("legal"), Thinking(7.0, Clock.CPU))
    chooser = make(0, np.random.default_rng(0))
    for turn in range(2):
        chooser.observe("noop", (f"turn{turn}",))
    assert chooser.choose().move == "bet"
    first, last = player.observed
    assert player.chose == [last]
    assert first is not None
    assert last is not None
    assert first.at_s < last.at_s
    assert (first.clock, last.clock) == (Clock.CPU.tells, Clock.CPU.tells)
