"""A player's mind: a role's belief after its moves and percepts, and its values of moves.

It is made from the role's incomplete path and a seed alone, in a worker process, within a time
limit: particles, how good they are, and which fluents hold in them; the values that HyperPlay and
HyperPlay-II give to the moves; or, for one move, a few of HyperPlay-II's simulations (`lines`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ggp.belief import Bags, Quality
from ggp.machine import Limits, Machine
from ggp.machine.definition import GameDefinition
from ggp.players import BeliefPlayer, Decision, make_player, parse_spec
from ggp.players.elsewhere.decision_json import decision_json
from ggp.players.player import KnownTurn
from ggp.search.anytime import Deadline
from match_runner.match.knowledge import marginals
from match_runner.pictures.frames import Artist, Json
from match_runner.series.match_task import machines_of
from match_runner.table.seats.lines import LINES, lines_of_play
from match_runner.table.seats.link import WorkerLink

HYPERPLAY2 = "hyperplay2"

THINKERS = {"hyperplay": "hyperplay:exact=10000", HYPERPLAY2: HYPERPLAY2}
"""Players whose values are shown side by side, with their specs."""

THINKING_S = 1.5
"""Seconds for each of these players to decide, and as many to follow the path in all turns."""

MORE_S = 6.0
"""Seconds if no move could be valued in that time, as in kriegspiel on a busy machine."""

LINES_S = 8.0
"""Seconds for all lines of play together: in long games they are broken off."""

MOST_LANES = 2_000
"""Most particles whose fluents are examined; if there are more, so many are drawn."""

REPORT_EVERY_S = 0.15


@dataclass(frozen=True, slots=True)
class MindTask:
    """Request to look into the mind of a role at a turn.

    Attributes:
        socket, key: where results are sent as they are found.
        game, rules, side_file: see `TableTask`.
        role: the role.
        turns: its moves and percepts so far.
        seed: seed of everything that is drawn.
        move: the move whose lines of play are wanted, or None for belief and values.
        line: seed of the first of these lines.
        thinks: whether the role has a move to make, as it has not after the last turn.
    """

    socket: str
    key: str
    game: str
    rules: str
    side_file: Path | None
    role: str
    turns: tuple[KnownTurn, ...]
    seed: int
    move: str | None = None
    line: int = 0
    thinks: bool = True


def known_turns(frames: Sequence[str], role: str, turn: int) -> tuple[KnownTurn, ...]:
    """Moves and percepts of a role before its decision in a turn, from a match's frames as JSON."""
    each = [json.loads(text) for text in frames[1 : turn + 1]]
    # The log of a server may not tell all of it.
    seen = [frame["percepts"].get(role) for frame in each]
    return tuple(
        KnownTurn(frame["moves"].get(role), None if saw is None else tuple(saw))
        for frame, saw in zip(each, seen, strict=True)
    )


def look_into(task: MindTask) -> None:
    """Compute what a task asks for, and send it to the server: `belief`, `values` or `lines`.

    Raises:
        GGPError: the path does not fit the rules.
    """
    link = WorkerLink(task.socket, task.key, lambda message: None)
    try:
        program, machines = machines_of(task.game, task.rules, "auto", Limits(), True)
        role = program.roles.index(task.role)
        machine = machines[1 + role]
        artist = Artist(program, task.side_file)
        if task.move is not None:
            lines = lines_of_play(
                _player(task, HYPERPLAY2, program, machine, role),
                task.move,
                range(task.line, task.line + LINES),
                Deadline.after(LINES_S),
            )
            told = [each for line in lines for turn in line["turns"] for each in turn.items()]
            words = artist.words_of([(task.role, task.move), *told])
            supposed = {each for line in lines for each in line["supposed"]}
            link.send(
                {
                    "kind": "lines",
                    "move": task.move,
                    "line": task.line,
                    "lines": lines,
                    "words": words | {"fluents": {each: artist.fluent(each) for each in supposed}},
                }
            )
            return
        for name, spec in THINKERS.items():
            report = _Report(link, name, task.role, artist)
            player = _player(task, spec, program, machine, role, report)
            if name == "hyperplay":
                tracker = player.tracker
                belief = _belief(machine, artist, tracker.bag, tracker.quality(), task.seed)
                link.send({"kind": "belief", **belief})
            if task.thinks:
                decision = player.choose(Deadline.after(THINKING_S), value_forced=True)
                if not any(value.visits for value in decision.values):
                    decision = player.choose(Deadline.after(MORE_S), value_forced=True)
                report.tell(decision, final=True)
    finally:
        link.close()


class _Report:
    """Sends a player's values to the server, now and then while it decides."""

    def __init__(self, link: WorkerLink, name: str, role: str, artist: Artist) -> None:
        self._link, self._name = link, name
        self._role, self._artist = role, artist
        self._told_s = 0.0

    def __call__(self, decision: Decision) -> None:
        if time.monotonic() - self._told_s >= REPORT_EVERY_S:
            self.tell(decision, final=False)

    def tell(self, decision: Decision, *, final: bool) -> None:
        """Send a decision at once."""
        self._told_s = time.monotonic()
        told = decision_json(decision)
        words = self._artist.words_of([(self._role, value.move) for value in decision.values])
        self._link.send(
            {
                "kind": "values",
                "player": self._name,
                "final": final,
                "decision": told,
                "words": words,
            }
        )


def _player(
    task: MindTask,
    spec: str,
    program: GameDefinition,
    machine: Machine,
    role: int,
    report: Callable[[Decision], None] | None = None,
) -> BeliefPlayer:
    """Make a player and tell it the role's path, all of it within a time limit."""
    rng = np.random.default_rng(task.seed)
    player = make_player(parse_spec(spec), machine, role, rng, report=report, program=program)
    assert isinstance(player, BeliefPlayer)
    deadline = Deadline.after(THINKING_S)
    for number, turn in enumerate(task.turns):
        share = deadline.part(1 / (len(task.turns) - number))
        player.observe(turn.move, turn.percepts, deadline=share)
    return player


def _belief(machine: Machine, artist: Artist, bag: Bags, quality: Quality, seed: int) -> Json:
    """How good the particles are, and the probability of each fluent in them."""
    if bag.depleted[0]:
        return {"quality": quality.as_json(), "picture": None}
    states, weights = bag.states_of(0), bag.weights_of(0)
    if len(weights) > MOST_LANES:
        rng = np.random.default_rng(seed)
        drawn = rng.choice(len(weights), size=MOST_LANES, p=weights)
        states, weights = states.take(drawn), np.full(MOST_LANES, 1 / MOST_LANES)
    return {
        "quality": quality.as_json(),
        "picture": artist.heat(marginals(machine.fluents(states), weights)),
    }
