"""`ggp belief` and `ggp evaluate`: a role's belief after a history, and the values of its moves.

A history is a role's moves and percepts, read from a file or a record, or random. `history_options`
gives a command the options that name an `Origin`; its `turns` are the history, checked against the
rules.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ggp.belief import HyperPlaySampler, PathTree, in_words
from ggp.cli.arguments import (
    GameOptions,
    complete_role,
    count_option,
    file_option,
    game_command,
    read_json_list,
    read_term,
)
from ggp.cli.solving import play_clock_option, player_option
from ggp.console import spinner
from ggp.errors import NOTE, ConfigError, GGPError
from ggp.gdl.program import RANDOM
from ggp.machine import Machine, build_machine, role_index
from ggp.machine.base import NO_PERCEPTS
from ggp.players import BeliefPlayer, Decision, Player, blamed, make_player, parse_spec
from ggp.players.player import KnownTurn
from ggp.report import Report, Table, rounded
from ggp.run.whole_files import read_json
from ggp.search.anytime import Deadline
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

        count_option("--turn", help="Decision of the recorded match, counted from 1.")(command)
        file_option("--record", help="A recorded match, instead of --history.")(command)
        return file_option(
            "--history", help=f"The role's moves and percepts so far: JSON, {FORM}. {without}"
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


# ------------------------------------------------------------------------
# `ggp evaluate`: the values that a player gives to its moves after an incomplete path.


@game_command(
    "ggp evaluate exploding_bomb --role agent --player hyperplay2:n=8",
    seed="the player, and of the random match that leads to the role's first choice",
)
@click.option(
    "--role", required=True, shell_complete=complete_role, help="Role whose moves to evaluate."
)
@player_option("hyperplay2:n=8")
@history_options(
    "Without it, the role is at its first choice and has seen nothing; if that is impossible, "
    "a random match (--seed) leads there."
)
@play_clock_option
def evaluate(
    options: GameOptions, role: str, player: str, origin: Origin, play_clock: float | None
) -> None:
    """Show the value that a player gives to each move of a role.

    A player that randomises also shows each move's probability.
    """
    spec = parse_spec(player)
    program, machine, _ = options.open(ready=play_clock is not None)
    role_id = role_index(machine, role)
    name = machine.roles[role_id]
    if role_id == machine.random_role:
        possible = ", ".join(name for name in machine.roles if name != RANDOM)
        raise ConfigError(f"{RANDOM} plays by chance and has no values; roles: {possible}")
    prefix = "" if origin.file is None else f"{origin.file}: "
    with spinner(f"{player} is thinking"), _quiet_players(), blamed(spec):
        turns = origin.turns(machine, program.digest, name)
        is_drawn = turns is None
        if turns is None:
            turns = first_choice(
                build_machine(program, machine.backend, options.limits), role_id, options.seed
            )
        rng = np.random.default_rng(options.seed)
        thinker = make_player(spec, machine, role_id, rng, program=program)
        _follow(machine, thinker, turns, prefix)
        deadline = None if play_clock is None else Deadline.after(play_clock)
        decision = thinker.choose(deadline, value_forced=True)
    if decision.fault is not None:
        raise GGPError(decision.fault)
    options.show(_report(decision, name, player, turns, is_drawn=is_drawn), machine.backend)


def _follow(machine: Machine, player: Player, history: Sequence[KnownTurn], prefix: str) -> None:
    """Let the player observe a history.

    Raises:
        ConfigError: the belief of the player, if it has one, shows that no complete path agrees
            with the history, or that the game is over after it.
    """
    for index, turn in enumerate(history):
        player.observe(turn.move, turn.percepts)
        if not isinstance(player, BeliefPlayer):
            continue
        bag = player.tracker.bag
        if bag.depleted[0]:
            fault = player.choose().fault
            raise ConfigError(
                f"{prefix}turn {index}: {fault} (it is impossible, or the game is over)"
            )
        if not len(candidates(machine, bag).values):
            raise ConfigError(f"{prefix}turn {index}: the game is over after it")


@contextmanager
def _quiet_players() -> Iterator[None]:
    """Keep players from logging the faults that this command reports itself."""
    logger = logging.getLogger("ggp.players")
    if logger.getEffectiveLevel() < NOTE:
        yield
        return
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _report(
    decision: Decision, role: str, player: str, turns: Sequence[KnownTurn], *, is_drawn: bool
) -> Report:
    """The values of moves as a report.

    Args:
        is_drawn: whether the turns are from a random match.
    """
    moves = [asdict(value) for value in decision.values]
    shares = decision.probabilities
    if shares is not None:
        moves = [{**row, "probability": shares.get(row["move"], 0.0)} for row in moves]
    quality = None if decision.quality is None else dict(decision.quality)
    values = {
        "role": role,
        "player": player,
        "history": [turn._asdict() for turn in turns],
        "moves": rounded(moves),
        "choice": decision.move,
        "particles": decision.particles,
        "exact": decision.exact,
        "quality": quality,
        "states_visited": decision.states_visited,
        "seconds": round(decision.seconds, 3),
    }

    def parts() -> Iterator[Table | str]:
        if is_drawn and any(turn.percepts for turn in turns):
            seen = (f"{turn.move} / {' '.join(turn.percepts or ()) or '-'}" for turn in turns)
            yield f"{role} did / saw: {'; '.join(seen)}"
        rows = [(">" if row["move"] == decision.move else "", *row.values()) for row in moves]
        numbers = (("#value", ".2f"), ("#± stderr", ".2f"), ("#visits", ","))
        head = ("", f"move of {role}", *numbers, ("#probability", ".3f"))
        yield Table(head if shares is not None else head[:-1], rows)
        yield (
            f"{player} plays {decision.move}: "
            f"{decision.states_visited:,} states visited in {decision.seconds:.2f} s"
        )
        if quality is not None:
            yield in_words(quality)

    return Report(values, parts())


# ------------------------------------------------------------------------
# `ggp belief`: the possible states of a role after an incomplete path, and their quality.

MAX_SHOWN = 60
"""Maximum number of fluents in a table; --json prints all."""

_FIELDS = ("how", "sound", "entries", "distinct", "ess", "log_size", "inexact_turns")


@game_command("ggp belief kuhn_poker --role player1", seed="the sampling")
@click.option("--role", required=True, shell_complete=complete_role, help="The role that believes.")
@history_options("Without it, the match is at its start.")
@click.option(
    "--fluent", "fluents", multiple=True, metavar="TERM", help="Show this fluent; may be repeated."
)
@count_option(
    "--attempts", help="Joint moves to try in search of a possible state; 400,000 by default."
)
def belief(
    options: GameOptions, role: str, origin: Origin, fluents: tuple[str, ...], attempts: int | None
) -> None:
    """Show which facts may hold for a role, and how likely.

    The role knows its moves and percepts so far. Exits with 1 if no complete path agrees with
    them.
    """
    game = options.load()
    machine = game._machine
    name = game.roles[role_index(machine, role)]
    with spinner(f"finding the possible states of {name}"):
        turns = origin.turns(machine, game.program.digest, name) or []
        bag = game.belief(name, turns, attempts=attempts, seed=options.seed)
        chances = {
            fluent: round(float(chance), 9)
            for fluent, chance in zip(bag.fluents, bag.marginals, strict=True)
        }
        if fluents:
            chances = {text: bag.probability(text) for text in fluents}

    def parts() -> Iterator[Table | str]:
        rows = sorted(chances.items(), key=lambda row: (-row[1], row[0]))
        yield Table((f"belief of {name}", ("#probability", ".4f")), rows[:MAX_SHOWN])
        if len(rows) > MAX_SHOWN:
            yield f"and {len(rows) - MAX_SHOWN:,} less likely; --json prints all"
        yield in_words(quality)

    quality = bag.quality.as_json()
    values = {field: quality[field] for field in _FIELDS} | {"fluents": chances}
    options.show(Report(values, parts()), game.backend)
