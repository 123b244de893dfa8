"""`ggp trace`: one match with everything that can be said of it, played by hand or at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    FilePath,
    backend_option,
    json_option,
    limits_option,
    open_game,
    read_json_list,
    read_term,
    seed_option,
    verbose_option,
)
from ggp.cli.watching import game_file, keep_watching
from ggp.console import print_json
from ggp.errors import ConfigError, IllegalMoveError
from ggp.gdl.nearest import unknown
from ggp.gdl.source import printable

if TYPE_CHECKING:
    import numpy as np

    from ggp.machine import Limits, Machine, States

_MOVES_FILE = "a list of joint moves like {role: move}, one for each step"

_JOINT_MOVE = 'an object with a move for each role: {"ROLE": "MOVE", ...}'


@click.command()
@click.argument("game")
@click.option(
    "--moves",
    type=FilePath(),
    metavar="FILE",
    help=f"Joint moves to play: JSON, {_MOVES_FILE}.",
)
@click.option(
    "--max-steps",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    help="Most steps of random play.",
)
@click.option("--watch", is_flag=True, help="Trace again whenever the file is saved.")
@seed_option()
@backend_option
@limits_option
@json_option
@verbose_option
def trace(
    game: str,
    moves: Path | None,
    max_steps: int,
    watch: bool,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Play given or random joint moves and show every step.

    Steps count from 0. The percepts of a step are what its joint move produces.

    With --watch, problems of the rules are shown as by validate, and Ctrl-C ends.
    """

    def once() -> None:
        given = None if moves is None else read_json_list(moves, _MOVES_FILE)
        machine = open_game(game, backend, limits=limits, hints=not watch).machine
        import numpy as np

        if given is None:
            result = random_trace(machine, np.random.default_rng(seed), max_steps)
        else:
            result = given_trace(machine, given, str(moves))
        machine.close()
        if as_json:
            print_json(result)
        else:
            click.echo(_text(result))

    if watch:
        files = (game_file(game), *(() if moves is None else (moves,)))
        keep_watching(files, once)
    else:
        once()


def random_trace(machine: Machine, rng: np.random.Generator, max_steps: int) -> dict[str, Any]:
    """The trace of a match of uniformly random moves, cut off after `max_steps` steps."""
    from ggp.search.moves import random_moves

    steps: list[dict[str, Any]] = []
    state = machine.initial()
    while not machine.terminal(state)[0] and len(steps) < max_steps:
        row = [int(random_moves(machine, state, r, rng)[0]) for r in range(len(machine.roles))]
        state = _play(machine, state, row, steps)
    return _finish(machine, state, steps)


def given_trace(machine: Machine, joint_moves: Sequence[object], name: str) -> dict[str, Any]:
    """The trace of given joint moves.

    Args:
        joint_moves: as read from JSON, not yet checked.
        name: what messages call them.

    Raises:
        ConfigError: one of them is malformed or illegal; says which and what is legal.
    """
    steps: list[dict[str, Any]] = []
    state = machine.initial()
    for number, joint_move in enumerate(joint_moves):
        try:
            row = _read_joint_move(machine, state, joint_move)
        except (ConfigError, IllegalMoveError) as error:
            raise ConfigError(f"{name}: step {number}: {error}") from error
        state = _play(machine, state, row, steps)
    return _finish(machine, state, steps)


def _read_joint_move(machine: Machine, state: States, joint_move: object) -> list[int]:
    """A legal move id of each role."""
    if not isinstance(joint_move, dict):
        raise ConfigError(f"a joint move must be {_JOINT_MOVE}")
    if machine.terminal(state)[0]:
        raise ConfigError("the game is over, no joint move is possible here")
    given = {role.lower(): move for role, move in joint_move.items()}
    roles = ", ".join(machine.roles)
    for role in given:
        if role not in machine.roles:
            possible = f"roles of this game: {roles}"
            raise ConfigError(unknown("role", role, machine.roles, possible))
    row = []
    for number, role in enumerate(machine.roles):
        legal = machine.legal(state, number).values.tolist()
        by_text = {machine.move_text(move): move for move in legal}
        if role not in given:
            raise ConfigError(f"no move for {role}; legal moves: {_some(sorted(by_text))}")
        try:
            text = read_term(given[role])
        except ConfigError as error:
            raise ConfigError(
                f"move of {role}: {error}; legal moves: {_some(sorted(by_text))}"
            ) from error
        if text not in by_text:
            raise IllegalMoveError(role, text, sorted(by_text))
        row.append(by_text[text])
    return row


def _some(moves: Sequence[str]) -> str:
    return ", ".join(moves[:20]) + (", ..." if len(moves) > 20 else "")


def _play(machine: Machine, state: States, row: list[int], steps: list[dict[str, Any]]) -> States:
    """Append the step of a joint move to the trace; the state after it."""
    import numpy as np

    stepped = machine.step(state, np.array([row], dtype=np.int64))
    step = _describe(machine, state)
    step["joint_move"] = {
        role: machine.move_text(move) for role, move in zip(machine.roles, row, strict=True)
    }
    step["percepts"] = {
        role: list(machine.percept_texts(int(percept)))
        for role, percept in zip(machine.roles, stepped.percepts[0], strict=True)
    }
    steps.append(step)
    return stepped.states


def _describe(machine: Machine, state: States) -> dict[str, Any]:
    from ggp.machine.abilities import Wordy

    legal = {
        role: {
            machine.move_text(move): move
            for move in machine.legal(state, number, allow_stuck=True).values.tolist()
        }
        for number, role in enumerate(machine.roles)
    }
    described = {
        "state": list(machine.fluents(state)[0]),
        "terminal": bool(machine.terminal(state)[0]),
        "legal": {role: sorted(moves) for role, moves in legal.items()},
        "joint_move": None,
        "percepts": {role: [] for role in machine.roles},
    }
    if isinstance(machine, Wordy):
        described["words"] = {
            "state": machine.state_words(state),
            "moves": {
                role: {text: machine.move_words(state, n, moves[text]) for text in sorted(moves)}
                for n, (role, moves) in enumerate(legal.items())
            },
            "knows": {
                role: machine.knowledge_words(state, n) for n, role in enumerate(machine.roles)
            },
        }
    return described


def _finish(machine: Machine, state: States, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The trace with its last state, and the goals if that is terminal."""
    from ggp.machine.abilities import HasUtilities, utilities_of

    last = _describe(machine, state)
    goals = None
    if last["terminal"]:
        values = machine.goals(state)[0].tolist()
        goals = {
            role: int(value) if value.is_integer() else value
            for role, value in zip(machine.roles, values, strict=True)
        }
    told: dict[str, Any] = {"roles": list(machine.roles), "steps": [*steps, last], "goals": goals}
    if goals is not None and isinstance(machine, HasUtilities):
        told["utilities"] = utilities_of(machine, goals)
    return told


def _text(result: Mapping[str, Any]) -> str:
    """A trace to be read."""
    lines = [f"roles: {' '.join(result['roles'])}"]
    for number, step in enumerate(result["steps"]):
        lines += ["", f"step {number}" + (" (terminal)" if step["terminal"] else "")]
        lines.append(f"  state: {' '.join(step['state'])}")
        lines += _word_lines(step)
        if not step["terminal"]:
            lines += [
                f"  legal {role}: {' '.join(_named(step, role, move) for move in moves)}"
                for role, moves in step["legal"].items()
            ]
        if step["joint_move"]:
            lines += [
                f"  {role} plays {_named(step, role, move)}"
                for role, move in step["joint_move"].items()
            ]
            lines += [f"  {role} sees {' '.join(p)}" for role, p in step["percepts"].items() if p]
    goals = result["goals"]
    lines.append("")
    if goals is None:
        lines.append("the game is not over")
    else:
        lines.append("goals: " + ", ".join(f"{role} {value}" for role, value in goals.items()))
    if "utilities" in result:
        shown = (f"{role} {value:g}" for role, value in result["utilities"].items())
        lines.append("utilities: " + ", ".join(shown))
    return "\n".join(map(printable, lines))


def _named(step: Mapping[str, Any], role: str, move: str) -> str:
    """A move with what it is called, where the machine has words for it."""
    word = step["words"]["moves"][role].get(move) if "words" in step else None
    return f"{move} [{word}]" if word else move


def _word_lines(step: Mapping[str, Any]) -> list[str]:
    """The state, and what everybody knows there, in the machine's own words."""
    if "words" not in step:
        return []
    texts = {"": step["words"]["state"]}
    texts |= {f"{role} knows ": text for role, text in step["words"]["knows"].items()}
    return [
        f"  {who}| {line}" for who, text in texts.items() for line in text.rstrip().splitlines()
    ]
