"""`ggp evaluate`: what a player thinks of its moves after an incomplete path."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ggp.cli.options import (
    FiniteRange,
    backend_option,
    json_option,
    limits_option,
    open_game,
    read_json_list,
    read_term,
    seed_option,
    verbose_option,
)
from ggp.console import print_json, print_rich, spinner, table_of
from ggp.errors import ConfigError, GGPError
from ggp.gdl.source import printable

if TYPE_CHECKING:
    from ggp.machine import Limits, Machine
    from ggp.players import Decision, PlayerSpec
    from ggp.players.players import BeliefPlayer
    from ggp.search.anytime import Deadline

_HISTORY_FILE = 'a list of turns like {"move": "MOVE", "percepts": ["TERM", ...]}'
_GIVE = f"give --history: {_HISTORY_FILE}"
_MAX_FORCED_TURNS = 1000


class Turn(NamedTuple):
    """What a role knows of a turn; None is not known.

    Attributes:
        move: its executed move, canonical KIF.
        percepts: its percepts, canonical KIF.
    """

    move: str | None
    percepts: tuple[str, ...] | None


@click.command()
@click.argument("game")
@click.option("--role", required=True, help="Whose moves to evaluate.")
@click.option("--player", required=True, metavar="SPEC", help="For example hyperplay2:n=8.")
@click.option(
    "--history",
    metavar="FILE",
    help=f"What the role did and saw so far: JSON, {_HISTORY_FILE}. "
    "Default: it had only one legal move and saw nothing until it has a choice.",
)
@click.option(
    "--play-clock",
    type=FiniteRange(min=0, min_open=True),
    help="Seconds to think; without it the player's own numbers decide.",
)
@seed_option()
@backend_option
@limits_option
@json_option
@verbose_option
def evaluate(
    game: str,
    role: str,
    player: str,
    history: str | None,
    play_clock: float | None,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Show what a player thinks of each of a role's moves."""
    from ggp.gdl.program import RANDOM
    from ggp.machine import role_index
    from ggp.players import parse_spec

    spec = parse_spec(player)
    given = None if history is None else read_json_list(history, _HISTORY_FILE)
    machine = open_game(game, backend, limits=limits).machine
    role_number = role_index(machine, role)
    if role_number == machine.random_role:
        possible = ", ".join(name for name in machine.roles if name != RANDOM)
        raise ConfigError(f"{RANDOM} plays by chance and has no values; roles: {possible}")
    thinker = _make_player(spec, machine, role_number, seed)
    with spinner(f"{player} is thinking"), _faults_told_by_us():
        if given is None:
            _follow_forced_moves(machine, thinker, machine.roles[role_number])
        else:
            turns = read_history(machine, given, str(history))
            _follow(machine, thinker, turns, str(history))
        decision = thinker.choose(_deadline(play_clock), value_forced=True)
    if decision.fault is not None:
        raise GGPError(decision.fault)
    result = _describe(decision, machine.roles[role_number], player)
    if as_json:
        print_json(result)
    else:
        _show(result)


def read_history(machine: Machine, turns: Sequence[object], name: str) -> list[Turn]:
    """The turns of a history, checked against the terms that the rules can make.

    Args:
        turns: as read from JSON, not yet checked.
        name: what messages call them.

    Raises:
        ConfigError: a turn is malformed or unknown to the rules.
    """
    history = []
    for number, turn in enumerate(turns):
        try:
            history.append(_read_turn(machine, turn))
        except ConfigError as error:
            raise ConfigError(f"{name}: turn {number}: {error}") from error
    return history


def _read_turn(machine: Machine, turn: object) -> Turn:
    if not isinstance(turn, dict) or turn.keys() != {"move", "percepts"}:
        raise ConfigError('a turn must be an object {"move": "MOVE", "percepts": ["TERM", ...]}')
    move = None if turn["move"] is None else read_term(turn["move"])
    if move is not None and machine.move_id(move) is None:
        raise ConfigError(f"{move} is no move of this game: its rules do not know the term")
    listed = turn["percepts"]
    if listed is None:
        return Turn(move, None)
    if not isinstance(listed, list):
        raise ConfigError("percepts must be a list of terms in strings, or null if unknown")
    percepts = tuple(map(read_term, listed))
    for percept in percepts:
        if machine.percept_id([percept]) is None:
            raise ConfigError(
                f"{percept} is no percept of this game: its rules do not know the term"
            )
    return Turn(move, percepts)


def _make_player(spec: PlayerSpec, machine: Machine, role: int, seed: int) -> BeliefPlayer:
    import numpy as np

    from ggp.players import make_player
    from ggp.players.players import BeliefPlayer

    player = make_player(spec, machine, role, np.random.default_rng(seed))
    if not isinstance(player, BeliefPlayer):
        raise ConfigError(f"player {spec.name} keeps no belief that could be evaluated")
    return player


def _follow(machine: Machine, player: BeliefPlayer, history: Sequence[Turn], name: str) -> None:
    """Let the player live through a history.

    Raises:
        ConfigError: no complete path agrees with it, or the game is over after it.
    """
    for number, turn in enumerate(history):
        player.observe(turn.move, turn.percepts)
        if _is_depleted(player):
            fault = player.choose().fault
            raise ConfigError(
                f"{name}: turn {number}: {fault} (it is impossible, or the game is over)"
            )
        if not _candidates(machine, player):
            raise ConfigError(f"{name}: turn {number}: the game is over after it")


def _follow_forced_moves(machine: Machine, player: BeliefPlayer, name: str) -> None:
    """Let the player make its only legal moves and see nothing until it has a choice.

    Args:
        name: of the role.

    Raises:
        ConfigError: that is not possible in this game.
    """
    for turn in range(_MAX_FORCED_TURNS):
        moves = _candidates(machine, player)
        if len(moves) > 1:
            return
        if not moves:
            raise ConfigError(f"the game is over before {name} has a choice; {_GIVE}")
        player.observe(moves[0], ())
        if _is_depleted(player):
            raise ConfigError(
                f"{name} cannot play {moves[0]}, its only move in turn {turn}, "
                f"and see nothing; {_GIVE}"
            )
    raise ConfigError(f"{name} has no choice in the first {_MAX_FORCED_TURNS} turns; {_GIVE}")


def _candidates(machine: Machine, player: BeliefPlayer) -> list[str]:
    """The moves that are legal in one of the player's particles."""
    from ggp.search.estimates import candidates

    return [machine.move_text(m) for m in candidates(machine, player.tracker.bag).values.tolist()]


def _is_depleted(player: BeliefPlayer) -> bool:
    return bool(player.tracker.bag.depleted[0])


def _deadline(play_clock: float | None) -> Deadline | None:
    from ggp.search.anytime import Deadline

    if play_clock is None:
        return None
    return Deadline(time.monotonic() + play_clock, time.monotonic)


@contextmanager
def _faults_told_by_us() -> Iterator[None]:
    """Keep players from warning of the faults that end this command with a line of their own."""
    logger = logging.getLogger("ggp.players")
    if logger.getEffectiveLevel() < logging.WARNING:
        yield
        return
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _describe(decision: Decision, role: str, player: str) -> dict[str, Any]:
    return {
        "role": role,
        "player": player,
        "moves": [
            {
                "move": v.move,
                "value": _rounded(v.value),
                "stderr": _rounded(v.stderr),
                "visits": v.visits,
            }
            for v in decision.values
        ],
        "choice": decision.move,
        "particles": decision.particles,
        "exact": decision.exact,
        "states_visited": decision.states_visited,
        "seconds": round(decision.seconds, 3),
    }


def _rounded(value: float | None) -> float | None:
    """The value without the noise that adding up thousands of playouts leaves."""
    return None if value is None else round(value, 9)


def _show(result: dict[str, Any]) -> None:
    rows = [
        (
            ">" if move["move"] == result["choice"] else "",
            move["move"],
            "-" if move["value"] is None else f"{move['value']:.2f}",
            "-" if move["stderr"] is None else f"{move['stderr']:.2f}",
            f"{move['visits']:,}",
        )
        for move in result["moves"]
    ]
    print_rich(table_of(["", f"move of {result['role']}", "#value", "#± stderr", "#visits"], rows))
    kind = "the whole information set" if result["exact"] else "sampled"
    num = result["particles"]
    click.echo(
        printable(
            f"{result['player']} plays {result['choice']}: "
            f"{num:,} particle{'' if num == 1 else 's'} ({kind}), "
            f"{result['states_visited']:,} states visited in {result['seconds']:.2f} s"
        )
    )
