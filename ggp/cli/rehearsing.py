"""`ggp validate --play`: random matches, and the faults of the game that they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ggp.cli.arguments import open_game
from ggp.cli.bounds import MOST_SECONDS, MOST_TURNS, with_growth
from ggp.cli.progress import bar_of
from ggp.console import print_rich, table_of
from ggp.gdl.source import printable

if TYPE_CHECKING:
    from ggp.machine import Limits
    from ggp.machine.definition import GameDefinition
    from ggp.study.findings import History, Rehearsal, Trouble

MOST_PLAYED = 100_000

_MOST_TURNS = 12
"""Most last turns of a history that are shown; JSON has all."""

_MOST_MOVES = 8


def rehearsed(
    game: str,
    matches: int,
    seed: int,
    backend: str,
    limits: Limits | None = None,
    *,
    max_turns: int = MOST_TURNS,
    max_seconds: float = MOST_SECONDS,
) -> Rehearsal:
    """The results of random matches of a game, with a bar while they are played."""
    opened = open_game(game, backend, limits=limits, hints=False, stuck=True)
    machine = opened.machine
    from ggp.gdl.analysis.frames import Frames
    from ggp.machine.games import has_rulesheet
    from ggp.study.rehearsal import matches_in, rehearse

    with bar_of(matches_in(machine, matches), f"playing {game}") as advance:
        found = rehearse(
            machine,
            matches,
            seed,
            frames=Frames(opened.program.as_program()) if has_rulesheet(game) else None,
            told=advance,
            turned=lambda turns: advance(0, now=f"turn {turns + 1}"),
            max_turns=max_turns,
            max_seconds=max_seconds,
        )
    return replace(
        found, troubles=tuple(_with_cause(each, opened.program) for each in found.troubles)
    )


def _with_cause(trouble: Trouble, program: GameDefinition) -> Trouble:
    """Of matches that do not end, what grows in them, if anything does."""
    if trouble.kind != "endless":
        return trouble
    return replace(trouble, message=with_growth(trouble.message, program))


def is_wrong(found: Rehearsal, *, strict: bool) -> bool:
    """Whether a game is faulty: it cannot be played, or, if strict, has any trouble."""
    from ggp.study.findings import ERRORS

    return any(strict or trouble.kind in ERRORS for trouble in found.troubles)


def show_rehearsal(game: str, found: Rehearsal, *, strict: bool) -> None:
    """Print the figures and the troubles of random matches; if strict, all of these as errors."""
    click.echo()
    for trouble in found.troubles:
        for line in _told(trouble, strict=strict):
            click.echo(printable(line))
        click.echo()
    plural = "match" if found.matches == 1 else "matches"
    line = f"{game}: {found.matches:,} random {plural}, {found.ended:,} came to their end"
    if found.ended:
        line += (
            f", after {found.shortest} to {found.longest} turns (mean {found.mean_turns:.1f}); "
            f"{found.chance_moves:.1f} moves of chance in a match"
        )
    click.echo(printable(line))
    rows = [
        (
            role,
            str(each.most_moves),
            *("-" if v is None else f"{v:.1f}" for v in (each.mean, each.lowest, each.highest)),
        )
        for role, each in found.roles.items()
    ]
    columns = ("role", "#most moves", "#mean score", "#lowest", "#highest")
    print_rich(table_of(columns, rows))
    click.echo(f"seed {found.seed}, on {found.backend}")


def _told(trouble: Trouble, *, strict: bool) -> Iterator[str]:
    """A trouble as lines of text."""
    from ggp.study.findings import ERRORS

    severity = "error" if strict or trouble.kind in ERRORS else "warning"
    whose = "" if trouble.role is None else f"{trouble.role}: "
    times = ""
    if trouble.kind not in ("unknowable", "no-frame"):  # not searched for in all matches
        times = " (1 match)" if trouble.matches == 1 else f" ({trouble.matches:,} matches)"
    yield f"{severity}: {whose}{trouble.message}{times} [{trouble.kind}]"
    if trouble.kind != "unknowable":
        yield from _played(trouble.histories[0])
        return
    yield "  it knows of each turn its move / what it saw:"
    yield from (f"    {turn}" for turn in _last(trouble.knows))
    for history in trouble.histories:
        yield "  but after"
        yield from _played(history, besides=trouble.role)
        others = next(each for each in trouble.histories if each is not history)
        own = [move for move in history.legal if move not in others.legal]
        only = "" if len(own) in (0, len(history.legal)) else f"; only here: {_some(own)}"
        yield f"    it may {_some(history.legal)}{only}"


def _played(history: History, besides: str | None = None) -> Iterator[str]:
    """The last joint moves of a history, without one role."""
    if not history.joint_moves:
        yield "    at the start"
    lines = [_joint(each, besides) for each in history.joint_moves]
    yield from (f"    {line}" for line in _last(tuple(lines)))


def _joint(moves: Mapping[str, str], besides: str | None) -> str:
    return ", ".join(f"{role} {move}" for role, move in moves.items() if role != besides)


def _last(lines: tuple[str, ...]) -> Iterator[str]:
    earlier = max(0, len(lines) - _MOST_TURNS)
    if earlier:
        yield f"({earlier} earlier turns; --json shows all)"
    for number, line in enumerate(lines[earlier:], earlier + 1):
        yield f"{number}. {line}"


def _some(moves: tuple[str, ...] | list[str]) -> str:
    if not moves:
        return "nothing"
    return ", ".join(moves[:_MOST_MOVES]) + (", ..." if len(moves) > _MOST_MOVES else "")
