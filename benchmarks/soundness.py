"""`python -m benchmarks.soundness GAME`: in how many decisions does a player have sound particles?

python -m benchmarks.soundness kriegspiel_5x5 --player over:depth=1 --player aosp --seconds 0.1
python -m benchmarks.soundness benchmarks/sheets/hidden_fleets.gdl --player random --busy 2
python -m benchmarks.soundness dark_chess --player auto --against ismcts --seconds 0.3 --turns 60

With `--against`, it plays matches with a referee. Otherwise the player is asked in each turn, and
another random move is made for it, so that it comes into positions which it would not look for. Its
clock counts CPU time, unless processes that do nothing but compute run beside it: then it is the
one on the wall.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import click
import numpy as np

from benchmarks.children import busy
from ggp.console import print_json, print_rich, spinner
from ggp.gdl.normalize import load
from ggp.gdl.program import RANDOM, Program
from ggp.machine import Machine, build_machine, role_index
from ggp.players import Decision, make_player, parse_spec
from ggp.report import Table
from ggp.run.clocks import Clock
from ggp.search.anytime import Deadline
from ggp.search.moves import random_moves
from match_runner.match.conditions import Conditions
from match_runner.match.referee import play_match
from match_runner.match.seats import set_up


class Row(NamedTuple):
    """What came of some matches of one player.

    Attributes:
        player: its spec.
        matches, decisions: how many.
        sound: decisions that rest on particles of which each agrees with what was told.
        exact: those that rest on the whole information set.
        latest_s: seconds after the deadline of the latest decision.
    """

    player: str
    matches: int
    decisions: int
    sound: int
    exact: int
    latest_s: float


def is_sound(decision: Decision) -> bool:
    """Whether every particle behind a decision agrees with the role's percepts."""
    quality = decision.quality or {}
    return decision.particles > 0 and not decision.guessed and bool(quality.get("sound", True))


def measure(
    program: Program,
    machine: Machine,
    role: int,
    player: str,
    seconds: float,
    matches: int,
    turns: int,
    clock: Clock = Clock.CPU,
) -> Row:
    """Random matches of one player, the seed of each of which is its number.

    Args:
        program, machine: of the game.
        role: whom it plays.
        player: its spec.
        seconds: for a decision, and for taking note of a turn, each.
        matches: how many.
        turns: after which a match is broken off.
        clock: of the player.
    """
    decisions: list[Decision] = []
    latest_s = 0.0
    for number in range(matches):
        rng, state = np.random.default_rng(number), machine.initial(1)
        seat = make_player(
            parse_spec(player),
            machine,
            role,
            np.random.default_rng(number),
            clock=clock.tells,
            program=program,
        )
        for _ in range(turns):
            deadline = Deadline(clock.tells() + seconds, clock.tells)
            decisions.append(seat.choose(deadline))
            latest_s = max(latest_s, clock.tells() - deadline.at_s)
            roles = range(len(machine.roles))
            joint = np.column_stack([random_moves(machine, state, role, rng) for role in roles])
            state, percepts = machine.step(state, joint)
            if machine.terminal(state)[0]:
                break
            move = machine.move_text(int(joint[0, role]))
            texts = machine.percept_texts(int(percepts[0, role]))
            deadline = Deadline(clock.tells() + seconds, clock.tells)
            with contextlib.suppress(Exception):  # that no particle is left shows in the decision
                seat.observe(move, texts, submitted=move, deadline=deadline)
    sound, exact = (
        sum(flags) for flags in ([*map(is_sound, decisions)], [d.exact for d in decisions])
    )
    return Row(player, matches, len(decisions), sound, exact, latest_s)


def measure_matches(
    game: str, players: Mapping[str, str], role: str, seconds: float, matches: int, turns: int
) -> Row:
    """Matches with a referee, the seed of each of which is its number.

    Args:
        game: its name or file.
        players: the spec of every role's player.
        role: whose decisions count.
        seconds: the play clock, of CPU time.
        matches: how many.
        turns: after which a match is broken off.
    """
    arena = set_up(game, load(game), players, clock=Clock.CPU.tells)
    conditions = Conditions(play_clock_s=seconds, max_turns=turns, in_process=True, clock=Clock.CPU)
    decisions = [
        turn.decisions[role]
        for number in range(matches)
        for turn in play_match(arena, number, conditions).turns
        if role in turn.decisions
    ]
    latest_s = max((decision.seconds - seconds for decision in decisions), default=0.0)
    sound, exact = sum(map(is_sound, decisions)), sum(d.exact for d in decisions)
    return Row(players[role], matches, len(decisions), sound, exact, latest_s)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Nothing is logged of lost bags meanwhile: they are counted."""
    threshold = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(threshold)


@click.command()
@click.argument("game")
@click.option("--player", "players", multiple=True, default=("hyperplay",), show_default=True)
@click.option("--role", help="Whom it plays.  [default: the first that is not random]")
@click.option("--against", help="The player of all other roles, in matches with a referee.")
@click.option("--seconds", default=1.0, show_default=True, help="For each decision.")
@click.option("--matches", default=20, type=click.IntRange(1), show_default=True)
@click.option(
    "--turns",
    default=100,
    type=click.IntRange(1),
    show_default=True,
    help="When a match is broken off.",
)
@click.option("--busy", "processes", default=0, show_default=True, help="Processes beside it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(
    game: str,
    players: tuple[str, ...],
    role: str | None,
    against: str | None,
    seconds: float,
    matches: int,
    turns: int,
    processes: int,
    as_json: bool,
) -> None:
    """Count the decisions of players that rest on sound particles."""
    program = load(game)
    machine = build_machine(program, ready=True)
    number = 0 if role is None else role_index(machine, role)
    if role is None and machine.random_role == 0:
        number = 1
    clock = Clock.WALL if processes else Clock.CPU
    rows = []
    with busy(processes), silence():
        for player in players:
            with spinner(f"{matches} matches of {player}"):
                if against is None:
                    work = (program, machine, number, player, seconds, matches, turns, clock)
                    measured = measure(*work)
                else:
                    name = machine.roles[number]
                    others = (other for other in machine.roles if other != RANDOM)
                    seats = {**dict.fromkeys(others, against), name: player}
                    measured = measure_matches(game, seats, name, seconds, matches, turns)
            rows.append(measured)
    if as_json:
        print_json([row._asdict() for row in rows])
        return
    titles = ["player", "#matches", "#decisions", "#sound, %", "#exact, %", "#latest, s"]
    table = [
        [
            row.player,
            str(row.matches),
            f"{row.decisions:,}",
            f"{100 * row.sound / row.decisions:.1f}",
            f"{100 * row.exact / row.decisions:.1f}",
            f"{row.latest_s:.3f}",
        ]
        for row in rows
    ]
    print_rich(Table(titles, table))


if __name__ == "__main__":
    main()
