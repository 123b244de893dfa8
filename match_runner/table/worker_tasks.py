"""Work of worker processes for the server besides playing: read rules, replay, sum up series.

The server itself never looks into a stranger's rulesheet: that could take long.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ggp.errors import ConfigError
from ggp.gdl.analysis.joint_move_percepts import told_by
from ggp.gdl.program import RANDOM
from ggp.gdl.source import Diagnostic, errors
from ggp.machine.games import check_text, read_program
from ggp.server.workers.kernels import are_cached, fill_cache
from match_runner.log_views import is_log
from match_runner.match.conditions import Conditions
from match_runner.match.frames import frames_of
from match_runner.match.records import MatchRecord, read_record
from match_runner.pictures.kinds import Json
from match_runner.pictures.side_file import side_file_for
from match_runner.series.commands.play import series_of_roles
from match_runner.series.plan import check_series
from match_runner.series.stored import read_series
from match_runner.table.seats.log_frames import frames_of_log
from match_runner.table.seats.seating import HUMAN
from match_runner.table.seats.server_log import read_logged_match
from match_runner.tournament.summary import summarize

MOST_DIAGNOSTICS = 50
"""Most diagnostics that are shown of one rulesheet."""


AUTO = "auto"
"""The player and the backend that suit a game, which pages propose."""

_LOW = 10
"""Added to the niceness of work for which nobody waits yet."""


def compile_ahead() -> None:
    """Compile the machine code of the player that suits a game, unless that was done before."""
    if not are_cached(AUTO, AUTO):
        os.nice(_LOW)
        asyncio.run(fill_cache(AUTO, AUTO))


def read_rules(name: str, text: str) -> Json:
    """What is wrong with a rulesheet, and what the lobby needs to know of it."""
    found = check_text(text, name)
    told: Json = {
        "ok": not errors(found),
        "num_diagnostics": len(found),
        "diagnostics": [_shown(each) for each in found[:MOST_DIAGNOSTICS]],
    }
    if told["ok"]:
        program = read_program(text, name)
        about = program.describe()
        told |= {
            "roles": [role for role in program.roles if role != RANDOM],
            "has_chance": RANDOM in program.roles,
            "is_told": told_by(program.as_program()) is not None,
            "title": about.title,
            "about": about.text,
            "sections": {name: list(lines) for name, lines in about.sections.items()},
        }
    return told


def _shown(diagnostic: Diagnostic) -> Json:
    caret = diagnostic.caret if diagnostic.caret >= 0 else diagnostic.column - 1
    return {**asdict(diagnostic), "caret": caret, "text": str(diagnostic)}


def check_match(
    name: str, text: str, players: Mapping[str, str], conditions: Conditions
) -> tuple[tuple[str, ...], bool]:
    """Check that a match can be played; returns its roles, and whether they are told every move.

    Raises:
        GDLError: the rules cannot be used.
        ConfigError: there is a role without a player or a player without a role, or a player is
            not known.
    """
    program = read_program(text, name)
    wanted = [role for role in program.roles if role != RANDOM]
    if sorted(players) != sorted(wanted):
        raise ConfigError(f"every role needs a player; roles: {', '.join(wanted) or 'none'}")
    others = {r: "random" if each == HUMAN else each for r, each in players.items()}
    check_series(series_of_roles(name, program, others, 1, conditions=conditions))
    return program.roles, told_by(program.as_program()) is not None


@dataclass(frozen=True, slots=True)
class Shown:
    """A match that was played elsewhere.

    Attributes:
        match: its summary for the page; see `HeldMatch.summary`.
        rules: text of the rulesheet.
        side_file: file that says how to draw the game, or None.
    """

    match: Json
    rules: str
    side_file: Path | None = None

    @property
    def game(self) -> str:
        """Name of its game."""
        return str(self.match["game"])

    @property
    def minds(self) -> tuple[str, ...]:
        """Roles whose percepts are known."""
        return tuple(self.match["players"])


def replay(record: MatchRecord, side_file: Path | None) -> list[Json]:
    """Frames of a record, one after every turn.

    Raises:
        GGPError: the record does not fit its rules.
    """
    return list(frames_of(record, side_file))


def replay_file(path: Path) -> tuple[Shown, list[Json]]:
    """Read a record or a log of `ggp serve`; returns it and its frames, one after every turn.

    Raises:
        GGPError: the file cannot be read, or does not fit the rules.
    """
    if is_log(path):
        logged = read_logged_match(path)
        about, frames = frames_of_log(logged)
        return Shown(about, logged.rules), frames
    record = read_record(path)
    about = {
        "game": record.game,
        "players": dict(record.players),
        "roles": list(record.roles),
        "seed": record.seed,
        "goals": dict(record.goals),
        "error": record.error,
    }
    side_file = side_file_for(record.game, record.rules)
    return Shown(about, record.rules, side_file), replay(record, side_file)


def standings(folder: Path) -> Json:
    """Standings of the series that is kept in a folder; it may be in progress.

    Raises:
        ConfigError: there is no series, or it cannot be read.
    """
    held = read_series(folder)
    summary = summarize(held)
    return {
        "played": summary.played,
        "moves": summary.moves,
        "games": [game.name for game in held.series.games],
        "standings": [each.to_json() for each in summary.standings],
    }
