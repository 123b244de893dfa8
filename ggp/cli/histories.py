"""Histories for commands: a role's moves and percepts, read from a file or a record, or random.

`history_options` gives a command the options that name an `Origin`; its `turns` are the
history, checked against the rules.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ggp.belief import HyperPlaySampler, PathTree
from ggp.cli.arguments import FilePath, read_json_list, read_term
from ggp.errors import ConfigError
from ggp.machine import Machine
from ggp.machine.base import NO_PERCEPTS
from ggp.players.player import KnownTurn
from ggp.run.whole_files import read_json
from ggp.search.estimates import candidates
from ggp.search.moves import random_moves

FORM = 'a list of turns like {"move": "MOVE", "percepts": ["TERM", ...]}'

_MAX_TURNS = 1000
_MAX_MATCHES = 20
"""Number of random matches to try for one in which the role has a choice."""

_PARTICLES, _EXACT = 1_000, 10_000


class Origin(NamedTuple):
    """The origin of a history.

    Attributes:
        listed: the turns in a file; None without such a file.
        file: that file, or a record; None if neither was given.
        turn: number of the decision in the record, from 1.
    """

    listed: list[object] | None
    file: Path | None
    turn: int | None

    @staticmethod
    def by(history: Path | None, record: Path | None, turn: int | None) -> Origin:
        """The origin that the options of `history_options` name.

        Raises:
            ConfigError: they do not fit together, or the file of turns is not a list.
        """
        if (record is None) != (turn is None) or (record is not None and history is not None):
            raise ConfigError(
                "give --record FILE and --turn N together, or --history FILE, or none of them"
            )
        if history is not None:
            return Origin(read_json_list(history, FORM), history, None)
        return Origin(None, record, turn)

    def turns(self, machine: Machine, digest: str, role: str) -> list[KnownTurn] | None:
        """The history of a role; None if none was given.

        Args:
            digest: of the rules in use.

        Raises:
            ConfigError: the history is malformed or unknown to the rules, see `read_history` and
                `recorded_history`.
        """
        if self.listed is not None:
            return read_history(machine, self.listed, str(self.file))
        if self.file is not None and self.turn is not None:
            return recorded_history(machine, self.file, digest, role, self.turn)
        return None


def history_options(without: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--history`, or `--record` and `--turn`, passed to the command as `origin`.

    Args:
        without: the default history, as a sentence for the help.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def command(
            *args: Any, history: Path | None, record: Path | None, turn: int | None, **others: Any
        ) -> Any:
            return function(*args, origin=Origin.by(history, record, turn), **others)

        click.option(
            "--turn",
            type=click.IntRange(min=1),
            help="Decision of the recorded match, counted from 1.",
        )(command)
        click.option(
            "--record",
            type=FilePath(),
            metavar="FILE",
            help="A recorded match, instead of --history.",
        )(command)
        return click.option(
            "--history",
            type=FilePath(),
            metavar="FILE",
            help=f"The role's moves and percepts so far: JSON, {FORM}. {without}",
        )(command)

    return decorate


def recorded_history(
    machine: Machine, path: Path, digest: str, role: str, turn: int
) -> list[KnownTurn]:
    """A role's moves and percepts in a recorded match before its decision in a turn.

    Args:
        path: of a record that `match-runner --record` wrote.
        digest: of the rules in use.
        turn: counted from 1, as `match-runner replay` shows it.

    Raises:
        ConfigError: the file is not a record of this game, or the match has no such turn.
    """
    record = read_json(path, "a record of match-runner")
    turns = record.get("turns") if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(turns, list):
        raise ConfigError(f"{path} must be a record of match-runner, an object with `turns`")
    if record.get("digest") != digest:
        raise ConfigError(f"{path} is the record of a game with other rules")
    if not 1 <= turn <= len(turns):
        raise ConfigError(f"{path} has the turns 1 to {len(turns)}, not {turn}")
    try:
        earlier: list[object] = [
            {"move": step["joint_move"][role], "percepts": step["percepts"][role]}
            for step in turns[: turn - 1]
        ]
    except (KeyError, TypeError) as error:
        raise ConfigError(f"{path} is not a complete record: a turn lacks {error}") from error
    return read_history(machine, earlier, str(path))


def first_choice(machine: Machine, role: int, seed: int) -> list[KnownTurn]:
    """A role's moves and percepts until its first choice.

    The role plays forced moves and sees nothing, if that is possible; otherwise it follows a random
    match.

    Args:
        machine: used for the search, so that its count of states grows.
        seed: of the match.

    Raises:
        ConfigError: the role had no choice in several random matches; the message shows one.
    """
    quiet = _quiet_history(machine, role)
    if quiet is not None:
        return quiet
    turns: list[KnownTurn] = []
    for match in range(_MAX_MATCHES):
        turns, has_choice = _random_history(machine, role, (seed, match))
        if has_choice:
            return turns
    raise ConfigError(
        f"{machine.roles[role]} had no choice in {_MAX_MATCHES} random matches; give --history: "
        f"{FORM}, for example {json.dumps([turn._asdict() for turn in turns[:2]])}"
    )


def _quiet_history(machine: Machine, role: int) -> list[KnownTurn] | None:
    """Forced moves without percepts until the first choice; None if that is impossible."""
    belief = HyperPlaySampler(machine, PathTree(machine), capacity=_PARTICLES, exact=_EXACT)
    rng = np.random.default_rng(0)
    bag = belief.start(role)
    turns: list[KnownTurn] = []
    while len(turns) < _MAX_TURNS:
        moves = candidates(machine, bag).values
        if len(moves) > 1:
            return turns
        if not len(moves):
            return None
        turns.append(KnownTurn(machine.move_text(int(moves[0])), ()))
        bag = belief.advance(bag, moves, np.array([NO_PERCEPTS]), rng)
        if bag.depleted[0]:
            return None
    return None


def _random_history(
    machine: Machine, role: int, seed: Sequence[int]
) -> tuple[list[KnownTurn], bool]:
    """A role's turns of a random match until its first choice, and whether it gets one."""
    rng = np.random.default_rng(seed)
    state = machine.initial(1)
    turns: list[KnownTurn] = []
    while not machine.terminal(state)[0] and len(turns) < _MAX_TURNS:
        if len(machine.legal(state, role)[0]) > 1:
            return turns, True
        row = [int(random_moves(machine, state, r, rng)[0]) for r in range(len(machine.roles))]
        stepped = machine.step(state, np.array([row], dtype=np.int64))
        seen = machine.percept_texts(int(stepped.percepts[0, role]))
        turns.append(KnownTurn(machine.move_text(row[role]), seen))
        state = stepped.states
    return turns, False


def read_history(machine: Machine, turns: Sequence[object], name: str) -> list[KnownTurn]:
    """The turns of a history, checked against the terms that the rules can make.

    Args:
        turns: as read from JSON, unchecked.
        name: the name of the history in messages.

    Raises:
        ConfigError: a turn is malformed or unknown to the rules.
    """
    history = []
    for index, turn in enumerate(turns):
        try:
            history.append(_read_turn(machine, turn))
        except ConfigError as error:
            raise ConfigError(f"{name}: turn {index}: {error}") from error
    return history


def _read_turn(machine: Machine, turn: object) -> KnownTurn:
    if not isinstance(turn, dict) or turn.keys() != {"move", "percepts"}:
        raise ConfigError('a turn must be an object {"move": "MOVE", "percepts": ["TERM", ...]}')
    move = None if turn["move"] is None else read_term(turn["move"])
    if move is not None and machine.move_id(move) is None:
        raise ConfigError(f"{move} is not a move of this game: its rules do not know the term")
    listed = turn["percepts"]
    if listed is None:
        return KnownTurn(move, None)
    if not isinstance(listed, list):
        raise ConfigError("percepts must be a list of terms in strings, or null if unknown")
    percepts = tuple(map(read_term, listed))
    for percept in percepts:
        if machine.percept_id([percept]) is None:
            raise ConfigError(
                f"{percept} is not a percept of this game: its rules do not know the term"
            )
    return KnownTurn(move, percepts)
