"""`ggp evaluate`: a player's values of its moves after an incomplete path."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ggp.cli.arguments import (
    FiniteRange,
    PlayerText,
    backend_option,
    json_option,
    limits_option,
    open_game,
    seed_option,
    verbose_option,
)
from ggp.cli.histories import Given, first_choice, history_options
from ggp.console import example, print_json, print_rich, spinner, table_of
from ggp.errors import NOTE, ConfigError, GGPError
from ggp.gdl.source import printable
from ggp.launch import Loading

if TYPE_CHECKING:
    from ggp.machine import Limits, Machine
    from ggp.players import Decision, Player
    from ggp.players.player import KnownTurn


@click.command(epilog=example("ggp evaluate exploding_bomb --role agent --player hyperplay2:n=8"))
@click.argument("game")
@click.option("--role", required=True, help="Whose moves to evaluate.")
@click.option(
    "--player",
    type=PlayerText(),
    required=True,
    metavar="SPEC",
    help="For example hyperplay2:n=8; `ggp players` lists them.",
)
@history_options(
    "Without it, the role is at its first choice, having seen nothing; if that cannot be, a random "
    "match by --seed leads there."
)
@click.option(
    "--play-clock",
    type=FiniteRange(min=0, min_open=True),
    help="Seconds to think; without it the player's own counts decide.",
)
@seed_option("the player, and of the random match that leads to the role's first choice")
@backend_option
@limits_option
@json_option
@verbose_option
def evaluate(
    game: str,
    role: str,
    player: str,
    history: Path | None,
    record: Path | None,
    turn: int | None,
    play_clock: float | None,
    seed: int,
    backend: str,
    limits: Limits,
    as_json: bool,
) -> None:
    """Show what a player thinks of each of a role's moves.

    Players who draw their moves say how likely each is.
    """
    with Loading():
        import numpy as np

        from ggp.gdl.program import RANDOM
        from ggp.machine import build_machine, role_index
        from ggp.players import blamed, make_player, parse_spec
        from ggp.search.anytime import Deadline

    spec = parse_spec(player)
    given = Given.by(history, record, turn)
    opened = open_game(game, backend, limits=limits, ready=play_clock is not None)
    machine = opened.machine
    number = role_index(machine, role)
    name = machine.roles[number]
    if number == machine.random_role:
        possible = ", ".join(name for name in machine.roles if name != RANDOM)
        raise ConfigError(f"{RANDOM} plays by chance and has no values; roles: {possible}")
    where = "" if given.file is None else f"{given.file}: "
    with spinner(f"{player} is thinking"), _faults_told_by_us(), blamed(spec):
        turns = given.turns(machine, opened.program.digest, name)
        is_drawn = turns is None
        if turns is None:
            turns = first_choice(
                build_machine(opened.program, machine.backend, limits), number, seed
            )
        rng = np.random.default_rng(seed)
        thinker = make_player(spec, machine, number, rng, program=opened.program)
        _follow(machine, thinker, turns, where)
        deadline = None if play_clock is None else Deadline.after(play_clock)
        decision = thinker.choose(deadline, value_forced=True)
    if decision.fault is not None:
        raise GGPError(decision.fault)
    result = _describe(decision, name, player, turns)
    if as_json:
        print_json(result | opened.seeded_json(seed))
    else:
        if is_drawn and any(turn.percepts for turn in turns):
            _show_path(name, turns)
        _show(result)
        opened.show_seed(seed)


def _follow(machine: Machine, player: Player, history: Sequence[KnownTurn], where: str) -> None:
    """Let the player observe a history.

    Raises:
        ConfigError: no complete path agrees with it, or the game is over after it, as far as the
            player has a belief that shows it.
    """
    from ggp.players import BeliefPlayer
    from ggp.search.estimates import candidates

    for number, turn in enumerate(history):
        player.observe(turn.move, turn.percepts)
        if not isinstance(player, BeliefPlayer):
            continue
        bag = player.tracker.bag
        if bag.depleted[0]:
            fault = player.choose().fault
            raise ConfigError(
                f"{where}turn {number}: {fault} (it is impossible, or the game is over)"
            )
        if not len(candidates(machine, bag).values):
            raise ConfigError(f"{where}turn {number}: the game is over after it")


@contextmanager
def _faults_told_by_us() -> Iterator[None]:
    """Keep players from logging the faults that this command reports in its own error."""
    logger = logging.getLogger("ggp.players")
    if logger.getEffectiveLevel() < NOTE:
        yield
        return
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _describe(
    decision: Decision, role: str, player: str, turns: Sequence[KnownTurn]
) -> dict[str, Any]:
    shares = decision.probabilities
    return {
        "role": role,
        "player": player,
        "history": [turn._asdict() for turn in turns],
        "moves": [
            {
                "move": v.move,
                "value": _rounded(v.value),
                "stderr": _rounded(v.stderr),
                "visits": v.visits,
            }
            | ({} if shares is None else {"probability": _rounded(shares.get(v.move, 0.0))})
            for v in decision.values
        ],
        "choice": decision.move,
        "particles": decision.particles,
        "exact": decision.exact,
        "quality": None if decision.quality is None else dict(decision.quality),
        "states_visited": decision.states_visited,
        "seconds": round(decision.seconds, 3),
    }


def _rounded(value: float | None) -> float | None:
    """The value without the rounding noise of adding up thousands of playouts."""
    return None if value is None else round(value, 9)


def _show_path(role: str, turns: Sequence[KnownTurn]) -> None:
    """Say what the role has done and seen in the match that was drawn."""
    told = "; ".join(f"{turn.move} / {' '.join(turn.percepts or ()) or '-'}" for turn in turns)
    click.echo(printable(f"{role} did / saw: {told}"))


def _show(result: dict[str, Any]) -> None:
    mixed = any("probability" in move for move in result["moves"])
    rows = [
        [
            ">" if move["move"] == result["choice"] else "",
            move["move"],
            "-" if move["value"] is None else f"{move['value']:.2f}",
            "-" if move["stderr"] is None else f"{move['stderr']:.2f}",
            f"{move['visits']:,}",
            *([f"{move['probability']:.3f}"] if mixed else []),
        ]
        for move in result["moves"]
    ]
    head = ["", f"move of {result['role']}", "#value", "#± stderr", "#visits"]
    print_rich(table_of(head + ["#probability"] * mixed, rows))
    click.echo(
        printable(
            f"{result['player']} plays {result['choice']}: "
            f"{result['states_visited']:,} states visited in {result['seconds']:.2f} s"
        )
    )
    if result["quality"] is not None:
        from ggp.belief import in_words

        click.echo(in_words(result["quality"]))
