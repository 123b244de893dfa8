"""Tables 1 and 2: values of moves, means over many decisions of both players.

Each decision is made in a worker process (`think`), from a history of the player's turns; the means
become points with the paper's numbers beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ggp.errors import MatchError
from ggp.gdl.normalize import load
from ggp.labs.papers.reproduce.published import HYPERPLAY, HYPERPLAY2, TABLE1, TABLE2, Number
from ggp.labs.papers.reproduce.results import BY_LOT, Claim, Point, Result, RunSettings, Tell
from ggp.machine import Limits, Machine, build_machine, role_index
from ggp.players import make_player, parse_spec
from ggp.players.player import KnownTurn
from ggp.statistics import student_interval
from match_runner.workers.executor import Executor, results_of

PLAYERS: Mapping[str, str] = {
    HYPERPLAY: f"hyperplay:n=12{BY_LOT}",
    HYPERPLAY2: f"hyperplay2:n=20{BY_LOT}",
}
"""Specs of the players, with enough playouts and simulations for error bars like the paper's."""

COLOURS = ("blue", "red")

_ROUNDING = 0.005
"""Rounding error of the paper's numbers, which have two decimals."""

_STREAM = 3

_Answer = tuple[Mapping[str, float], int, str]
"""Values, states visited and the backend, see `think`."""


@dataclass(frozen=True, slots=True)
class PaperDecision:
    """A decision that is made many times.

    Attributes:
        player: the player, by the paper's name.
        history: gives the moves and percepts of its role, by the colour of the wire.
        rows: gives the table row of each move, by that colour.
    """

    player: str
    history: Callable[[str], tuple[KnownTurn, ...]]
    rows: Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class ValueTable:
    """A table of values of moves.

    Attributes:
        name: name by which the command knows it.
        title: one line.
        method: how it is made.
        game: the game of the moves.
        role: the role that decides.
        questions: all decisions.
        paper: the published value in each row for each player.
    """

    name: str
    title: str
    method: str
    game: str
    role: str
    questions: tuple[PaperDecision, ...]
    paper: Mapping[tuple[str, str], Number]

    def size(self, settings: RunSettings) -> int:
        return len(self.questions) * settings.matches

    def run(self, settings: RunSettings, executor: Executor, tell: Tell) -> Result:
        samples: dict[tuple[str, str], list[float]] = {key: [] for key in self.paper}
        states: dict[str, list[int]] = {player: [] for player in PLAYERS}
        backends: dict[str, str] = {}
        for question, colour, answer in self._answers(settings, executor, tell):
            values, num_states, backends[self.game] = answer
            states[question.player].append(num_states)
            for move, row in question.rows(colour).items():
                samples[row, question.player].append(values[move])
        points = tuple(
            # Student's interval, as in the paper: each value is a mean of many playouts.
            Point(
                player,
                row,
                student_interval(values),
                len(values),
                len(values),
                PLAYERS[player],
                states=sum(states[player]) / len(states[player]),
                paper=self.paper[row, player],
            )
            for (row, player), values in samples.items()
        )
        claims = tuple(map(_claim, points))
        return Result(
            self.name,
            self.title,
            self.method,
            "value of the move",
            points,
            claims,
            backends=backends,
        )

    def _answers(
        self, settings: RunSettings, executor: Executor, tell: Tell
    ) -> Iterator[tuple[PaperDecision, str, _Answer]]:
        """Yield the answer to every decision, in order.

        Raises:
            MatchError: a decision cannot be made. (If a worker dies, its decision is tried again.)
        """
        decisions = [
            (question, COLOURS[k % len(COLOURS)], k)
            for question in self.questions
            for k in range(settings.matches)
        ]
        answers = results_of(
            executor,
            think,
            ((at, self._decision(*decision, settings)) for at, decision in enumerate(decisions)),
            lambda at: f"decision {at} of {self.name}",
            lambda answer: tell(),
        )
        for at, (question, colour, _) in enumerate(decisions):
            yield question, colour, answers[at]

    def _decision(
        self, question: PaperDecision, colour: str, index: int, settings: RunSettings
    ) -> Thought:
        sequence = np.random.SeedSequence(settings.seed, spawn_key=(_STREAM, index))
        return Thought(
            game=self.game,
            backend=settings.backend,
            limits=settings.limits,
            role=self.role,
            player=PLAYERS[question.player],
            history=question.history(colour),
            seed=int(sequence.generate_state(1, np.uint32)[0]),
        )


def _claim(point: Point) -> Claim:
    """Claim that our number agrees with the paper's: their intervals overlap."""
    assert point.paper is not None
    assert point.value.value is not None
    value, error = point.paper
    agrees = None
    ours = f"{point.value.value:.2f}"
    if point.value.low is not None:
        half_width = point.value.value - point.value.low
        ours += f" ± {half_width:.2f}"
        agrees = abs(point.value.value - value) <= half_width + error + _ROUNDING
    return Claim(f"{point.at}, {point.series}", f"paper: {value:.2f} ± {error:.2f}", ours, agrees)


def _first_round(_: str) -> tuple[KnownTurn, ...]:
    return (KnownTurn("noop", ()),)


def _history_with(move: str) -> Callable[[str], tuple[KnownTurn, ...]]:
    def history(colour: str) -> tuple[KnownTurn, ...]:
        return KnownTurn("noop", ()), KnownTurn(move, (colour,) if move == "ask" else ())

    return history


def _asking(_: str) -> Mapping[str, str]:
    return {"ask": "round 1: ask", "wait": "round 1: wait"}


def _cutting(armed: str) -> Mapping[str, str]:
    return {
        f"(cut {colour})": f"round 2: cut {'armed' if colour == armed else 'unarmed'}"
        for colour in COLOURS
    }


def _arming(_: str) -> Mapping[str, str]:
    return {
        f"(arm {colour} {how})": f"arm {colour} and {how}"
        for how in ("tell", "hide")
        for colour in COLOURS
    }


TABLE_1 = ValueTable(
    name="table1",
    title="Table 1: values in the Exploding Bomb",
    method="The agent's values, mean of decisions with different seeds; numbers agree if the two "
    "intervals meet. The information sets are small enough to enumerate, so HyperPlay's values in "
    "round 2 are exact, where the paper's are sampled. In round 2 each player has made its own "
    "choice of round 1: HyperPlay has waited, HyperPlay-II has asked and seen the colour. The "
    "armed wire is blue and red in turn.",
    game="exploding_bomb",
    role="agent",
    questions=(
        *(PaperDecision(player, _first_round, _asking) for player in PLAYERS),
        PaperDecision(HYPERPLAY, _history_with("wait"), _cutting),
        PaperDecision(HYPERPLAY2, _history_with("ask"), _cutting),
    ),
    paper=TABLE1,
)

TABLE_2 = ValueTable(
    name="table2",
    title="Table 2: values in Spy vs. Spy",
    method="The arming spy's values of its first moves, mean of decisions with different seeds; "
    "numbers agree if the two intervals meet.",
    game="spy_vs_spy",
    role="spy1",
    questions=tuple(PaperDecision(player, lambda _: (), _arming) for player in PLAYERS),
    paper=TABLE2,
)


# ------------------------------------------------------------------------
# One decision, made in a worker process.


@dataclass(frozen=True, slots=True)
class Thought:
    """A decision to make.

    Attributes:
        game: name or path of the rulesheet.
        backend, limits: backend of the machine, and limits on building it.
        role: the role that decides.
        player: spec of the player.
        history: its turns so far.
        seed: seed of the player.
    """

    game: str
    backend: str
    limits: Limits
    role: str
    player: str
    history: tuple[KnownTurn, ...]
    seed: int


def think(thought: Thought) -> tuple[Mapping[str, float], int, str]:
    """Make a decision: the value of every candidate, the number of states visited, the backend.

    Raises:
        MatchError: the player could not decide.
    """
    machine = _machine(thought.game, thought.backend, thought.limits)
    role = role_index(machine, thought.role)
    rng = np.random.default_rng(thought.seed)
    player = make_player(parse_spec(thought.player), machine, role, rng)
    for move, percepts in thought.history:
        player.observe(move, percepts)
    decision = player.choose()
    if decision.fault is not None:
        raise MatchError(decision.fault)
    values = {v.move: v.value for v in decision.values if v.value is not None}
    return values, decision.states_visited, machine.backend


@lru_cache(maxsize=2)
def _machine(game: str, backend: str, limits: Limits) -> Machine:
    return build_machine(load(game), backend, limits)
