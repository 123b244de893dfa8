"""Players in modules of their own: errors where they are no players, or cannot be made."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from ggp.cli import main as ggp_main
from ggp.errors import ConfigError
from ggp.gdl.games import find_game
from ggp.players import parse_spec, takes_states
from ggp.server.workers import worker_match
from ggp.server.workers.orders import Answer, MoveReport, Setup, Think
from match_runner.cli import main
from match_runner.series.plan import with_states
from tests.support.commands import error_line
from tests.support.commands import run as run_ggp
from tests.support.plug_ins import write_module

pytestmark = pytest.mark.usefixtures("compiled")

PLAYERS = '''
from dataclasses import dataclass

from ggp.players import BeliefPlayer, wholes


class Breaks:
    """A player that cannot be made."""

    states_visited = 0

    def __init__(self, options, context):
        self.depth = deep(context)

    def observe(self, move, percepts, **_): ...

    def choose(self, deadline=None, *, value_forced=False): ...


def deep(context):
    return {}[context.role]


class Other(Breaks):
    def __init__(self, depth):
        self.depth = depth


class Odd(Breaks):
    Options = dict


@dataclass(frozen=True)
class Budget:
    states: tuple[int, ...] = wholes("states")


class Counts(Breaks):
    Options = Budget


class Stumbles(BeliefPlayer):
    def decide(self, bag, deadline):
        return {}[0]


class Text(BeliefPlayer):
    def decide(self, bag, deadline):
        return "bet"


class Number(BeliefPlayer):
    def decide(self, bag, deadline):
        return 3


class Truth(BeliefPlayer):
    def decide(self, bag, deadline):
        return True, ()


class Beyond(BeliefPlayer):
    def decide(self, bag, deadline):
        return 999, ()


class Valued(BeliefPlayer):
    def decide(self, bag, deadline):
        return self.safest(bag), (50.0,)


class Bare(Breaks):
    def __init__(self, options, context): ...

    def choose(self, deadline=None, *, value_forced=False):
        return "bet"


class Slotted:
    __slots__ = ()
    states_visited = 0

    def __init__(self, options, context): ...

    def observe(self, move, percepts, **_): ...

    def choose(self, deadline=None, *, value_forced=False):
        return "bet"


from copy import copy

from ggp.players import Decision


class Helped(Bare):
    """Names a helper of its own `decide`, and thinks with a copy of itself."""

    name = "original"

    def choose(self, deadline=None, *, value_forced=False):
        if self.name == "copy":
            return Decision(self.decide(), (), 1, False, 0, 0.0)
        other = copy(self)
        other.name = "copy"
        return other.choose(deadline)

    def decide(self):
        return "bet"
'''


@pytest.fixture(name="module")
def _module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return write_module(PLAYERS, tmp_path, monkeypatch)


@pytest.mark.parametrize("text", ["..:x", ".:x", ":x", "a..b:x", "os.:x", ".os:path", "a\0b:x"])
def test_text_that_names_no_module_is_an_unknown_player(text: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown player .*; players: legal, random"):
        parse_spec(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nprint(y)\n", r"raised NameError: name 'y' is not defined .*{}\.py, line 2"),
        ("import os\nos.nothing\n", r"raised AttributeError: .*nothing.*{}\.py, line 2"),
        ("\nraise SystemExit(3)\n", r"raised SystemExit: 3 .*{}\.py, line 2"),
        ("def (:\n", "cannot be imported: invalid syntax"),
        ("import re\nimport nowhere\n", r"cannot be imported: No module .*{}\.py, line 2"),
    ],
)
def test_a_module_that_fails_says_where(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write_module(text, tmp_path, monkeypatch)
    with pytest.raises(ConfigError, match=message.format(name)):
        parse_spec(f"{name}:P")


def test_a_player_that_takes_other_arguments_is_refused(module: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_spec(f"{module}:Other")
    assert str(caught.value) == (
        f"{module}:Other is no player: it must take options and a context, and takes (depth) "
        f"({module}.py, line 25), see docs/use/adding-a-player.md"
    )


def test_options_that_are_no_dataclass_are_refused(module: str) -> None:
    with pytest.raises(ConfigError, match=f"options of {module}:Odd must be a dataclass"):
        parse_spec(f"{module}:Odd")


def test_a_player_that_cannot_be_made_says_where_its_code_failed(module: str) -> None:
    args = (
        "evaluate",
        "kuhn_poker",
        "--role",
        "player1",
        "--player",
        f"{module}:Breaks",
        "--backend",
        "prolog",
    )
    outcome = run_ggp(*args)
    message = (
        f"the player {module}:Breaks raised KeyError: 0 when it was made ({module}.py, line 21)"
    )
    assert (outcome.exit_code, outcome.stderr) == (2, f"error: {message}\n")
    log = CliRunner().invoke(ggp_main, ["-v", *args], prog_name="ggp").stderr
    assert "in deep\n    return {}[context.role]" in log
    assert log.splitlines()[-1] == f"error: {message}"


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "--role", "player1"),
        ("exploit",),
        ("exploit", "--approximate", "--updates", "1", "--matches", "2", "--few"),
    ],
    ids=["evaluate", "exploit", "approximate"],
)
def test_a_player_that_raises_in_a_decision_is_blamed(
    module: str, command: tuple[str, ...]
) -> None:
    name, *options = command
    args = (name, "kuhn_poker", "--player", f"{module}:Stumbles", *options)
    line = error_line(*args)
    assert line == f"error: the player {module}:Stumbles raised KeyError: 0 ({module}.py, line 44)"


@pytest.mark.parametrize(
    ("player", "line", "message"),
    [
        ("Text", "decide", "`decide` of Text returned 'bet'"),
        ("Number", "decide", "`decide` of Number returned 3"),
        ("Truth", "decide", "`decide` of Truth returned (True, ())"),
        ("Beyond", "decide", "`decide` of Beyond returned (999, ())"),
        ("Valued", "decide", "`decide` of Valued returned "),
        ("Bare", "choose", "`choose` of Bare returned 'bet'"),
        ("Slotted", "choose", "`choose` of Slotted returned 'bet'"),
    ],
)
def test_errors_say_what_a_player_must_return_and_where(
    module: str, player: str, line: str, message: str
) -> None:
    error = error_line(
        "evaluate",
        "kuhn_poker",
        "--role",
        "player1",
        "--player",
        f"{module}:{player}",
        code=2 if line == "choose" else 1,
    )
    number = 1 + PLAYERS[: PLAYERS.index(f"class {player}")].count("\n")
    number += PLAYERS[PLAYERS.index(f"class {player}") :].split(f"def {line}")[0].count("\n")
    assert error.startswith(f"error: {message}")
    assert f" ({module}.py, line {number}): return " in error
    expected = (
        "`ggp.players.Decision`" if line == "choose" else "the number of a move that is legal"
    )
    assert expected in error
    args = ["play", "kuhn_poker", "--player", f"player1={module}:{player}"]
    outcome = CliRunner().invoke(main, args, prog_name="match-runner")
    assert message in outcome.stderr
    assert f" ({module}.py, line {number})" in outcome.stderr


def test_players_may_have_helpers_and_copies_of_themselves(module: str) -> None:
    outcome = run_ggp("evaluate", "kuhn_poker", "--role", "player1", "--player", f"{module}:Helped")
    assert outcome.exit_code == 0, outcome.stderr
    assert "bet" in outcome.stdout


def test_a_player_that_cannot_be_made_loses_its_moves(module: str) -> None:
    args = ["play", "kuhn_poker", "--player", f"player1={module}:Breaks", "--player"]
    outcome = CliRunner().invoke(main, [*args, "player2=random", "-v"], prog_name="match-runner")
    assert outcome.exit_code == 1
    assert isinstance(outcome.exception, SystemExit)
    message = f"raised KeyError: 0 when it was made ({module}.py, line 21)"
    assert f"turn 1, player1: the player {module}:Breaks {message}" in outcome.stderr
    assert outcome.stderr.count("in deep\n    return {}[context.role]") == 1
    assert "committed faults in every match" in outcome.stderr


def test_a_server_replaces_a_player_that_cannot_be_made(module: str) -> None:
    answers: list[Answer] = []
    match = worker_match.WorkerMatch(answers.append, lambda: False)
    match.build(
        Setup(
            find_game("kuhn_poker").read_text(),
            "player1",
            f"{module}:Breaks",
            "propnet",
            0,
            60,
            1 << 32,
        )
    )
    match.think(Think(1, 0, (), 1e12))
    answer = answers[-1]
    assert isinstance(answer, MoveReport)
    assert answer.decision.fault is not None
    assert f"the player {module}:Breaks raised KeyError: 0" in answer.decision.fault


def test_a_budget_is_added_to_a_player_of_a_module(module: str) -> None:
    assert takes_states(parse_spec(f"{module}:Counts"))
    first = with_states(f"{module}:Counts", (7,))
    assert first == f"{module}:Counts:states=7"
    assert parse_spec(first).options.states == (7,)
    assert with_states(f"{module}:Counts:n=1", (7,)) == f"{module}:Counts:n=1,states=7"
