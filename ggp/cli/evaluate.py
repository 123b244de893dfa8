"""`ggp evaluate`: the values that a player gives to its moves after an incomplete path."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

import click
import numpy as np

from ggp.belief import in_words
from ggp.cli.arguments import GameOptions, complete_role, game_command
from ggp.cli.histories import Origin, first_choice, history_options
from ggp.cli.solving import play_clock_option, player_option
from ggp.console import spinner
from ggp.errors import NOTE, ConfigError, GGPError
from ggp.gdl.program import RANDOM
from ggp.machine import Machine, build_machine, role_index
from ggp.players import BeliefPlayer, Decision, Player, blamed, make_player, parse_spec
from ggp.players.player import KnownTurn
from ggp.report import Report, Table, rounded
from ggp.search.anytime import Deadline
from ggp.search.estimates import candidates


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
