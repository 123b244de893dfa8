"""`ggp trace`: shows every step of one match, played from a file or at random.

A step is a state with its legal moves, the joint move, and the percepts that this produces. The
second part of the module repeats the trace whenever a file is saved.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from ggp.cli.arguments import (
    GameOptions,
    file_option,
    game_command,
    read_json_list,
    read_term,
)
from ggp.cli.solving import time_option, turns_option
from ggp.console import print_json, show_diagnostics, show_failure
from ggp.errors import ConfigError, GGPError, IllegalMoveError, ReasonerLimitError
from ggp.gdl import read_rulesheet
from ggp.gdl.analysis.growth import with_growth
from ggp.gdl.games import find_game
from ggp.gdl.nearest import unknown
from ggp.gdl.normalize import validate
from ggp.gdl.program import RANDOM
from ggp.gdl.source import errors, printable
from ggp.machine import Machine, States
from ggp.machine.abilities import HasUtilities, Wordy, utilities_of
from ggp.machine.definition import GameDefinition
from ggp.search.moves import random_moves

_log = logging.getLogger(__name__)

_MOVES_FILE = "a list of joint moves like {role: move}, one for each step"

_JOINT_MOVE = 'an object with a move for each role: {"ROLE": "MOVE", ...}'


@game_command("ggp trace monty_hall --seed 3")
@file_option("--moves", help=f"Joint moves to play: JSON, {_MOVES_FILE}.")
@turns_option("Most turns of random play.", "--max-steps", minimum=0)
@time_option("Most seconds of random play; no turn begins after them.")
@click.option("--watch", is_flag=True, help="Trace again whenever the file is saved.")
def trace(
    options: GameOptions, moves: Path | None, max_turns: int, max_seconds: float, watch: bool
) -> None:
    """Show every step of a match, played from a file or at random.

    Steps count from 0. The percepts of a step follow from its joint move. Random moves
    are shown as they are played.

    With --watch, problems of the rules are shown as by validate, and Ctrl-C ends the command.
    """

    def once() -> None:
        joint_moves = None if moves is None else read_json_list(moves, _MOVES_FILE)
        program, machine, _ = options.open(hints=not watch)
        roles = f"roles: {' '.join(machine.roles)}"
        show = _show_nothing if options.as_json else _show_step
        if joint_moves is None:
            if not options.as_json:
                _show([roles, f"seed {options.seed}, on {machine.backend}"])
            until_s = time.monotonic() + max_seconds
            rng = np.random.default_rng(options.seed)
            outcome = random_trace(machine, rng, max_turns, until_s=until_s, show=show)
            if outcome["goals"] is None:
                _warn_of_the_end(program, len(outcome["steps"]) - 1, max_turns)
        else:
            # All moves are checked before any is shown: an illegal one is bad input.
            outcome = given_trace(machine, joint_moves, str(moves))
            if not options.as_json:
                _show([roles])
            for number, step in enumerate(outcome["steps"]):
                show(number, step)
        machine.close()
        if options.as_json:
            origin = {"seed": options.seed, "backend": machine.backend}
            print_json(outcome | (origin if joint_moves is None else {}))
        else:
            _show(_end_lines(outcome))

    if watch:
        files = (game_file(options.game), *(() if moves is None else (moves,)))
        keep_watching(files, once)
    else:
        once()


_ShowStep = Callable[[int, Mapping[str, Any]], None]
"""Receives the number of a step and the step, once it has been played."""


def _show_nothing(number: int, step: Mapping[str, Any]) -> None:
    """Ignore a step."""


def random_trace(
    machine: Machine,
    rng: np.random.Generator,
    max_turns: int,
    *,
    until_s: float = math.inf,
    show: _ShowStep = _show_nothing,
) -> dict[str, Any]:
    """The trace of a match of uniformly random moves.

    Args:
        max_turns: number of turns after which the match is cut off.
        until_s: time on the monotonic clock at which the match is cut off.
        show: receives every step.
    """

    def draw(state: States, number: int) -> list[int] | None:
        if machine.terminal(state)[0] or number >= max_turns or time.monotonic() >= until_s:
            return None
        return [int(random_moves(machine, state, r, rng)[0]) for r in range(len(machine.roles))]

    return _traced(machine, draw, show)


def given_trace(machine: Machine, joint_moves: Sequence[object], name: str) -> dict[str, Any]:
    """The trace of given joint moves.

    Args:
        joint_moves: as read from JSON, unchecked.
        name: their name in messages.

    Raises:
        ConfigError: one of them is malformed or illegal; the message lists the legal ones.
    """

    def read(state: States, number: int) -> list[int] | None:
        if number == len(joint_moves):
            return None
        try:
            return _read_joint_move(machine, state, joint_moves[number])
        except (ConfigError, IllegalMoveError) as error:
            raise ConfigError(f"{name}: step {number}: {error}") from error

    return _traced(machine, read, _show_nothing)


def _warn_of_the_end(program: GameDefinition, turns: int, max_turns: int) -> None:
    """Warn that random play was cut off, unless --max-turns did so and nothing grows."""
    in_time = turns == max_turns
    text = f"{program.source.name}: the match is not over after {turns:,} turns"
    if not in_time:
        text += ", and time is up (--max-seconds)"
    explained = with_growth(text, program.as_program())
    if explained != text or not in_time:
        _log.warning("%s", explained)


def _read_joint_move(machine: Machine, state: States, joint_move: object) -> list[int]:
    """A legal move id of each role."""
    if not isinstance(joint_move, dict):
        raise ConfigError(f"a joint move must be {_JOINT_MOVE}")
    if machine.terminal(state)[0]:
        raise ConfigError("the game is over; no joint move is possible here")
    texts = {role.lower(): move for role, move in joint_move.items()}
    roles = ", ".join(machine.roles)
    for role in texts:
        if role not in machine.roles:
            possible = f"roles of this game: {roles}"
            raise ConfigError(unknown("role", role, machine.roles, possible))
    row = []
    for role_id, role in enumerate(machine.roles):
        legal = machine.legal(state, role_id).values.tolist()
        by_text = {machine.move_text(move): move for move in legal}
        if role not in texts:
            raise ConfigError(f"no move for {role}; legal moves: {_first_moves(sorted(by_text))}")
        try:
            text = read_term(texts[role])
        except ConfigError as error:
            raise ConfigError(
                f"move of {role}: {error}; legal moves: {_first_moves(sorted(by_text))}"
            ) from error
        if text not in by_text:
            raise IllegalMoveError(role, text, sorted(by_text))
        row.append(by_text[text])
    return row


def _first_moves(moves: Sequence[str]) -> str:
    return ", ".join(moves[:20]) + (", ..." if len(moves) > 20 else "")


def _traced(
    machine: Machine, next_row: Callable[[States, int], list[int] | None], show: _ShowStep
) -> dict[str, Any]:
    """The steps of a match, the last state, and the goals if that is terminal.

    Args:
        next_row: the move of each role in a state after so many steps; None to stop there.
    """
    state, steps = machine.initial(), list[dict[str, Any]]()
    while (row := next_row(state, len(steps))) is not None:
        step = _describe(machine, state)
        step["joint_move"] = {
            role: machine.move_text(move) for role, move in zip(machine.roles, row, strict=True)
        }
        try:
            stepped = machine.step(state, np.array([row], dtype=np.int64))
        except ReasonerLimitError:
            show(len(steps), step)  # the joint move that led there
            raise
        step["percepts"] = {
            role: list(machine.percept_texts(int(percept)))
            for role, percept in zip(machine.roles, stepped.percepts[0], strict=True)
        }
        show(len(steps), step)
        steps.append(step)
        state = stepped.states
    last = _describe(machine, state)
    show(len(steps), last)
    goals = None
    if last["terminal"]:
        values = machine.goals(state)[0].tolist()
        goals = {
            role: int(value) if value.is_integer() else value
            for role, value in zip(machine.roles, values, strict=True)
        }
    trace: dict[str, Any] = {"roles": list(machine.roles), "steps": [*steps, last], "goals": goals}
    if goals is not None and isinstance(machine, HasUtilities):
        trace["utilities"] = utilities_of(machine, goals)
    return trace


def _describe(machine: Machine, state: States) -> dict[str, Any]:
    legal = {
        role: {
            machine.move_text(move): move
            for move in machine.legal(state, role_id, allow_stuck=True).values.tolist()
        }
        for role_id, role in enumerate(machine.roles)
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


def _show(lines: Iterable[str]) -> None:
    """Print lines of a trace immediately: the next ones may take long."""
    click.echo("\n".join(map(printable, lines)))


def _show_step(number: int, step: Mapping[str, Any]) -> None:
    _show(_step_lines(number, step))


def _step_lines(number: int, step: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"step {number}" + (" (terminal)" if step["terminal"] else "")
    yield f"  state: {' '.join(step['state'])}"
    yield from _word_lines(step)
    if not step["terminal"]:
        for role, moves in step["legal"].items():
            yield f"  legal {role}: {' '.join(_named(step, role, move) for move in moves)}"
    if step["joint_move"]:
        for role, move in step["joint_move"].items():
            yield f"  {role} plays {_named(step, role, move)}"
        for role, percepts in step["percepts"].items():
            if percepts or role != RANDOM:
                yield f"  {role} sees {' '.join(percepts) or 'nothing'}"


def _end_lines(trace: Mapping[str, Any]) -> Iterator[str]:
    goals = trace["goals"]
    yield ""
    if goals is None:
        yield "the game is not over"
    else:
        yield "goals: " + ", ".join(f"{role} {value}" for role, value in goals.items())
    if "utilities" in trace:
        utilities = (f"{role} {value:g}" for role, value in trace["utilities"].items())
        yield "utilities: " + ", ".join(utilities)


def _named(step: Mapping[str, Any], role: str, move: str) -> str:
    """A move with its name, if the machine has words for it."""
    word = step["words"]["moves"][role].get(move) if "words" in step else None
    return f"{move} [{word}]" if word else move


def _word_lines(step: Mapping[str, Any]) -> list[str]:
    """The state, and everybody's knowledge of it, in the machine's own words."""
    if "words" not in step:
        return []
    texts = {"": step["words"]["state"]}
    texts |= {f"{role} knows ": text for role, text in step["words"]["knows"].items()}
    return [
        f"  {name}| {line}" for name, text in texts.items() for line in text.rstrip().splitlines()
    ]


# ------------------------------------------------------------------------
# Repeating work whenever a file is saved, for `ggp trace --watch`.
#
# The time and size of files are polled a few times a second, which works on every file system. An
# editor may write a file in several steps, or replace it; so a file counts as saved once it has
# stopped changing.

POLL_S = 0.25
_SETTLE_S = 0.05


def game_file(game: str) -> Path:
    """The file of a game, by its name or path; the file of a path need not exist yet.

    Raises:
        ConfigError: there is no such game, and it cannot be the path of a file.
    """
    if os.path.isdir(os.path.dirname(game) or ".") and Path(game).suffix:
        return Path(game)
    return find_game(game)


def keep_watching(
    files: Sequence[Path], do: Callable[[], None], sleep: Callable[[float], None] = time.sleep
) -> None:
    """Call a function now and whenever one of the files is saved, until an interrupt.

    Before each call, the problems of the first file, a rulesheet, are shown; if it has errors,
    there is no call. Errors of the call are shown, and watching continues.
    """
    try:
        for _ in saves(files, sleep):
            click.echo(printable(f"--- {files[0]} at {time.strftime('%H:%M:%S')}"))
            try:
                if not _has_errors(files[0]):
                    do()
            except GGPError as error:
                show_failure(error)
    except KeyboardInterrupt:
        return


def saves(files: Sequence[Path], sleep: Callable[[float], None]) -> Iterator[None]:
    """Yield immediately, and then after each save of one of the files."""
    stamps: list[object] | None = None
    while True:
        current = list(map(_stamp, files))
        if current == stamps:
            sleep(POLL_S)
            continue
        while stamps is not None and stamps != current:
            stamps = current
            sleep(_SETTLE_S)
            current = list(map(_stamp, files))
        stamps = current
        yield


def _stamp(file: Path) -> object:
    """A value that changes when a file is saved; None if there is no file."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _has_errors(file: Path) -> bool:
    """Whether rules are unplayable; prints all their problems."""
    diagnostics = validate(read_rulesheet(str(file)))
    show_diagnostics(diagnostics)
    return bool(errors(diagnostics))
