"""`ggp trace`: one match with everything that can be shown, played by hand or at random."""

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

from ggp.cli.arguments import FilePath, GameOptions, game_command, read_json_list, read_term
from ggp.cli.solving import time_option, turns_option
from ggp.console import print_json, show_diagnostics, show_failure
from ggp.errors import ConfigError, GGPError, IllegalMoveError, ReasonerLimitError
from ggp.gdl import read_rulesheet
from ggp.gdl.analysis.growth import with_growth
from ggp.gdl.games import find_game
from ggp.gdl.nearest import unknown
from ggp.gdl.normalize import validate
from ggp.gdl.source import errors, printable
from ggp.machine import Machine, States
from ggp.machine.abilities import HasUtilities, Wordy, utilities_of
from ggp.machine.definition import GameDefinition
from ggp.search.moves import random_moves

_log = logging.getLogger(__name__)

_MOVES_FILE = "a list of joint moves like {role: move}, one for each step"

_JOINT_MOVE = 'an object with a move for each role: {"ROLE": "MOVE", ...}'


@game_command("ggp trace monty_hall --seed 3")
@click.option(
    "--moves",
    type=FilePath(),
    metavar="FILE",
    help=f"Joint moves to play: JSON, {_MOVES_FILE}.",
)
@turns_option("Most turns of random play.", "--max-steps", least=0)
@time_option("Most seconds of random play; no turn begins after them.")
@click.option("--watch", is_flag=True, help="Trace again whenever the file is saved.")
def trace(
    options: GameOptions, moves: Path | None, max_turns: int, max_seconds: float, watch: bool
) -> None:
    """Play given or random joint moves and show every step; random ones as they are played.

    Steps count from 0. The percepts of a step are what its joint move produces.

    With --watch, problems of the rules are shown as by validate, and Ctrl-C ends.
    """

    def once() -> None:
        given = None if moves is None else read_json_list(moves, _MOVES_FILE)
        program, machine, _ = options.open(hints=not watch)
        roles = f"roles: {' '.join(machine.roles)}"
        told = _not_told if options.as_json else _show_step
        if given is None:
            if not options.as_json:
                _show([roles, f"seed {options.seed}, on {machine.backend}"])
            until_s = time.monotonic() + max_seconds
            rng = np.random.default_rng(options.seed)
            result = random_trace(machine, rng, max_turns, until_s=until_s, told=told)
            if result["goals"] is None:
                _warn_of_the_end(program, len(result["steps"]) - 1, max_turns)
        else:
            # All of it before anything is shown: illegal moves are bad input.
            result = given_trace(machine, given, str(moves))
            if not options.as_json:
                _show([roles])
            for number, step in enumerate(result["steps"]):
                told(number, step)
        machine.close()
        if options.as_json:
            drawn = {"seed": options.seed, "backend": machine.backend}
            print_json(result | (drawn if given is None else {}))
        else:
            _show(_end_lines(result))

    if watch:
        files = (game_file(options.game), *(() if moves is None else (moves,)))
        keep_watching(files, once)
    else:
        once()


_Told = Callable[[int, Mapping[str, Any]], None]
"""Receives the number of a step and the step, when it has been played."""


def _not_told(number: int, step: Mapping[str, Any]) -> None:
    """Ignore a step."""


def random_trace(
    machine: Machine,
    rng: np.random.Generator,
    max_turns: int,
    *,
    until_s: float = math.inf,
    told: _Told = _not_told,
) -> dict[str, Any]:
    """The trace of a match of uniformly random moves.

    Args:
        max_turns: number of turns after which it is cut off.
        until_s: time on the monotonic clock at which it is cut off.
        told: receives every step.
    """
    steps: list[dict[str, Any]] = []
    state = machine.initial()
    while not machine.terminal(state)[0] and len(steps) < max_turns and time.monotonic() < until_s:
        row = [int(random_moves(machine, state, r, rng)[0]) for r in range(len(machine.roles))]
        state = _play(machine, state, row, steps, told)
    return _finish(machine, state, steps, told)


def given_trace(machine: Machine, joint_moves: Sequence[object], name: str) -> dict[str, Any]:
    """The trace of given joint moves.

    Args:
        joint_moves: as read from JSON, unchecked.
        name: what messages call them.

    Raises:
        ConfigError: one of them is malformed or illegal; the message says which, and what is legal.
    """
    steps: list[dict[str, Any]] = []
    state = machine.initial()
    for number, joint_move in enumerate(joint_moves):
        try:
            row = _read_joint_move(machine, state, joint_move)
        except (ConfigError, IllegalMoveError) as error:
            raise ConfigError(f"{name}: step {number}: {error}") from error
        state = _play(machine, state, row, steps, _not_told)
    return _finish(machine, state, steps, _not_told)


def _warn_of_the_end(program: GameDefinition, turns: int, max_turns: int) -> None:
    """Say why random play was cut off, where the reason is not that it was asked for."""
    in_time = turns == max_turns
    text = f"{program.source.name}: the match is not over after {turns:,} turns"
    if not in_time:
        text += ", and time is up (--max-seconds)"
    told = with_growth(text, program.as_program())
    if told != text or not in_time:
        _log.warning("%s", told)


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


def _play(
    machine: Machine, state: States, row: list[int], steps: list[dict[str, Any]], told: _Told
) -> States:
    """Append the step of a joint move to the trace; returns the state after it."""
    step = _describe(machine, state)
    step["joint_move"] = {
        role: machine.move_text(move) for role, move in zip(machine.roles, row, strict=True)
    }
    try:
        stepped = machine.step(state, np.array([row], dtype=np.int64))
    except ReasonerLimitError:
        told(len(steps), step)  # the joint move that led there
        raise
    step["percepts"] = {
        role: list(machine.percept_texts(int(percept)))
        for role, percept in zip(machine.roles, stepped.percepts[0], strict=True)
    }
    told(len(steps), step)
    steps.append(step)
    return stepped.states


def _describe(machine: Machine, state: States) -> dict[str, Any]:
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


def _finish(
    machine: Machine, state: States, steps: list[dict[str, Any]], told: _Told
) -> dict[str, Any]:
    """The trace with its last state, and the goals if that is terminal."""
    last = _describe(machine, state)
    told(len(steps), last)
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


def _show(lines: Iterable[str]) -> None:
    """Print lines of a trace at once: the next ones may take long."""
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
        yield from (f"  {role} sees {' '.join(p)}" for role, p in step["percepts"].items() if p)


def _end_lines(trace: Mapping[str, Any]) -> Iterator[str]:
    goals = trace["goals"]
    yield ""
    if goals is None:
        yield "the game is not over"
    else:
        yield "goals: " + ", ".join(f"{role} {value}" for role, value in goals.items())
    if "utilities" in trace:
        shown = (f"{role} {value:g}" for role, value in trace["utilities"].items())
        yield "utilities: " + ", ".join(shown)


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
        f"  {who}| {line}" for who, text in texts.items() for line in text.rstrip().splitlines()
    ]


# ------------------------------------------------------------------------
# Repeats work whenever a file is saved, as `ggp trace --watch` does.
#
# The time and size of files are checked a few times a second, which works on every file system. An
# editor may write a file in several steps, or replace it: it counts as saved when it has stopped
# changing.

POLL_S = 0.25
_SETTLE_S = 0.05


def game_file(game: str) -> Path:
    """The file of a game by name or path; the path itself if there is no file yet.

    Raises:
        ConfigError: there is no such game, and it cannot become a file.
    """
    if os.path.isdir(os.path.dirname(game) or ".") and Path(game).suffix:
        return Path(game)
    return find_game(game)


def keep_watching(
    files: Sequence[Path], do: Callable[[], None], sleep: Callable[[float], None] = time.sleep
) -> None:
    """Call a function now and whenever one of the files is saved, until there is an interrupt.

    Problems of the first file, which contains rules, are shown first. Errors are shown, and
    watching continues.
    """
    try:
        for _ in each_saving(files, sleep):
            click.echo(printable(f"--- {files[0]} at {time.strftime('%H:%M:%S')}"))
            try:
                if not _has_errors(files[0]):
                    do()
            except GGPError as error:
                show_failure(error)
    except KeyboardInterrupt:
        return


def each_saving(files: Sequence[Path], sleep: Callable[[float], None]) -> Iterator[None]:
    """Yields at once, and then after each save of one of the files."""
    known: list[object] | None = None
    while True:
        seen = list(map(_stamp, files))
        if seen == known:
            sleep(POLL_S)
            continue
        while known is not None and (later := _after(files, sleep)) != seen:
            seen = later
        known = seen
        yield


def _after(files: Sequence[Path], sleep: Callable[[float], None]) -> list[object]:
    sleep(_SETTLE_S)
    return list(map(_stamp, files))


def _stamp(file: Path) -> object:
    """A value that changes when a file is saved; None if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _has_errors(file: Path) -> bool:
    """Whether rules cannot be played; shows all their problems."""
    found = validate(read_rulesheet(str(file)))
    show_diagnostics(found)
    return bool(errors(found))
