"""Computes a player's mind: a role's belief after its moves and percepts, and values of its moves.

Only the role's incomplete path and a seed come in; messages for the page go out, from a worker
process, within a time limit. They have the particles' quality and fluents; the values that
HyperPlay and HyperPlay-II give to the moves; or, for one move, a few simulations of HyperPlay-II
(`lines`).
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
from ggp.machine.base import IntArray
from ggp.machine.definition import GameDefinition
from ggp.players import BeliefPlayer, Decision, make_player, parse_spec
from ggp.players.elsewhere.from_json import decision_json
from ggp.players.hyperplay2 import HyperPlay2
from ggp.players.player import KnownTurn
from ggp.search.anytime import Deadline, OutOfTime, check
from ggp.search.moves import is_legal
from match_runner.match.knowledge import marginals
from match_runner.pictures.kinds import Json
from match_runner.pictures.layout import Artist
from match_runner.series.match_task import machines_of
from match_runner.table.seating import WorkerLink

HYPERPLAY2 = "hyperplay2"

THINKERS = {"hyperplay": "hyperplay:exact=10000", HYPERPLAY2: HYPERPLAY2}
"""Players whose values the page shows side by side, with their specs."""

THINKING_S = 1.5
"""Seconds for each of these players to decide, and as many to follow the whole path."""

MORE_S = 6.0
"""Seconds for a second try if no move got a value, as in kriegspiel on a busy machine."""

LINES_S = 8.0
"""Seconds for all lines of play together: lines of long games are cut off."""

MAX_LANES = 2_000
"""Most particles whose fluents we examine; from more, we sample."""

REPORT_EVERY_S = 0.15


@dataclass(frozen=True, slots=True)
class MindTask:
    """Request to look into the mind of a role at a turn.

    Attributes:
        game, rules, side_file: see `TableTask`.
        role: the role.
        turns: its moves and percepts so far.
        seed: seed of all random choices.
        move: the move whose lines of play to compute; None for belief and values.
        line: seed of the first of these lines.
        thinks: whether the role has a move to make; false when the match is over: then the belief
            is the last one.
    """

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
    parsed = [json.loads(text) for text in frames[1 : turn + 1]]
    # The log of a server may lack percepts.
    percepts = [frame["percepts"].get(role) for frame in parsed]
    return tuple(
        KnownTurn(frame["moves"].get(role), None if saw is None else tuple(saw))
        for frame, saw in zip(parsed, percepts, strict=True)
    )


def look_into(task: MindTask) -> None:
    """Compute a task's `belief` and `values`, or its `lines`, and send them to the server.

    Raises:
        GGPError: the path does not fit the rules.
    """
    link = WorkerLink()
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
        moves = [move for line in lines for turn in line["turns"] for move in turn.items()]
        words = artist.words_of([(task.role, task.move), *moves])
        supposed = {fluent for line in lines for fluent in line["supposed"]}
        link.send(
            {
                "kind": "lines",
                "move": task.move,
                "line": task.line,
                "lines": lines,
                "words": words | {"fluents": {text: artist.fluent(text) for text in supposed}},
            }
        )
        return
    for name, spec in THINKERS.items():
        report = _Report(link, name, task.role, artist)
        player = _player(task, spec, program, machine, role, report)
        if name == "hyperplay":
            tracker = player.tracker
            belief = _belief(machine, artist, tracker.bag, tracker.quality(), task.seed)
            link.send({"kind": "belief", "last": not task.thinks, **belief})
        if task.thinks:
            decision = player.choose(Deadline.after(THINKING_S), value_forced=True)
            if not any(value.visits for value in decision.values):
                decision = player.choose(Deadline.after(MORE_S), value_forced=True)
            report.tell(decision, final=True)


class _Report:
    """Sends a player's values to the server, now and then while it decides."""

    def __init__(self, link: WorkerLink, name: str, role: str, artist: Artist) -> None:
        self._link, self._name = link, name
        self._role, self._artist = role, artist
        self._last_report_s = 0.0

    def __call__(self, decision: Decision) -> None:
        if time.monotonic() - self._last_report_s >= REPORT_EVERY_S:
            self.tell(decision, final=False)

    def tell(self, decision: Decision, *, final: bool) -> None:
        """Send a decision immediately."""
        self._last_report_s = time.monotonic()
        values = decision_json(decision)
        words = self._artist.words_of([(self._role, value.move) for value in decision.values])
        self._link.send(
            {
                "kind": "values",
                "player": self._name,
                "final": final,
                "decision": values,
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
    """Make a player that has observed the role's whole path, within a time limit."""
    rng = np.random.default_rng(task.seed)
    player = make_player(parse_spec(spec), machine, role, rng, report=report, program=program)
    assert isinstance(player, BeliefPlayer)
    deadline = Deadline.after(THINKING_S)
    for index, turn in enumerate(task.turns):
        share = deadline.part(1 / (len(task.turns) - index))
        player.observe(turn.move, turn.percepts, deadline=share)
    return player


def _belief(machine: Machine, artist: Artist, bag: Bags, quality: Quality, seed: int) -> Json:
    """The particles' quality, and a picture of the probabilities of fluents."""
    if bag.depleted[0]:
        return {"quality": quality.as_json(), "picture": None}
    states, weights = bag.states_of(0), bag.weights_of(0)
    if len(weights) > MAX_LANES:
        rng = np.random.default_rng(seed)
        lanes = rng.choice(len(weights), size=MAX_LANES, p=weights)
        states, weights = states.take(lanes), np.full(MAX_LANES, 1 / MAX_LANES)
    return {
        "quality": quality.as_json(),
        "picture": artist.heat(marginals(machine.fluents(states), weights)),
    }


# ------------------------------------------------------------------------
# Lines of play: possible continuations after a move, as HyperPlay-II simulates them.
#
# A line is one simulation (paper 004, Definition 8). It begins in a particle, as if that were the
# true state. From there every role but `random` follows the match with its own bag, made from its
# own moves and the percepts that it would get, and moves by HyperPlay.
#
# Every line has its own seed. If the particles are the whole information set, the same seed gives
# the same line again.

LINES = 4
"""Number of lines to show at a time."""

MAX_TURNS = 60
"""Most turns of a line that we show."""

MAX_SUPPOSED = 4
"""Most fluents that distinguish a line's particle from others and that we show before the line."""

MAX_COMPARED = 500
"""Most particles that we examine to find these fluents."""


def lines_of_play(
    player: BeliefPlayer, move: str, seeds: Sequence[int], deadline: Deadline
) -> list[Json]:
    """Simulations after a move, from particles in which it is legal, drawn by weight.

    Args:
        player: a `HyperPlay2` that has observed the moves and percepts of its role.
        deadline: deadline of all lines; a line that does not end within its share of the time has
            no goal value.

    Returns:
        for each seed the joint moves, the goal value of the player's role, and some fluents that
        hold in the line's particle but not in all particles; empty if the move is legal in no
        particle.
    """
    assert isinstance(player, HyperPlay2)
    machine, bag = player.machine, player.tracker.bag
    move_id = machine.move_id(move)
    if move_id is None or bag.depleted[0] or bag.sets.views is None:
        return []
    entries = bag.lanes_of(0)
    fits = is_legal(machine, bag.states_of(0), player.role, np.full(len(entries), move_id))
    if not fits.any():
        return []
    weights = bag.weights_of(0) * fits
    common = _common(machine, bag)
    lines: list[Json] = []
    for index, seed in enumerate(seeds):
        until = deadline.part(1 / (len(seeds) - index))
        rng = np.random.default_rng(seed)
        entry = int(rng.choice(entries, p=weights / weights.sum()))
        turns, goal = _line(player, entry, move_id, rng, until)
        (fluents,) = machine.fluents(bag.sets.states.take(np.array([entry])))
        supposed = [fluent for fluent in fluents if fluent not in common]
        lines.append(
            {
                "seed": seed,
                "supposed": supposed[:MAX_SUPPOSED],
                "more_supposed": max(0, len(supposed) - MAX_SUPPOSED),
                "turns": turns[:MAX_TURNS],
                "more_turns": max(0, len(turns) - MAX_TURNS),
                "goal": goal,
            }
        )
    return lines


def _line(
    player: HyperPlay2, entry: int, move: int, rng: np.random.Generator, until: Deadline
) -> tuple[list[dict[str, str]], float | None]:
    """Joint moves of a simulation and its goal value; None if it did not end in time."""
    machine = player.machine
    turns: list[dict[str, str]] = []

    def hear(lanes: IntArray, joint: IntArray) -> None:
        texts = map(machine.move_text, joint[0].tolist())
        turns.append(dict(zip(machine.roles, texts, strict=True)))
        check(until)

    try:
        return turns, player.play_on(entry, move, rng, hear, until)
    except OutOfTime:
        return turns, None


def _common(machine: Machine, bag: Bags) -> set[str]:
    """Fluents that hold in all particles that we examine."""
    entries = bag.lanes_of(0)[:MAX_COMPARED]
    first, *rest = machine.fluents(bag.sets.states.take(entries))
    return set(first).intersection(*rest)
